from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..models.inbox_class import InboxClass
from ..types import UNSET, Unset

T = TypeVar("T", bound="InboxRequest")


@_attrs_define
class InboxRequest:
    """
    Attributes:
        message (str): What the model reads; not blank.
        class_ (InboxClass): When the model reads it. At the next boundary of the turn that runs (`steer`), after that
            turn (`followup`), or at once, in place of the answer that is being written (`interrupt`).
        source (None | str | Unset): Who it comes from; blank says nobody.
    """

    message: str
    class_: InboxClass
    source: None | str | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        message = self.message

        class_ = self.class_.value

        source: None | str | Unset
        if isinstance(self.source, Unset):
            source = UNSET
        else:
            source = self.source

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "message": message,
                "class": class_,
            }
        )
        if source is not UNSET:
            field_dict["source"] = source

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        message = d.pop("message")

        class_ = InboxClass(d.pop("class"))

        def _parse_source(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        source = _parse_source(d.pop("source", UNSET))

        inbox_request = cls(
            message=message,
            class_=class_,
            source=source,
        )

        return inbox_request
