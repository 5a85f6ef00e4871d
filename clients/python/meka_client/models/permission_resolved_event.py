from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.permission_outcome import PermissionOutcome
from ..types import UNSET, Unset

T = TypeVar("T", bound="PermissionResolvedEvent")


@_attrs_define
class PermissionResolvedEvent:
    """
    Attributes:
        session_id (UUID):
        turn_id (UUID):
        request_id (str):
        outcome (PermissionOutcome): The answer, or that none came in time (`expired`), or that the turn ended or nobody
            was left to answer (`canceled`).
        subagent_id (UUID | Unset): The sub-agent whose call it is.
    """

    session_id: UUID
    turn_id: UUID
    request_id: str
    outcome: PermissionOutcome
    subagent_id: UUID | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        session_id = str(self.session_id)

        turn_id = str(self.turn_id)

        request_id = self.request_id

        outcome = self.outcome.value

        subagent_id: str | Unset = UNSET
        if not isinstance(self.subagent_id, Unset):
            subagent_id = str(self.subagent_id)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "session_id": session_id,
                "turn_id": turn_id,
                "request_id": request_id,
                "outcome": outcome,
            }
        )
        if subagent_id is not UNSET:
            field_dict["subagent_id"] = subagent_id

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        session_id = UUID(d.pop("session_id"))

        turn_id = UUID(d.pop("turn_id"))

        request_id = d.pop("request_id")

        outcome = PermissionOutcome(d.pop("outcome"))

        _subagent_id = d.pop("subagent_id", UNSET)
        subagent_id: UUID | Unset
        if isinstance(_subagent_id, Unset):
            subagent_id = UNSET
        else:
            subagent_id = UUID(_subagent_id)

        permission_resolved_event = cls(
            session_id=session_id,
            turn_id=turn_id,
            request_id=request_id,
            outcome=outcome,
            subagent_id=subagent_id,
        )

        permission_resolved_event.additional_properties = d
        return permission_resolved_event

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
