from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.deferred_tools import DeferredTools
from ..models.thinking_display import ThinkingDisplay
from ..models.thinking_mode import ThinkingMode
from ..types import UNSET, Unset

T = TypeVar("T", bound="ProfileDetail")


@_attrs_define
class ProfileDetail:
    """A profile with every setting that it states.

    Attributes:
        name (str):
        account (str):
        vision (bool): Whether a turn on it may carry images.
        active (bool): Whether it is what a session gets that names none.
        backend (str | Unset): Absent when the account is not configured.
        model (str | Unset):
        context_window (int | Unset): The window to plan with, in tokens.
        max_output_tokens (int | Unset): The longest reply, in tokens.
        effort (str | Unset): How hard the model works, in the words of its provider.
        thinking (ThinkingMode | Unset): How extended thinking is asked for.
        thinking_budget (int | Unset): Tokens for thinking, where it is `budgeted`.
        max_request_bytes (int | Unset): The largest request body, in bytes.
        thinking_display (ThinkingDisplay | Unset): How reasoning is presented.
        deferred_tools (DeferredTools | Unset): How a loaded tool reaches the model, where the provider has a way of its
            own.
        fallbacks (list[str] | Unset): Profiles that stand in, in this order, when this one cannot serve a turn.
    """

    name: str
    account: str
    vision: bool
    active: bool
    backend: str | Unset = UNSET
    model: str | Unset = UNSET
    context_window: int | Unset = UNSET
    max_output_tokens: int | Unset = UNSET
    effort: str | Unset = UNSET
    thinking: ThinkingMode | Unset = UNSET
    thinking_budget: int | Unset = UNSET
    max_request_bytes: int | Unset = UNSET
    thinking_display: ThinkingDisplay | Unset = UNSET
    deferred_tools: DeferredTools | Unset = UNSET
    fallbacks: list[str] | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        name = self.name

        account = self.account

        vision = self.vision

        active = self.active

        backend = self.backend

        model = self.model

        context_window = self.context_window

        max_output_tokens = self.max_output_tokens

        effort = self.effort

        thinking: str | Unset = UNSET
        if not isinstance(self.thinking, Unset):
            thinking = self.thinking.value

        thinking_budget = self.thinking_budget

        max_request_bytes = self.max_request_bytes

        thinking_display: str | Unset = UNSET
        if not isinstance(self.thinking_display, Unset):
            thinking_display = self.thinking_display.value

        deferred_tools: str | Unset = UNSET
        if not isinstance(self.deferred_tools, Unset):
            deferred_tools = self.deferred_tools.value

        fallbacks: list[str] | Unset = UNSET
        if not isinstance(self.fallbacks, Unset):
            fallbacks = self.fallbacks

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
        if context_window is not UNSET:
            field_dict["context_window"] = context_window
        if max_output_tokens is not UNSET:
            field_dict["max_output_tokens"] = max_output_tokens
        if effort is not UNSET:
            field_dict["effort"] = effort
        if thinking is not UNSET:
            field_dict["thinking"] = thinking
        if thinking_budget is not UNSET:
            field_dict["thinking_budget"] = thinking_budget
        if max_request_bytes is not UNSET:
            field_dict["max_request_bytes"] = max_request_bytes
        if thinking_display is not UNSET:
            field_dict["thinking_display"] = thinking_display
        if deferred_tools is not UNSET:
            field_dict["deferred_tools"] = deferred_tools
        if fallbacks is not UNSET:
            field_dict["fallbacks"] = fallbacks

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

        context_window = d.pop("context_window", UNSET)

        max_output_tokens = d.pop("max_output_tokens", UNSET)

        effort = d.pop("effort", UNSET)

        _thinking = d.pop("thinking", UNSET)
        thinking: ThinkingMode | Unset
        if isinstance(_thinking, Unset):
            thinking = UNSET
        else:
            thinking = ThinkingMode(_thinking)

        thinking_budget = d.pop("thinking_budget", UNSET)

        max_request_bytes = d.pop("max_request_bytes", UNSET)

        _thinking_display = d.pop("thinking_display", UNSET)
        thinking_display: ThinkingDisplay | Unset
        if isinstance(_thinking_display, Unset):
            thinking_display = UNSET
        else:
            thinking_display = ThinkingDisplay(_thinking_display)

        _deferred_tools = d.pop("deferred_tools", UNSET)
        deferred_tools: DeferredTools | Unset
        if isinstance(_deferred_tools, Unset):
            deferred_tools = UNSET
        else:
            deferred_tools = DeferredTools(_deferred_tools)

        fallbacks = cast(list[str], d.pop("fallbacks", UNSET))

        profile_detail = cls(
            name=name,
            account=account,
            vision=vision,
            active=active,
            backend=backend,
            model=model,
            context_window=context_window,
            max_output_tokens=max_output_tokens,
            effort=effort,
            thinking=thinking,
            thinking_budget=thinking_budget,
            max_request_bytes=max_request_bytes,
            thinking_display=thinking_display,
            deferred_tools=deferred_tools,
            fallbacks=fallbacks,
        )

        profile_detail.additional_properties = d
        return profile_detail

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
