"""Who asks, and whether they may: bearer tokens and scopes, checked before a request's body is read."""

import hashlib
import hmac
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

import flask

from meka.base.errors import AuthError, ScopeError


@dataclass(frozen=True, slots=True)
class Token:
    """What is known of a token once it was presented; never the token itself."""

    fingerprint: str
    description: str
    scopes: frozenset[str]


TokenLookup = Callable[[str], Token | None]


def fingerprint_of(token: str) -> str:
    """What stands for `token` in logs and as a namespace: eight bytes of its SHA-256, in hex."""
    return hashlib.sha256(token.encode()).hexdigest()[:16]


class ConfiguredToken(Protocol):
    """A token as the configuration has it."""

    @property
    def secret(self) -> str:
        """What a client presents."""

    @property
    def description(self) -> str:
        """Whose it is, for people."""

    @property
    def scopes(self) -> frozenset[str]:
        """What it admits to."""


class Tokens:
    """The tokens that are accepted; `replace` changes them while the server runs."""

    def __init__(self, configured: Iterable[ConfiguredToken]) -> None:
        self.replace(configured)

    def replace(self, configured: Iterable[ConfiguredToken]) -> None:
        """Accept these tokens and no others from now on."""
        self._tokens = tuple(
            (token.secret.encode(), Token(fingerprint_of(token.secret), token.description, token.scopes))
            for token in configured
        )

    def scopes_of(self, fingerprint: str) -> frozenset[str] | None:
        """What a token that was presented before admits to now; None when it is no longer accepted."""
        return next((token.scopes for _, token in self._tokens if token.fingerprint == fingerprint), None)

    def __call__(self, presented: str) -> Token | None:
        """The token whose secret is `presented`; each is compared, in constant time, whichever matches."""
        candidate = presented.encode()
        found = None
        for secret, token in reversed(self._tokens):
            if hmac.compare_digest(secret, candidate):
                found = token
        return found


@dataclass(frozen=True, slots=True)
class ScopeRule:
    """The scopes an operation asks for: all of `every`, and one of `any_of` where there are any."""

    every: tuple[str, ...] = ()
    any_of: tuple[str, ...] = ()

    def check(self, scopes: frozenset[str]) -> None:
        """Raises: `ScopeError` naming what is missing."""
        for scope in self.every:
            if scope not in scopes:
                raise ScopeError(f"scope '{scope}' is required")
        if self.any_of and scopes.isdisjoint(self.any_of):
            names = ", ".join(f"'{scope}'" for scope in self.any_of)
            raise ScopeError(f"one of {names} is required")


def scope_rule(operation: Mapping[str, object]) -> ScopeRule | None:
    """The rule an operation of the document states; None where it asks for no token.

    Raises: `ValueError` for an operation that neither names scopes nor says `security: []`, so that a
    forgotten line never opens a door.
    """
    scopes = operation.get("x-scopes")
    if isinstance(scopes, Mapping):
        return ScopeRule(tuple(scopes.get("all", ())), tuple(scopes.get("any", ())))
    if operation.get("security") == []:
        return None
    raise ValueError(f"operation '{operation.get('operationId')}' has neither x-scopes nor security: []")


class Guard:
    """The hook ahead of every operation. Unknown paths and wrong methods pass: they are a 404 or 405 to all.

    HEAD is checked as the GET it runs.
    """

    def __init__(self, rules: Mapping[str, ScopeRule | None], find_token: TokenLookup) -> None:
        self._rules = rules
        self._find_token = find_token

    def __call__(self) -> None:
        """Check the request in hand and leave its token on `flask.g`."""
        request = flask.request
        if request.endpoint is None or request.routing_exception is not None:
            return
        rule = self._rules[request.endpoint]
        if rule is None:
            return
        token = self._authenticate(request.headers.get("Authorization"))
        rule.check(token.scopes)
        flask.g.token = token

    def _authenticate(self, header: str | None) -> Token:
        if header is None:
            raise AuthError("no bearer token was sent")
        scheme, _, presented = header.partition(" ")
        if scheme.lower() != "bearer" or not presented.strip():
            raise AuthError("the Authorization header holds no bearer token")
        token = self._find_token(_as_utf8(presented.strip()))
        if token is None:
            raise AuthError("the bearer token is unknown")
        return token


def current_token() -> Token:
    """The token of the request in hand, for an operation that asks for one."""
    token: Token = flask.g.token
    return token


def _as_utf8(header: str) -> str:
    """A header's bytes read as UTF-8 (WSGI hands them over as Latin-1)."""
    return header.encode("latin-1").decode("utf-8", "replace")
