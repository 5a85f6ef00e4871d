"""The HTTP client of `web_fetch`: built from `[web]` at start-up, one bounded GET a call."""

import logging
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from email.message import Message as Headers
from typing import Any
from urllib.parse import urljoin, urlsplit

import gevent
import requests
import urllib3
from requests.adapters import HTTPAdapter
from requests.utils import DEFAULT_CA_BUNDLE_PATH, get_environ_proxies

from meka.agent.cancel import Cancel
from meka.agent.tools.base import ToolError
from meka.base.errors import ConfigurationError
from meka.base.text import one_line
from meka.config.model import Web

MOST_BODY_BYTES = 10 * 1024 * 1024
NO_PROXY = "none"
DEFAULT_USER_AGENT = (
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36"
)
_PROXY_SCHEMES = frozenset({"http", "https", "socks4", "socks5", "socks5h"})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_SECRET_HEADERS = frozenset({"authorization", "cookie", "cookie2", "proxy-authorization", "www-authenticate"})
_TLS_VERSIONS = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}
_TLS_TOO_OLD = frozenset({"1.0", "1.1"})
_CHUNK_BYTES = 1 << 16
_REASON_CHARACTERS = 300
_URL_CHARACTERS = 2000
_FAILURES = (requests.RequestException, urllib3.exceptions.HTTPError, OSError, ValueError)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Page:
    """What a server answered, at the address where the redirects ended."""

    url: str
    status: int
    media_type: str
    charset: str | None
    body: bytes


def shown_url(url: str) -> str:
    """An address as it stands in a sentence."""
    return one_line(url[:_URL_CHARACTERS])


class WebClient:
    """Fetches pages; connections are shared, cookies and headers are a call's own."""

    def __init__(self, settings: Web, adapter: HTTPAdapter) -> None:
        self._settings = settings
        self._adapter = adapter

    def fetch(self, url: str, headers: Mapping[str, str], cancel: Cancel) -> Page:
        """GET `url`; the turn's cancel and the timeout end it at once. Raises: ToolError, CanceledError."""
        reading = gevent.spawn(self._fetch_or_reason, url, headers)
        try:
            cancel.wait_beside([reading], self._settings.request_timeout)
            cancel.check()
            if not reading.ready():
                raise ToolError(f"{shown_url(url)} was not read within {self._settings.request_timeout:g} s")
            outcome: Page | ToolError = reading.get()
        finally:
            reading.kill()
        if isinstance(outcome, ToolError):
            raise outcome
        return outcome

    def _fetch_or_reason(self, url: str, headers: Mapping[str, str]) -> Page | ToolError:
        try:
            return self._follow(url, headers)
        except ToolError as error:
            return error
        except _FAILURES as error:
            return ToolError(f"could not fetch {shown_url(url)}: {one_line(str(error))[:_REASON_CHARACTERS]}")

    def _follow(self, url: str, headers: Mapping[str, str]) -> Page:
        session = self._open_session()
        sent = dict(headers)
        for _ in range(self._settings.max_redirects + 1):
            self._check_scheme(url)
            with self._get(session, url, sent) as response:
                target = _redirect_target(response)
                if target is None or self._settings.max_redirects == 0:
                    return _read_page(response)
            if _origin(target) != _origin(url):
                sent = {name: value for name, value in sent.items() if name.lower() not in _SECRET_HEADERS}
            url = target
        raise ToolError(
            f"more than {self._settings.max_redirects} redirects, the last one to {shown_url(url)}"
        )

    def _open_session(self) -> requests.Session:
        """A session of the call's own on the shared connections, which closing it would close."""
        session = requests.Session()
        session.trust_env = False
        session.headers["User-Agent"] = self._settings.user_agent or DEFAULT_USER_AGENT
        session.headers["Accept"] = "text/html,application/xhtml+xml,*/*;q=0.8"
        session.mount("http://", self._adapter)
        session.mount("https://", self._adapter)
        return session

    def _get(self, session: requests.Session, url: str, headers: Mapping[str, str]) -> requests.Response:
        settings = self._settings
        limit = settings.request_timeout
        timeout = (min(settings.connect_timeout or limit, limit), min(settings.read_timeout or limit, limit))
        return session.get(
            url,
            headers=dict(headers),
            timeout=timeout,
            proxies=self._proxies(url),
            verify=not settings.danger_accept_invalid_certs,
            allow_redirects=False,
            stream=True,
        )

    def _proxies(self, url: str) -> dict[str, str]:
        proxy = self._settings.proxy
        if proxy is None:
            return dict(get_environ_proxies(url))
        return {} if proxy == NO_PROXY else {"http": proxy, "https": proxy}

    def _check_scheme(self, url: str) -> None:
        scheme = urlsplit(url).scheme.lower()
        if scheme not in {"http", "https"}:
            raise ToolError(f"only http and https addresses can be fetched, not {shown_url(url)}")
        if self._settings.https_only and scheme != "https":
            raise ToolError(f"only https addresses may be fetched here, not {shown_url(url)}")


class _Adapter(HTTPAdapter):
    """An adapter whose TLS context is ours and loaded once, through a proxy too."""

    def __init__(self, context: ssl.SSLContext, check_hostname: bool) -> None:
        self._tls: dict[str, Any] = {"ssl_context": context}
        if not check_hostname:
            self._tls["assert_hostname"] = False
        super().__init__(pool_connections=32, pool_maxsize=8)

    def init_poolmanager(self, connections: int, maxsize: int, block: bool = False, **kwargs: Any) -> None:
        super().init_poolmanager(connections, maxsize, block, **kwargs, **self._tls)

    def proxy_manager_for(self, proxy: str, **kwargs: Any) -> Any:
        if proxy.lower().startswith("https:"):
            kwargs["proxy_ssl_context"] = self._tls["ssl_context"]
        return super().proxy_manager_for(proxy, **kwargs, **self._tls)

    def cert_verify(self, conn: Any, url: str, verify: Any, cert: Any) -> None:
        """The context holds the certificates; loading them again for each connection would stop the hub."""
        conn.cert_reqs = "CERT_REQUIRED" if verify else "CERT_NONE"


def build_web_client(settings: Web) -> WebClient:
    """The client that `settings` describe. Raises: ConfigurationError when there can be none."""
    for name in ("request_timeout", "connect_timeout", "read_timeout"):
        seconds = getattr(settings, name)
        if seconds is not None and seconds <= 0:
            raise ConfigurationError(f"[web].{name} must be longer than 0s")
    if settings.max_redirects < 0:
        raise ConfigurationError("[web].max_redirects must not be negative")
    _check_proxy(settings.proxy)
    _check_user_agent(settings.user_agent)
    context = _tls_context(settings)
    _warn_of_danger(settings)
    return WebClient(settings, _Adapter(context, check_hostname=context.check_hostname))


def _check_proxy(proxy: str | None) -> None:
    if proxy is None or proxy == NO_PROXY:
        return
    try:
        parts = urlsplit(proxy)
        usable = parts.scheme.lower() in _PROXY_SCHEMES and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        schemes = ", ".join(sorted(_PROXY_SCHEMES))
        raise ConfigurationError(f"[web].proxy must be 'none' or a URL with one of the schemes {schemes}")


def _check_user_agent(user_agent: str | None) -> None:
    if user_agent is not None and not (user_agent.isprintable() and user_agent.isascii()):
        raise ConfigurationError("[web].user_agent must be printable ASCII, as it is sent in a header")


def _tls_context(settings: Web) -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.load_verify_locations(DEFAULT_CA_BUNDLE_PATH)
    if settings.ca_cert_file is not None:
        try:
            context.load_verify_locations(settings.ca_cert_file)
        except (OSError, ValueError) as error:
            raise ConfigurationError(
                f"[web].ca_cert_file {settings.ca_cert_file} cannot be used: {error}"
            ) from error
    if settings.min_tls_version is not None:
        _set_tls_floor(context, settings.min_tls_version)
    if settings.danger_accept_invalid_hostnames or settings.danger_accept_invalid_certs:
        context.check_hostname = False
    if settings.danger_accept_invalid_certs:
        context.verify_mode = ssl.CERT_NONE
    return context


def _set_tls_floor(context: ssl.SSLContext, version: str) -> None:
    if version in _TLS_TOO_OLD:
        raise ConfigurationError(f"[web].min_tls_version {version} is not supported; 1.2 and 1.3 are")
    if version in _TLS_VERSIONS:
        context.minimum_version = _TLS_VERSIONS[version]
    else:
        logger.warning(
            "[web].min_tls_version is no known TLS version and is ignored", extra={"version": version}
        )


def _warn_of_danger(settings: Web) -> None:
    if settings.danger_accept_invalid_certs:
        urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
        logger.warning("[web].danger_accept_invalid_certs is on: web_fetch trusts any certificate")
    if settings.danger_accept_invalid_hostnames:
        logger.warning("[web].danger_accept_invalid_hostnames is on: web_fetch trusts any host name")


def _redirect_target(response: requests.Response) -> str | None:
    location = response.headers.get("Location")
    if response.status_code not in _REDIRECTS or not location:
        return None
    # Header bytes arrive as latin-1; addresses in them are UTF-8.
    decoded = location.encode("latin-1", "replace").decode("utf-8", "replace")
    return urljoin(response.url, decoded)


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme.lower(), parts.hostname, parts.port


def _read_page(response: requests.Response) -> Page:
    if not response.ok or response.status_code in _REDIRECTS:
        raise ToolError(f"HTTP {response.status_code} for {shown_url(response.url)}")
    headers = Headers()
    headers["Content-Type"] = response.headers.get("Content-Type", "application/octet-stream")
    charset = headers.get_content_charset()
    return Page(
        url=response.url,
        status=response.status_code,
        media_type=headers.get_content_type() if "Content-Type" in response.headers else "",
        charset=charset,
        body=_read_body(response),
    )


def _read_body(response: requests.Response) -> bytes:
    body = bytearray()
    for chunk in response.raw.stream(_CHUNK_BYTES, decode_content=True):
        body += chunk
        if len(body) > MOST_BODY_BYTES:
            raise ToolError(
                f"the body of {shown_url(response.url)} is larger than {MOST_BODY_BYTES >> 20} MiB"
            )
    return bytes(body)
