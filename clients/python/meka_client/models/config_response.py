from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="ConfigResponse")


@_attrs_define
class ConfigResponse:
    """
    Attributes:
        config_path (str):
        data_dir (str):
        config_loaded_at (datetime.datetime): When this process last read the file whole.
        config_changed (bool): Whether the file differs from what was read then.
        restart_required (list[str]): The sections that differ from those the server started on, and that only a restart
            applies.
        config_modified_at (datetime.datetime | Unset): When the file was last written; absent without a file.
    """

    config_path: str
    data_dir: str
    config_loaded_at: datetime.datetime
    config_changed: bool
    restart_required: list[str]
    config_modified_at: datetime.datetime | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        config_path = self.config_path

        data_dir = self.data_dir

        config_loaded_at = self.config_loaded_at.isoformat()

        config_changed = self.config_changed

        restart_required = self.restart_required

        config_modified_at: str | Unset = UNSET
        if not isinstance(self.config_modified_at, Unset):
            config_modified_at = self.config_modified_at.isoformat()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "config_path": config_path,
                "data_dir": data_dir,
                "config_loaded_at": config_loaded_at,
                "config_changed": config_changed,
                "restart_required": restart_required,
            }
        )
        if config_modified_at is not UNSET:
            field_dict["config_modified_at"] = config_modified_at

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        config_path = d.pop("config_path")

        data_dir = d.pop("data_dir")

        config_loaded_at = datetime.datetime.fromisoformat(d.pop("config_loaded_at"))

        config_changed = d.pop("config_changed")

        restart_required = cast(list[str], d.pop("restart_required"))

        _config_modified_at = d.pop("config_modified_at", UNSET)
        config_modified_at: datetime.datetime | Unset
        if isinstance(_config_modified_at, Unset):
            config_modified_at = UNSET
        else:
            config_modified_at = datetime.datetime.fromisoformat(_config_modified_at)

        config_response = cls(
            config_path=config_path,
            data_dir=data_dir,
            config_loaded_at=config_loaded_at,
            config_changed=config_changed,
            restart_required=restart_required,
            config_modified_at=config_modified_at,
        )

        config_response.additional_properties = d
        return config_response

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
