from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.account_view import AccountView


T = TypeVar("T", bound="AccountsResponse")


@_attrs_define
class AccountsResponse:
    """
    Attributes:
        accounts (list[AccountView]):
        orphaned_credentials (list[str] | Unset): Names that a credential is stored under and no account has; present
            when there are any.
    """

    accounts: list[AccountView]
    orphaned_credentials: list[str] | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        accounts = []
        for accounts_item_data in self.accounts:
            accounts_item = accounts_item_data.to_dict()
            accounts.append(accounts_item)

        orphaned_credentials: list[str] | Unset = UNSET
        if not isinstance(self.orphaned_credentials, Unset):
            orphaned_credentials = self.orphaned_credentials

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "accounts": accounts,
            }
        )
        if orphaned_credentials is not UNSET:
            field_dict["orphaned_credentials"] = orphaned_credentials

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.account_view import AccountView  # noqa: PLC0415

        d = dict(src_dict)
        accounts = []
        _accounts = d.pop("accounts")
        for accounts_item_data in _accounts:
            accounts_item = AccountView.from_dict(accounts_item_data)

            accounts.append(accounts_item)

        orphaned_credentials = cast(list[str], d.pop("orphaned_credentials", UNSET))

        accounts_response = cls(
            accounts=accounts,
            orphaned_credentials=orphaned_credentials,
        )

        accounts_response.additional_properties = d
        return accounts_response

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
