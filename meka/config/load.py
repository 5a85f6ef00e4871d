"""config.toml read whole: parsed, decoded strictly, checked, its secrets resolved.

A refusal is one sentence: file, line, column, and what is wrong, never what the line holds.
"""

import hashlib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from meka.base.errors import ConfigurationError
from meka.config.advice import advise, settle_permissions
from meka.config.checks import check_config
from meka.config.decode import RefusedKeyError, decode, refusal_sentence
from meka.config.model import Config
from meka.config.secrets import Token, Webhook, resolve_tokens, resolve_webhooks

_CONTENT_IN_MESSAGE = re.compile(
    r"^(?P<says>Duplicate inline table key|Cannot declare|Cannot mutate immutable namespace"
    r"|Cannot redefine namespace|Illegal character|Found invalid character)\b.*?(?P<place>\(at [^()]*\))?$",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class LoadedConfig:
    """A configuration that can be served.

    `document` is the file as parsed, for comparing sections, and `digest` tells its text from another;
    `tokens` and `webhooks` are empty unless the load was for serving.
    """

    config: Config
    warnings: tuple[str, ...]
    document: Mapping[str, Any]
    tokens: tuple[Token, ...] = ()
    webhooks: tuple[Webhook, ...] = ()
    digest: str = ""


def load_config(path: Path, environ: Mapping[str, str], *, serving: bool = True) -> LoadedConfig:
    """The configuration at `path`; a missing file is an empty one.

    `serving` False leaves `[[serve.tokens]]` and `[[serve.webhooks]]` unresolved: nothing but the server
    needs them. Raises: ConfigurationError.
    """
    return load_text(read_config_text(path), path, environ, serving=serving)


def load_text(text: str, path: Path, environ: Mapping[str, str], *, serving: bool = True) -> LoadedConfig:
    """As `load_config`, for a text that stands (or would stand) at `path`. Raises: ConfigurationError."""
    document = parse_document(text, path)
    try:
        loaded = _build(document, environ, serving=serving)
    except RefusedKeyError as refusal:
        raise ConfigurationError(refusal_sentence(refusal, text, path)) from None
    return replace(loaded, digest=text_digest(text))


def text_digest(text: str) -> str:
    """What stands for the file's text when two readings are compared."""
    return hashlib.sha256(text.encode()).hexdigest()


def _build(document: Mapping[str, Any], environ: Mapping[str, str], *, serving: bool) -> LoadedConfig:
    config = check_config(decode(Config, document, ()), environ)
    permissions, permission_warnings = settle_permissions(config.permissions, None)
    loaded = LoadedConfig(
        config=replace(config, permissions=permissions),
        warnings=(*permission_warnings, *advise(config, document)),
        document=document,
    )
    return _with_secrets(loaded, environ) if serving else loaded


def _with_secrets(loaded: LoadedConfig, environ: Mapping[str, str]) -> LoadedConfig:
    tokens, token_warnings = resolve_tokens(loaded.config.serve.tokens, environ)
    webhooks, webhook_warnings = resolve_webhooks(loaded.config.serve.webhooks, environ)
    warnings = (*loaded.warnings, *token_warnings, *webhook_warnings)
    return replace(loaded, tokens=tokens, webhooks=webhooks, warnings=warnings)


def read_config_text(path: Path) -> str:
    """The file's text, "" when there is none. Raises: ConfigurationError."""
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise ConfigurationError(f"{path}, line {line}: the file is not UTF-8") from None
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}") from None


def parse_document(text: str, path: Path) -> dict[str, Any]:
    """The document as plain values. Raises: ConfigurationError, with the parser's message but no content."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{path} does not parse: {_without_content(str(error))}") from None
    except ValueError:
        raise ConfigurationError(f"{path} does not parse: a number has too many digits") from None
    except RecursionError:
        raise ConfigurationError(f"{path} does not parse: its values are nested too deeply") from None


def _without_content(message: str) -> str:
    match = _CONTENT_IN_MESSAGE.match(message)
    if match is None:
        return message
    return f"{match['says']} {match['place'] or ''}".rstrip()
