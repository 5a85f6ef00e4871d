"""Tokens and webhooks as they are used: variables substituted, files read, secrets checked.

Sentences name the entry and the variable, never a value.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from meka.config.decode import RefusedKeyError, Seconds, key_name
from meka.config.model import TokenEntry, WebhookEntry, WebhookEvent
from meka.config.outline import KeyPath

SCOPES = frozenset(
    f"{subject}:{access}"
    for subject in ("sessions", "skills", "memory", "schedule", "mcp", "config")
    for access in ("r", "w")
)
MOST_RETRIES = 10
_ENTRY = ', with token = "${MEKA_API_TOKEN}" and scopes = ["sessions:r", "sessions:w"]'
_GROUP_AND_OTHERS = 0o077
_REFERENCE = re.compile(r"\$\$|\$\{(?P<name>[^}]*)(?P<end>\}?)")


@dataclass(frozen=True, slots=True)
class Token:
    """A bearer token that the server accepts; `secret` never leaves the process."""

    secret: str = field(repr=False)
    scopes: frozenset[str]
    description: str = ""


@dataclass(frozen=True, slots=True)
class Webhook:
    """A webhook as it is called; `url` may hold a secret in its path, `secret` None means unsigned."""

    url: str = field(repr=False)
    secret: str | None = field(repr=False)
    events: frozenset[WebhookEvent]
    timeout: Seconds
    max_retries: int


@dataclass(frozen=True, slots=True)
class Substituted:
    """A text with its variables filled in; `is_inline` when it named none."""

    text: str
    is_inline: bool


def substitute(text: str, environ: Mapping[str, str], path: KeyPath) -> Substituted:
    """`text` with `${VAR}` replaced and `$$` as `$`.

    Raises: RefusedKeyError, for an unset variable or one without its `}`.
    """
    names: list[str] = []

    def replace(match: re.Match[str]) -> str:
        if match[0] == "$$":
            return "$"
        if not match["end"]:
            raise RefusedKeyError(path, f"{key_name(path)} has a ${{ without its }}")
        name = match["name"].strip()
        if name not in environ:
            raise RefusedKeyError(
                path, f"{key_name(path)} needs the environment variable '{name}', which is not set"
            )
        names.append(name)
        return environ[name]

    replaced = _REFERENCE.sub(replace, text)
    return Substituted(replaced, is_inline=not names)


def resolve_tokens(
    entries: Sequence[TokenEntry], environ: Mapping[str, str]
) -> tuple[tuple[Token, ...], tuple[str, ...]]:
    """The tokens the server accepts, and what to warn of. Raises: RefusedKeyError."""
    if not entries:
        raise RefusedKeyError(("serve",), f"the server needs at least one [[serve.tokens]] entry{_ENTRY}")
    warnings: list[str] = []
    tokens = []
    for index, entry in enumerate(entries):
        path: KeyPath = ("serve", "tokens", index)
        tokens.append(
            Token(
                _token_secret(entry, environ, path, warnings), SCOPES & set(entry.scopes), entry.description
            )
        )
        warnings += _scope_warnings(entry, path)
    return tuple(tokens), tuple(warnings)


def _token_secret(entry: TokenEntry, environ: Mapping[str, str], path: KeyPath, warnings: list[str]) -> str:
    if (entry.token is None) == (entry.token_file is None):
        raise RefusedKeyError(path, f"{key_name(path)} needs exactly one of token and token_file")
    if entry.token_file is not None:
        secret = _read_secret(entry.token_file, (*path, "token_file"), warnings)
    else:
        resolved = substitute(entry.token or "", environ, (*path, "token"))
        secret = resolved.text
        if resolved.is_inline and secret:
            warnings.append(
                f"{key_name(path)} holds its token in the file; use ${{VAR}} or token_file instead"
            )
    if not secret.strip():
        raise RefusedKeyError(path, f"the token of {key_name(path)} is empty")
    return secret


def _scope_warnings(entry: TokenEntry, path: KeyPath) -> list[str]:
    return [
        f"{key_name(path)} has the unknown scope '{scope}', which grants nothing"
        for scope in entry.scopes
        if scope not in SCOPES
    ]


def _read_secret(name: str, path: KeyPath, warnings: list[str]) -> str:
    file = Path(name)
    try:
        secret = file.read_text("utf-8").strip()
        mode = file.stat().st_mode
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        place = "" if file.is_absolute() else f"; it is looked for in {Path.cwd()}, and ~ is not expanded"
        raise RefusedKeyError(path, f"{key_name(path)} cannot be read: {reason}{place}") from None
    if mode & _GROUP_AND_OTHERS:
        warnings.append(
            f"{key_name(path)} names a file that others may read or write; its mode should be 0600"
        )
    return secret


def resolve_webhooks(
    entries: Sequence[WebhookEntry], environ: Mapping[str, str]
) -> tuple[tuple[Webhook, ...], tuple[str, ...]]:
    """The webhooks the server calls, and what to warn of. Raises: RefusedKeyError."""
    warnings: list[str] = []
    webhooks = tuple(
        _resolve_webhook(entry, environ, ("serve", "webhooks", index), warnings)
        for index, entry in enumerate(entries)
    )
    return webhooks, tuple(warnings)


def _resolve_webhook(
    entry: WebhookEntry, environ: Mapping[str, str], path: KeyPath, warnings: list[str]
) -> Webhook:
    if not entry.events:
        raise RefusedKeyError((*path, "events"), f"{key_name(path)}.events must name at least one event")
    url = _webhook_url(entry, environ, path, warnings)
    secret = _webhook_secret(entry, environ, path, warnings)
    retries = min(entry.max_retries, MOST_RETRIES)
    return Webhook(url, secret, frozenset(entry.events), entry.timeout, retries)


def _webhook_url(entry: WebhookEntry, environ: Mapping[str, str], path: KeyPath, warnings: list[str]) -> str:
    url_path = (*path, "url")
    url = substitute(entry.url, environ, url_path).text.strip()
    if not is_http_url(url):
        raise RefusedKeyError(url_path, f"{key_name(url_path)} must be an http:// or https:// address")
    if urlsplit(url).scheme == "http":
        warnings.append(f"{key_name(path)} is called over plain http")
    return url


def _webhook_secret(
    entry: WebhookEntry, environ: Mapping[str, str], path: KeyPath, warnings: list[str]
) -> str | None:
    if entry.secret is not None and entry.secret_file is not None:
        raise RefusedKeyError(path, f"{key_name(path)} takes secret or secret_file, not both")
    if entry.secret is None and entry.secret_file is None:
        warnings.append(f"{key_name(path)} has no secret, so its calls are unsigned")
        return None
    if entry.secret_file is not None:
        secret = _read_secret(entry.secret_file, (*path, "secret_file"), warnings)
    else:
        secret = substitute(entry.secret or "", environ, (*path, "secret")).text
    if not secret.strip():
        raise RefusedKeyError(path, f"the secret of {key_name(path)} is empty")
    return secret


def is_http_url(text: str) -> bool:
    """Whether `text` is an http or https address with a host."""
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        return False
