from http import HTTPStatus
from typing import Any, cast
from urllib.parse import quote
from uuid import UUID

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.problem_detail import ProblemDetail
from ...models.response_body import ResponseBody
from ...types import Response


def _get_kwargs(
    id: UUID,
    request_id: str,
    *,
    body: ResponseBody,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/v1/sessions/{id}/responses/{request_id}".format(
            id=quote(str(id), safe=""),
            request_id=quote(str(request_id), safe=""),
        ),
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Any | ProblemDetail | None:
    if response.status_code == 204:
        response_204 = cast(Any, None)
        return response_204

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
) -> Response[Any | ProblemDetail]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    id: UUID,
    request_id: str,
    *,
    client: AuthenticatedClient | Client,
    body: ResponseBody,
) -> Response[Any | ProblemDetail]:
    """Answer a prompt

     Closes what a `permission_required` asks, or an MCP server's question, with an outcome of its kind.
    A sub-agent's prompt is answered on its parent's session.

    Args:
        id (UUID):
        request_id (str):
        body (ResponseBody):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Any | ProblemDetail]
    """

    kwargs = _get_kwargs(
        id=id,
        request_id=request_id,
        body=body,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    id: UUID,
    request_id: str,
    *,
    client: AuthenticatedClient | Client,
    body: ResponseBody,
) -> Any | ProblemDetail | None:
    """Answer a prompt

     Closes what a `permission_required` asks, or an MCP server's question, with an outcome of its kind.
    A sub-agent's prompt is answered on its parent's session.

    Args:
        id (UUID):
        request_id (str):
        body (ResponseBody):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Any | ProblemDetail
    """

    return sync_detailed(
        id=id,
        request_id=request_id,
        client=client,
        body=body,
    ).parsed


async def asyncio_detailed(
    id: UUID,
    request_id: str,
    *,
    client: AuthenticatedClient | Client,
    body: ResponseBody,
) -> Response[Any | ProblemDetail]:
    """Answer a prompt

     Closes what a `permission_required` asks, or an MCP server's question, with an outcome of its kind.
    A sub-agent's prompt is answered on its parent's session.

    Args:
        id (UUID):
        request_id (str):
        body (ResponseBody):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Any | ProblemDetail]
    """

    kwargs = _get_kwargs(
        id=id,
        request_id=request_id,
        body=body,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    id: UUID,
    request_id: str,
    *,
    client: AuthenticatedClient | Client,
    body: ResponseBody,
) -> Any | ProblemDetail | None:
    """Answer a prompt

     Closes what a `permission_required` asks, or an MCP server's question, with an outcome of its kind.
    A sub-agent's prompt is answered on its parent's session.

    Args:
        id (UUID):
        request_id (str):
        body (ResponseBody):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Any | ProblemDetail
    """

    return (
        await asyncio_detailed(
            id=id,
            request_id=request_id,
            client=client,
            body=body,
        )
    ).parsed
