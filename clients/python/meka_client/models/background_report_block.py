from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.background_report_block_type import BackgroundReportBlockType

T = TypeVar("T", bound="BackgroundReportBlock")


@_attrs_define
class BackgroundReportBlock:
    """What became of background tasks.

    Attributes:
        type_ (BackgroundReportBlockType):
        text (str): What the model read.
        task_ids (list[str]):
    """

    type_: BackgroundReportBlockType
    text: str
    task_ids: list[str]
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        type_ = self.type_.value

        text = self.text

        task_ids = self.task_ids

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "type": type_,
                "text": text,
                "task_ids": task_ids,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        type_ = BackgroundReportBlockType(d.pop("type"))

        text = d.pop("text")

        task_ids = cast(list[str], d.pop("task_ids"))

        background_report_block = cls(
            type_=type_,
            text=text,
            task_ids=task_ids,
        )

        background_report_block.additional_properties = d
        return background_report_block

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
