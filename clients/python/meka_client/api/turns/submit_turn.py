from http import HTTPStatus
from typing import Any
from urllib.parse import quote
from uuid import UUID

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.problem_detail import ProblemDetail
from ...models.turn_record import TurnRecord
from ...models.turn_request import TurnRequest
from ...models.turn_response import TurnResponse
from ...types import UNSET, Response, Unset


def _get_kwargs(
    id: UUID,
    *,
    body: TurnRequest,
    idempotency_key: str | Unset = UNSET,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}
    if not isinstance(idempotency_key, Unset):
        headers["Idempotency-Key"] = idempotency_key

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/v1/sessions/{id}/turn".format(
            id=quote(str(id), safe=""),
        ),
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> ProblemDetail | TurnRecord | TurnResponse | None:
    if response.status_code == 200:
        response_200 = TurnResponse.from_dict(response.json())

        return response_200

    if response.status_code == 202:
        response_202 = TurnRecord.from_dict(response.json())

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

    if response.status_code == 429:
        response_429 = ProblemDetail.from_dict(response.json())

        return response_429

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
) -> Response[ProblemDetail | TurnRecord | TurnResponse]:
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
    body: TurnRequest,
    idempotency_key: str | Unset = UNSET,
) -> Response[ProblemDetail | TurnRecord | TurnResponse]:
    """Run a turn

     `stream` picks the encoding of the answer, JSON or server-sent events; `detach` says whether the
    request holds the turn or only triggers it. One turn runs in a session at a time. An `Idempotency-
    Key` answers a repeated request with the first one's answer; a stream that holds its turn ignores
    it.

    Args:
        id (UUID):
        idempotency_key (str | Unset):
        body (TurnRequest): A message and how to run it; a text, an image or a skill must be
            there.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[ProblemDetail | TurnRecord | TurnResponse]
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
    body: TurnRequest,
    idempotency_key: str | Unset = UNSET,
) -> ProblemDetail | TurnRecord | TurnResponse | None:
    """Run a turn

     `stream` picks the encoding of the answer, JSON or server-sent events; `detach` says whether the
    request holds the turn or only triggers it. One turn runs in a session at a time. An `Idempotency-
    Key` answers a repeated request with the first one's answer; a stream that holds its turn ignores
    it.

    Args:
        id (UUID):
        idempotency_key (str | Unset):
        body (TurnRequest): A message and how to run it; a text, an image or a skill must be
            there.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        ProblemDetail | TurnRecord | TurnResponse
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
    body: TurnRequest,
    idempotency_key: str | Unset = UNSET,
) -> Response[ProblemDetail | TurnRecord | TurnResponse]:
    """Run a turn

     `stream` picks the encoding of the answer, JSON or server-sent events; `detach` says whether the
    request holds the turn or only triggers it. One turn runs in a session at a time. An `Idempotency-
    Key` answers a repeated request with the first one's answer; a stream that holds its turn ignores
    it.

    Args:
        id (UUID):
        idempotency_key (str | Unset):
        body (TurnRequest): A message and how to run it; a text, an image or a skill must be
            there.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[ProblemDetail | TurnRecord | TurnResponse]
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
    body: TurnRequest,
    idempotency_key: str | Unset = UNSET,
) -> ProblemDetail | TurnRecord | TurnResponse | None:
    """Run a turn

     `stream` picks the encoding of the answer, JSON or server-sent events; `detach` says whether the
    request holds the turn or only triggers it. One turn runs in a session at a time. An `Idempotency-
    Key` answers a repeated request with the first one's answer; a stream that holds its turn ignores
    it.

    Args:
        id (UUID):
        idempotency_key (str | Unset):
        body (TurnRequest): A message and how to run it; a text, an image or a skill must be
            there.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        ProblemDetail | TurnRecord | TurnResponse
    """

    return (
        await asyncio_detailed(
            id=id,
            client=client,
            body=body,
            idempotency_key=idempotency_key,
        )
    ).parsed
