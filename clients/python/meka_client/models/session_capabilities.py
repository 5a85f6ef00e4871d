from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="SessionCapabilities")


@_attrs_define
class SessionCapabilities:
    """
    Attributes:
        supports_reasoning_stream (bool):
        supports_permission_prompts (bool):
        answers_prompts_on_return (bool):
        supports_elicitation (bool):
    """

    supports_reasoning_stream: bool
    supports_permission_prompts: bool
    answers_prompts_on_return: bool
    supports_elicitation: bool
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        supports_reasoning_stream = self.supports_reasoning_stream

        supports_permission_prompts = self.supports_permission_prompts

        answers_prompts_on_return = self.answers_prompts_on_return

        supports_elicitation = self.supports_elicitation

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "supports_reasoning_stream": supports_reasoning_stream,
                "supports_permission_prompts": supports_permission_prompts,
                "answers_prompts_on_return": answers_prompts_on_return,
                "supports_elicitation": supports_elicitation,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        supports_reasoning_stream = d.pop("supports_reasoning_stream")

        supports_permission_prompts = d.pop("supports_permission_prompts")

        answers_prompts_on_return = d.pop("answers_prompts_on_return")

        supports_elicitation = d.pop("supports_elicitation")

        session_capabilities = cls(
            supports_reasoning_stream=supports_reasoning_stream,
            supports_permission_prompts=supports_permission_prompts,
            answers_prompts_on_return=answers_prompts_on_return,
            supports_elicitation=supports_elicitation,
        )

        session_capabilities.additional_properties = d
        return session_capabilities

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
