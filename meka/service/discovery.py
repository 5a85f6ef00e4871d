"""What the server is and offers: health, version and levels, profiles, the tools of a session."""

import logging
from typing import Any

from meka.agent.toolbox import Toolbox
from meka.base.errors import ConfigurationError, MekaError
from meka.config.catalog import profile_view
from meka.config.model import Permissions
from meka.service.models import Models
from meka.service.sessions import Sessions
from meka.store import sessions
from meka.store.database import Database

LOG = logging.getLogger(__name__)


class Discovery:
    """Answers what clients ask before they do anything."""

    def __init__(
        self,
        database: Database,
        models: Models,
        permissions: Permissions,
        toolbox: Toolbox,
        held: Sessions,
        version: str,
    ) -> None:
        self._database = database
        self._models = models
        self._permissions = permissions
        self._toolbox = toolbox
        self._sessions = held
        self._version = version

    def readiness(self) -> dict[str, Any]:
        """Whether a turn can be expected to work, check by check."""
        checks = {
            "session_db": self._store_answers(),
            "profile_configured": self._has_default_profile(),
            "mcp_servers_healthy": True,
        }
        return {"status": "ok" if all(checks.values()) else "degraded", **checks}

    def _store_answers(self) -> bool:
        try:
            self._database.read(lambda tx: sessions.get(tx, ""))
        except MekaError:
            LOG.warning("the store does not answer")
            return False
        return True

    def _has_default_profile(self) -> bool:
        try:
            self._models.select(None)
        except ConfigurationError:
            return False
        return True

    def info(self, scopes: frozenset[str]) -> dict[str, Any]:
        """The server's version and levels, and the caller's scopes."""
        return {
            "version": self._version,
            "default_permission": self._permissions.default.value,
            "enabled_permissions": [level.value for level in self._permissions.enabled],
            "scopes": sorted(scopes),
        }

    def profiles(self) -> dict[str, Any]:
        """The configured profiles, in the order of the configuration."""
        config = self._models.config
        return {"profiles": [profile_view(config, name) for name in config.profiles]}

    def tools(self, session_id: str) -> dict[str, Any]:
        """The tools of a loaded session. Raises: SessionNotFoundError, SessionNotLoadedError."""
        runtime = self._sessions.loaded(session_id)
        return {
            "tools": [
                {
                    "name": tool.name,
                    "description": tool.description,
                    "required_permission": self._toolbox.levels[tool.name].value,
                    "deferred": tool.deferred and tool.name not in runtime.loaded_tools,
                }
                for tool in self._toolbox.tools.values()
            ]
        }
