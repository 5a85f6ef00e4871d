from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.nudge_block_type import NudgeBlockType
from ..models.nudge_kind import NudgeKind

T = TypeVar("T", bound="NudgeBlock")


@_attrs_define
class NudgeBlock:
    """meka's words that sent the model back to work.

    Attributes:
        type_ (NudgeBlockType):
        kind (NudgeKind): What was missing, a reply that can be seen or the end of the checklist.
        text (str):
    """

    type_: NudgeBlockType
    kind: NudgeKind
    text: str
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        type_ = self.type_.value

        kind = self.kind.value

        text = self.text

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "type": type_,
                "kind": kind,
                "text": text,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        type_ = NudgeBlockType(d.pop("type"))

        kind = NudgeKind(d.pop("kind"))

        text = d.pop("text")

        nudge_block = cls(
            type_=type_,
            kind=kind,
            text=text,
        )

        nudge_block.additional_properties = d
        return nudge_block

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
