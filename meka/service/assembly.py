"""What a turn is handed by its session: ports for the loop, a context for each tool call."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from meka.agent.blocks import Image, Message
from meka.agent.cancel import Cancel
from meka.agent.lineup import Lineup, StandIn
from meka.agent.permission import Gate
from meka.agent.prompt import SHORT_PROMPT
from meka.agent.runner import Call, CallRunner, Emit
from meka.agent.toolbox import Toolbox
from meka.agent.tools.base import ImageData, ToolContext
from meka.agent.turn import TurnPorts
from meka.base.clock import Clock
from meka.service.background import Background, SessionTasks
from meka.service.checklists import SessionChecklist
from meka.service.mail import SessionMail
from meka.service.models import Model
from meka.service.prompts import Prompts
from meka.service.runtime import ActiveTurn, SessionRuntime
from meka.service.scratchpad import SessionScratchpad
from meka.store import blobs
from meka.store.database import Database

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
    """meka's own files, which tools are kept out of; `readable` of them any level may read, and `writable`
    are further roots."""

    private: tuple[Path, ...]
    readable: tuple[Path, ...]
    writable: tuple[Path, ...] = ()


def _nobody(_model: Model) -> Iterator[StandIn]:
    return iter(())


class Assembly:
    """Builds the ports of turns. One instance a process."""

    def __init__(
        self,
        database: Database,
        toolbox: Toolbox,
        prompts: Prompts,
        background: Background,
        settings: TurnSettings,
        places: ToolPlaces,
        clock: Clock,
        run_blocking: Callable[..., Any],
        stand_ins: Callable[[Model], Iterator[StandIn]] = _nobody,
    ) -> None:
        self._stand_ins = stand_ins
        self._database = database
        self._toolbox = toolbox
        self._prompts = prompts
        self._background = background
        self._settings = settings
        self._places = places
        self._clock = clock
        self._run_blocking = run_blocking
        self._advised: set[str] = set()

    def ports(
        self,
        runtime: SessionRuntime,
        active: ActiveTurn,
        model: Model,
        mail: SessionMail,
        is_abandoned: Callable[[], bool],
    ) -> TurnPorts:
        """The ports of one turn."""
        turn = active.turn

        def emit(name: str, payload: Mapping[str, Any]) -> None:
            runtime.emit(name, payload, turn.id)

        def notify(level: str, text: str) -> None:
            notice = {"level": level, "text": text}
            turn.notices.append(notice)
            emit("notice", notice)

        def note_serving(profile: str) -> None:
            turn.served_by = profile

        lineup = Lineup(model.provider, self._stand_ins(model), note_serving)
        checklist = SessionChecklist(runtime, emit)
        return TurnPorts(
            database=self._database,
            conversation=runtime.conversation,
            provider=lineup,
            fall_back=lineup.fall_back,
            runner=self._runner(runtime, active, model, checklist, emit, notify),
            system_prompt=runtime.system_prompt if model.provider.sends_tools else SHORT_PROMPT,
            load_image=self._load_image,
            emit=emit,
            notify=notify,
            clock=self._clock,
            streams=self._settings.streams,
            relay_errors=self._settings.relay_errors,
            loaded_tools=lambda: runtime.loaded_tools,
            note_loaded=runtime.note_loaded,
            is_abandoned=is_abandoned,
            mail=mail,
            checklist=checklist.current,
            note_checklist=checklist.announce,
            shows_reasoning=lambda: bool(runtime.row.capabilities.get("supports_reasoning_stream")),
            reasoning_is_watched=lambda: runtime.attending > 0 or (active.streaming and active.listeners > 0),
        )

    def _runner(
        self,
        runtime: SessionRuntime,
        active: ActiveTurn,
        model: Model,
        checklist: SessionChecklist,
        emit: Emit,
        notify: Callable[[str, str], None],
    ) -> CallRunner:
        scratchpad = SessionScratchpad(self._database, runtime.id)
        tasks = SessionTasks(self._background, self._database, runtime)

        turn = active.turn

        def make_context(call: Call, unlimited: bool, cancel: Cancel) -> ToolContext:
            is_beside = cancel is not turn.cancel
            return ToolContext(
                session_id=runtime.id,
                call_id=call.id,
                working_directory=runtime.working_directory,
                roots=(runtime.working_directory, *self._places.writable),
                private_dirs=self._places.private,
                readable_private=self._places.readable,
                level=lambda: runtime.level,
                cancel=cancel,
                clock=self._clock,
                reads=runtime.reads,
                scratchpad=scratchpad,
                conversation=WholeLog(runtime),
                run_blocking=self._run_blocking,
                emit_output=_nowhere if is_beside else _to_feed(emit, call.id),
                context_room=lambda: self._room(turn.context_tokens or runtime.context_tokens, model),
                tools=lambda: tuple(self._toolbox.tools.values()),
                is_active=lambda name: self._toolbox.is_active(name, runtime.loaded_tools),
                checklist=checklist,
                tasks=tasks,
                unlimited=unlimited,
            )

        return CallRunner(
            toolbox=self._toolbox,
            gate=Gate(
                level=lambda: runtime.level,
                approvals=lambda: runtime.row.approvals,
                ask=lambda question: self._prompts.ask(runtime, active, question),
                notify=notify,
            ),
            emit=emit,
            cancel=turn.cancel,
            scratchpad=scratchpad,
            make_context=make_context,
            put_image=lambda image: self._put_image(runtime.id, image),
            start_background=tasks.start if self._background.is_enabled else None,
            advised=self._advised,
        )

    def _room(self, used_tokens: int, model: Model) -> int:
        """How many bytes the window still takes below its ceiling."""
        ceiling = model.profile.context_window * self._settings.compact_at_percent // 100
        return max(0, ceiling - used_tokens) * _BYTES_PER_TOKEN

    def _put_image(self, session_id: str, image: ImageData) -> Image:
        digest = self._database.write(lambda tx: blobs.put(tx, session_id, image.media_type, image.data))
        return Image(image.media_type, digest)

    def _load_image(self, image_hash: str) -> bytes | None:
        blob = self._database.read(lambda tx: blobs.get(tx, image_hash))
        return None if blob is None else blob.data


def _to_feed(emit: Emit, call_id: str) -> Callable[[str], None]:
    def emit_output(chunk: str) -> None:
        emit("tool_call.output_delta", {"id": call_id, "chunk": chunk})

    return emit_output


def _nowhere(_chunk: str) -> None:
    """A call in the background is not streamed."""


class WholeLog:
    """The session's log, as the conversation tools read it."""

    def __init__(self, runtime: SessionRuntime) -> None:
        self._runtime = runtime

    def messages(self) -> Sequence[Message]:
        """Every message ever written, oldest first."""
        return self._runtime.conversation.whole_log()
