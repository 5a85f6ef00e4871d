from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.invocation_block_kind import InvocationBlockKind
from ..models.invocation_block_type import InvocationBlockType

T = TypeVar("T", bound="InvocationBlock")


@_attrs_define
class InvocationBlock:
    """A skill or an MCP prompt that was invoked by name.

    Attributes:
        type_ (InvocationBlockType):
        text (str): What the model read, the body expanded.
        kind (InvocationBlockKind):
        name (str): The skill, or `server:prompt`.
        directive (str): What was typed beside the name; blank when nothing was.
    """

    type_: InvocationBlockType
    text: str
    kind: InvocationBlockKind
    name: str
    directive: str
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        type_ = self.type_.value

        text = self.text

        kind = self.kind.value

        name = self.name

        directive = self.directive

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "type": type_,
                "text": text,
                "kind": kind,
                "name": name,
                "directive": directive,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        type_ = InvocationBlockType(d.pop("type"))

        text = d.pop("text")

        kind = InvocationBlockKind(d.pop("kind"))

        name = d.pop("name")

        directive = d.pop("directive")

        invocation_block = cls(
            type_=type_,
            text=text,
            kind=kind,
            name=name,
            directive=directive,
        )

        invocation_block.additional_properties = d
        return invocation_block

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
