from http import HTTPStatus
from typing import Any
from urllib.parse import quote
from uuid import UUID

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.fork_session_body import ForkSessionBody
from ...models.problem_detail import ProblemDetail
from ...models.session_response import SessionResponse
from ...types import UNSET, Response, Unset


def _get_kwargs(
    id: UUID,
    *,
    body: ForkSessionBody | Unset = UNSET,
    if_match: str | Unset = UNSET,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}
    if not isinstance(if_match, Unset):
        headers["If-Match"] = if_match

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/v1/sessions/{id}/fork".format(
            id=quote(str(id), safe=""),
        ),
    }

    if not isinstance(body, Unset):
        _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> ProblemDetail | SessionResponse | None:
    if response.status_code == 201:
        response_201 = SessionResponse.from_dict(response.json())

        return response_201

    if response.status_code == 400:
        response_400 = ProblemDetail.from_dict(response.json())

        return response_400

    if response.status_code == 401:
        response_401 = ProblemDetail.from_dict(response.json())

        return response_401

    if response.status_code == 403:
        response_403 = ProblemDetail.from_dict(response.json())

        return response_403

    if response.status_code == 404:
        response_404 = ProblemDetail.from_dict(response.json())

        return response_404

    if response.status_code == 409:
        response_409 = ProblemDetail.from_dict(response.json())

        return response_409

    if response.status_code == 412:
        response_412 = ProblemDetail.from_dict(response.json())

        return response_412

    if response.status_code == 413:
        response_413 = ProblemDetail.from_dict(response.json())

        return response_413

    if response.status_code == 415:
        response_415 = ProblemDetail.from_dict(response.json())

        return response_415

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
) -> Response[ProblemDetail | SessionResponse]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    id: UUID,
    *,
    client: AuthenticatedClient | Client,
    body: ForkSessionBody | Unset = UNSET,
    if_match: str | Unset = UNSET,
) -> Response[ProblemDetail | SessionResponse]:
    """Copy a session into a new one

     The copy holds the whole conversation, its turns, images and scratchpad, and runs as its source
    does. Pin, inbox, tasks and sub-agents stay behind. The source is left as it is, and is not loaded
    for it.

    Args:
        id (UUID):
        if_match (str | Unset):
        body (ForkSessionBody | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[ProblemDetail | SessionResponse]
    """

    kwargs = _get_kwargs(
        id=id,
        body=body,
        if_match=if_match,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    id: UUID,
    *,
    client: AuthenticatedClient | Client,
    body: ForkSessionBody | Unset = UNSET,
    if_match: str | Unset = UNSET,
) -> ProblemDetail | SessionResponse | None:
    """Copy a session into a new one

     The copy holds the whole conversation, its turns, images and scratchpad, and runs as its source
    does. Pin, inbox, tasks and sub-agents stay behind. The source is left as it is, and is not loaded
    for it.

    Args:
        id (UUID):
        if_match (str | Unset):
        body (ForkSessionBody | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        ProblemDetail | SessionResponse
    """

    return sync_detailed(
        id=id,
        client=client,
        body=body,
        if_match=if_match,
    ).parsed


async def asyncio_detailed(
    id: UUID,
    *,
    client: AuthenticatedClient | Client,
    body: ForkSessionBody | Unset = UNSET,
    if_match: str | Unset = UNSET,
) -> Response[ProblemDetail | SessionResponse]:
    """Copy a session into a new one

     The copy holds the whole conversation, its turns, images and scratchpad, and runs as its source
    does. Pin, inbox, tasks and sub-agents stay behind. The source is left as it is, and is not loaded
    for it.

    Args:
        id (UUID):
        if_match (str | Unset):
        body (ForkSessionBody | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[ProblemDetail | SessionResponse]
    """

    kwargs = _get_kwargs(
        id=id,
        body=body,
        if_match=if_match,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    id: UUID,
    *,
    client: AuthenticatedClient | Client,
    body: ForkSessionBody | Unset = UNSET,
    if_match: str | Unset = UNSET,
) -> ProblemDetail | SessionResponse | None:
    """Copy a session into a new one

     The copy holds the whole conversation, its turns, images and scratchpad, and runs as its source
    does. Pin, inbox, tasks and sub-agents stay behind. The source is left as it is, and is not loaded
    for it.

    Args:
        id (UUID):
        if_match (str | Unset):
        body (ForkSessionBody | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        ProblemDetail | SessionResponse
    """

    return (
        await asyncio_detailed(
            id=id,
            client=client,
            body=body,
            if_match=if_match,
        )
    ).parsed
