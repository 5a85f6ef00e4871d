from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define

from ..models.permission_level import PermissionLevel
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.capabilities_body_type_0 import CapabilitiesBodyType0


T = TypeVar("T", bound="CreateSessionRequest")


@_attrs_define
class CreateSessionRequest:
    """
    Attributes:
        working_directory (None | str | Unset): An existing directory, absolute; the server's own when left out.
        permission (None | PermissionLevel | Unset): Among those the server enables.
        approvals (bool | None | Unset): Whether a call above the level is put to a person instead of refused.
        profile (None | str | Unset): A configured profile; the default one when left out.
        project (None | str | Unset): An existing project; empty for none.
        capabilities (CapabilitiesBodyType0 | None | Unset): What the client can do with what a turn sends; each flag
            has a default.
    """

    working_directory: None | str | Unset = UNSET
    permission: None | PermissionLevel | Unset = UNSET
    approvals: bool | None | Unset = UNSET
    profile: None | str | Unset = UNSET
    project: None | str | Unset = UNSET
    capabilities: CapabilitiesBodyType0 | None | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        from ..models.capabilities_body_type_0 import CapabilitiesBodyType0  # noqa: PLC0415

        working_directory: None | str | Unset
        if isinstance(self.working_directory, Unset):
            working_directory = UNSET
        else:
            working_directory = self.working_directory

        permission: None | str | Unset
        if isinstance(self.permission, Unset):
            permission = UNSET
        elif isinstance(self.permission, PermissionLevel):
            permission = self.permission.value
        else:
            permission = self.permission

        approvals: bool | None | Unset
        if isinstance(self.approvals, Unset):
            approvals = UNSET
        else:
            approvals = self.approvals

        profile: None | str | Unset
        if isinstance(self.profile, Unset):
            profile = UNSET
        else:
            profile = self.profile

        project: None | str | Unset
        if isinstance(self.project, Unset):
            project = UNSET
        else:
            project = self.project

        capabilities: dict[str, Any] | None | Unset
        if isinstance(self.capabilities, Unset):
            capabilities = UNSET
        elif isinstance(self.capabilities, CapabilitiesBodyType0):
            capabilities = self.capabilities.to_dict()
        else:
            capabilities = self.capabilities

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if working_directory is not UNSET:
            field_dict["working_directory"] = working_directory
        if permission is not UNSET:
            field_dict["permission"] = permission
        if approvals is not UNSET:
            field_dict["approvals"] = approvals
        if profile is not UNSET:
            field_dict["profile"] = profile
        if project is not UNSET:
            field_dict["project"] = project
        if capabilities is not UNSET:
            field_dict["capabilities"] = capabilities

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.capabilities_body_type_0 import CapabilitiesBodyType0  # noqa: PLC0415

        d = dict(src_dict)

        def _parse_working_directory(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        working_directory = _parse_working_directory(d.pop("working_directory", UNSET))

        def _parse_permission(data: object) -> None | PermissionLevel | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                permission_type_0 = PermissionLevel(data)

                return permission_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | PermissionLevel | Unset, data)

        permission = _parse_permission(d.pop("permission", UNSET))

        def _parse_approvals(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        approvals = _parse_approvals(d.pop("approvals", UNSET))

        def _parse_profile(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        profile = _parse_profile(d.pop("profile", UNSET))

        def _parse_project(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        project = _parse_project(d.pop("project", UNSET))

        def _parse_capabilities(data: object) -> CapabilitiesBodyType0 | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_capabilities_body_type_0 = (
                    CapabilitiesBodyType0.from_dict(data)
                )

                return componentsschemas_capabilities_body_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(CapabilitiesBodyType0 | None | Unset, data)

        capabilities = _parse_capabilities(d.pop("capabilities", UNSET))

        create_session_request = cls(
            working_directory=working_directory,
            permission=permission,
            approvals=approvals,
            profile=profile,
            project=project,
            capabilities=capabilities,
        )

        return create_session_request
