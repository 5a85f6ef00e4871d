"""What the file refuses across keys, once every key has its type."""

import re
import ssl
from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import urlsplit

from meka.config.addresses import AddressError, normalize_origins, split_bind
from meka.config.catalog import backend_defect, budget_defect, fallbacks_defect
from meka.config.decode import RefusedKeyError, key_name
from meka.config.model import Config, McpAuth, McpAuthType, McpServer, Profile, Serve, Transport
from meka.config.outline import KeyPath
from meka.config.places import expand_home
from meka.config.secrets import is_http_url

_SERVER_NAME = re.compile(r"[A-Za-z0-9_-]+")
_RESERVED_SERVER_NAMES = frozenset({"meka", "ide"})
_STDIO_KEYS = ("command", "args", "env")
_HTTP_KEYS = ("url", "headers", "headers_helper", "auth")
_PROXY_SCHEMES = frozenset({"http", "https", "socks4", "socks5", "socks5h"})
_REFUSED_TLS_VERSIONS = frozenset({"1.0", "1.1"})


def check_config(config: Config, environ: Mapping[str, str]) -> Config:
    """`config` with its addresses normalized. Raises: RefusedKeyError for whatever cannot stand."""
    for name, profile in config.profiles.items():
        _check_profile(config, name, profile)
    for name in config.profiles:
        _refuse(("profiles", name, "fallbacks"), fallbacks_defect(config, name))
    _check_default(config)
    _check_mcp(config.mcp.servers)
    _check_schedule(config)
    _check_web(config, environ)
    return replace(config, serve=_check_serve(config.serve))


def _refuse(path: KeyPath, sentence: str | None) -> None:
    if sentence is not None:
        raise RefusedKeyError(path, sentence)


def _check_profile(config: Config, name: str, profile: Profile) -> None:
    path: KeyPath = ("profiles", name)
    if not profile.account.strip():
        raise RefusedKeyError((*path, "account"), f"profile '{name}' names no account")
    account = config.accounts.get(profile.account)
    if account is not None:
        _refuse(("accounts", profile.account, "backend"), backend_defect(profile.account, account))
        _refuse((*path, "max_output_tokens"), budget_defect(config, name, profile, account))


def _check_default(config: Config) -> None:
    if config.default_profile is not None and not config.default_profile.strip():
        raise RefusedKeyError(("default_profile",), "default_profile names no profile")


def _check_mcp(servers: tuple[McpServer, ...]) -> None:
    seen: set[str] = set()
    for index, server in enumerate(servers):
        path: KeyPath = ("mcp", "servers", index)
        _refuse((*path, "name"), server_name_defect(server.name))
        if server.name in seen:
            raise RefusedKeyError((*path, "name"), f"two MCP servers are named '{server.name}'")
        seen.add(server.name)
        check_mcp_server(server, path)


def server_name_defect(name: str) -> str | None:
    """Why an MCP server cannot have `name`, or None."""
    if not _SERVER_NAME.fullmatch(name) or "__" in name:
        return f"an MCP server's name is letters, digits, - and _, without __; '{name}' is not"
    if name in _RESERVED_SERVER_NAMES or name.startswith("mcp_"):
        return f"the MCP server name '{name}' is reserved"
    return None


def check_mcp_server(server: McpServer, path: KeyPath) -> None:
    """Whether the entry's keys fit its transport and each other. Raises: RefusedKeyError."""
    is_stdio = server.transport is Transport.STDIO
    for key in _HTTP_KEYS if is_stdio else _STDIO_KEYS:
        if getattr(server, key):
            raise RefusedKeyError(
                (*path, key), f"MCP server '{server.name}': {key} does not go with {server.transport}"
            )
    needed = "command" if is_stdio else "url"
    if not (getattr(server, needed) or "").strip():
        raise RefusedKeyError(path, f"MCP server '{server.name}': {server.transport} needs {needed}")
    if server.url and "${" not in server.url and not is_http_url(server.url):
        raise RefusedKeyError(
            (*path, "url"), f"MCP server '{server.name}': url must be an http:// or https:// address"
        )
    if server.auth is not None:
        _check_auth(server.name, server.auth, (*path, "auth"))


def _check_auth(name: str, auth: McpAuth, path: KeyPath) -> None:
    is_browser, is_jwt = auth.type is McpAuthType.OAUTH, auth.type is McpAuthType.CLIENT_CREDENTIALS_JWT
    misplaced = {
        "resource": is_browser and auth.resource is not None,
        "redirect_port": not is_browser and auth.redirect_port is not None,
        "signing_key_path": not is_jwt and auth.signing_key_path is not None,
        "signing_algorithm": not is_jwt and auth.signing_algorithm is not None,
    }
    for key, stands_wrong in misplaced.items():
        if stands_wrong:
            raise RefusedKeyError(
                (*path, key), f"MCP server '{name}': auth.{key} does not go with type {auth.type}"
            )
    missing = {
        "client_id": not is_browser and not (auth.client_id or "").strip(),
        "signing_key_path": is_jwt and not (auth.signing_key_path or "").strip(),
    }
    for key, is_missing in missing.items():
        if is_missing:
            raise RefusedKeyError(path, f"MCP server '{name}': auth of type {auth.type} needs {key}")


def _check_schedule(config: Config) -> None:
    schedule = config.schedule
    if schedule.claim_lease <= schedule.gate_timeout:
        raise RefusedKeyError(
            ("schedule", "claim_lease"), "schedule.claim_lease must be longer than schedule.gate_timeout"
        )


def _check_web(config: Config, environ: Mapping[str, str]) -> None:
    web = config.web
    if web.proxy is not None and web.proxy != "none" and not _is_proxy(web.proxy):
        schemes = "http, https, socks4, socks5 or socks5h"
        raise RefusedKeyError(
            ("web", "proxy"), f'web.proxy must be "none" or an address with the scheme {schemes}'
        )
    if web.min_tls_version in _REFUSED_TLS_VERSIONS:
        raise RefusedKeyError(
            ("web", "min_tls_version"), "web.min_tls_version must be 1.2 or 1.3; older ones are not built in"
        )
    if web.ca_cert_file is not None:
        _check_bundle(expand_home(web.ca_cert_file, environ), ("web", "ca_cert_file"))


def _is_proxy(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in _PROXY_SCHEMES and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        return False


def _check_bundle(file: str, path: KeyPath) -> None:
    try:
        ssl.create_default_context().load_verify_locations(cafile=file)
    except ssl.SSLError:
        raise RefusedKeyError(path, f"{key_name(path)} holds no PEM certificates") from None
    except OSError as error:
        raise RefusedKeyError(path, f"{key_name(path)} cannot be read: {error.strerror}") from None


def _check_serve(serve: Serve) -> Serve:
    try:
        split_bind(serve.bind)
    except AddressError as error:
        raise RefusedKeyError(("serve", "bind"), f"serve.bind {error}") from None
    try:
        origins = normalize_origins(serve.cors_allowed_origins)
    except AddressError as error:
        raise RefusedKeyError(
            ("serve", "cors_allowed_origins"), f"serve.cors_allowed_origins {error}"
        ) from None
    return replace(serve, cors_allowed_origins=origins)
