from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.login_begun_response_completes_with import LoginBegunResponseCompletesWith

T = TypeVar("T", bound="LoginBegunResponse")


@_attrs_define
class LoginBegunResponse:
    """
    Attributes:
        login_id (str):
        authorization_url (str): The page that the person opens.
        completes_with (LoginBegunResponseCompletesWith): What is posted to complete it, the code that the page shows or
            the URL that the browser lands on.
        listening (bool): Whether this server waits for the browser at the callback itself.
        expires_at (datetime.datetime):
    """

    login_id: str
    authorization_url: str
    completes_with: LoginBegunResponseCompletesWith
    listening: bool
    expires_at: datetime.datetime
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        login_id = self.login_id

        authorization_url = self.authorization_url

        completes_with = self.completes_with.value

        listening = self.listening

        expires_at = self.expires_at.isoformat()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "login_id": login_id,
                "authorization_url": authorization_url,
                "completes_with": completes_with,
                "listening": listening,
                "expires_at": expires_at,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        login_id = d.pop("login_id")

        authorization_url = d.pop("authorization_url")

        completes_with = LoginBegunResponseCompletesWith(d.pop("completes_with"))

        listening = d.pop("listening")

        expires_at = datetime.datetime.fromisoformat(d.pop("expires_at"))

        login_begun_response = cls(
            login_id=login_id,
            authorization_url=authorization_url,
            completes_with=completes_with,
            listening=listening,
            expires_at=expires_at,
        )

        login_begun_response.additional_properties = d
        return login_begun_response

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
