from http import HTTPStatus
from typing import Any

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.problem_detail import ProblemDetail
from ...models.search_sessions_response import SearchSessionsResponse
from ...types import UNSET, Response, Unset


def _get_kwargs(
    *,
    q: str,
    limit: int | Unset = 20,
    include_children: bool | Unset = False,
) -> dict[str, Any]:

    params: dict[str, Any] = {}

    params["q"] = q

    params["limit"] = limit

    params["include_children"] = include_children

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/v1/sessions/search",
        "params": params,
    }

    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> ProblemDetail | SearchSessionsResponse | None:
    if response.status_code == 200:
        response_200 = SearchSessionsResponse.from_dict(response.json())

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
) -> Response[ProblemDetail | SearchSessionsResponse]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    *,
    client: AuthenticatedClient | Client,
    q: str,
    limit: int | Unset = 20,
    include_children: bool | Unset = False,
) -> Response[ProblemDetail | SearchSessionsResponse]:
    """Find sessions by the words of their conversations

     Searched is what was said: users' messages, replies and the summaries of compactions. A session
    whose title holds every word comes first, the others follow by their best message. Words match by
    their stem, diacritics do not count, and scripts without spaces match by character. Where no session
    holds all words, they are tried as beginnings of words, then any of them, then any as a beginning.

    Args:
        q (str):
        limit (int | Unset):  Default: 20.
        include_children (bool | Unset):  Default: False.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[ProblemDetail | SearchSessionsResponse]
    """

    kwargs = _get_kwargs(
        q=q,
        limit=limit,
        include_children=include_children,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    *,
    client: AuthenticatedClient | Client,
    q: str,
    limit: int | Unset = 20,
    include_children: bool | Unset = False,
) -> ProblemDetail | SearchSessionsResponse | None:
    """Find sessions by the words of their conversations

     Searched is what was said: users' messages, replies and the summaries of compactions. A session
    whose title holds every word comes first, the others follow by their best message. Words match by
    their stem, diacritics do not count, and scripts without spaces match by character. Where no session
    holds all words, they are tried as beginnings of words, then any of them, then any as a beginning.

    Args:
        q (str):
        limit (int | Unset):  Default: 20.
        include_children (bool | Unset):  Default: False.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        ProblemDetail | SearchSessionsResponse
    """

    return sync_detailed(
        client=client,
        q=q,
        limit=limit,
        include_children=include_children,
    ).parsed


async def asyncio_detailed(
    *,
    client: AuthenticatedClient | Client,
    q: str,
    limit: int | Unset = 20,
    include_children: bool | Unset = False,
) -> Response[ProblemDetail | SearchSessionsResponse]:
    """Find sessions by the words of their conversations

     Searched is what was said: users' messages, replies and the summaries of compactions. A session
    whose title holds every word comes first, the others follow by their best message. Words match by
    their stem, diacritics do not count, and scripts without spaces match by character. Where no session
    holds all words, they are tried as beginnings of words, then any of them, then any as a beginning.

    Args:
        q (str):
        limit (int | Unset):  Default: 20.
        include_children (bool | Unset):  Default: False.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[ProblemDetail | SearchSessionsResponse]
    """

    kwargs = _get_kwargs(
        q=q,
        limit=limit,
        include_children=include_children,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    *,
    client: AuthenticatedClient | Client,
    q: str,
    limit: int | Unset = 20,
    include_children: bool | Unset = False,
) -> ProblemDetail | SearchSessionsResponse | None:
    """Find sessions by the words of their conversations

     Searched is what was said: users' messages, replies and the summaries of compactions. A session
    whose title holds every word comes first, the others follow by their best message. Words match by
    their stem, diacritics do not count, and scripts without spaces match by character. Where no session
    holds all words, they are tried as beginnings of words, then any of them, then any as a beginning.

    Args:
        q (str):
        limit (int | Unset):  Default: 20.
        include_children (bool | Unset):  Default: False.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        ProblemDetail | SearchSessionsResponse
    """

    return (
        await asyncio_detailed(
            client=client,
            q=q,
            limit=limit,
            include_children=include_children,
        )
    ).parsed
