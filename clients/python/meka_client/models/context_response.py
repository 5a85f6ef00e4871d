from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.session_totals import SessionTotals


T = TypeVar("T", bound="ContextResponse")


@_attrs_define
class ContextResponse:
    """Tokens, but for the counts.

    Attributes:
        session_id (UUID):
        generation (int): How many compactions there were.
        totals (SessionTotals): The turns of a session, and their tokens together.
        used (int | Unset): Absent until a turn has run since the load.
        window (int | Unset): Absent where the profile is gone.
        overhead (int | Unset): The system prompt and the tools; absent where `used` is.
        compact_at_percent (int | Unset): The share of the window past which meka compacts by itself; absent where it
            does not.
        message_count (int | Unset): The messages of the view; absent while a turn runs and where the session is not
            loaded.
    """

    session_id: UUID
    generation: int
    totals: SessionTotals
    used: int | Unset = UNSET
    window: int | Unset = UNSET
    overhead: int | Unset = UNSET
    compact_at_percent: int | Unset = UNSET
    message_count: int | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        session_id = str(self.session_id)

        generation = self.generation

        totals = self.totals.to_dict()

        used = self.used

        window = self.window

        overhead = self.overhead

        compact_at_percent = self.compact_at_percent

        message_count = self.message_count

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "session_id": session_id,
                "generation": generation,
                "totals": totals,
            }
        )
        if used is not UNSET:
            field_dict["used"] = used
        if window is not UNSET:
            field_dict["window"] = window
        if overhead is not UNSET:
            field_dict["overhead"] = overhead
        if compact_at_percent is not UNSET:
            field_dict["compact_at_percent"] = compact_at_percent
        if message_count is not UNSET:
            field_dict["message_count"] = message_count

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.session_totals import SessionTotals  # noqa: PLC0415

        d = dict(src_dict)
        session_id = UUID(d.pop("session_id"))

        generation = d.pop("generation")

        totals = SessionTotals.from_dict(d.pop("totals"))

        used = d.pop("used", UNSET)

        window = d.pop("window", UNSET)

        overhead = d.pop("overhead", UNSET)

        compact_at_percent = d.pop("compact_at_percent", UNSET)

        message_count = d.pop("message_count", UNSET)

        context_response = cls(
            session_id=session_id,
            generation=generation,
            totals=totals,
            used=used,
            window=window,
            overhead=overhead,
            compact_at_percent=compact_at_percent,
            message_count=message_count,
        )

        context_response.additional_properties = d
        return context_response

    @property
    def additional_keys(self) -> list[str]:
        return list(self.additional_properties.keys())

    def __getitem__(self, key: str) -> Any:
        return self.additional_properties[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self.additional_properties[key] = value

    def __delitem__(self, key: str) -> None:
        del self.additional_properties[key]

    def __contains__(self, key: str) -> bool:
        return key in self.additional_properties
