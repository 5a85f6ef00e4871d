"""Browser logins of subscription accounts: begun, completed by what the page gave, committed once."""

import logging
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import parse_qs

import gevent
from gevent.event import Event
from gevent.lock import BoundedSemaphore
from gevent.pywsgi import WSGIServer
from gevent.socket import SO_REUSEADDR, SOL_SOCKET, socket

from meka.base.clock import Clock, rfc3339
from meka.base.errors import (
    ConfigurationError,
    InvalidBodyError,
    MekaError,
    NotFoundError,
    ProviderFailedError,
    ShuttingDownError,
)
from meka.base.ids import Ids
from meka.config.model import Account
from meka.service import oauth
from meka.service.installation import Installation
from meka.service.oauth import Client, TokenEndpointError
from meka.store import credentials
from meka.store.credentials import CredentialKind
from meka.store.database import Database

LOG = logging.getLogger(__name__)
LAPSE_SECONDS = 600.0
_SHORTEST_WAIT = 0.1
_MADE_AGAINST = ("backend", "client_id", "oauth_token_url", "base_url")


@dataclass(slots=True, eq=False)
class Login:
    """One login. `status` is `pending`, `completed` or `failed`; `error` says why it failed."""

    id: str
    account: str
    made_against: Mapping[str, Any]
    client: Client
    state: str = field(repr=False)
    verifier: str = field(repr=False)
    lapses_at: float
    expires_at: datetime
    status: str = "pending"
    error: str = ""
    listener: Any = None
    over: Event = field(default_factory=Event)
    committing: BoundedSemaphore = field(default_factory=lambda: BoundedSemaphore(1))


class Logins:
    """The logins of this process: the latest one of each account."""

    def __init__(
        self,
        installation: Installation,
        database: Database,
        clock: Clock,
        ids: Ids,
        is_draining: Callable[[], bool],
        port: int = oauth.LOOPBACK_PORT,
        lapse_seconds: float = LAPSE_SECONDS,
    ) -> None:
        self._installation = installation
        self._database = database
        self._clock = clock
        self._ids = ids
        self._is_draining = is_draining
        self._port = port
        self._lapse_seconds = lapse_seconds
        self._latest: dict[str, Login] = {}
        self._is_closed = False

    def begin(self, name: str, account: Account) -> dict[str, Any]:
        """Begin a login in place of one that is pending. Raises: ShuttingDownError, ConfigurationError."""
        if self._is_closed or self._is_draining():
            raise ShuttingDownError("the server is shutting down")
        client = oauth.client_of(name, account)
        self.end(name, "another login was begun")
        login = Login(
            id=self._ids.new(),
            account=name,
            made_against={key: getattr(account, key) for key in _MADE_AGAINST},
            client=client,
            state=secrets.token_urlsafe(24),
            verifier=secrets.token_urlsafe(48),
            lapses_at=self._clock.monotonic() + self._lapse_seconds,
            expires_at=self._clock.now() + timedelta(seconds=self._lapse_seconds),
        )
        self._latest[name] = login
        if client.completes_with == "callback_url":
            self._listen(login)
        return {
            "login_id": login.id,
            "authorization_url": oauth.authorization_url(client, login.state, login.verifier),
            "completes_with": client.completes_with,
            "listening": login.listener is not None,
            "expires_at": rfc3339(login.expires_at),
        }

    def status(self, name: str, login_id: str) -> dict[str, Any]:
        """Where a login stands. Raises: NotFoundError."""
        login = self._find(name, login_id)
        body = {"login_id": login.id, "status": login.status, "expires_at": rfc3339(login.expires_at)}
        return body | ({"error": login.error} if login.error else {})

    def complete(self, name: str, login_id: str, pasted: str) -> None:
        """Exchange what the page gave and store the credential.

        Raises: NotFoundError; InvalidBodyError; ProviderFailedError when the token endpoint gave no token.
        """
        login = self._find(name, login_id)
        given = oauth.read_paste(pasted)
        if given is None:
            raise InvalidBodyError("`code` is invalid: there is no code in it")
        by_url = login.client.completes_with == "callback_url"
        if given.state != login.state and (by_url or given.state is not None):
            raise InvalidBodyError("`code` is invalid: it belongs to another login")
        with login.committing:
            if login.status != "pending":
                raise InvalidBodyError(f"the login is over: {login.error or login.status}")
            try:
                self._commit(login, self._exchange(login, given.code))
            except MekaError as error:
                # The code is spent. What ended the login meanwhile, or a credential stored by now, stands.
                self._end(login, error.detail)
                raise

    def _exchange(self, login: Login, code: str) -> dict[str, Any]:
        try:
            return oauth.exchange(login.client, code, login.verifier, self._clock.now())
        except TokenEndpointError as error:
            LOG.warning("a login failed: %s", error, extra={"account": login.account})
            if error.refused:
                raise InvalidBodyError(
                    "the authorization server refused the code; begin another login"
                ) from None
            raise ProviderFailedError("the token endpoint gave no token; the log says why") from None

    def _commit(self, login: Login, bundle: dict[str, Any]) -> None:
        """Store the credential, while the account states what the login began on."""
        name = login.account
        with self._installation.editing() as draft:
            table = draft.section("accounts").get(name)
            if login.status != "pending":
                raise ConfigurationError(f"the login is over: {login.error}")
            if table is None:
                raise ConfigurationError(f"account '{name}' was renamed or removed during its login")
            if {key: table.get(key) for key in _MADE_AGAINST} != login.made_against:
                raise ConfigurationError(f"account '{name}' was changed during its login; begin another")
            self._database.write(lambda tx: credentials.put(tx, name, CredentialKind.OAUTH, bundle))
            self._settle(login, "completed")
            self._installation.serve_written()

    def end(self, name: str, why: str) -> None:
        """End the account's pending login, if there is one."""
        login = self._latest.get(name)
        if login is not None:
            self._end(login, why)

    def close(self) -> None:
        """End every login, with its listener; none is begun any more."""
        self._is_closed = True
        for name in tuple(self._latest):
            self.end(name, "the server is shutting down")

    def _end(self, login: Login, why: str) -> None:
        if login.status == "pending":
            self._settle(login, "failed", why)

    def _settle(self, login: Login, status: str, error: str = "") -> None:
        login.status, login.error = status, error
        login.over.set()
        server, login.listener = login.listener, None
        if server is not None:
            # The answer that ends the login may be this listener's own: it is let finish.
            server.close()

    def _find(self, name: str, login_id: str) -> Login:
        login = self._latest.get(name)
        if login is None or login.id != login_id:
            raise NotFoundError(f"account '{name}' has no login '{login_id}'")
        self._end_lapsed(login)
        return login

    def _end_lapsed(self, login: Login) -> None:
        """Once it commits, its end is the commit's to say."""
        if self._clock.monotonic() >= login.lapses_at and not login.committing.locked():
            self._end(login, "it lapsed")

    def _listen(self, login: Login) -> None:
        def answer(environ: Mapping[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
            status, text = self._take_callback(login, environ)
            start_response(status, [("Content-Type", "text/plain; charset=utf-8")])
            return [text.encode()]

        listener = _open_loopback(self._port)
        if listener is None:
            LOG.info("the port of the login's callback is taken", extra={"account": login.account})
            return
        server = WSGIServer(listener, answer, log=None, error_log=None)
        server.start()
        login.listener = server
        watch = gevent.spawn(self._watch, login)
        watch.name = f"login-{login.id}"

    def _watch(self, login: Login) -> None:
        """End a login that lapses also when nobody asks after it: its listener holds a port."""
        while not login.over.wait(max(login.lapses_at - self._clock.monotonic(), _SHORTEST_WAIT)):
            self._end_lapsed(login)

    def _take_callback(self, login: Login, environ: Mapping[str, Any]) -> tuple[str, str]:
        query = str(environ.get("QUERY_STRING", ""))
        if environ["PATH_INFO"] != "/auth/callback" or "code" not in parse_qs(query):
            return "404 Not Found", "Nothing is here."
        try:
            self.complete(login.account, login.id, f"{oauth.CALLBACK_URL}?{query}")
        except MekaError as error:
            return "400 Bad Request", f"The login did not succeed: {error.detail}."
        return "200 OK", "You are logged in. This page can be closed."


def _open_loopback(port: int) -> socket | None:
    """A socket that listens on this machine alone; None where the port is taken."""
    listener = socket()
    listener.setsockopt(SOL_SOCKET, SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen()
    except OSError:
        # gevent's own way to open one leaves it open when it fails.
        listener.close()
        return None
    return listener
