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


T = TypeVar("T", bound="InboxItemView")


@_attrs_define
class InboxItemView:
    """An item the model has not been shown.

    Attributes:
        id (UUID):
        session_id (UUID):
        class_ (InboxClass): When the model reads it. At the next boundary of the turn that runs (`steer`), after that
            turn (`followup`), or at once, in place of the answer that is being written (`interrupt`).
        state (InboxState): Where an item stands. It waits (`pending`), its words are in the conversation (`appended`),
            the provider has accepted them (`delivered`), or it was taken back or given up on (`withdrawn`).
        created_at (datetime.datetime):
        retry_until (datetime.datetime): An attempt that fails after it is not repeated.
        source (str | Unset): Who it comes from; absent when nobody was named.
        appended_at (datetime.datetime | Unset): When its words entered the conversation.
        delivered_at (datetime.datetime | Unset): When a provider accepted it.
        withdrawn_at (datetime.datetime | Unset): When it was taken back or given up on.
        failure (str | Unset): Why it was given up on.
        not_before (datetime.datetime | Unset): The next attempt of an item that is put off.
        last_error (InboxError | Unset): What an attempt to deliver failed with, without anything the provider said.
    """

    id: UUID
    session_id: UUID
    class_: InboxClass
    state: InboxState
    created_at: datetime.datetime
    retry_until: datetime.datetime
    source: str | Unset = UNSET
    appended_at: datetime.datetime | Unset = UNSET
    delivered_at: datetime.datetime | Unset = UNSET
    withdrawn_at: datetime.datetime | Unset = UNSET
    failure: str | Unset = UNSET
    not_before: datetime.datetime | Unset = UNSET
    last_error: InboxError | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = str(self.id)

        session_id = str(self.session_id)

        class_ = self.class_.value

        state = self.state.value

        created_at = self.created_at.isoformat()

        retry_until = self.retry_until.isoformat()

        source = self.source

        appended_at: str | Unset = UNSET
        if not isinstance(self.appended_at, Unset):
            appended_at = self.appended_at.isoformat()

        delivered_at: str | Unset = UNSET
        if not isinstance(self.delivered_at, Unset):
            delivered_at = self.delivered_at.isoformat()

        withdrawn_at: str | Unset = UNSET
        if not isinstance(self.withdrawn_at, Unset):
            withdrawn_at = self.withdrawn_at.isoformat()

        failure = self.failure

        not_before: str | Unset = UNSET
        if not isinstance(self.not_before, Unset):
            not_before = self.not_before.isoformat()

        last_error: dict[str, Any] | Unset = UNSET
        if not isinstance(self.last_error, Unset):
            last_error = self.last_error.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "session_id": session_id,
                "class": class_,
                "state": state,
                "created_at": created_at,
                "retry_until": retry_until,
            }
        )
        if source is not UNSET:
            field_dict["source"] = source
        if appended_at is not UNSET:
            field_dict["appended_at"] = appended_at
        if delivered_at is not UNSET:
            field_dict["delivered_at"] = delivered_at
        if withdrawn_at is not UNSET:
            field_dict["withdrawn_at"] = withdrawn_at
        if failure is not UNSET:
            field_dict["failure"] = failure
        if not_before is not UNSET:
            field_dict["not_before"] = not_before
        if last_error is not UNSET:
            field_dict["last_error"] = last_error

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.inbox_error import InboxError  # noqa: PLC0415

        d = dict(src_dict)
        id = UUID(d.pop("id"))

        session_id = UUID(d.pop("session_id"))

        class_ = InboxClass(d.pop("class"))

        state = InboxState(d.pop("state"))

        created_at = datetime.datetime.fromisoformat(d.pop("created_at"))

        retry_until = datetime.datetime.fromisoformat(d.pop("retry_until"))

        source = d.pop("source", UNSET)

        _appended_at = d.pop("appended_at", UNSET)
        appended_at: datetime.datetime | Unset
        if isinstance(_appended_at, Unset):
            appended_at = UNSET
        else:
            appended_at = datetime.datetime.fromisoformat(_appended_at)

        _delivered_at = d.pop("delivered_at", UNSET)
        delivered_at: datetime.datetime | Unset
        if isinstance(_delivered_at, Unset):
            delivered_at = UNSET
        else:
            delivered_at = datetime.datetime.fromisoformat(_delivered_at)

        _withdrawn_at = d.pop("withdrawn_at", UNSET)
        withdrawn_at: datetime.datetime | Unset
        if isinstance(_withdrawn_at, Unset):
            withdrawn_at = UNSET
        else:
            withdrawn_at = datetime.datetime.fromisoformat(_withdrawn_at)

        failure = d.pop("failure", UNSET)

        _not_before = d.pop("not_before", UNSET)
        not_before: datetime.datetime | Unset
        if isinstance(_not_before, Unset):
            not_before = UNSET
        else:
            not_before = datetime.datetime.fromisoformat(_not_before)

        _last_error = d.pop("last_error", UNSET)
        last_error: InboxError | Unset
        if isinstance(_last_error, Unset):
            last_error = UNSET
        else:
            last_error = InboxError.from_dict(_last_error)

        inbox_item_view = cls(
            id=id,
            session_id=session_id,
            class_=class_,
            state=state,
            created_at=created_at,
            retry_until=retry_until,
            source=source,
            appended_at=appended_at,
            delivered_at=delivered_at,
            withdrawn_at=withdrawn_at,
            failure=failure,
            not_before=not_before,
            last_error=last_error,
        )

        inbox_item_view.additional_properties = d
        return inbox_item_view

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
