"""A client's turn, as the request that submitted it sees it: held to its end, or detached from it."""

from typing import Any

from meka.agent.turn import Ending, Status
from meka.base.clock import Clock
from meka.base.errors import MekaError, TurnCanceledError
from meka.service.reader import Reader
from meka.service.runtime import ActiveTurn, SessionRuntime
from meka.service.views import turn_response, turn_view
from meka.store.turns import TurnRow


class HeldTurn:
    """A turn as its request sees it. `leave()` when the client is gone; it may come at any time, once."""

    def __init__(
        self, runtime: SessionRuntime, active: ActiveTurn, reader: Reader | None, clock: Clock
    ) -> None:
        self._clock = clock
        self._runtime = runtime
        self._active = active
        self.reader = reader
        self._left = False

    @property
    def id(self) -> str:
        """The turn's id."""
        return self._active.turn.id

    @property
    def session_id(self) -> str:
        """The session it is a turn of."""
        return self._runtime.id

    def next_frames(self, timeout_seconds: float) -> list[bytes] | None:
        """The turn's events as a streaming request reads them; None after the terminal."""
        return None if self.reader is None else self.reader.next_frames(timeout_seconds)

    def close(self) -> None:
        """The stream is over, for whatever reason."""
        if self.reader is not None:
            self.reader.close()
        self.leave()

    def leave(self) -> None:
        """The request no longer listens."""
        if not self._left:
            self._left = True
            self._active.listeners -= 1
            self._runtime.note_leaving(self._clock.monotonic())

    def record(self) -> dict[str, Any]:
        """The turn's record as it stood at admission, whatever became of the turn meanwhile."""
        turn = self._active.turn
        row = TurnRow(turn.id, turn.session_id, turn.source.value, turn.started_at, turn.permission)
        return turn_view(row)

    def answer(self) -> dict[str, Any]:
        """Wait for the ending. Raises: MekaError when the turn failed or was canceled."""
        ending: Ending = self._active.done.get()
        if ending.error is not None:
            raise _with_withdrawn(ending.error, ending)
        if ending.status is Status.CANCELED:
            raise _with_withdrawn(TurnCanceledError("the turn was canceled before it ended"), ending)
        return self._response(ending)

    def partial_answer(self, stop_reason: str) -> dict[str, Any]:
        """What a turn that was stopped came to, once it has ended."""
        return self._response(self._active.done.get()) | {"stop_reason": stop_reason}

    def _response(self, ending: Ending) -> dict[str, Any]:
        with_thinking = bool(self._runtime.row.capabilities.get("supports_reasoning_stream"))
        return turn_response(self._active.turn, ending, with_thinking=with_thinking)


def _with_withdrawn(error: MekaError, ending: Ending) -> MekaError:
    error.members["message_withdrawn"] = bool(ending.message_withdrawn)
    return error
