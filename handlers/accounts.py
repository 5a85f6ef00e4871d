"""Accounts."""

from typing import Any, TypeAlias
from urllib.parse import quote

from meka.schema.types import (
    AccountLoginRequest,
    CompleteLoginRequest,
    CreateAccountRequest,
    PatchAccountRequest,
)
from meka.service.services import Services

Created: TypeAlias = tuple[dict[str, Any], int, dict[str, str]]


def list_accounts(services: Services) -> dict[str, Any]:
    return services.accounts.list()


def create_account(services: Services, body: CreateAccountRequest) -> Created:
    view = services.accounts.add(body)
    return view, 201, {"Location": f"/v1/accounts/{quote(view['name'], safe='')}"}


def get_account(services: Services, name: str) -> dict[str, Any]:
    return services.accounts.view(name)


def patch_account(services: Services, name: str, body: PatchAccountRequest) -> dict[str, Any]:
    return services.accounts.rename(name, body["name"])


def delete_account(services: Services, name: str) -> None:
    services.accounts.remove(name)


def login_account(
    services: Services, name: str, body: AccountLoginRequest | None = None
) -> tuple[dict[str, Any], int]:
    if not body:
        begun = services.accounts.begin_login(name)
        if begun is not None:
            return begun, 202
    return services.accounts.log_in(name, body["api_key"] if body else None), 200


def get_account_login(services: Services, name: str, login_id: str) -> dict[str, Any]:
    return services.accounts.login_status(name, login_id)


def complete_account_login(
    services: Services, name: str, login_id: str, body: CompleteLoginRequest
) -> dict[str, Any]:
    return services.accounts.complete_login(name, login_id, body["code"])
