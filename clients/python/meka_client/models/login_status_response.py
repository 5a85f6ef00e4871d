from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.login_status_response_status import LoginStatusResponseStatus
from ..types import UNSET, Unset

T = TypeVar("T", bound="LoginStatusResponse")


@_attrs_define
class LoginStatusResponse:
    """
    Attributes:
        login_id (str):
        status (LoginStatusResponseStatus):
        expires_at (datetime.datetime):
        error (str | Unset): Why it failed.
    """

    login_id: str
    status: LoginStatusResponseStatus
    expires_at: datetime.datetime
    error: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        login_id = self.login_id

        status = self.status.value

        expires_at = self.expires_at.isoformat()

        error = self.error

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "login_id": login_id,
                "status": status,
                "expires_at": expires_at,
            }
        )
        if error is not UNSET:
            field_dict["error"] = error

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        login_id = d.pop("login_id")

        status = LoginStatusResponseStatus(d.pop("status"))

        expires_at = datetime.datetime.fromisoformat(d.pop("expires_at"))

        error = d.pop("error", UNSET)

        login_status_response = cls(
            login_id=login_id,
            status=status,
            expires_at=expires_at,
            error=error,
        )

        login_status_response.additional_properties = d
        return login_status_response

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
