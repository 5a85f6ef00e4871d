from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.compaction_trigger import CompactionTrigger
from ..models.summary_source import SummarySource

T = TypeVar("T", bound="CompactionMarker")


@_attrs_define
class CompactionMarker:
    """What made the summary that a message is; absent on every other message.

    Attributes:
        trigger (CompactionTrigger): What set it going. The measured occupancy crossed the ceiling (`reactive`), the
            next request would have (`proactive`), a client asked (`manual`), the agent asked (`requested`), the provider
            refused the request as too large (`emergency`), or a turn got too old (`retention`).
        source (SummarySource): Who wrote the summary, the session's own model at a `checkpoint` or a `summarizer`
            without tools.
        memories_written (list[str]): The memories that the checkpoint wrote.
        kept_recent (bool): Whether the most recent messages stand behind the summary.
        replaced_count (int): How many messages the view held before, those that were kept included.
        generation (int): Which compaction it was, from 1.
    """

    trigger: CompactionTrigger
    source: SummarySource
    memories_written: list[str]
    kept_recent: bool
    replaced_count: int
    generation: int
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        trigger = self.trigger.value

        source = self.source.value

        memories_written = self.memories_written

        kept_recent = self.kept_recent

        replaced_count = self.replaced_count

        generation = self.generation

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "trigger": trigger,
                "source": source,
                "memories_written": memories_written,
                "kept_recent": kept_recent,
                "replaced_count": replaced_count,
                "generation": generation,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        trigger = CompactionTrigger(d.pop("trigger"))

        source = SummarySource(d.pop("source"))

        memories_written = cast(list[str], d.pop("memories_written"))

        kept_recent = d.pop("kept_recent")

        replaced_count = d.pop("replaced_count")

        generation = d.pop("generation")

        compaction_marker = cls(
            trigger=trigger,
            source=source,
            memories_written=memories_written,
            kept_recent=kept_recent,
            replaced_count=replaced_count,
            generation=generation,
        )

        compaction_marker.additional_properties = d
        return compaction_marker

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
