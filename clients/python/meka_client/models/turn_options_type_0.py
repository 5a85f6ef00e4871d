from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..models.unanswered_message import UnansweredMessage
from ..types import UNSET, Unset

T = TypeVar("T", bound="TurnOptionsType0")


@_attrs_define
class TurnOptionsType0:
    """
    Attributes:
        skill (None | str | Unset): An installed skill to run the turn with.
        unanswered_message (None | UnansweredMessage | Unset): What becomes of the message when the turn leaves nothing
            of the model's (default keep).
    """

    skill: None | str | Unset = UNSET
    unanswered_message: None | UnansweredMessage | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        skill: None | str | Unset
        if isinstance(self.skill, Unset):
            skill = UNSET
        else:
            skill = self.skill

        unanswered_message: None | str | Unset
        if isinstance(self.unanswered_message, Unset):
            unanswered_message = UNSET
        elif isinstance(self.unanswered_message, UnansweredMessage):
            unanswered_message = self.unanswered_message.value
        else:
            unanswered_message = self.unanswered_message

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if skill is not UNSET:
            field_dict["skill"] = skill
        if unanswered_message is not UNSET:
            field_dict["unanswered_message"] = unanswered_message

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)

        def _parse_skill(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        skill = _parse_skill(d.pop("skill", UNSET))

        def _parse_unanswered_message(data: object) -> None | UnansweredMessage | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                unanswered_message_type_0 = UnansweredMessage(data)

                return unanswered_message_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | UnansweredMessage | Unset, data)

        unanswered_message = _parse_unanswered_message(
            d.pop("unanswered_message", UNSET)
        )

        turn_options_type_0 = cls(
            skill=skill,
            unanswered_message=unanswered_message,
        )

        return turn_options_type_0
