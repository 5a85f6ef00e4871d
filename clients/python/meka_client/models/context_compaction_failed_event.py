from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.compaction_trigger import CompactionTrigger
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.problem_detail import ProblemDetail


T = TypeVar("T", bound="ContextCompactionFailedEvent")


@_attrs_define
class ContextCompactionFailedEvent:
    """
    Attributes:
        session_id (UUID):
        compaction_id (UUID):
        trigger (CompactionTrigger): What set it going. The measured occupancy crossed the ceiling (`reactive`), the
            next request would have (`proactive`), a client asked (`manual`), the agent asked (`requested`), the provider
            refused the request as too large (`emergency`), or a turn got too old (`retention`).
        interrupted (bool): Whether it was stopped.
        turn_id (UUID | Unset): The turn in flight, if there is one.
        error (ProblemDetail | Unset): An error, as RFC 9457 shapes it. `type` is what a program branches on.
    """

    session_id: UUID
    compaction_id: UUID
    trigger: CompactionTrigger
    interrupted: bool
    turn_id: UUID | Unset = UNSET
    error: ProblemDetail | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        session_id = str(self.session_id)

        compaction_id = str(self.compaction_id)

        trigger = self.trigger.value

        interrupted = self.interrupted

        turn_id: str | Unset = UNSET
        if not isinstance(self.turn_id, Unset):
            turn_id = str(self.turn_id)

        error: dict[str, Any] | Unset = UNSET
        if not isinstance(self.error, Unset):
            error = self.error.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "session_id": session_id,
                "compaction_id": compaction_id,
                "trigger": trigger,
                "interrupted": interrupted,
            }
        )
        if turn_id is not UNSET:
            field_dict["turn_id"] = turn_id
        if error is not UNSET:
            field_dict["error"] = error

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.problem_detail import ProblemDetail  # noqa: PLC0415

        d = dict(src_dict)
        session_id = UUID(d.pop("session_id"))

        compaction_id = UUID(d.pop("compaction_id"))

        trigger = CompactionTrigger(d.pop("trigger"))

        interrupted = d.pop("interrupted")

        _turn_id = d.pop("turn_id", UNSET)
        turn_id: UUID | Unset
        if isinstance(_turn_id, Unset):
            turn_id = UNSET
        else:
            turn_id = UUID(_turn_id)

        _error = d.pop("error", UNSET)
        error: ProblemDetail | Unset
        if isinstance(_error, Unset):
            error = UNSET
        else:
            error = ProblemDetail.from_dict(_error)

        context_compaction_failed_event = cls(
            session_id=session_id,
            compaction_id=compaction_id,
            trigger=trigger,
            interrupted=interrupted,
            turn_id=turn_id,
            error=error,
        )

        context_compaction_failed_event.additional_properties = d
        return context_compaction_failed_event

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
