import datetime
from http import HTTPStatus
from typing import Any
from uuid import UUID

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.list_sessions_response import ListSessionsResponse
from ...models.problem_detail import ProblemDetail
from ...types import UNSET, Response, Unset


def _get_kwargs(
    *,
    limit: int | Unset = 50,
    cursor: str | Unset = UNSET,
    include_children: bool | Unset = False,
    working_directory: str | Unset = UNSET,
    parent: UUID | Unset = UNSET,
    profile: str | Unset = UNSET,
    project: str | Unset = UNSET,
    pinned: bool | Unset = UNSET,
    updated_since: datetime.datetime | Unset = UNSET,
) -> dict[str, Any]:

    params: dict[str, Any] = {}

    params["limit"] = limit

    params["cursor"] = cursor

    params["include_children"] = include_children

    params["working_directory"] = working_directory

    json_parent: str | Unset = UNSET
    if not isinstance(parent, Unset):
        json_parent = str(parent)
    params["parent"] = json_parent

    params["profile"] = profile

    params["project"] = project

    params["pinned"] = pinned

    json_updated_since: str | Unset = UNSET
    if not isinstance(updated_since, Unset):
        json_updated_since = updated_since.isoformat()
    params["updated_since"] = json_updated_since

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/v1/sessions",
        "params": params,
    }

    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> ListSessionsResponse | ProblemDetail | None:
    if response.status_code == 200:
        response_200 = ListSessionsResponse.from_dict(response.json())

        return response_200

    if response.status_code == 400:
        response_400 = ProblemDetail.from_dict(response.json())

        return response_400

    if response.status_code == 401:
        response_401 = ProblemDetail.from_dict(response.json())

        return response_401

    if response.status_code == 403:
        response_403 = ProblemDetail.from_dict(response.json())

        return response_403

    if response.status_code == 422:
        response_422 = ProblemDetail.from_dict(response.json())

        return response_422

    if response.status_code == 500:
        response_500 = ProblemDetail.from_dict(response.json())

        return response_500

    if response.status_code == 503:
        response_503 = ProblemDetail.from_dict(response.json())

        return response_503

    if client.raise_on_unexpected_status:
        raise errors.UnexpectedStatus(response.status_code, response.content)
    else:
        return None


def _build_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Response[ListSessionsResponse | ProblemDetail]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    *,
    client: AuthenticatedClient | Client,
    limit: int | Unset = 50,
    cursor: str | Unset = UNSET,
    include_children: bool | Unset = False,
    working_directory: str | Unset = UNSET,
    parent: UUID | Unset = UNSET,
    profile: str | Unset = UNSET,
    project: str | Unset = UNSET,
    pinned: bool | Unset = UNSET,
    updated_since: datetime.datetime | Unset = UNSET,
) -> Response[ListSessionsResponse | ProblemDetail]:
    """List sessions, a page at a time

     Pinned sessions come first, the newest pin on top; the others follow, the most recently updated
    first. The filters compose.

    Args:
        limit (int | Unset):  Default: 50.
        cursor (str | Unset):
        include_children (bool | Unset):  Default: False.
        working_directory (str | Unset):
        parent (UUID | Unset):
        profile (str | Unset):
        project (str | Unset):
        pinned (bool | Unset):
        updated_since (datetime.datetime | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[ListSessionsResponse | ProblemDetail]
    """

    kwargs = _get_kwargs(
        limit=limit,
        cursor=cursor,
        include_children=include_children,
        working_directory=working_directory,
        parent=parent,
        profile=profile,
        project=project,
        pinned=pinned,
        updated_since=updated_since,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    *,
    client: AuthenticatedClient | Client,
    limit: int | Unset = 50,
    cursor: str | Unset = UNSET,
    include_children: bool | Unset = False,
    working_directory: str | Unset = UNSET,
    parent: UUID | Unset = UNSET,
    profile: str | Unset = UNSET,
    project: str | Unset = UNSET,
    pinned: bool | Unset = UNSET,
    updated_since: datetime.datetime | Unset = UNSET,
) -> ListSessionsResponse | ProblemDetail | None:
    """List sessions, a page at a time

     Pinned sessions come first, the newest pin on top; the others follow, the most recently updated
    first. The filters compose.

    Args:
        limit (int | Unset):  Default: 50.
        cursor (str | Unset):
        include_children (bool | Unset):  Default: False.
        working_directory (str | Unset):
        parent (UUID | Unset):
        profile (str | Unset):
        project (str | Unset):
        pinned (bool | Unset):
        updated_since (datetime.datetime | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        ListSessionsResponse | ProblemDetail
    """

    return sync_detailed(
        client=client,
        limit=limit,
        cursor=cursor,
        include_children=include_children,
        working_directory=working_directory,
        parent=parent,
        profile=profile,
        project=project,
        pinned=pinned,
        updated_since=updated_since,
    ).parsed


async def asyncio_detailed(
    *,
    client: AuthenticatedClient | Client,
    limit: int | Unset = 50,
    cursor: str | Unset = UNSET,
    include_children: bool | Unset = False,
    working_directory: str | Unset = UNSET,
    parent: UUID | Unset = UNSET,
    profile: str | Unset = UNSET,
    project: str | Unset = UNSET,
    pinned: bool | Unset = UNSET,
    updated_since: datetime.datetime | Unset = UNSET,
) -> Response[ListSessionsResponse | ProblemDetail]:
    """List sessions, a page at a time

     Pinned sessions come first, the newest pin on top; the others follow, the most recently updated
    first. The filters compose.

    Args:
        limit (int | Unset):  Default: 50.
        cursor (str | Unset):
        include_children (bool | Unset):  Default: False.
        working_directory (str | Unset):
        parent (UUID | Unset):
        profile (str | Unset):
        project (str | Unset):
        pinned (bool | Unset):
        updated_since (datetime.datetime | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[ListSessionsResponse | ProblemDetail]
    """

    kwargs = _get_kwargs(
        limit=limit,
        cursor=cursor,
        include_children=include_children,
        working_directory=working_directory,
        parent=parent,
        profile=profile,
        project=project,
        pinned=pinned,
        updated_since=updated_since,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    *,
    client: AuthenticatedClient | Client,
    limit: int | Unset = 50,
    cursor: str | Unset = UNSET,
    include_children: bool | Unset = False,
    working_directory: str | Unset = UNSET,
    parent: UUID | Unset = UNSET,
    profile: str | Unset = UNSET,
    project: str | Unset = UNSET,
    pinned: bool | Unset = UNSET,
    updated_since: datetime.datetime | Unset = UNSET,
) -> ListSessionsResponse | ProblemDetail | None:
    """List sessions, a page at a time

     Pinned sessions come first, the newest pin on top; the others follow, the most recently updated
    first. The filters compose.

    Args:
        limit (int | Unset):  Default: 50.
        cursor (str | Unset):
        include_children (bool | Unset):  Default: False.
        working_directory (str | Unset):
        parent (UUID | Unset):
        profile (str | Unset):
        project (str | Unset):
        pinned (bool | Unset):
        updated_since (datetime.datetime | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        ListSessionsResponse | ProblemDetail
    """

    return (
        await asyncio_detailed(
            client=client,
            limit=limit,
            cursor=cursor,
            include_children=include_children,
            working_directory=working_directory,
            parent=parent,
            profile=profile,
            project=project,
            pinned=pinned,
            updated_since=updated_since,
        )
    ).parsed
