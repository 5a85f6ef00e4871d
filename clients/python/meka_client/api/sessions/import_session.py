from http import HTTPStatus
from typing import Any

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.import_response import ImportResponse
from ...models.problem_detail import ProblemDetail
from ...models.session_archive import SessionArchive
from ...types import Response


def _get_kwargs(
    *,
    body: SessionArchive,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/v1/sessions/import",
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> ImportResponse | ProblemDetail | None:
    if response.status_code == 201:
        response_201 = ImportResponse.from_dict(response.json())

        return response_201

    if response.status_code == 401:
        response_401 = ProblemDetail.from_dict(response.json())

        return response_401

    if response.status_code == 403:
        response_403 = ProblemDetail.from_dict(response.json())

        return response_403

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
) -> Response[ImportResponse | ProblemDetail]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    *,
    client: AuthenticatedClient | Client,
    body: SessionArchive,
) -> Response[ImportResponse | ProblemDetail]:
    """Recreate a session tree from an archive

     Takes what `GET /v1/sessions/{id}/export?format=json` answers, and makes all of its sessions under
    fresh ids, or none. An archive of more than 1000 sessions is for `meka session import`.

    Args:
        body (SessionArchive): A session with all below it, as docs/archive.md describes; to
            clients it is opaque.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[ImportResponse | ProblemDetail]
    """

    kwargs = _get_kwargs(
        body=body,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    *,
    client: AuthenticatedClient | Client,
    body: SessionArchive,
) -> ImportResponse | ProblemDetail | None:
    """Recreate a session tree from an archive

     Takes what `GET /v1/sessions/{id}/export?format=json` answers, and makes all of its sessions under
    fresh ids, or none. An archive of more than 1000 sessions is for `meka session import`.

    Args:
        body (SessionArchive): A session with all below it, as docs/archive.md describes; to
            clients it is opaque.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        ImportResponse | ProblemDetail
    """

    return sync_detailed(
        client=client,
        body=body,
    ).parsed


async def asyncio_detailed(
    *,
    client: AuthenticatedClient | Client,
    body: SessionArchive,
) -> Response[ImportResponse | ProblemDetail]:
    """Recreate a session tree from an archive

     Takes what `GET /v1/sessions/{id}/export?format=json` answers, and makes all of its sessions under
    fresh ids, or none. An archive of more than 1000 sessions is for `meka session import`.

    Args:
        body (SessionArchive): A session with all below it, as docs/archive.md describes; to
            clients it is opaque.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[ImportResponse | ProblemDetail]
    """

    kwargs = _get_kwargs(
        body=body,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    *,
    client: AuthenticatedClient | Client,
    body: SessionArchive,
) -> ImportResponse | ProblemDetail | None:
    """Recreate a session tree from an archive

     Takes what `GET /v1/sessions/{id}/export?format=json` answers, and makes all of its sessions under
    fresh ids, or none. An archive of more than 1000 sessions is for `meka session import`.

    Args:
        body (SessionArchive): A session with all below it, as docs/archive.md describes; to
            clients it is opaque.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        ImportResponse | ProblemDetail
    """

    return (
        await asyncio_detailed(
            client=client,
            body=body,
        )
    ).parsed
