"""Projects, by name."""

from dataclasses import dataclass
from datetime import datetime

from meka.store.codec import from_micros, to_micros
from meka.store.connection import Tx
from meka.store.models import PROJECTS


@dataclass(frozen=True, slots=True)
class Project:
    """One project."""

    name: str
    created_at: datetime


def add(tx: Tx, name: str) -> Project | None:
    """Add a project, made now; None, and nothing done, when there is one of that name."""
    if tx.row(PROJECTS.select(PROJECTS.name).where(PROJECTS.name == name)) is not None:
        return None
    project = Project(name, tx.now())
    tx.execute(PROJECTS.insert({PROJECTS.name: name, PROJECTS.created_at: to_micros(project.created_at)}))
    return project


def list_all(tx: Tx) -> list[Project]:
    """Every project, the oldest first."""
    query = PROJECTS.select(PROJECTS.name, PROJECTS.created_at).order_by(PROJECTS.created_at, PROJECTS.name)
    return [Project(row["name"], from_micros(row["created_at"])) for row in tx.rows(query)]
