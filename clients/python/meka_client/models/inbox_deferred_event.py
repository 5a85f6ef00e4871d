from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.problem_detail import ProblemDetail


T = TypeVar("T", bound="InboxDeferredEvent")


@_attrs_define
class InboxDeferredEvent:
    """
    Attributes:
        session_id (UUID):
        item_id (UUID):
        not_before (datetime.datetime): The next attempt.
        error (ProblemDetail): An error, as RFC 9457 shapes it. `type` is what a program branches on.
        turn_id (UUID | Unset): The turn in flight, if there is one.
    """

    session_id: UUID
    item_id: UUID
    not_before: datetime.datetime
    error: ProblemDetail
    turn_id: UUID | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        session_id = str(self.session_id)

        item_id = str(self.item_id)

        not_before = self.not_before.isoformat()

        error = self.error.to_dict()

        turn_id: str | Unset = UNSET
        if not isinstance(self.turn_id, Unset):
            turn_id = str(self.turn_id)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "session_id": session_id,
                "item_id": item_id,
                "not_before": not_before,
                "error": error,
            }
        )
        if turn_id is not UNSET:
            field_dict["turn_id"] = turn_id

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.problem_detail import ProblemDetail  # noqa: PLC0415

        d = dict(src_dict)
        session_id = UUID(d.pop("session_id"))

        item_id = UUID(d.pop("item_id"))

        not_before = datetime.datetime.fromisoformat(d.pop("not_before"))

        error = ProblemDetail.from_dict(d.pop("error"))

        _turn_id = d.pop("turn_id", UNSET)
        turn_id: UUID | Unset
        if isinstance(_turn_id, Unset):
            turn_id = UNSET
        else:
            turn_id = UUID(_turn_id)

        inbox_deferred_event = cls(
            session_id=session_id,
            item_id=item_id,
            not_before=not_before,
            error=error,
            turn_id=turn_id,
        )

        inbox_deferred_event.additional_properties = d
        return inbox_deferred_event

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
