"""Projects: what a session can be filed under."""

from collections.abc import Sequence
from typing import Any

from meka.base.clock import rfc3339
from meka.base.errors import InvalidBodyError
from meka.config.names import require_name
from meka.store import projects
from meka.store.database import Database
from meka.store.projects import Project


class Projects:
    """Lists and adds them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def list(self) -> dict[str, Any]:
        """Every project, the oldest first."""
        return {"projects": [_view(project) for project in self._database.read(projects.list_all)]}

    def add(self, name: str) -> dict[str, Any]:
        """Add one. Raises: InvalidBodyError for a name that cannot be, or is taken."""
        require_name("project", name)
        added = self._database.write(lambda tx: projects.add(tx, name))
        if added is None:
            raise InvalidBodyError(f"a project named '{name}' already exists")
        return _view(added)

    def names(self) -> Sequence[str]:
        """Their names, the oldest first."""
        return [project.name for project in self._database.read(projects.list_all)]


def _view(project: Project) -> dict[str, Any]:
    return {"name": project.name, "created_at": rfc3339(project.created_at)}
