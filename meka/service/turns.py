"""Turns: admitted one a session, run in a greenlet of their own, held by a request or detached from it."""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gevent
from gevent.event import Event

from meka.agent.blocks import Block
from meka.agent.cancel import Cancel
from meka.agent.loop import open_turn, run_turn, terminal_of
from meka.agent.mail import Letters, Moment
from meka.agent.toolbox import Toolbox
from meka.agent.turn import Ending, Source, Status, Turn
from meka.base.clock import Clock
from meka.base.errors import (
    ConcurrencyLimitError,
    InternalError,
    MekaError,
    NotFoundError,
    ShuttingDownError,
    TurnMismatchError,
)
from meka.base.ids import Ids
from meka.service.assembly import Assembly, TurnSettings
from meka.service.fates import Fate
from meka.service.held import HeldTurn
from meka.service.mail import SessionMail
from meka.service.models import Model, Models
from meka.service.opening import Context, Request, build_context, build_images, opening_blocks, read_request
from meka.service.reader import Reader
from meka.service.registry import Registry
from meka.service.runtime import ActiveTurn, SessionRuntime
from meka.service.sessions import not_drivable
from meka.service.views import turn_view
from meka.store import turns
from meka.store.database import Database

LOG = logging.getLogger(__name__)

_DEFAULT_PAGE, _LARGEST_PAGE = 50, 200


class Turns:
    """Runs turns. One instance a process; it owns the greenlets and waits for them when the server drains."""

    def __init__(
        self,
        database: Database,
        registry: Registry,
        models: Models,
        toolbox: Toolbox,
        assembly: Assembly,
        settings: TurnSettings,
        clock: Clock,
        ids: Ids,
    ) -> None:
        self._database = database
        self._registry = registry
        self._models = models
        self._toolbox = toolbox
        self._assembly = assembly
        self._settings = settings
        self.clock = clock
        self._ids = ids
        self._running: dict[str, ActiveTurn] = {}
        self._draining = False
        self._idle = Event()
        self._idle.set()
        self._place = Event()
        self.announce: Callable[[str, Fate], None] = lambda _session_id, _fate: None
        self.poke: Callable[[str], None] = lambda _session_id: None

    def submit(self, session_id: str, body: Mapping[str, Any]) -> HeldTurn:
        """Admit a client's turn and start it; returns once its opening is stored.

        Raises: MekaError when it was refused; nothing was written then.
        """
        request = read_request(body)
        runtime = self._registry.load(session_id)
        if runtime.row.parent_id is not None:
            raise not_drivable(runtime.row)
        streaming, detached = bool(body.get("stream")), bool(body.get("detach"))
        active = self._admit(
            runtime, Source.CLIENT, held=not detached, streaming=streaming, withdraws=request.withdraws
        )
        reader = self._attach(runtime, active) if streaming else None
        try:
            self._begin(runtime, active, request)
        except BaseException:
            if reader is not None:
                reader.close()
            raise
        return HeldTurn(runtime, active, reader, self.clock)

    def open_autonomous(self, runtime: SessionRuntime, *, for_items: bool) -> ActiveTurn | None:
        """Open a turn on what waits in the session's inbox, or to report; None when nothing does any more.

        Raises: MekaError when it could not begin.
        """
        source = Source.INBOX if for_items else Source.BACKGROUND
        active = self._admit(runtime, source, held=False, streaming=False, withdraws=for_items)
        active.listeners = 0
        runtime.may_wait = True  # who asks for this turn saw in the store that there is a reason for it
        return active if self._begin(runtime, active, None) else None

    def admit_compaction(self, runtime: SessionRuntime) -> ActiveTurn:
        """Take the session's slot for a compaction, past the cap on turns; `conclude` gives it back.

        Raises: TurnInFlightError, ShuttingDownError.
        """
        return self._admit(runtime, Source.COMPACTION, held=False, streaming=False, withdraws=False)

    def model_of(self, runtime: SessionRuntime) -> Model:
        """What runs the session, taken when first asked for. Raises: MekaError when it cannot run."""
        known = self._models.config.profiles
        if runtime.name_in_doubt or runtime.row.profile not in known:
            self._registry.follow_rename(runtime, known)
        runtime.model = runtime.model or self._models.of_session(runtime.row.profile)
        return runtime.model

    def _attach(self, runtime: SessionRuntime, active: ActiveTurn) -> Reader:
        """A reader of the turn alone. A held turn is stopped when it is the only one and falls behind."""
        cancel = active.turn.cancel
        on_lag = (lambda: cancel.request("sse_lag")) if active.held else None
        return runtime.feed.attach(runtime.feed.live(), turn_id=active.turn.id, on_lag=on_lag)

    def _admit(
        self, runtime: SessionRuntime, source: Source, *, held: bool, streaming: bool, withdraws: bool
    ) -> ActiveTurn:
        """Take the session's slot, or say why not. Nothing here yields: two requests cannot both pass."""
        if self._draining:
            raise ShuttingDownError("the server is shutting down")
        limit = self._settings.max_concurrent
        is_counted = source is not Source.COMPACTION
        if is_counted and runtime.slot is None and limit is not None and len(self._running) >= limit:
            raise ConcurrencyLimitError(f"{limit} turns are in flight, which is the limit", retry_after=1)
        turn = Turn(
            id=self._ids.new(),
            session_id=runtime.id,
            source=source,
            permission=runtime.level.value,
            started_at=self.clock.now(),
            opening=(),
            withdraws=withdraws,
            cancel=Cancel(),
        )
        active = ActiveTurn(turn, held=held, streaming=streaming)
        runtime.take(active)
        self._running[turn.id] = active
        self._idle.clear()
        return active

    def release(self, runtime: SessionRuntime, active: ActiveTurn) -> None:
        """Give the session back without a word."""
        runtime.free(active)
        runtime.last_used = self.clock.monotonic()
        self._running.pop(active.turn.id, None)
        self._place.set()
        if not self._running:
            self._idle.set()

    def wait_for_place(self, timeout_seconds: float) -> None:
        """Wait until a turn of the process has ended, or for so long."""
        self._place.clear()
        self._place.wait(timeout_seconds)

    def _begin(self, runtime: SessionRuntime, active: ActiveTurn, request: Request | None) -> bool:
        """Build the opening and run the turn; False, and the slot free again, with nothing to say."""
        turn = active.turn
        try:
            model = self.model_of(runtime)
            images = build_images(request, runtime.id, model, self._database) if request else []
            mail = self._mail(runtime, active)
            letters = turn.letters = mail.take(Moment.OPENING)
            if request is None and letters is None:
                self.release(runtime, active)
                return False
            context = build_context(
                runtime, model, self._toolbox, self.clock.now(), self._settings.compact_at_percent
            )
            said = opening_blocks(request, images) if request is not None else ()
            self._address(runtime, turn, context, said, letters, mail)
            self._start(runtime, active, model, context, mail)
            active.begun.get()
        except BaseException:
            if turn.letters is not None:
                turn.letters.drop()
            self.release(runtime, active)
            raise
        return True

    def _address(
        self,
        runtime: SessionRuntime,
        turn: Turn,
        context: Context,
        said: Sequence[Block],
        letters: Letters | None,
        mail: SessionMail,
    ) -> None:
        """Put the opening together: context, reports, the words, then what the inbox holds."""
        taken = letters.blocks if letters is not None else ()
        reports = tuple(block for block in taken if block.type == "background_report")
        items = tuple(block for block in taken if block.type != "background_report")
        turn.opening = (context.block, *reports, *said, *items)
        turn.permission = runtime.level.value
        turn.on_open, turn.on_end = mail.glance, mail.settle
        if runtime.conversation.total == 0:
            turn.first_words = " ".join(_words(block) for block in (*said, *items)).strip() or None

    def _mail(self, runtime: SessionRuntime, active: ActiveTurn) -> SessionMail:
        turn_id = active.turn.id
        return SessionMail(
            self._database, runtime, self.clock, lambda name, payload: runtime.emit(name, payload, turn_id)
        )

    def _start(
        self,
        runtime: SessionRuntime,
        active: ActiveTurn,
        model: Model,
        context: Context,
        mail: SessionMail,
    ) -> None:
        greenlet = gevent.spawn(self._drive, runtime, active, model, context, mail)
        greenlet.name = f"turn-{active.turn.id}"

    def _drive(
        self,
        runtime: SessionRuntime,
        active: ActiveTurn,
        model: Model,
        context: Context,
        mail: SessionMail,
    ) -> None:
        """A turn's whole life, in its own greenlet."""
        turn = active.turn
        try:
            ports = self._assembly.ports(
                runtime, active, model, mail, lambda: self._is_abandoned(runtime, active)
            )
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
            ports.note_checklist()
            ending = run_turn(turn, ports)
        except Exception:
            LOG.exception("a turn did not end well", extra={"turn_id": turn.id, "session_id": runtime.id})
            ending = Ending(Status.FAILED, turn.usage, error=InternalError(), message_withdrawn=False)
        runtime.has_run = True
        if ending.message_withdrawn and runtime.world is context.world:
            # What the opening told the model went with it.
            runtime.world, runtime.resumed = known, resumed
        runtime.context_tokens = turn.context_tokens or runtime.context_tokens
        self._announce(runtime, active, mail, ending)

    def _announce(
        self, runtime: SessionRuntime, active: ActiveTurn, mail: SessionMail, ending: Ending
    ) -> None:
        for fate in mail.conclude(ending):
            self.announce(runtime.id, fate)
        self.conclude(runtime, active, ending)

    def conclude(self, runtime: SessionRuntime, active: ActiveTurn, ending: Ending) -> None:
        """Free the session, then say how it ended: whoever reads that may open the next turn at once."""
        name, payload = terminal_of(ending)
        active.ending = ending
        LOG.info(
            "turn ended",
            extra={"turn_id": active.turn.id, "session_id": runtime.id, "status": ending.status.value},
        )
        self.release(runtime, active)
        runtime.emit(name, payload, active.turn.id)
        active.done.set(ending)
        if runtime.may_wait or runtime.owes_report:
            self.poke(runtime.id)

    def _is_abandoned(self, runtime: SessionRuntime, active: ActiveTurn) -> bool:
        """Whether a held turn has had no listener for the whole of the grace."""
        if not active.held or active.listeners > 0 or runtime.feed.readers > 0:
            return False
        return self.clock.monotonic() - runtime.left_at >= self._settings.reattach_grace_seconds

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
    def is_draining(self) -> bool:
        """Whether nothing new is begun any more."""
        return self._draining

    @property
    def in_flight(self) -> int:
        """How many turns are running."""
        return len(self._running)


def _words(block: Block) -> str:
    """What a person said in a block."""
    return str(getattr(block, "body", "") or (block.text if block.type == "text" else ""))  # type: ignore[union-attr]
