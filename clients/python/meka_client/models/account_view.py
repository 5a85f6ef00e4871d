from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.account_backend import AccountBackend
from ..models.authenticated import Authenticated
from ..types import UNSET, Unset

T = TypeVar("T", bound="AccountView")


@_attrs_define
class AccountView:
    """
    Attributes:
        name (str):
        backend (AccountBackend | str): A file written by hand may name one that this version does not know.
        authenticated (Authenticated): Whether a credential is stored that the backend takes; `unreadable` where it is
            of another kind or broken.
        base_url (str | Unset): Where the backend answers, if not at its own address.
        oauth_token_url (str | Unset): Where the tokens of a subscription come from.
        client_id (str | Unset): The OAuth client of a subscription.
        interleaved_thinking (bool | Unset): Whether thinking between tool calls is asked for.
        prompt_cache_key (bool | Unset): Whether requests carry a key for the prompt cache.
        stream_usage (bool | Unset): Whether streams are asked for token counts.
        max_tool_name_bytes (int | Unset): The longest tool name the endpoint takes.
        device_id (str | Unset):
    """

    name: str
    backend: AccountBackend | str
    authenticated: Authenticated
    base_url: str | Unset = UNSET
    oauth_token_url: str | Unset = UNSET
    client_id: str | Unset = UNSET
    interleaved_thinking: bool | Unset = UNSET
    prompt_cache_key: bool | Unset = UNSET
    stream_usage: bool | Unset = UNSET
    max_tool_name_bytes: int | Unset = UNSET
    device_id: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        name = self.name

        backend: str
        if isinstance(self.backend, AccountBackend):
            backend = self.backend.value
        else:
            backend = self.backend

        authenticated = self.authenticated.value

        base_url = self.base_url

        oauth_token_url = self.oauth_token_url

        client_id = self.client_id

        interleaved_thinking = self.interleaved_thinking

        prompt_cache_key = self.prompt_cache_key

        stream_usage = self.stream_usage

        max_tool_name_bytes = self.max_tool_name_bytes

        device_id = self.device_id

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "name": name,
                "backend": backend,
                "authenticated": authenticated,
            }
        )
        if base_url is not UNSET:
            field_dict["base_url"] = base_url
        if oauth_token_url is not UNSET:
            field_dict["oauth_token_url"] = oauth_token_url
        if client_id is not UNSET:
            field_dict["client_id"] = client_id
        if interleaved_thinking is not UNSET:
            field_dict["interleaved_thinking"] = interleaved_thinking
        if prompt_cache_key is not UNSET:
            field_dict["prompt_cache_key"] = prompt_cache_key
        if stream_usage is not UNSET:
            field_dict["stream_usage"] = stream_usage
        if max_tool_name_bytes is not UNSET:
            field_dict["max_tool_name_bytes"] = max_tool_name_bytes
        if device_id is not UNSET:
            field_dict["device_id"] = device_id

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        name = d.pop("name")

        def _parse_backend(data: object) -> AccountBackend | str:
            try:
                if not isinstance(data, str):
                    raise TypeError()
                backend_type_0 = AccountBackend(data)

                return backend_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(AccountBackend | str, data)

        backend = _parse_backend(d.pop("backend"))

        authenticated = Authenticated(d.pop("authenticated"))

        base_url = d.pop("base_url", UNSET)

        oauth_token_url = d.pop("oauth_token_url", UNSET)

        client_id = d.pop("client_id", UNSET)

        interleaved_thinking = d.pop("interleaved_thinking", UNSET)

        prompt_cache_key = d.pop("prompt_cache_key", UNSET)

        stream_usage = d.pop("stream_usage", UNSET)

        max_tool_name_bytes = d.pop("max_tool_name_bytes", UNSET)

        device_id = d.pop("device_id", UNSET)

        account_view = cls(
            name=name,
            backend=backend,
            authenticated=authenticated,
            base_url=base_url,
            oauth_token_url=oauth_token_url,
            client_id=client_id,
            interleaved_thinking=interleaved_thinking,
            prompt_cache_key=prompt_cache_key,
            stream_usage=stream_usage,
            max_tool_name_bytes=max_tool_name_bytes,
            device_id=device_id,
        )

        account_view.additional_properties = d
        return account_view

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
