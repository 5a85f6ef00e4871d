from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.stop_reason import StopReason
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.turn_usage import TurnUsage


T = TypeVar("T", bound="TurnFinishedEvent")


@_attrs_define
class TurnFinishedEvent:
    """
    Attributes:
        session_id (UUID):
        turn_id (UUID):
        stop_reason (StopReason): Why the model stopped; on a turn that succeeded.
        usage (TurnUsage): Tokens, over every round of the turn.
        refusal_text (str | Unset):
        revision (int | Unset):
    """

    session_id: UUID
    turn_id: UUID
    stop_reason: StopReason
    usage: TurnUsage
    refusal_text: str | Unset = UNSET
    revision: int | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        session_id = str(self.session_id)

        turn_id = str(self.turn_id)

        stop_reason = self.stop_reason.value

        usage = self.usage.to_dict()

        refusal_text = self.refusal_text

        revision = self.revision

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "session_id": session_id,
                "turn_id": turn_id,
                "stop_reason": stop_reason,
                "usage": usage,
            }
        )
        if refusal_text is not UNSET:
            field_dict["refusal_text"] = refusal_text
        if revision is not UNSET:
            field_dict["revision"] = revision

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.turn_usage import TurnUsage  # noqa: PLC0415

        d = dict(src_dict)
        session_id = UUID(d.pop("session_id"))

        turn_id = UUID(d.pop("turn_id"))

        stop_reason = StopReason(d.pop("stop_reason"))

        usage = TurnUsage.from_dict(d.pop("usage"))

        refusal_text = d.pop("refusal_text", UNSET)

        revision = d.pop("revision", UNSET)

        turn_finished_event = cls(
            session_id=session_id,
            turn_id=turn_id,
            stop_reason=stop_reason,
            usage=usage,
            refusal_text=refusal_text,
            revision=revision,
        )

        turn_finished_event.additional_properties = d
        return turn_finished_event

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
