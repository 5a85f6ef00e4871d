from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="ProfileView")


@_attrs_define
class ProfileView:
    """
    Attributes:
        name (str):
        account (str):
        vision (bool): Whether a turn on it may carry images.
        active (bool): Whether it is what a session gets that names none.
        backend (str | Unset): Absent when the account is not configured.
        model (str | Unset):
    """

    name: str
    account: str
    vision: bool
    active: bool
    backend: str | Unset = UNSET
    model: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        name = self.name

        account = self.account

        vision = self.vision

        active = self.active

        backend = self.backend

        model = self.model

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "name": name,
                "account": account,
                "vision": vision,
                "active": active,
            }
        )
        if backend is not UNSET:
            field_dict["backend"] = backend
        if model is not UNSET:
            field_dict["model"] = model

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        name = d.pop("name")

        account = d.pop("account")

        vision = d.pop("vision")

        active = d.pop("active")

        backend = d.pop("backend", UNSET)

        model = d.pop("model", UNSET)

        profile_view = cls(
            name=name,
            account=account,
            vision=vision,
            active=active,
            backend=backend,
            model=model,
        )

        profile_view.additional_properties = d
        return profile_view

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
