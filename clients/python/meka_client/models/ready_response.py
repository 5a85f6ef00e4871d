from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.ready_response_status import ReadyResponseStatus

T = TypeVar("T", bound="ReadyResponse")


@_attrs_define
class ReadyResponse:
    """
    Attributes:
        status (ReadyResponseStatus): `degraded` when any check is false.
        session_db (bool): The store answers.
        profile_configured (bool): A session that names no profile can be given one.
        mcp_servers_healthy (bool): No required MCP server has failed.
    """

    status: ReadyResponseStatus
    session_db: bool
    profile_configured: bool
    mcp_servers_healthy: bool
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        status = self.status.value

        session_db = self.session_db

        profile_configured = self.profile_configured

        mcp_servers_healthy = self.mcp_servers_healthy

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "status": status,
                "session_db": session_db,
                "profile_configured": profile_configured,
                "mcp_servers_healthy": mcp_servers_healthy,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        status = ReadyResponseStatus(d.pop("status"))

        session_db = d.pop("session_db")

        profile_configured = d.pop("profile_configured")

        mcp_servers_healthy = d.pop("mcp_servers_healthy")

        ready_response = cls(
            status=status,
            session_db=session_db,
            profile_configured=profile_configured,
            mcp_servers_healthy=mcp_servers_healthy,
        )

        ready_response.additional_properties = d
        return ready_response

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
