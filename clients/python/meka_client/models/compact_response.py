from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.summary_source import SummarySource

T = TypeVar("T", bound="CompactResponse")


@_attrs_define
class CompactResponse:
    """
    Attributes:
        session_id (UUID):
        source (SummarySource): Who wrote the summary, the session's own model at a `checkpoint` or a `summarizer`
            without tools.
        memories_written (list[str]):
        kept_recent (bool):
        messages_before (int):
        messages_after (int):
    """

    session_id: UUID
    source: SummarySource
    memories_written: list[str]
    kept_recent: bool
    messages_before: int
    messages_after: int
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        session_id = str(self.session_id)

        source = self.source.value

        memories_written = self.memories_written

        kept_recent = self.kept_recent

        messages_before = self.messages_before

        messages_after = self.messages_after

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "session_id": session_id,
                "source": source,
                "memories_written": memories_written,
                "kept_recent": kept_recent,
                "messages_before": messages_before,
                "messages_after": messages_after,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        session_id = UUID(d.pop("session_id"))

        source = SummarySource(d.pop("source"))

        memories_written = cast(list[str], d.pop("memories_written"))

        kept_recent = d.pop("kept_recent")

        messages_before = d.pop("messages_before")

        messages_after = d.pop("messages_after")

        compact_response = cls(
            session_id=session_id,
            source=source,
            memories_written=memories_written,
            kept_recent=kept_recent,
            messages_before=messages_before,
            messages_after=messages_after,
        )

        compact_response.additional_properties = d
        return compact_response

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
