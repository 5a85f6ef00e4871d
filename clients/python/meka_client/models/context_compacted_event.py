from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.compaction_trigger import CompactionTrigger
from ..models.summary_source import SummarySource
from ..types import UNSET, Unset

T = TypeVar("T", bound="ContextCompactedEvent")


@_attrs_define
class ContextCompactedEvent:
    """
    Attributes:
        session_id (UUID):
        trigger (CompactionTrigger): What set it going. The measured occupancy crossed the ceiling (`reactive`), the
            next request would have (`proactive`), a client asked (`manual`), the agent asked (`requested`), the provider
            refused the request as too large (`emergency`), or a turn got too old (`retention`).
        source (SummarySource): Who wrote the summary, the session's own model at a `checkpoint` or a `summarizer`
            without tools.
        memories_written (list[str]): The memories that the checkpoint wrote.
        kept_recent (bool): Whether the most recent messages stand behind the summary.
        replaced_count (int): How many messages the view held before, those that were kept included.
        generation (int): Which compaction it was, from 1.
        compaction_id (UUID):
        turn_id (UUID | Unset): The turn in flight, if there is one.
    """

    session_id: UUID
    trigger: CompactionTrigger
    source: SummarySource
    memories_written: list[str]
    kept_recent: bool
    replaced_count: int
    generation: int
    compaction_id: UUID
    turn_id: UUID | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        session_id = str(self.session_id)

        trigger = self.trigger.value

        source = self.source.value

        memories_written = self.memories_written

        kept_recent = self.kept_recent

        replaced_count = self.replaced_count

        generation = self.generation

        compaction_id = str(self.compaction_id)

        turn_id: str | Unset = UNSET
        if not isinstance(self.turn_id, Unset):
            turn_id = str(self.turn_id)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "session_id": session_id,
                "trigger": trigger,
                "source": source,
                "memories_written": memories_written,
                "kept_recent": kept_recent,
                "replaced_count": replaced_count,
                "generation": generation,
                "compaction_id": compaction_id,
            }
        )
        if turn_id is not UNSET:
            field_dict["turn_id"] = turn_id

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        session_id = UUID(d.pop("session_id"))

        trigger = CompactionTrigger(d.pop("trigger"))

        source = SummarySource(d.pop("source"))

        memories_written = cast(list[str], d.pop("memories_written"))

        kept_recent = d.pop("kept_recent")

        replaced_count = d.pop("replaced_count")

        generation = d.pop("generation")

        compaction_id = UUID(d.pop("compaction_id"))

        _turn_id = d.pop("turn_id", UNSET)
        turn_id: UUID | Unset
        if isinstance(_turn_id, Unset):
            turn_id = UNSET
        else:
            turn_id = UUID(_turn_id)

        context_compacted_event = cls(
            session_id=session_id,
            trigger=trigger,
            source=source,
            memories_written=memories_written,
            kept_recent=kept_recent,
            replaced_count=replaced_count,
            generation=generation,
            compaction_id=compaction_id,
            turn_id=turn_id,
        )

        context_compacted_event.additional_properties = d
        return context_compacted_event

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
