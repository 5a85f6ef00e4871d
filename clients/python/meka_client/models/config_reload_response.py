from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="ConfigReloadResponse")


@_attrs_define
class ConfigReloadResponse:
    """
    Attributes:
        config_loaded_at (datetime.datetime):
        restart_required (list[str]): The sections that differ from those the server started on, and that only a restart
            applies.
        started (list[str]): MCP servers that were started.
        restarted (list[str]): MCP servers whose connection changed.
        reconfigured (list[str]): MCP servers whose tool policy alone changed.
        removed (list[str]): MCP servers that are gone.
    """

    config_loaded_at: datetime.datetime
    restart_required: list[str]
    started: list[str]
    restarted: list[str]
    reconfigured: list[str]
    removed: list[str]
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        config_loaded_at = self.config_loaded_at.isoformat()

        restart_required = self.restart_required

        started = self.started

        restarted = self.restarted

        reconfigured = self.reconfigured

        removed = self.removed

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "config_loaded_at": config_loaded_at,
                "restart_required": restart_required,
                "started": started,
                "restarted": restarted,
                "reconfigured": reconfigured,
                "removed": removed,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        config_loaded_at = datetime.datetime.fromisoformat(d.pop("config_loaded_at"))

        restart_required = cast(list[str], d.pop("restart_required"))

        started = cast(list[str], d.pop("started"))

        restarted = cast(list[str], d.pop("restarted"))

        reconfigured = cast(list[str], d.pop("reconfigured"))

        removed = cast(list[str], d.pop("removed"))

        config_reload_response = cls(
            config_loaded_at=config_loaded_at,
            restart_required=restart_required,
            started=started,
            restarted=restarted,
            reconfigured=reconfigured,
            removed=removed,
        )

        config_reload_response.additional_properties = d
        return config_reload_response

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
