from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.inbox_class import InboxClass
from ..models.inbox_state import InboxState
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.inbox_error import InboxError


T = TypeVar("T", bound="InboxResponse")


@_attrs_define
class InboxResponse:
    """What became of an item that was handed over.

    Attributes:
        item_id (UUID):
        session_id (UUID):
        class_ (InboxClass): When the model reads it. At the next boundary of the turn that runs (`steer`), after that
            turn (`followup`), or at once, in place of the answer that is being written (`interrupt`).
        state (InboxState): Where an item stands. It waits (`pending`), its words are in the conversation (`appended`),
            the provider has accepted them (`delivered`), or it was taken back or given up on (`withdrawn`).
        replayed (bool): Whether an earlier request with the same key made the item.
        retry_until (datetime.datetime): An attempt that fails after it is not repeated.
        not_before (datetime.datetime | Unset): The next attempt of an item that is put off.
        failure (str | Unset): Why the item was given up on.
        last_error (InboxError | Unset): What an attempt to deliver failed with, without anything the provider said.
    """

    item_id: UUID
    session_id: UUID
    class_: InboxClass
    state: InboxState
    replayed: bool
    retry_until: datetime.datetime
    not_before: datetime.datetime | Unset = UNSET
    failure: str | Unset = UNSET
    last_error: InboxError | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        item_id = str(self.item_id)

        session_id = str(self.session_id)

        class_ = self.class_.value

        state = self.state.value

        replayed = self.replayed

        retry_until = self.retry_until.isoformat()

        not_before: str | Unset = UNSET
        if not isinstance(self.not_before, Unset):
            not_before = self.not_before.isoformat()

        failure = self.failure

        last_error: dict[str, Any] | Unset = UNSET
        if not isinstance(self.last_error, Unset):
            last_error = self.last_error.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "item_id": item_id,
                "session_id": session_id,
                "class": class_,
                "state": state,
                "replayed": replayed,
                "retry_until": retry_until,
            }
        )
        if not_before is not UNSET:
            field_dict["not_before"] = not_before
        if failure is not UNSET:
            field_dict["failure"] = failure
        if last_error is not UNSET:
            field_dict["last_error"] = last_error

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.inbox_error import InboxError  # noqa: PLC0415

        d = dict(src_dict)
        item_id = UUID(d.pop("item_id"))

        session_id = UUID(d.pop("session_id"))

        class_ = InboxClass(d.pop("class"))

        state = InboxState(d.pop("state"))

        replayed = d.pop("replayed")

        retry_until = datetime.datetime.fromisoformat(d.pop("retry_until"))

        _not_before = d.pop("not_before", UNSET)
        not_before: datetime.datetime | Unset
        if isinstance(_not_before, Unset):
            not_before = UNSET
        else:
            not_before = datetime.datetime.fromisoformat(_not_before)

        failure = d.pop("failure", UNSET)

        _last_error = d.pop("last_error", UNSET)
        last_error: InboxError | Unset
        if isinstance(_last_error, Unset):
            last_error = UNSET
        else:
            last_error = InboxError.from_dict(_last_error)

        inbox_response = cls(
            item_id=item_id,
            session_id=session_id,
            class_=class_,
            state=state,
            replayed=replayed,
            retry_until=retry_until,
            not_before=not_before,
            failure=failure,
            last_error=last_error,
        )

        inbox_response.additional_properties = d
        return inbox_response

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
