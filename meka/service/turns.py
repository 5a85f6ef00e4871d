"""Turns: admitted one a session, run in a greenlet of their own, held by a request or detached from it."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import gevent
from gevent.event import Event

from meka.agent.blocks import Image
from meka.agent.cancel import Cancel
from meka.agent.loop import open_turn, run_turn, terminal_of
from meka.agent.permission import Gate, Question, Verdict
from meka.agent.prompt import SHORT_PROMPT
from meka.agent.runner import Call, CallRunner
from meka.agent.toolbox import Toolbox
from meka.agent.tools.base import ImageData, ToolContext
from meka.agent.turn import Ending, Source, Status, Turn, TurnPorts
from meka.base.clock import Clock
from meka.base.errors import (
    ConcurrencyLimitError,
    InternalError,
    MekaError,
    NotFoundError,
    ShuttingDownError,
    TurnCanceledError,
    TurnMismatchError,
)
from meka.base.ids import Ids
from meka.service.feed import Reader
from meka.service.models import Model, Models
from meka.service.opening import Context, build_context, build_images, opening_blocks, read_request
from meka.service.registry import Registry
from meka.service.runtime import ActiveTurn, SessionRuntime
from meka.service.scratchpad import SessionScratchpad
from meka.service.sessions import not_drivable
from meka.service.views import turn_response, turn_view
from meka.store import blobs, turns
from meka.store.database import Database

LOG = logging.getLogger(__name__)

_DEFAULT_PAGE, _LARGEST_PAGE = 50, 200
_BYTES_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class TurnSettings:
    """What the configuration says of turns. Units: seconds; `max_concurrent` None is unlimited."""

    streams: bool
    relay_errors: bool
    reattach_grace_seconds: float
    max_concurrent: int | None
    compact_at_percent: int


@dataclass(frozen=True, slots=True)
class ToolPlaces:
    """Where meka's own files are, which tools are kept out of."""

    private: tuple[Any, ...]
    readable: tuple[Any, ...]


class HeldTurn:
    """A turn as its request sees it. `leave()` when the client is gone; it may come at any time, once."""

    def __init__(
        self, turns_: "Turns", runtime: SessionRuntime, active: ActiveTurn, reader: Reader | None
    ) -> None:
        self._turns = turns_
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
            self._turns.let_go(self._active)

    def record(self) -> dict[str, Any]:
        """The turn's record as it stands at admission."""
        return self._turns.get(self._runtime.id, self.id)

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


class Turns:
    """Runs turns. One instance a process; it owns the greenlets and waits for them when the server drains."""

    def __init__(
        self,
        database: Database,
        registry: Registry,
        models: Models,
        toolbox: Toolbox,
        settings: TurnSettings,
        places: ToolPlaces,
        clock: Clock,
        ids: Ids,
        run_blocking: Callable[..., Any],
    ) -> None:
        self._database = database
        self._registry = registry
        self._models = models
        self._toolbox = toolbox
        self._settings = settings
        self._places = places
        self._clock = clock
        self._ids = ids
        self._run_blocking = run_blocking
        self._running: dict[str, ActiveTurn] = {}
        self._advised: set[str] = set()
        self._draining = False
        self._idle = Event()
        self._idle.set()

    def submit(self, session_id: str, body: Mapping[str, Any]) -> HeldTurn:
        """Admit a client's turn and start it; returns once its opening is stored.

        Raises: MekaError when it was refused; nothing was written then.
        """
        request = read_request(body)
        runtime = self._registry.load(session_id)
        if runtime.row.parent_id is not None:
            raise not_drivable(runtime.row)
        streaming, detached = bool(body.get("stream")), bool(body.get("detach"))
        active = self._admit(runtime, held=not detached, streaming=streaming, withdraws=request.withdraws)
        reader = runtime.feed.attach(active.turn.id) if streaming else None
        try:
            runtime.model = runtime.model or self._models.get(runtime.row.profile)
            model = runtime.model
            images = build_images(request, session_id, model, self._database)
            context = build_context(
                runtime, model, self._toolbox, self._clock.now(), self._settings.compact_at_percent
            )
            active.turn.opening = opening_blocks(context, request, images)
            active.turn.permission = runtime.level.value
            if runtime.conversation.total == 0:
                active.turn.first_words = request.message
            self._start(runtime, active, model, context)
            active.begun.get()
        except BaseException:
            if reader is not None:
                reader.close()
            self._release(runtime, active)
            raise
        return HeldTurn(self, runtime, active, reader)

    def _admit(self, runtime: SessionRuntime, *, held: bool, streaming: bool, withdraws: bool) -> ActiveTurn:
        """Take the session's slot, or say why not. Nothing here yields: two requests cannot both pass."""
        if self._draining:
            raise ShuttingDownError("the server is shutting down")
        limit = self._settings.max_concurrent
        if runtime.slot is None and limit is not None and len(self._running) >= limit:
            raise ConcurrencyLimitError(f"{limit} turns are in flight, which is the limit", retry_after=1)
        turn = Turn(
            id=self._ids.new(),
            session_id=runtime.id,
            source=Source.CLIENT,
            permission=runtime.level.value,
            started_at=self._clock.now(),
            opening=(),
            withdraws=withdraws,
            cancel=Cancel(),
        )
        active = ActiveTurn(turn, held=held, streaming=streaming)
        runtime.take(active)
        self._running[turn.id] = active
        self._idle.clear()
        return active

    def _release(self, runtime: SessionRuntime, active: ActiveTurn) -> None:
        runtime.free(active)
        runtime.last_used = self._clock.monotonic()
        self._running.pop(active.turn.id, None)
        if not self._running:
            self._idle.set()

    def _start(self, runtime: SessionRuntime, active: ActiveTurn, model: Model, context: Context) -> None:
        greenlet = gevent.spawn(self._drive, runtime, active, model, context)
        greenlet.name = f"turn-{active.turn.id}"

    def _drive(self, runtime: SessionRuntime, active: ActiveTurn, model: Model, context: Context) -> None:
        """A turn's whole life, in its own greenlet."""
        turn = active.turn
        ports = self._ports(runtime, active, model)
        try:
            open_turn(turn, ports)
        except MekaError as error:
            active.begun.set_exception(error)
            return
        except Exception:
            LOG.exception("a turn could not begin", extra={"turn_id": turn.id, "session_id": runtime.id})
            active.begun.set_exception(InternalError())
            return
        known, resumed = runtime.world, runtime.resumed
        runtime.world, runtime.resumed = context.world, False
        active.begun.set(None)
        try:
            ending = run_turn(turn, ports)
        except Exception:
            LOG.exception("a turn did not end well", extra={"turn_id": turn.id, "session_id": runtime.id})
            ending = Ending(Status.FAILED, turn.usage, error=InternalError(), message_withdrawn=False)
        if ending.message_withdrawn:
            # What the opening told the model went with it.
            runtime.world, runtime.resumed = known, resumed
        runtime.context_tokens = turn.context_tokens or runtime.context_tokens
        self._announce(runtime, active, ending)

    def _announce(self, runtime: SessionRuntime, active: ActiveTurn, ending: Ending) -> None:
        """Free the session first: whoever reads the terminal may open the next turn at once."""
        name, payload = terminal_of(ending)
        active.ending = ending
        LOG.info(
            "turn ended",
            extra={"turn_id": active.turn.id, "session_id": runtime.id, "status": ending.status.value},
        )
        self._release(runtime, active)
        runtime.feed.publish(name, payload, active.turn.id, terminal=True)
        active.done.set(ending)

    def _ports(self, runtime: SessionRuntime, active: ActiveTurn, model: Model) -> TurnPorts:
        turn = active.turn

        def emit(name: str, payload: Mapping[str, Any]) -> None:
            runtime.emit(name, payload, turn.id)

        def notify(level: str, text: str) -> None:
            notice = {"level": level, "text": text}
            turn.notices.append(notice)
            emit("notice", notice)

        capabilities = runtime.row.capabilities
        shows_reasoning = bool(capabilities.get("supports_reasoning_stream"))
        scratchpad = SessionScratchpad(self._database, runtime.id)
        runner = CallRunner(
            toolbox=self._toolbox,
            gate=Gate(lambda: runtime.level, lambda: runtime.row.approvals, self._ask, notify),
            emit=emit,
            cancel=turn.cancel,
            scratchpad=scratchpad,
            make_context=lambda call, unlimited: self._tool_context(
                runtime, turn, model, scratchpad, emit, call, unlimited
            ),
            put_image=lambda image: self._put_image(runtime.id, image),
            advised=self._advised,
        )
        return TurnPorts(
            database=self._database,
            conversation=runtime.conversation,
            provider=model.provider,
            runner=runner,
            system_prompt=runtime.system_prompt if model.provider.sends_tools else SHORT_PROMPT,
            load_image=self._load_image,
            emit=emit,
            notify=notify,
            clock=self._clock,
            streams=self._settings.streams,
            relay_errors=self._settings.relay_errors,
            loaded_tools=lambda: runtime.loaded_tools,
            note_loaded=runtime.note_loaded,
            is_abandoned=lambda: self._is_abandoned(runtime, active),
            shows_reasoning=lambda: shows_reasoning,
            reasoning_is_watched=lambda: active.streaming and active.listeners > 0,
        )

    def _ask(self, _question: Question) -> Verdict:
        """No client of this version answers prompts: a call above the level is refused, with a notice."""
        return Verdict.NOBODY

    def _tool_context(
        self,
        runtime: SessionRuntime,
        turn: Turn,
        model: Model,
        scratchpad: SessionScratchpad,
        emit: Callable[[str, Mapping[str, Any]], None],
        call: Call,
        unlimited: bool,
    ) -> ToolContext:
        def context_room() -> int | None:
            ceiling = model.profile.context_window * self._settings.compact_at_percent // 100
            used = turn.context_tokens or runtime.context_tokens
            return max(0, ceiling - used) * _BYTES_PER_TOKEN

        return ToolContext(
            session_id=runtime.id,
            call_id=call.id,
            working_directory=runtime.working_directory,
            roots=(runtime.working_directory,),
            private_dirs=self._places.private,
            readable_private=self._places.readable,
            level=lambda: runtime.level,
            cancel=turn.cancel,
            clock=self._clock,
            reads=runtime.reads,
            scratchpad=scratchpad,
            conversation=WholeLog(runtime),
            run_blocking=self._run_blocking,
            emit_output=lambda chunk: emit("tool_call.output_delta", {"id": call.id, "chunk": chunk}),
            context_room=context_room,
            tools=lambda: tuple(self._toolbox.tools.values()),
            is_active=lambda name: any(
                tool.name == name for tool in self._toolbox.active(runtime.loaded_tools)
            ),
            unlimited=unlimited,
        )

    def _put_image(self, session_id: str, image: ImageData) -> Image:
        digest = self._database.write(lambda tx: blobs.put(tx, session_id, image.media_type, image.data))
        return Image(image.media_type, digest)

    def _load_image(self, image_hash: str) -> bytes | None:
        blob = self._database.read(lambda tx: blobs.get(tx, image_hash))
        return None if blob is None else blob.data

    def let_go(self, active: ActiveTurn) -> None:
        """One request fewer listens to a turn."""
        active.listeners -= 1
        active.left_at = self._clock.monotonic()

    def _is_abandoned(self, runtime: SessionRuntime, active: ActiveTurn) -> bool:
        """Whether a held turn has had no listener for the whole of the grace."""
        if not active.held or active.listeners > 0 or runtime.feed.readers > 0:
            return False
        return self._clock.monotonic() - active.left_at >= self._settings.reattach_grace_seconds

    def cancel(self, session_id: str, turn_id: str | None) -> None:
        """Stop the turn in flight, or only the one named; without one there is nothing to do.

        Raises: TurnMismatchError.
        """
        runtime = self._registry.get(session_id)
        active = runtime.active if runtime is not None else None
        if active is None:
            return
        if turn_id is not None and turn_id != active.turn.id:
            raise TurnMismatchError(
                f"the turn in flight is '{active.turn.id}', not '{turn_id}'",
                session_id=session_id,
                turn_id=active.turn.id,
            )
        active.turn.cancel.request("client")

    def list(self, session_id: str, limit: int | None, before: str | None) -> dict[str, Any]:
        """A page of a session's turns, newest first. Raises: SessionNotFoundError."""
        self._registry.row(session_id)
        size = _DEFAULT_PAGE if limit is None else min(max(limit, 1), _LARGEST_PAGE)
        rows, following = self._database.read(
            lambda tx: turns.list_page(tx, session_id, limit=size, before=before)
        )
        body: dict[str, Any] = {"session_id": session_id, "turns": [turn_view(row) for row in rows]}
        return body | ({"next_before": following} if following is not None else {})

    def get(self, session_id: str, turn_id: str) -> dict[str, Any]:
        """One turn's record. Raises: SessionNotFoundError, NotFoundError."""
        row = self._database.read(lambda tx: turns.get(tx, session_id, turn_id))
        if row is None:
            self._registry.row(session_id)
            raise NotFoundError(
                f"turn '{turn_id}' not found in session '{session_id}'", session_id=session_id
            )
        return turn_view(row)

    def drain(self, timeout_seconds: float) -> bool:
        """Refuse new turns, cancel all that run and wait for them; False when some did not end in time."""
        self._draining = True
        for active in tuple(self._running.values()):
            active.turn.cancel.request("server_shutdown")
        return bool(self._idle.wait(timeout_seconds))

    @property
    def in_flight(self) -> int:
        """How many turns are running."""
        return len(self._running)


class WholeLog:
    """The session's log, as the conversation tools read it."""

    def __init__(self, runtime: SessionRuntime) -> None:
        self._runtime = runtime

    def messages(self) -> list[Any]:
        return self._runtime.conversation.whole_log()


def _with_withdrawn(error: MekaError, ending: Ending) -> MekaError:
    error.members["message_withdrawn"] = bool(ending.message_withdrawn)
    return error
