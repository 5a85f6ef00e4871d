from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.nudge_kind import NudgeKind

T = TypeVar("T", bound="TurnNudgedEvent")


@_attrs_define
class TurnNudgedEvent:
    """
    Attributes:
        session_id (UUID):
        turn_id (UUID):
        kind (NudgeKind): What was missing, a reply that can be seen or the end of the checklist.
        text (str):
    """

    session_id: UUID
    turn_id: UUID
    kind: NudgeKind
    text: str
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        session_id = str(self.session_id)

        turn_id = str(self.turn_id)

        kind = self.kind.value

        text = self.text

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "session_id": session_id,
                "turn_id": turn_id,
                "kind": kind,
                "text": text,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        session_id = UUID(d.pop("session_id"))

        turn_id = UUID(d.pop("turn_id"))

        kind = NudgeKind(d.pop("kind"))

        text = d.pop("text")

        turn_nudged_event = cls(
            session_id=session_id,
            turn_id=turn_id,
            kind=kind,
            text=text,
        )

        turn_nudged_event.additional_properties = d
        return turn_nudged_event

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
