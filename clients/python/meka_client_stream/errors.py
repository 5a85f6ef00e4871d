"""What ends a stream for good."""

from collections.abc import Mapping
from typing import Any


class StreamError(Exception):
    """A stream that will not go on."""


class ProblemError(StreamError):
    """The server refused. `problem` is its problem document, empty where the answer held none."""

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        super().__init__(f"{status} {problem.get('title', '')}: {problem.get('detail', 'no detail')}")
        self.status = status
        self.problem = problem

    @property
    def type(self) -> str:
        """The URI of the kind of problem."""
        return str(self.problem.get("type", "about:blank"))

    @property
    def retry_after_seconds(self) -> float | None:
        """When the server says to come back."""
        seconds = self.problem.get("retry_after")
        return float(seconds) if isinstance(seconds, int | float) else None


class StreamLostError(StreamError):
    """The line was lost and cannot be taken up again; `turn_id` is the turn, where it is known."""

    def __init__(self, sentence: str, turn_id: str | None = None) -> None:
        super().__init__(sentence)
        self.turn_id = turn_id
