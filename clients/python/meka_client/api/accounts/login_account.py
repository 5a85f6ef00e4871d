from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.account_login_request import AccountLoginRequest
from ...models.account_view import AccountView
from ...models.login_begun_response import LoginBegunResponse
from ...models.problem_detail import ProblemDetail
from ...types import UNSET, Response, Unset


def _get_kwargs(
    name: str,
    *,
    body: AccountLoginRequest | Unset = UNSET,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/v1/accounts/{name}/login".format(
            name=quote(str(name), safe=""),
        ),
    }

    if not isinstance(body, Unset):
        _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> AccountView | LoginBegunResponse | ProblemDetail | None:
    if response.status_code == 200:
        response_200 = AccountView.from_dict(response.json())

        return response_200

    if response.status_code == 202:
        response_202 = LoginBegunResponse.from_dict(response.json())

        return response_202

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
) -> Response[AccountView | LoginBegunResponse | ProblemDetail]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    name: str,
    *,
    client: AuthenticatedClient | Client,
    body: AccountLoginRequest | Unset = UNSET,
) -> Response[AccountView | LoginBegunResponse | ProblemDetail]:
    """Store another API key, or begin a browser login

     With a key, it is stored in place of the one before. A subscription takes none: without a body the
    login begins, which lapses after ten minutes, and ends one that is pending.

    Args:
        name (str):
        body (AccountLoginRequest | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[AccountView | LoginBegunResponse | ProblemDetail]
    """

    kwargs = _get_kwargs(
        name=name,
        body=body,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    name: str,
    *,
    client: AuthenticatedClient | Client,
    body: AccountLoginRequest | Unset = UNSET,
) -> AccountView | LoginBegunResponse | ProblemDetail | None:
    """Store another API key, or begin a browser login

     With a key, it is stored in place of the one before. A subscription takes none: without a body the
    login begins, which lapses after ten minutes, and ends one that is pending.

    Args:
        name (str):
        body (AccountLoginRequest | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        AccountView | LoginBegunResponse | ProblemDetail
    """

    return sync_detailed(
        name=name,
        client=client,
        body=body,
    ).parsed


async def asyncio_detailed(
    name: str,
    *,
    client: AuthenticatedClient | Client,
    body: AccountLoginRequest | Unset = UNSET,
) -> Response[AccountView | LoginBegunResponse | ProblemDetail]:
    """Store another API key, or begin a browser login

     With a key, it is stored in place of the one before. A subscription takes none: without a body the
    login begins, which lapses after ten minutes, and ends one that is pending.

    Args:
        name (str):
        body (AccountLoginRequest | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[AccountView | LoginBegunResponse | ProblemDetail]
    """

    kwargs = _get_kwargs(
        name=name,
        body=body,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    name: str,
    *,
    client: AuthenticatedClient | Client,
    body: AccountLoginRequest | Unset = UNSET,
) -> AccountView | LoginBegunResponse | ProblemDetail | None:
    """Store another API key, or begin a browser login

     With a key, it is stored in place of the one before. A subscription takes none: without a body the
    login begins, which lapses after ten minutes, and ends one that is pending.

    Args:
        name (str):
        body (AccountLoginRequest | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        AccountView | LoginBegunResponse | ProblemDetail
    """

    return (
        await asyncio_detailed(
            name=name,
            client=client,
            body=body,
        )
    ).parsed
