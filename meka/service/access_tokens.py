"""Access tokens of subscription accounts: read from the store, refreshed by one process at a time."""

import hashlib
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import gevent
from gevent.lock import BoundedSemaphore
from gevent.pool import Group

from meka.agent.providers.base import Cause, ProviderError
from meka.base.clock import Clock
from meka.service import oauth
from meka.service.oauth import Client, TokenEndpointError
from meka.store import credentials
from meka.store.credentials import Credential, CredentialKind
from meka.store.database import Database
from meka.store.locks import FileLock

LOG = logging.getLogger(__name__)
REFRESH_AHEAD_SECONDS = 300
LOCK_WAIT_SECONDS = 10.0
_RETRY_SECONDS = 0.05


class AccessTokens:
    """Hands out tokens that are good now. One instance a process."""

    def __init__(self, database: Database, locks: Path, clock: Clock) -> None:
        self._database = database
        self._locks = locks
        self._clock = clock
        self._refreshing: dict[str, BoundedSemaphore] = {}
        self._refreshers = Group()

    def source(self, account: str, client: Client) -> Callable[[str | None], str]:
        """What a provider of the account asks: a token, another than the one it names as refused."""
        return lambda refused: self._token(account, client, refused)

    def _token(self, account: str, client: Client, refused: str | None) -> str:
        """Raises: ProviderError."""
        stored = self._stored(account)
        if not self._is_stale(stored.secret, refused):
            return str(stored.secret["access_token"])
        # Who asks may be a canceled turn's reader, which is killed. A refresh is let finish: as soon as the
        # endpoint answers, the refresh token that is stored may be good for nothing.
        refresher = self._refreshers.spawn(self._refreshed, account, client, refused)
        refresher.name = "token-refresher"
        outcome: str | Exception = refresher.get()
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def _refreshed(self, account: str, client: Client, refused: str | None) -> str | Exception:
        """The token, or the failure as a value: gevent prints what a greenlet raises."""
        try:
            return self._refresh_once(account, client, refused)
        except Exception as error:
            return error

    def _refresh_once(self, account: str, client: Client, refused: str | None) -> str:
        with self._refreshing.setdefault(account, BoundedSemaphore(1)), self._locked(account):
            stored = self._stored(account)
            if self._is_stale(stored.secret, refused):
                stored = self._refresh(stored, client)
        return str(stored.secret["access_token"])

    def _is_stale(self, bundle: Mapping[str, Any], refused: str | None) -> bool:
        if bundle.get("access_token") == refused:
            return True
        expires = bundle.get("expires_at_ms")
        if not isinstance(expires, int):
            return bool(bundle.get("refresh_token"))
        return expires / 1000 - self._clock.now().timestamp() < REFRESH_AHEAD_SECONDS

    def _stored(self, account: str) -> Credential:
        stored = self._database.read(lambda tx: credentials.get(tx, account))
        if stored is None or stored.kind is not CredentialKind.OAUTH:
            raise _refused(account)
        return stored

    def _refresh(self, seen: Credential, client: Client) -> Credential:
        try:
            bundle = oauth.refresh(client, seen.secret, self._clock.now())
        except TokenEndpointError as error:
            LOG.warning("a token could not be refreshed: %s", error, extra={"account": seen.account})
            if error.refused:
                raise _refused(seen.account) from None
            raise ProviderError(Cause.TRANSIENT, "the token endpoint cannot be reached") from None
        stored = self._database.write(lambda tx: credentials.put_if_unchanged(tx, seen, bundle))
        # Another login came in between: its credential is the one to present.
        return stored or self._stored(seen.account)

    def drain(self, timeout_seconds: float) -> bool:
        """Wait until what is being refreshed is stored; False when some was not in time."""
        return bool(self._refreshers.join(timeout_seconds))

    def is_refreshing(self, account: str) -> bool:
        """Whether a process, this one or another, refreshes the account's token now."""
        lock = FileLock.try_acquire(self._path(account))
        if lock is not None:
            lock.release()
        return lock is None

    @contextmanager
    def _locked(self, account: str) -> Iterator[None]:
        lock = FileLock.try_acquire(self._path(account))
        waits = int(LOCK_WAIT_SECONDS / _RETRY_SECONDS)
        while lock is None and waits > 0:
            gevent.sleep(_RETRY_SECONDS)
            waits -= 1
            lock = FileLock.try_acquire(self._path(account))
        if lock is None:
            raise ProviderError(Cause.TRANSIENT, "another meka is refreshing the account's token")
        try:
            yield
        finally:
            lock.release()

    def _path(self, account: str) -> Path:
        return self._locks / f"oauth_{hashlib.sha256(account.encode()).hexdigest()[:16]}.lock"


def _refused(account: str) -> ProviderError:
    return ProviderError(
        Cause.CREDENTIAL, f"account '{account}' is not logged in; run `meka account login {account}`"
    )
