from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..models.permission_level import PermissionLevel
from ..types import UNSET, Unset

T = TypeVar("T", bound="PatchSessionRequest")


@_attrs_define
class PatchSessionRequest:
    """
    Attributes:
        working_directory (None | str | Unset): An existing directory, absolute.
        permission (None | PermissionLevel | Unset): Among those the server enables.
        approvals (bool | None | Unset):
        profile (None | str | Unset): A configured profile.
        project (None | str | Unset): An existing project; empty for none.
        title (None | str | Unset): One line of at most 200 characters; empty goes back to the first words.
        pinned (bool | None | Unset):
    """

    working_directory: None | str | Unset = UNSET
    permission: None | PermissionLevel | Unset = UNSET
    approvals: bool | None | Unset = UNSET
    profile: None | str | Unset = UNSET
    project: None | str | Unset = UNSET
    title: None | str | Unset = UNSET
    pinned: bool | None | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
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

        title: None | str | Unset
        if isinstance(self.title, Unset):
            title = UNSET
        else:
            title = self.title

        pinned: bool | None | Unset
        if isinstance(self.pinned, Unset):
            pinned = UNSET
        else:
            pinned = self.pinned

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
        if title is not UNSET:
            field_dict["title"] = title
        if pinned is not UNSET:
            field_dict["pinned"] = pinned

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
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

        def _parse_title(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        title = _parse_title(d.pop("title", UNSET))

        def _parse_pinned(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        pinned = _parse_pinned(d.pop("pinned", UNSET))

        patch_session_request = cls(
            working_directory=working_directory,
            permission=permission,
            approvals=approvals,
            profile=profile,
            project=project,
            title=title,
            pinned=pinned,
        )

        return patch_session_request
