from http import HTTPStatus
from typing import Any
from urllib.parse import quote
from uuid import UUID

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.compact_request_body import CompactRequestBody
from ...models.compact_response import CompactResponse
from ...models.problem_detail import ProblemDetail
from ...types import UNSET, Response, Unset


def _get_kwargs(
    id: UUID,
    *,
    body: CompactRequestBody | Unset = UNSET,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/v1/sessions/{id}/compact".format(
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
) -> CompactResponse | ProblemDetail | None:
    if response.status_code == 200:
        response_200 = CompactResponse.from_dict(response.json())

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

    if response.status_code == 404:
        response_404 = ProblemDetail.from_dict(response.json())

        return response_404

    if response.status_code == 409:
        response_409 = ProblemDetail.from_dict(response.json())

        return response_409

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

    if response.status_code == 502:
        response_502 = ProblemDetail.from_dict(response.json())

        return response_502

    if response.status_code == 503:
        response_503 = ProblemDetail.from_dict(response.json())

        return response_503

    if client.raise_on_unexpected_status:
        raise errors.UnexpectedStatus(response.status_code, response.content)
    else:
        return None


def _build_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Response[CompactResponse | ProblemDetail]:
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
    body: CompactRequestBody | Unset = UNSET,
) -> Response[CompactResponse | ProblemDetail]:
    """Summarize the conversation now

     A summary takes the place of the conversation, and the most recent messages may stay behind it. It
    holds the session as a turn does, and runs on when the client leaves; `/cancel` stops it and leaves
    the conversation as it was. Its events carry a `turn_id` of their own, of which no record is kept.

    Args:
        id (UUID):
        body (CompactRequestBody | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[CompactResponse | ProblemDetail]
    """

    kwargs = _get_kwargs(
        id=id,
        body=body,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    id: UUID,
    *,
    client: AuthenticatedClient | Client,
    body: CompactRequestBody | Unset = UNSET,
) -> CompactResponse | ProblemDetail | None:
    """Summarize the conversation now

     A summary takes the place of the conversation, and the most recent messages may stay behind it. It
    holds the session as a turn does, and runs on when the client leaves; `/cancel` stops it and leaves
    the conversation as it was. Its events carry a `turn_id` of their own, of which no record is kept.

    Args:
        id (UUID):
        body (CompactRequestBody | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        CompactResponse | ProblemDetail
    """

    return sync_detailed(
        id=id,
        client=client,
        body=body,
    ).parsed


async def asyncio_detailed(
    id: UUID,
    *,
    client: AuthenticatedClient | Client,
    body: CompactRequestBody | Unset = UNSET,
) -> Response[CompactResponse | ProblemDetail]:
    """Summarize the conversation now

     A summary takes the place of the conversation, and the most recent messages may stay behind it. It
    holds the session as a turn does, and runs on when the client leaves; `/cancel` stops it and leaves
    the conversation as it was. Its events carry a `turn_id` of their own, of which no record is kept.

    Args:
        id (UUID):
        body (CompactRequestBody | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[CompactResponse | ProblemDetail]
    """

    kwargs = _get_kwargs(
        id=id,
        body=body,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    id: UUID,
    *,
    client: AuthenticatedClient | Client,
    body: CompactRequestBody | Unset = UNSET,
) -> CompactResponse | ProblemDetail | None:
    """Summarize the conversation now

     A summary takes the place of the conversation, and the most recent messages may stay behind it. It
    holds the session as a turn does, and runs on when the client leaves; `/cancel` stops it and leaves
    the conversation as it was. Its events carry a `turn_id` of their own, of which no record is kept.

    Args:
        id (UUID):
        body (CompactRequestBody | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        CompactResponse | ProblemDetail
    """

    return (
        await asyncio_detailed(
            id=id,
            client=client,
            body=body,
        )
    ).parsed
