from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.login_status_response import LoginStatusResponse
from ...models.problem_detail import ProblemDetail
from ...types import Response


def _get_kwargs(
    name: str,
    login_id: str,
) -> dict[str, Any]:

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/v1/accounts/{name}/login/{login_id}".format(
            name=quote(str(name), safe=""),
            login_id=quote(str(login_id), safe=""),
        ),
    }

    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> LoginStatusResponse | ProblemDetail | None:
    if response.status_code == 200:
        response_200 = LoginStatusResponse.from_dict(response.json())

        return response_200

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

    if client.raise_on_unexpected_status:
        raise errors.UnexpectedStatus(response.status_code, response.content)
    else:
        return None


def _build_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Response[LoginStatusResponse | ProblemDetail]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    name: str,
    login_id: str,
    *,
    client: AuthenticatedClient | Client,
) -> Response[LoginStatusResponse | ProblemDetail]:
    """Say where a login stands

     Pending, completed, or failed and why.

    Args:
        name (str):
        login_id (str):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[LoginStatusResponse | ProblemDetail]
    """

    kwargs = _get_kwargs(
        name=name,
        login_id=login_id,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    name: str,
    login_id: str,
    *,
    client: AuthenticatedClient | Client,
) -> LoginStatusResponse | ProblemDetail | None:
    """Say where a login stands

     Pending, completed, or failed and why.

    Args:
        name (str):
        login_id (str):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        LoginStatusResponse | ProblemDetail
    """

    return sync_detailed(
        name=name,
        login_id=login_id,
        client=client,
    ).parsed


async def asyncio_detailed(
    name: str,
    login_id: str,
    *,
    client: AuthenticatedClient | Client,
) -> Response[LoginStatusResponse | ProblemDetail]:
    """Say where a login stands

     Pending, completed, or failed and why.

    Args:
        name (str):
        login_id (str):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[LoginStatusResponse | ProblemDetail]
    """

    kwargs = _get_kwargs(
        name=name,
        login_id=login_id,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    name: str,
    login_id: str,
    *,
    client: AuthenticatedClient | Client,
) -> LoginStatusResponse | ProblemDetail | None:
    """Say where a login stands

     Pending, completed, or failed and why.

    Args:
        name (str):
        login_id (str):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        LoginStatusResponse | ProblemDetail
    """

    return (
        await asyncio_detailed(
            name=name,
            login_id=login_id,
            client=client,
        )
    ).parsed
