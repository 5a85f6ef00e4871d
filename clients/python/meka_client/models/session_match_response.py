from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.permission_level import PermissionLevel
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.checklist_item import ChecklistItem
    from ..models.session_capabilities import SessionCapabilities
    from ..models.turn_record import TurnRecord


T = TypeVar("T", bound="SessionMatchResponse")


@_attrs_define
class SessionMatchResponse:
    """A session that was found.

    Attributes:
        id (UUID):
        created_at (datetime.datetime):
        updated_at (datetime.datetime): Moves on a turn and on a change to what the session runs as, not on a title or a
            pin.
        approvals (bool):
        profile (str):
        project (str): Empty for none.
        title (str): The title that was set, else the first words of the conversation.
        capabilities (SessionCapabilities):
        turn_in_flight (bool): Whether a turn runs in this process now.
        working_directory (str | Unset): Canonical; absent when none is recorded.
        permission (PermissionLevel | Unset): What a session's tools may do; each level holds what the ones before it
            hold.
        pinned_at (datetime.datetime | Unset): Present on a pinned session.
        parent_id (UUID | Unset): Present on a sub-agent's session.
        last_turn (TurnRecord | Unset): A turn that began; it has `ended_at` and `status` once it ended.
        approvals_pending (int | Unset): How many prompts wait for a person; on a session this server holds.
        inbox_pending (int | Unset): How many inbox items wait; on a loaded session that is read by its id.
        checklist (list[ChecklistItem] | Unset): The open items; on a session this server holds.
        excerpt (str | Unset): The line of its best message that the words are on, marked `(summary)` where a compaction
            wrote it; absent where only the title holds them.
    """

    id: UUID
    created_at: datetime.datetime
    updated_at: datetime.datetime
    approvals: bool
    profile: str
    project: str
    title: str
    capabilities: SessionCapabilities
    turn_in_flight: bool
    working_directory: str | Unset = UNSET
    permission: PermissionLevel | Unset = UNSET
    pinned_at: datetime.datetime | Unset = UNSET
    parent_id: UUID | Unset = UNSET
    last_turn: TurnRecord | Unset = UNSET
    approvals_pending: int | Unset = UNSET
    inbox_pending: int | Unset = UNSET
    checklist: list[ChecklistItem] | Unset = UNSET
    excerpt: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = str(self.id)

        created_at = self.created_at.isoformat()

        updated_at = self.updated_at.isoformat()

        approvals = self.approvals

        profile = self.profile

        project = self.project

        title = self.title

        capabilities = self.capabilities.to_dict()

        turn_in_flight = self.turn_in_flight

        working_directory = self.working_directory

        permission: str | Unset = UNSET
        if not isinstance(self.permission, Unset):
            permission = self.permission.value

        pinned_at: str | Unset = UNSET
        if not isinstance(self.pinned_at, Unset):
            pinned_at = self.pinned_at.isoformat()

        parent_id: str | Unset = UNSET
        if not isinstance(self.parent_id, Unset):
            parent_id = str(self.parent_id)

        last_turn: dict[str, Any] | Unset = UNSET
        if not isinstance(self.last_turn, Unset):
            last_turn = self.last_turn.to_dict()

        approvals_pending = self.approvals_pending

        inbox_pending = self.inbox_pending

        checklist: list[dict[str, Any]] | Unset = UNSET
        if not isinstance(self.checklist, Unset):
            checklist = []
            for checklist_item_data in self.checklist:
                checklist_item = checklist_item_data.to_dict()
                checklist.append(checklist_item)

        excerpt = self.excerpt

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "created_at": created_at,
                "updated_at": updated_at,
                "approvals": approvals,
                "profile": profile,
                "project": project,
                "title": title,
                "capabilities": capabilities,
                "turn_in_flight": turn_in_flight,
            }
        )
        if working_directory is not UNSET:
            field_dict["working_directory"] = working_directory
        if permission is not UNSET:
            field_dict["permission"] = permission
        if pinned_at is not UNSET:
            field_dict["pinned_at"] = pinned_at
        if parent_id is not UNSET:
            field_dict["parent_id"] = parent_id
        if last_turn is not UNSET:
            field_dict["last_turn"] = last_turn
        if approvals_pending is not UNSET:
            field_dict["approvals_pending"] = approvals_pending
        if inbox_pending is not UNSET:
            field_dict["inbox_pending"] = inbox_pending
        if checklist is not UNSET:
            field_dict["checklist"] = checklist
        if excerpt is not UNSET:
            field_dict["excerpt"] = excerpt

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.checklist_item import ChecklistItem  # noqa: PLC0415
        from ..models.session_capabilities import SessionCapabilities  # noqa: PLC0415
        from ..models.turn_record import TurnRecord  # noqa: PLC0415

        d = dict(src_dict)
        id = UUID(d.pop("id"))

        created_at = datetime.datetime.fromisoformat(d.pop("created_at"))

        updated_at = datetime.datetime.fromisoformat(d.pop("updated_at"))

        approvals = d.pop("approvals")

        profile = d.pop("profile")

        project = d.pop("project")

        title = d.pop("title")

        capabilities = SessionCapabilities.from_dict(d.pop("capabilities"))

        turn_in_flight = d.pop("turn_in_flight")

        working_directory = d.pop("working_directory", UNSET)

        _permission = d.pop("permission", UNSET)
        permission: PermissionLevel | Unset
        if isinstance(_permission, Unset):
            permission = UNSET
        else:
            permission = PermissionLevel(_permission)

        _pinned_at = d.pop("pinned_at", UNSET)
        pinned_at: datetime.datetime | Unset
        if isinstance(_pinned_at, Unset):
            pinned_at = UNSET
        else:
            pinned_at = datetime.datetime.fromisoformat(_pinned_at)

        _parent_id = d.pop("parent_id", UNSET)
        parent_id: UUID | Unset
        if isinstance(_parent_id, Unset):
            parent_id = UNSET
        else:
            parent_id = UUID(_parent_id)

        _last_turn = d.pop("last_turn", UNSET)
        last_turn: TurnRecord | Unset
        if isinstance(_last_turn, Unset):
            last_turn = UNSET
        else:
            last_turn = TurnRecord.from_dict(_last_turn)

        approvals_pending = d.pop("approvals_pending", UNSET)

        inbox_pending = d.pop("inbox_pending", UNSET)

        _checklist = d.pop("checklist", UNSET)
        checklist: list[ChecklistItem] | Unset = UNSET
        if _checklist is not UNSET:
            checklist = []
            for checklist_item_data in _checklist:
                checklist_item = ChecklistItem.from_dict(checklist_item_data)

                checklist.append(checklist_item)

        excerpt = d.pop("excerpt", UNSET)

        session_match_response = cls(
            id=id,
            created_at=created_at,
            updated_at=updated_at,
            approvals=approvals,
            profile=profile,
            project=project,
            title=title,
            capabilities=capabilities,
            turn_in_flight=turn_in_flight,
            working_directory=working_directory,
            permission=permission,
            pinned_at=pinned_at,
            parent_id=parent_id,
            last_turn=last_turn,
            approvals_pending=approvals_pending,
            inbox_pending=inbox_pending,
            checklist=checklist,
            excerpt=excerpt,
        )

        session_match_response.additional_properties = d
        return session_match_response

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
