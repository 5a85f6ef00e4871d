from http import HTTPStatus
from typing import Any
from urllib.parse import quote
from uuid import UUID

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.inbox_request import InboxRequest
from ...models.inbox_response import InboxResponse
from ...models.problem_detail import ProblemDetail
from ...types import UNSET, Response, Unset


def _get_kwargs(
    id: UUID,
    *,
    body: InboxRequest,
    idempotency_key: str | Unset = UNSET,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}
    if not isinstance(idempotency_key, Unset):
        headers["Idempotency-Key"] = idempotency_key

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/v1/sessions/{id}/inbox".format(
            id=quote(str(id), safe=""),
        ),
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> InboxResponse | ProblemDetail | None:
    if response.status_code == 202:
        response_202 = InboxResponse.from_dict(response.json())

        return response_202

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

    if response.status_code == 503:
        response_503 = ProblemDetail.from_dict(response.json())

        return response_503

    if client.raise_on_unexpected_status:
        raise errors.UnexpectedStatus(response.status_code, response.content)
    else:
        return None


def _build_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Response[InboxResponse | ProblemDetail]:
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
    body: InboxRequest,
    idempotency_key: str | Unset = UNSET,
) -> Response[InboxResponse | ProblemDetail]:
    """Hand over a message

     The message is stored before the answer, so that it outlives a restart, and a session that is not
    loaded is revived for it. `class` says whether it may reach a turn that runs already. An
    `Idempotency-Key` is bound to the item for the session's life; a repeated one is answered with what
    became of the item.

    Args:
        id (UUID):
        idempotency_key (str | Unset):
        body (InboxRequest):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[InboxResponse | ProblemDetail]
    """

    kwargs = _get_kwargs(
        id=id,
        body=body,
        idempotency_key=idempotency_key,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    id: UUID,
    *,
    client: AuthenticatedClient | Client,
    body: InboxRequest,
    idempotency_key: str | Unset = UNSET,
) -> InboxResponse | ProblemDetail | None:
    """Hand over a message

     The message is stored before the answer, so that it outlives a restart, and a session that is not
    loaded is revived for it. `class` says whether it may reach a turn that runs already. An
    `Idempotency-Key` is bound to the item for the session's life; a repeated one is answered with what
    became of the item.

    Args:
        id (UUID):
        idempotency_key (str | Unset):
        body (InboxRequest):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        InboxResponse | ProblemDetail
    """

    return sync_detailed(
        id=id,
        client=client,
        body=body,
        idempotency_key=idempotency_key,
    ).parsed


async def asyncio_detailed(
    id: UUID,
    *,
    client: AuthenticatedClient | Client,
    body: InboxRequest,
    idempotency_key: str | Unset = UNSET,
) -> Response[InboxResponse | ProblemDetail]:
    """Hand over a message

     The message is stored before the answer, so that it outlives a restart, and a session that is not
    loaded is revived for it. `class` says whether it may reach a turn that runs already. An
    `Idempotency-Key` is bound to the item for the session's life; a repeated one is answered with what
    became of the item.

    Args:
        id (UUID):
        idempotency_key (str | Unset):
        body (InboxRequest):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[InboxResponse | ProblemDetail]
    """

    kwargs = _get_kwargs(
        id=id,
        body=body,
        idempotency_key=idempotency_key,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    id: UUID,
    *,
    client: AuthenticatedClient | Client,
    body: InboxRequest,
    idempotency_key: str | Unset = UNSET,
) -> InboxResponse | ProblemDetail | None:
    """Hand over a message

     The message is stored before the answer, so that it outlives a restart, and a session that is not
    loaded is revived for it. `class` says whether it may reach a turn that runs already. An
    `Idempotency-Key` is bound to the item for the session's life; a repeated one is answered with what
    became of the item.

    Args:
        id (UUID):
        idempotency_key (str | Unset):
        body (InboxRequest):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        InboxResponse | ProblemDetail
    """

    return (
        await asyncio_detailed(
            id=id,
            client=client,
            body=body,
            idempotency_key=idempotency_key,
        )
    ).parsed
