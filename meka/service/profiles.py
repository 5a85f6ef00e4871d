"""Profiles over HTTP: added, read, changed in one write, renamed with their sessions, removed."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from meka.base.errors import InvalidBodyError, NotFoundError, StoreUnavailableError
from meka.config import edit
from meka.config.catalog import profile_detail, unknown_name
from meka.config.draft import Draft
from meka.service.accounts import require_in_file
from meka.service.announce import Announcer
from meka.service.installation import Installation
from meka.service.registry import Registry
from meka.service.runtime import SessionRuntime
from meka.service.views import session_view
from meka.store import renames, sessions
from meka.store.database import Database

_TOLD_AT_ONCE = 500


class Profiles:
    """The product rules of profiles; every write is served when it returns."""

    def __init__(
        self, installation: Installation, database: Database, registry: Registry, announcer: Announcer
    ) -> None:
        self._installation = installation
        self._database = database
        self._registry = registry
        self._announcer = announcer

    def detail(self, name: str) -> dict[str, Any]:
        """A profile with every setting it states. Raises: NotFoundError."""
        config = self._installation.in_force.config
        if name not in config.profiles:
            raise NotFoundError(unknown_name("profile", config.profiles, name))
        return profile_detail(config, name)

    def add(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Add a profile. Raises: ConfigurationError."""
        settings = dict(body)
        name, make_default = settings.pop("name"), bool(settings.pop("default", False))
        served = self._installation.served_profile
        self._installation.write(
            lambda draft: edit.add_profile(
                draft, name, settings, make_default=make_default, pin_first=True, served=served
            ),
            lambda: self._database.write(lambda tx: renames.begin_anew(tx, name)),
        )
        return self.detail(name)

    def patch(self, name: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Change settings in one write, or rename. Raises: NotFoundError, InvalidBodyError."""
        # Null removes a setting; these two are none, so that it says the same as leaving them out.
        changes = {
            key: value for key, value in body.items() if value is not None or key not in ("name", "default")
        }
        if changes.get("default") is False:
            raise InvalidBodyError(
                "`default` is invalid: a default is moved by making another profile the default"
            )
        if "name" in changes:
            if len(changes) > 1:
                raise InvalidBodyError("`name` is invalid: a rename is sent alone")
            return self._rename(name, changes["name"])
        return self._change(name, changes)

    def _change(self, name: str, changes: dict[str, Any]) -> dict[str, Any]:
        make_default = bool(changes.pop("default", False))
        served = self._installation.served_profile

        def change(draft: Draft) -> None:
            require_in_file(draft, "profile", name)
            edit.change_profile(draft, name, changes, make_default=make_default, served=served)

        self._installation.write(change)
        return self.detail(name)

    def _rename(self, name: str, new: str) -> dict[str, Any]:
        """The file, the sessions' rows, and what this process holds in memory take the new name."""

        def change(draft: Draft) -> None:
            require_in_file(draft, "profile", name)
            edit.rename_profile(draft, name, new, served=self._installation.served_profile)
            self._database.write(lambda tx: renames.note(tx, name, new))

        moved: set[str] = set()
        is_saved = False

        def commit() -> None:
            nonlocal is_saved
            is_saved = True
            moved.update(self._database.write(lambda tx: sessions.rename_profile(tx, name, new)))
            for runtime in self._registry.all():
                runtime.rename_fallback(name, new)
                if runtime.id in moved:
                    runtime.take_profile_name(new)

        try:
            self._installation.write(change, commit)
        except BaseException:
            if not is_saved:
                with suppress(StoreUnavailableError):
                    self._database.write(lambda tx: renames.forget(tx, name))
            raise
        finally:
            # Also where it is written and not served: the rows have moved.
            self._tell([runtime for runtime in self._registry.all() if runtime.id in moved])
        return self.detail(new)

    def _tell(self, renamed: Sequence[SessionRuntime]) -> None:
        """Announce the records of sessions, but for those that were deleted meanwhile."""
        for start in range(0, len(renamed), _TOLD_AT_ONCE):
            some = {runtime.id: runtime for runtime in renamed[start : start + _TOLD_AT_ONCE]}
            for row in self._database.read(lambda tx, ids=list(some): sessions.get_many(tx, ids)):  # type: ignore[misc]
                self._announcer.updated(session_view(row, some[row.id]))

    def remove(self, name: str) -> None:
        """Remove a profile; its sessions keep its name. Raises: NotFoundError, ConfigurationError."""

        def change(draft: Draft) -> None:
            require_in_file(draft, "profile", name)
            edit.remove_profile(draft, name, served=self._installation.served_profile)

        self._installation.write(change)
