from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="CapabilitiesBodyType0")


@_attrs_define
class CapabilitiesBodyType0:
    """What the client can do with what a turn sends; each flag has a default.

    Attributes:
        supports_reasoning_stream (bool | None | Unset): Send reasoning too (default false). Costs a streamed turn its
            retry of a passing failure.
        supports_permission_prompts (bool | None | Unset): A streaming client can answer prompts (default true).
        answers_prompts_on_return (bool | None | Unset): A prompt of a turn no request holds waits with nobody attending
            (default false).
        supports_elicitation (bool | None | Unset): Put an MCP server's questions to the client (default false).
    """

    supports_reasoning_stream: bool | None | Unset = UNSET
    supports_permission_prompts: bool | None | Unset = UNSET
    answers_prompts_on_return: bool | None | Unset = UNSET
    supports_elicitation: bool | None | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        supports_reasoning_stream: bool | None | Unset
        if isinstance(self.supports_reasoning_stream, Unset):
            supports_reasoning_stream = UNSET
        else:
            supports_reasoning_stream = self.supports_reasoning_stream

        supports_permission_prompts: bool | None | Unset
        if isinstance(self.supports_permission_prompts, Unset):
            supports_permission_prompts = UNSET
        else:
            supports_permission_prompts = self.supports_permission_prompts

        answers_prompts_on_return: bool | None | Unset
        if isinstance(self.answers_prompts_on_return, Unset):
            answers_prompts_on_return = UNSET
        else:
            answers_prompts_on_return = self.answers_prompts_on_return

        supports_elicitation: bool | None | Unset
        if isinstance(self.supports_elicitation, Unset):
            supports_elicitation = UNSET
        else:
            supports_elicitation = self.supports_elicitation

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if supports_reasoning_stream is not UNSET:
            field_dict["supports_reasoning_stream"] = supports_reasoning_stream
        if supports_permission_prompts is not UNSET:
            field_dict["supports_permission_prompts"] = supports_permission_prompts
        if answers_prompts_on_return is not UNSET:
            field_dict["answers_prompts_on_return"] = answers_prompts_on_return
        if supports_elicitation is not UNSET:
            field_dict["supports_elicitation"] = supports_elicitation

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)

        def _parse_supports_reasoning_stream(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        supports_reasoning_stream = _parse_supports_reasoning_stream(
            d.pop("supports_reasoning_stream", UNSET)
        )

        def _parse_supports_permission_prompts(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        supports_permission_prompts = _parse_supports_permission_prompts(
            d.pop("supports_permission_prompts", UNSET)
        )

        def _parse_answers_prompts_on_return(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        answers_prompts_on_return = _parse_answers_prompts_on_return(
            d.pop("answers_prompts_on_return", UNSET)
        )

        def _parse_supports_elicitation(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        supports_elicitation = _parse_supports_elicitation(
            d.pop("supports_elicitation", UNSET)
        )

        capabilities_body_type_0 = cls(
            supports_reasoning_stream=supports_reasoning_stream,
            supports_permission_prompts=supports_permission_prompts,
            answers_prompts_on_return=answers_prompts_on_return,
            supports_elicitation=supports_elicitation,
        )

        return capabilities_body_type_0
