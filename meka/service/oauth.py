"""OAuth as accounts use it: the authorization code grant with PKCE (RFC 7636), and its refresh."""

import base64
import hashlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlencode, urljoin, urlsplit

import requests

from meka.base.errors import ConfigurationError
from meka.config.backends import FACTS, Backend
from meka.config.model import Account

LOG = logging.getLogger(__name__)

LOOPBACK_PORT = 1455
CALLBACK_URL = f"http://localhost:{LOOPBACK_PORT}/auth/callback"
ASSUMED_LIFE = timedelta(hours=1)
_TIMEOUT_SECONDS = (10.0, 30.0)
_AUTHORIZE: Mapping[str, str] = {
    Backend.CLAUDE_SUBSCRIPTION: "https://claude.ai/oauth/authorize",
    Backend.CHATGPT_SUBSCRIPTION: "https://auth.openai.com/oauth/authorize",
}
_SCOPES: Mapping[str, str] = {
    Backend.CLAUDE_SUBSCRIPTION: "user:inference",
    Backend.CHATGPT_SUBSCRIPTION: "openid profile email offline_access",
}


class TokenEndpointError(Exception):
    """The endpoint gave no token. `refused`: it answered that the grant is no good; else it may pass."""

    def __init__(self, reason: str, *, refused: bool) -> None:
        super().__init__(reason)
        self.refused = refused


@dataclass(frozen=True, slots=True)
class Client:
    """An account's side of the protocol, as its settings state it."""

    client_id: str
    authorize_url: str
    token_url: str
    redirect_uri: str
    scope: str
    completes_with: str


@dataclass(frozen=True, slots=True)
class Pasted:
    """What a person brought back from the page."""

    code: str = field(repr=False)
    state: str | None = field(repr=False)


def client_of(name: str, account: Account) -> Client:
    """Raises: ConfigurationError when the account cannot be logged in."""
    backend = Backend(account.backend)
    if not (account.client_id or "").strip():
        raise ConfigurationError(
            f"account '{name}' states no client_id, and meka brings no OAuth client of its own; remove the "
            "account and add it again with --client-id"
        )
    token_url = account.oauth_token_url or FACTS[backend].oauth_token_url
    authorize = urljoin(token_url, "authorize") if account.oauth_token_url else _AUTHORIZE[backend]
    by_code = backend is Backend.CLAUDE_SUBSCRIPTION
    return Client(
        client_id=account.client_id or "",
        authorize_url=authorize,
        token_url=token_url,
        redirect_uri=urljoin(token_url, "/oauth/code/callback") if by_code else CALLBACK_URL,
        scope=_SCOPES[backend],
        completes_with="code" if by_code else "callback_url",
    )


def authorization_url(client: Client, state: str, verifier: str) -> str:
    """The page that the person opens."""
    digest = hashlib.sha256(verifier.encode()).digest()
    query = {
        "response_type": "code",
        "client_id": client.client_id,
        "redirect_uri": client.redirect_uri,
        "scope": client.scope,
        "state": state,
        "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
        "code_challenge_method": "S256",
    }
    return f"{client.authorize_url}?{urlencode(query)}"


def read_paste(text: str) -> Pasted | None:
    """The code in what was pasted (the code, `code#state`, or the callback's URL); None without one."""
    text = text.strip()
    if "://" in text:
        query = parse_qs(urlsplit(text).query)
        code, state = query.get("code", [""])[0], query.get("state", [""])[0]
        return Pasted(code, state) if code else None
    code, mark, state = text.partition("#")
    return Pasted(code, state if mark else None) if code and not any(map(str.isspace, code)) else None


def exchange(client: Client, code: str, verifier: str, now: datetime) -> dict[str, Any]:
    """The bundle for a code. Raises: TokenEndpointError."""
    grant = {"grant_type": "authorization_code", "code": code, "redirect_uri": client.redirect_uri}
    return _bundle(_post(client, grant | {"code_verifier": verifier}), {}, now)


def refresh(client: Client, bundle: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    """A bundle in place of `bundle`. Raises: TokenEndpointError."""
    token = bundle.get("refresh_token")
    if not token:
        raise TokenEndpointError("there is no refresh token", refused=True)
    return _bundle(_post(client, {"grant_type": "refresh_token", "refresh_token": token}), bundle, now)


def _post(client: Client, grant: Mapping[str, str]) -> Mapping[str, Any]:
    form = {**grant, "client_id": client.client_id}
    try:
        with requests.Session() as session:
            session.trust_env = False
            answer = session.post(
                client.token_url, data=form, timeout=_TIMEOUT_SECONDS, allow_redirects=False
            )
            found = answer.json() if answer.ok else None
    except (requests.RequestException, ValueError) as error:
        raise TokenEndpointError(f"the token endpoint gave no answer: {error}", refused=False) from None
    if 400 <= answer.status_code < 500 and answer.status_code != requests.codes.too_many_requests:
        raise TokenEndpointError(f"the token endpoint answered {answer.status_code}", refused=True)
    if not isinstance(found, dict) or not isinstance(found.get("access_token"), str):
        raise TokenEndpointError(
            f"the token endpoint answered {answer.status_code} with no token", refused=False
        )
    return found


def _bundle(found: Mapping[str, Any], before: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    seconds = found.get("expires_in")
    life = timedelta(seconds=seconds) if isinstance(seconds, int) and seconds > 0 else ASSUMED_LIFE
    return {
        "access_token": found["access_token"],
        "refresh_token": found.get("refresh_token") or before.get("refresh_token"),
        "expires_at_ms": int((now + life).timestamp() * 1000),
    }
