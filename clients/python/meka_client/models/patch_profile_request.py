from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..models.blank import Blank
from ..models.deferred_tools import DeferredTools
from ..models.thinking_display import ThinkingDisplay
from ..models.thinking_mode import ThinkingMode
from ..types import UNSET, Unset

T = TypeVar("T", bound="PatchProfileRequest")


@_attrs_define
class PatchProfileRequest:
    """A field left out keeps its value; null, or an empty string, removes it.

    Attributes:
        name (str | Unset): Another name, sent alone.
        account (None | str | Unset): A configured account; cannot be removed.
        model (None | str | Unset): Cannot be removed.
        vision (bool | None | Unset):
        context_window (int | None | Unset): The window to plan with, in tokens.
        max_output_tokens (int | None | Unset): The longest reply, in tokens.
        effort (None | str | Unset): How hard the model works, in the words of its provider.
        thinking (Blank | None | ThinkingMode | Unset):
        thinking_budget (int | None | Unset): Tokens for thinking, where it is `budgeted`.
        max_request_bytes (int | None | Unset): The largest request body, in bytes.
        thinking_display (Blank | None | ThinkingDisplay | Unset):
        deferred_tools (Blank | DeferredTools | None | Unset):
        fallbacks (list[str] | None | Unset): Profiles that stand in, in this order, when this one cannot serve a turn.
        default (bool | Unset): True makes it the default profile; false is refused.
    """

    name: str | Unset = UNSET
    account: None | str | Unset = UNSET
    model: None | str | Unset = UNSET
    vision: bool | None | Unset = UNSET
    context_window: int | None | Unset = UNSET
    max_output_tokens: int | None | Unset = UNSET
    effort: None | str | Unset = UNSET
    thinking: Blank | None | ThinkingMode | Unset = UNSET
    thinking_budget: int | None | Unset = UNSET
    max_request_bytes: int | None | Unset = UNSET
    thinking_display: Blank | None | ThinkingDisplay | Unset = UNSET
    deferred_tools: Blank | DeferredTools | None | Unset = UNSET
    fallbacks: list[str] | None | Unset = UNSET
    default: bool | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        name = self.name

        account: None | str | Unset
        if isinstance(self.account, Unset):
            account = UNSET
        else:
            account = self.account

        model: None | str | Unset
        if isinstance(self.model, Unset):
            model = UNSET
        else:
            model = self.model

        vision: bool | None | Unset
        if isinstance(self.vision, Unset):
            vision = UNSET
        else:
            vision = self.vision

        context_window: int | None | Unset
        if isinstance(self.context_window, Unset):
            context_window = UNSET
        else:
            context_window = self.context_window

        max_output_tokens: int | None | Unset
        if isinstance(self.max_output_tokens, Unset):
            max_output_tokens = UNSET
        else:
            max_output_tokens = self.max_output_tokens

        effort: None | str | Unset
        if isinstance(self.effort, Unset):
            effort = UNSET
        else:
            effort = self.effort

        thinking: None | str | Unset
        if isinstance(self.thinking, Unset):
            thinking = UNSET
        elif isinstance(self.thinking, ThinkingMode):
            thinking = self.thinking.value
        elif isinstance(self.thinking, Blank):
            thinking = self.thinking.value
        else:
            thinking = self.thinking

        thinking_budget: int | None | Unset
        if isinstance(self.thinking_budget, Unset):
            thinking_budget = UNSET
        else:
            thinking_budget = self.thinking_budget

        max_request_bytes: int | None | Unset
        if isinstance(self.max_request_bytes, Unset):
            max_request_bytes = UNSET
        else:
            max_request_bytes = self.max_request_bytes

        thinking_display: None | str | Unset
        if isinstance(self.thinking_display, Unset):
            thinking_display = UNSET
        elif isinstance(self.thinking_display, ThinkingDisplay):
            thinking_display = self.thinking_display.value
        elif isinstance(self.thinking_display, Blank):
            thinking_display = self.thinking_display.value
        else:
            thinking_display = self.thinking_display

        deferred_tools: None | str | Unset
        if isinstance(self.deferred_tools, Unset):
            deferred_tools = UNSET
        elif isinstance(self.deferred_tools, DeferredTools):
            deferred_tools = self.deferred_tools.value
        elif isinstance(self.deferred_tools, Blank):
            deferred_tools = self.deferred_tools.value
        else:
            deferred_tools = self.deferred_tools

        fallbacks: list[str] | None | Unset
        if isinstance(self.fallbacks, Unset):
            fallbacks = UNSET
        elif isinstance(self.fallbacks, list):
            fallbacks = self.fallbacks

        else:
            fallbacks = self.fallbacks

        default = self.default

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if name is not UNSET:
            field_dict["name"] = name
        if account is not UNSET:
            field_dict["account"] = account
        if model is not UNSET:
            field_dict["model"] = model
        if vision is not UNSET:
            field_dict["vision"] = vision
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
        if default is not UNSET:
            field_dict["default"] = default

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        name = d.pop("name", UNSET)

        def _parse_account(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        account = _parse_account(d.pop("account", UNSET))

        def _parse_model(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        model = _parse_model(d.pop("model", UNSET))

        def _parse_vision(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        vision = _parse_vision(d.pop("vision", UNSET))

        def _parse_context_window(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        context_window = _parse_context_window(d.pop("context_window", UNSET))

        def _parse_max_output_tokens(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        max_output_tokens = _parse_max_output_tokens(d.pop("max_output_tokens", UNSET))

        def _parse_effort(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        effort = _parse_effort(d.pop("effort", UNSET))

        def _parse_thinking(data: object) -> Blank | None | ThinkingMode | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                thinking_type_0 = ThinkingMode(data)

                return thinking_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, str):
                    raise TypeError()
                thinking_type_1 = Blank(data)

                return thinking_type_1
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(Blank | None | ThinkingMode | Unset, data)

        thinking = _parse_thinking(d.pop("thinking", UNSET))

        def _parse_thinking_budget(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        thinking_budget = _parse_thinking_budget(d.pop("thinking_budget", UNSET))

        def _parse_max_request_bytes(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        max_request_bytes = _parse_max_request_bytes(d.pop("max_request_bytes", UNSET))

        def _parse_thinking_display(
            data: object,
        ) -> Blank | None | ThinkingDisplay | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                thinking_display_type_0 = ThinkingDisplay(data)

                return thinking_display_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, str):
                    raise TypeError()
                thinking_display_type_1 = Blank(data)

                return thinking_display_type_1
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(Blank | None | ThinkingDisplay | Unset, data)

        thinking_display = _parse_thinking_display(d.pop("thinking_display", UNSET))

        def _parse_deferred_tools(data: object) -> Blank | DeferredTools | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                deferred_tools_type_0 = DeferredTools(data)

                return deferred_tools_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, str):
                    raise TypeError()
                deferred_tools_type_1 = Blank(data)

                return deferred_tools_type_1
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(Blank | DeferredTools | None | Unset, data)

        deferred_tools = _parse_deferred_tools(d.pop("deferred_tools", UNSET))

        def _parse_fallbacks(data: object) -> list[str] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                fallbacks_type_0 = cast(list[str], data)

                return fallbacks_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[str] | None | Unset, data)

        fallbacks = _parse_fallbacks(d.pop("fallbacks", UNSET))

        default = d.pop("default", UNSET)

        patch_profile_request = cls(
            name=name,
            account=account,
            model=model,
            vision=vision,
            context_window=context_window,
            max_output_tokens=max_output_tokens,
            effort=effort,
            thinking=thinking,
            thinking_budget=thinking_budget,
            max_request_bytes=max_request_bytes,
            thinking_display=thinking_display,
            deferred_tools=deferred_tools,
            fallbacks=fallbacks,
            default=default,
        )

        return patch_profile_request
