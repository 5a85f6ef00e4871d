from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.permission_level import PermissionLevel
from ..models.stop_reason import StopReason
from ..models.turn_source import TurnSource
from ..models.turn_status import TurnStatus
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.turn_error import TurnError
    from ..models.turn_usage import TurnUsage


T = TypeVar("T", bound="TurnRecord")


@_attrs_define
class TurnRecord:
    """A turn that began; it has `ended_at` and `status` once it ended.

    Attributes:
        id (UUID):
        source (TurnSource): Who opened a turn.
        started_at (datetime.datetime):
        permission (PermissionLevel): What a session's tools may do; each level holds what the ones before it hold.
        usage (TurnUsage): Tokens, over every round of the turn.
        ended_at (datetime.datetime | Unset):
        status (TurnStatus | Unset):
        stop_reason (StopReason | Unset): Why the model stopped; on a turn that succeeded.
        error (TurnError | Unset): What a turn failed with, without anything the provider said.
        profile (str | Unset): The fallback profile that served it; absent when the session's own did.
    """

    id: UUID
    source: TurnSource
    started_at: datetime.datetime
    permission: PermissionLevel
    usage: TurnUsage
    ended_at: datetime.datetime | Unset = UNSET
    status: TurnStatus | Unset = UNSET
    stop_reason: StopReason | Unset = UNSET
    error: TurnError | Unset = UNSET
    profile: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = str(self.id)

        source = self.source.value

        started_at = self.started_at.isoformat()

        permission = self.permission.value

        usage = self.usage.to_dict()

        ended_at: str | Unset = UNSET
        if not isinstance(self.ended_at, Unset):
            ended_at = self.ended_at.isoformat()

        status: str | Unset = UNSET
        if not isinstance(self.status, Unset):
            status = self.status.value

        stop_reason: str | Unset = UNSET
        if not isinstance(self.stop_reason, Unset):
            stop_reason = self.stop_reason.value

        error: dict[str, Any] | Unset = UNSET
        if not isinstance(self.error, Unset):
            error = self.error.to_dict()

        profile = self.profile

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "source": source,
                "started_at": started_at,
                "permission": permission,
                "usage": usage,
            }
        )
        if ended_at is not UNSET:
            field_dict["ended_at"] = ended_at
        if status is not UNSET:
            field_dict["status"] = status
        if stop_reason is not UNSET:
            field_dict["stop_reason"] = stop_reason
        if error is not UNSET:
            field_dict["error"] = error
        if profile is not UNSET:
            field_dict["profile"] = profile

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.turn_error import TurnError  # noqa: PLC0415
        from ..models.turn_usage import TurnUsage  # noqa: PLC0415

        d = dict(src_dict)
        id = UUID(d.pop("id"))

        source = TurnSource(d.pop("source"))

        started_at = datetime.datetime.fromisoformat(d.pop("started_at"))

        permission = PermissionLevel(d.pop("permission"))

        usage = TurnUsage.from_dict(d.pop("usage"))

        _ended_at = d.pop("ended_at", UNSET)
        ended_at: datetime.datetime | Unset
        if isinstance(_ended_at, Unset):
            ended_at = UNSET
        else:
            ended_at = datetime.datetime.fromisoformat(_ended_at)

        _status = d.pop("status", UNSET)
        status: TurnStatus | Unset
        if isinstance(_status, Unset):
            status = UNSET
        else:
            status = TurnStatus(_status)

        _stop_reason = d.pop("stop_reason", UNSET)
        stop_reason: StopReason | Unset
        if isinstance(_stop_reason, Unset):
            stop_reason = UNSET
        else:
            stop_reason = StopReason(_stop_reason)

        _error = d.pop("error", UNSET)
        error: TurnError | Unset
        if isinstance(_error, Unset):
            error = UNSET
        else:
            error = TurnError.from_dict(_error)

        profile = d.pop("profile", UNSET)

        turn_record = cls(
            id=id,
            source=source,
            started_at=started_at,
            permission=permission,
            usage=usage,
            ended_at=ended_at,
            status=status,
            stop_reason=stop_reason,
            error=error,
            profile=profile,
        )

        turn_record.additional_properties = d
        return turn_record

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
