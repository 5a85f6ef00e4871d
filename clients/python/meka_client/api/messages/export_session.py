from http import HTTPStatus
from typing import Any
from urllib.parse import quote
from uuid import UUID

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.export_session_format import ExportSessionFormat
from ...models.problem_detail import ProblemDetail
from ...types import UNSET, Response, Unset


def _get_kwargs(
    id: UUID,
    *,
    format_: ExportSessionFormat | Unset = ExportSessionFormat.MARKDOWN,
) -> dict[str, Any]:

    params: dict[str, Any] = {}

    json_format_: str | Unset = UNSET
    if not isinstance(format_, Unset):
        json_format_ = format_.value

    params["format"] = json_format_

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/v1/sessions/{id}/export".format(
            id=quote(str(id), safe=""),
        ),
        "params": params,
    }

    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> ProblemDetail | str | None:
    if response.status_code == 200:
        response_200 = response.text
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
) -> Response[ProblemDetail | str]:
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
    format_: ExportSessionFormat | Unset = ExportSessionFormat.MARKDOWN,
) -> Response[ProblemDetail | str]:
    """Read the whole conversation as a document

     As Markdown for people, or as the archive that `POST /v1/sessions/import` takes, which holds the
    sub-agents' sessions too. Both begin at the first turn, whatever was compacted since. Works on any
    session of the store.

    Args:
        id (UUID):
        format_ (ExportSessionFormat | Unset):  Default: ExportSessionFormat.MARKDOWN.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[ProblemDetail | str]
    """

    kwargs = _get_kwargs(
        id=id,
        format_=format_,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    id: UUID,
    *,
    client: AuthenticatedClient | Client,
    format_: ExportSessionFormat | Unset = ExportSessionFormat.MARKDOWN,
) -> ProblemDetail | str | None:
    """Read the whole conversation as a document

     As Markdown for people, or as the archive that `POST /v1/sessions/import` takes, which holds the
    sub-agents' sessions too. Both begin at the first turn, whatever was compacted since. Works on any
    session of the store.

    Args:
        id (UUID):
        format_ (ExportSessionFormat | Unset):  Default: ExportSessionFormat.MARKDOWN.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        ProblemDetail | str
    """

    return sync_detailed(
        id=id,
        client=client,
        format_=format_,
    ).parsed


async def asyncio_detailed(
    id: UUID,
    *,
    client: AuthenticatedClient | Client,
    format_: ExportSessionFormat | Unset = ExportSessionFormat.MARKDOWN,
) -> Response[ProblemDetail | str]:
    """Read the whole conversation as a document

     As Markdown for people, or as the archive that `POST /v1/sessions/import` takes, which holds the
    sub-agents' sessions too. Both begin at the first turn, whatever was compacted since. Works on any
    session of the store.

    Args:
        id (UUID):
        format_ (ExportSessionFormat | Unset):  Default: ExportSessionFormat.MARKDOWN.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[ProblemDetail | str]
    """

    kwargs = _get_kwargs(
        id=id,
        format_=format_,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    id: UUID,
    *,
    client: AuthenticatedClient | Client,
    format_: ExportSessionFormat | Unset = ExportSessionFormat.MARKDOWN,
) -> ProblemDetail | str | None:
    """Read the whole conversation as a document

     As Markdown for people, or as the archive that `POST /v1/sessions/import` takes, which holds the
    sub-agents' sessions too. Both begin at the first turn, whatever was compacted since. Works on any
    session of the store.

    Args:
        id (UUID):
        format_ (ExportSessionFormat | Unset):  Default: ExportSessionFormat.MARKDOWN.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        ProblemDetail | str
    """

    return (
        await asyncio_detailed(
            id=id,
            client=client,
            format_=format_,
        )
    ).parsed
