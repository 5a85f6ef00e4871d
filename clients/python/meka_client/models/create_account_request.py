from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..models.account_backend import AccountBackend
from ..types import UNSET, Unset

T = TypeVar("T", bound="CreateAccountRequest")


@_attrs_define
class CreateAccountRequest:
    """
    Attributes:
        name (str):
        backend (AccountBackend): The protocol or service that an account is on.
        base_url (None | str | Unset): Where the backend answers, if not at its own address.
        oauth_token_url (None | str | Unset): Where the tokens of a subscription come from.
        client_id (None | str | Unset): The OAuth client of a subscription.
        interleaved_thinking (bool | None | Unset): Whether thinking between tool calls is asked for.
        prompt_cache_key (bool | None | Unset): Whether requests carry a key for the prompt cache.
        stream_usage (bool | None | Unset): Whether streams are asked for token counts.
        max_tool_name_bytes (int | None | Unset): The longest tool name the endpoint takes.
        api_key (None | str | Unset): Needed where the backend takes a key, refused elsewhere.
    """

    name: str
    backend: AccountBackend
    base_url: None | str | Unset = UNSET
    oauth_token_url: None | str | Unset = UNSET
    client_id: None | str | Unset = UNSET
    interleaved_thinking: bool | None | Unset = UNSET
    prompt_cache_key: bool | None | Unset = UNSET
    stream_usage: bool | None | Unset = UNSET
    max_tool_name_bytes: int | None | Unset = UNSET
    api_key: None | str | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        name = self.name

        backend = self.backend.value

        base_url: None | str | Unset
        if isinstance(self.base_url, Unset):
            base_url = UNSET
        else:
            base_url = self.base_url

        oauth_token_url: None | str | Unset
        if isinstance(self.oauth_token_url, Unset):
            oauth_token_url = UNSET
        else:
            oauth_token_url = self.oauth_token_url

        client_id: None | str | Unset
        if isinstance(self.client_id, Unset):
            client_id = UNSET
        else:
            client_id = self.client_id

        interleaved_thinking: bool | None | Unset
        if isinstance(self.interleaved_thinking, Unset):
            interleaved_thinking = UNSET
        else:
            interleaved_thinking = self.interleaved_thinking

        prompt_cache_key: bool | None | Unset
        if isinstance(self.prompt_cache_key, Unset):
            prompt_cache_key = UNSET
        else:
            prompt_cache_key = self.prompt_cache_key

        stream_usage: bool | None | Unset
        if isinstance(self.stream_usage, Unset):
            stream_usage = UNSET
        else:
            stream_usage = self.stream_usage

        max_tool_name_bytes: int | None | Unset
        if isinstance(self.max_tool_name_bytes, Unset):
            max_tool_name_bytes = UNSET
        else:
            max_tool_name_bytes = self.max_tool_name_bytes

        api_key: None | str | Unset
        if isinstance(self.api_key, Unset):
            api_key = UNSET
        else:
            api_key = self.api_key

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "name": name,
                "backend": backend,
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
        if api_key is not UNSET:
            field_dict["api_key"] = api_key

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        name = d.pop("name")

        backend = AccountBackend(d.pop("backend"))

        def _parse_base_url(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        base_url = _parse_base_url(d.pop("base_url", UNSET))

        def _parse_oauth_token_url(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        oauth_token_url = _parse_oauth_token_url(d.pop("oauth_token_url", UNSET))

        def _parse_client_id(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        client_id = _parse_client_id(d.pop("client_id", UNSET))

        def _parse_interleaved_thinking(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        interleaved_thinking = _parse_interleaved_thinking(
            d.pop("interleaved_thinking", UNSET)
        )

        def _parse_prompt_cache_key(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        prompt_cache_key = _parse_prompt_cache_key(d.pop("prompt_cache_key", UNSET))

        def _parse_stream_usage(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        stream_usage = _parse_stream_usage(d.pop("stream_usage", UNSET))

        def _parse_max_tool_name_bytes(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        max_tool_name_bytes = _parse_max_tool_name_bytes(
            d.pop("max_tool_name_bytes", UNSET)
        )

        def _parse_api_key(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        api_key = _parse_api_key(d.pop("api_key", UNSET))

        create_account_request = cls(
            name=name,
            backend=backend,
            base_url=base_url,
            oauth_token_url=oauth_token_url,
            client_id=client_id,
            interleaved_thinking=interleaved_thinking,
            prompt_cache_key=prompt_cache_key,
            stream_usage=stream_usage,
            max_tool_name_bytes=max_tool_name_bytes,
            api_key=api_key,
        )

        return create_account_request
