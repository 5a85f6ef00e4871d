from http import HTTPStatus
from io import BytesIO
from typing import Any
from urllib.parse import quote
from uuid import UUID

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.problem_detail import ProblemDetail
from ...types import File, Response


def _get_kwargs(
    id: UUID,
    hash_: str,
) -> dict[str, Any]:

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/v1/sessions/{id}/blobs/{hash_}".format(
            id=quote(str(id), safe=""),
            hash_=quote(str(hash_), safe=""),
        ),
    }

    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> File | ProblemDetail | None:
    if response.status_code == 200:
        response_200 = File(payload=BytesIO(response.content))

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
) -> Response[File | ProblemDetail]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    id: UUID,
    hash_: str,
    *,
    client: AuthenticatedClient | Client,
) -> Response[File | ProblemDetail]:
    """Fetch an image of the conversation

     Answers with the bytes under the image's own media type (PNG, JPEG, GIF or WebP). Only an image that
    this session holds is served, in whatever part of its history. The answer never changes and may be
    kept.

    Args:
        id (UUID):
        hash_ (str):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[File | ProblemDetail]
    """

    kwargs = _get_kwargs(
        id=id,
        hash_=hash_,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    id: UUID,
    hash_: str,
    *,
    client: AuthenticatedClient | Client,
) -> File | ProblemDetail | None:
    """Fetch an image of the conversation

     Answers with the bytes under the image's own media type (PNG, JPEG, GIF or WebP). Only an image that
    this session holds is served, in whatever part of its history. The answer never changes and may be
    kept.

    Args:
        id (UUID):
        hash_ (str):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        File | ProblemDetail
    """

    return sync_detailed(
        id=id,
        hash_=hash_,
        client=client,
    ).parsed


async def asyncio_detailed(
    id: UUID,
    hash_: str,
    *,
    client: AuthenticatedClient | Client,
) -> Response[File | ProblemDetail]:
    """Fetch an image of the conversation

     Answers with the bytes under the image's own media type (PNG, JPEG, GIF or WebP). Only an image that
    this session holds is served, in whatever part of its history. The answer never changes and may be
    kept.

    Args:
        id (UUID):
        hash_ (str):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[File | ProblemDetail]
    """

    kwargs = _get_kwargs(
        id=id,
        hash_=hash_,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    id: UUID,
    hash_: str,
    *,
    client: AuthenticatedClient | Client,
) -> File | ProblemDetail | None:
    """Fetch an image of the conversation

     Answers with the bytes under the image's own media type (PNG, JPEG, GIF or WebP). Only an image that
    this session holds is served, in whatever part of its history. The answer never changes and may be
    kept.

    Args:
        id (UUID):
        hash_ (str):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        File | ProblemDetail
    """

    return (
        await asyncio_detailed(
            id=id,
            hash_=hash_,
            client=client,
        )
    ).parsed
