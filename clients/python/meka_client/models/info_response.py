from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.permission_level import PermissionLevel

T = TypeVar("T", bound="InfoResponse")


@_attrs_define
class InfoResponse:
    """
    Attributes:
        version (str):
        default_permission (PermissionLevel): What a session's tools may do; each level holds what the ones before it
            hold.
        enabled_permissions (list[PermissionLevel]):
        scopes (list[str]): The scopes of the token that asks, sorted.
    """

    version: str
    default_permission: PermissionLevel
    enabled_permissions: list[PermissionLevel]
    scopes: list[str]
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        version = self.version

        default_permission = self.default_permission.value

        enabled_permissions = []
        for enabled_permissions_item_data in self.enabled_permissions:
            enabled_permissions_item = enabled_permissions_item_data.value
            enabled_permissions.append(enabled_permissions_item)

        scopes = self.scopes

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "version": version,
                "default_permission": default_permission,
                "enabled_permissions": enabled_permissions,
                "scopes": scopes,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        version = d.pop("version")

        default_permission = PermissionLevel(d.pop("default_permission"))

        enabled_permissions = []
        _enabled_permissions = d.pop("enabled_permissions")
        for enabled_permissions_item_data in _enabled_permissions:
            enabled_permissions_item = PermissionLevel(enabled_permissions_item_data)

            enabled_permissions.append(enabled_permissions_item)

        scopes = cast(list[str], d.pop("scopes"))

        info_response = cls(
            version=version,
            default_permission=default_permission,
            enabled_permissions=enabled_permissions,
            scopes=scopes,
        )

        info_response.additional_properties = d
        return info_response

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
