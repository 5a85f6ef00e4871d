from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.inbox_block_type import InboxBlockType
from ..models.inbox_class import InboxClass
from ..types import UNSET, Unset

T = TypeVar("T", bound="InboxBlock")


@_attrs_define
class InboxBlock:
    """A message that came through the inbox.

    Attributes:
        type_ (InboxBlockType):
        text (str): What the model read, header included.
        body (str): The words that were sent.
        item_id (UUID | Unset):
        class_ (InboxClass | Unset): When the model reads it. At the next boundary of the turn that runs (`steer`),
            after that turn (`followup`), or at once, in place of the answer that is being written (`interrupt`).
        source (str | Unset):
    """

    type_: InboxBlockType
    text: str
    body: str
    item_id: UUID | Unset = UNSET
    class_: InboxClass | Unset = UNSET
    source: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        type_ = self.type_.value

        text = self.text

        body = self.body

        item_id: str | Unset = UNSET
        if not isinstance(self.item_id, Unset):
            item_id = str(self.item_id)

        class_: str | Unset = UNSET
        if not isinstance(self.class_, Unset):
            class_ = self.class_.value

        source = self.source

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "type": type_,
                "text": text,
                "body": body,
            }
        )
        if item_id is not UNSET:
            field_dict["item_id"] = item_id
        if class_ is not UNSET:
            field_dict["class"] = class_
        if source is not UNSET:
            field_dict["source"] = source

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        type_ = InboxBlockType(d.pop("type"))

        text = d.pop("text")

        body = d.pop("body")

        _item_id = d.pop("item_id", UNSET)
        item_id: UUID | Unset
        if isinstance(_item_id, Unset):
            item_id = UNSET
        else:
            item_id = UUID(_item_id)

        _class_ = d.pop("class", UNSET)
        class_: InboxClass | Unset
        if isinstance(_class_, Unset):
            class_ = UNSET
        else:
            class_ = InboxClass(_class_)

        source = d.pop("source", UNSET)

        inbox_block = cls(
            type_=type_,
            text=text,
            body=body,
            item_id=item_id,
            class_=class_,
            source=source,
        )

        inbox_block.additional_properties = d
        return inbox_block

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
