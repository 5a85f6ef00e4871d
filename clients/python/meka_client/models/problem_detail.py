from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="ProblemDetail")


@_attrs_define
class ProblemDetail:
    """An error, as RFC 9457 shapes it. `type` is what a program branches on.

    Attributes:
        type_ (str): `https://meka.run/errors/` and the kind of the problem.
        title (str): The kind in words, the same for every problem of it.
        status (int): The HTTP status.
        detail (str | Unset): What happened this time.
        instance (str | Unset): The path of the request; absent in events.
        session_id (str | Unset): The session it is about.
        turn_id (str | Unset): The turn that is in flight.
        item_id (str | Unset): The inbox item it is about.
        job_id (str | Unset): The scheduled job it is about.
        request_id (str | Unset): The prompt it is about.
        server (str | Unset): The MCP server it is about.
        servers (list[str] | Unset): The required MCP servers that are not ready.
        revision (int | Unset): The conversation's revision now.
        total (int | Unset): How many messages the conversation holds now.
        max_body_bytes (int | Unset): The limit that was passed.
        retry_after (int | Unset): The `Retry-After` header, in seconds.
        message_withdrawn (bool | Unset): Whether the turn took its opening message back out of the conversation; only
            on a turn that began.
        provider_response (str | Unset): What the provider answered, at most 4 KiB, where
            `[serve].relay_provider_errors` allows it.
    """

    type_: str
    title: str
    status: int
    detail: str | Unset = UNSET
    instance: str | Unset = UNSET
    session_id: str | Unset = UNSET
    turn_id: str | Unset = UNSET
    item_id: str | Unset = UNSET
    job_id: str | Unset = UNSET
    request_id: str | Unset = UNSET
    server: str | Unset = UNSET
    servers: list[str] | Unset = UNSET
    revision: int | Unset = UNSET
    total: int | Unset = UNSET
    max_body_bytes: int | Unset = UNSET
    retry_after: int | Unset = UNSET
    message_withdrawn: bool | Unset = UNSET
    provider_response: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        type_ = self.type_

        title = self.title

        status = self.status

        detail = self.detail

        instance = self.instance

        session_id = self.session_id

        turn_id = self.turn_id

        item_id = self.item_id

        job_id = self.job_id

        request_id = self.request_id

        server = self.server

        servers: list[str] | Unset = UNSET
        if not isinstance(self.servers, Unset):
            servers = self.servers

        revision = self.revision

        total = self.total

        max_body_bytes = self.max_body_bytes

        retry_after = self.retry_after

        message_withdrawn = self.message_withdrawn

        provider_response = self.provider_response

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "type": type_,
                "title": title,
                "status": status,
            }
        )
        if detail is not UNSET:
            field_dict["detail"] = detail
        if instance is not UNSET:
            field_dict["instance"] = instance
        if session_id is not UNSET:
            field_dict["session_id"] = session_id
        if turn_id is not UNSET:
            field_dict["turn_id"] = turn_id
        if item_id is not UNSET:
            field_dict["item_id"] = item_id
        if job_id is not UNSET:
            field_dict["job_id"] = job_id
        if request_id is not UNSET:
            field_dict["request_id"] = request_id
        if server is not UNSET:
            field_dict["server"] = server
        if servers is not UNSET:
            field_dict["servers"] = servers
        if revision is not UNSET:
            field_dict["revision"] = revision
        if total is not UNSET:
            field_dict["total"] = total
        if max_body_bytes is not UNSET:
            field_dict["max_body_bytes"] = max_body_bytes
        if retry_after is not UNSET:
            field_dict["retry_after"] = retry_after
        if message_withdrawn is not UNSET:
            field_dict["message_withdrawn"] = message_withdrawn
        if provider_response is not UNSET:
            field_dict["provider_response"] = provider_response

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        type_ = d.pop("type")

        title = d.pop("title")

        status = d.pop("status")

        detail = d.pop("detail", UNSET)

        instance = d.pop("instance", UNSET)

        session_id = d.pop("session_id", UNSET)

        turn_id = d.pop("turn_id", UNSET)

        item_id = d.pop("item_id", UNSET)

        job_id = d.pop("job_id", UNSET)

        request_id = d.pop("request_id", UNSET)

        server = d.pop("server", UNSET)

        servers = cast(list[str], d.pop("servers", UNSET))

        revision = d.pop("revision", UNSET)

        total = d.pop("total", UNSET)

        max_body_bytes = d.pop("max_body_bytes", UNSET)

        retry_after = d.pop("retry_after", UNSET)

        message_withdrawn = d.pop("message_withdrawn", UNSET)

        provider_response = d.pop("provider_response", UNSET)

        problem_detail = cls(
            type_=type_,
            title=title,
            status=status,
            detail=detail,
            instance=instance,
            session_id=session_id,
            turn_id=turn_id,
            item_id=item_id,
            job_id=job_id,
            request_id=request_id,
            server=server,
            servers=servers,
            revision=revision,
            total=total,
            max_body_bytes=max_body_bytes,
            retry_after=retry_after,
            message_withdrawn=message_withdrawn,
            provider_response=provider_response,
        )

        problem_detail.additional_properties = d
        return problem_detail

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
