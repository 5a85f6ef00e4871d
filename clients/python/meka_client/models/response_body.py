from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define

from ..models.answer_outcome import AnswerOutcome
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.response_body_content_type_0 import ResponseBodyContentType0


T = TypeVar("T", bound="ResponseBody")


@_attrs_define
class ResponseBody:
    """
    Attributes:
        outcome (AnswerOutcome): The first four answer a `permission_required`, which takes no other; the `_always` ones
            hold for the tool as long as the session is loaded. The last three answer an MCP server's question.
        content (None | ResponseBodyContentType0 | Unset): The fields of an MCP server's form; with `accept` of a form
            alone.
    """

    outcome: AnswerOutcome
    content: None | ResponseBodyContentType0 | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        from ..models.response_body_content_type_0 import ResponseBodyContentType0  # noqa: PLC0415

        outcome = self.outcome.value

        content: dict[str, Any] | None | Unset
        if isinstance(self.content, Unset):
            content = UNSET
        elif isinstance(self.content, ResponseBodyContentType0):
            content = self.content.to_dict()
        else:
            content = self.content

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "outcome": outcome,
            }
        )
        if content is not UNSET:
            field_dict["content"] = content

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.response_body_content_type_0 import ResponseBodyContentType0  # noqa: PLC0415

        d = dict(src_dict)
        outcome = AnswerOutcome(d.pop("outcome"))

        def _parse_content(data: object) -> None | ResponseBodyContentType0 | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                content_type_0 = ResponseBodyContentType0.from_dict(data)

                return content_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | ResponseBodyContentType0 | Unset, data)

        content = _parse_content(d.pop("content", UNSET))

        response_body = cls(
            outcome=outcome,
            content=content,
        )

        return response_body
