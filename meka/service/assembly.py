"""What a turn is handed by its session: ports for the loop, a context for each tool call."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from meka.agent.blocks import Image, Message
from meka.agent.cancel import Cancel
from meka.agent.checkpoint import TOOLS as CHECKPOINT_TOOLS
from meka.agent.checkpoint import CheckpointPorts, Handover
from meka.agent.compaction import CompactionPorts
from meka.agent.lineup import Lineup, StandIn
from meka.agent.mail import Mail
from meka.agent.permission import Gate
from meka.agent.prompt import SHORT_PROMPT
from meka.agent.providers.base import Usage
from meka.agent.runner import Call, CallRunner, Emit
from meka.agent.toolbox import Toolbox
from meka.agent.tools.base import ImageData, ToolContext, WindowPort
from meka.agent.tools.private import PrivateDirectories
from meka.agent.tools.window import checkpoint_tool
from meka.agent.turn import TurnPorts, WindowPorts
from meka.base.clock import Clock
from meka.base.ids import Ids
from meka.base.levels import Level
from meka.service.background import Background, SessionTasks
from meka.service.checklists import SessionChecklist
from meka.service.models import Model
from meka.service.opening import build_context
from meka.service.prompts import Prompts
from meka.service.runtime import ActiveTurn, SessionRuntime
from meka.service.scratchpad import SessionScratchpad
from meka.service.window import CheckpointWindow, TurnWindow, WindowGauge
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
    compacts_itself: bool = True
    checkpoints: bool = True
    turn_retention_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class ToolPlaces:
    """meka's own files, which tools are kept out of; `readable` of them any level may read, and `writable`
    are further roots."""

    private: PrivateDirectories
    readable: tuple[Path, ...]
    writable: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Bench:
    """What all ports of one turn are made from; `lineup` is who serves it."""

    runtime: SessionRuntime
    active: ActiveTurn
    model: Model
    lineup: Lineup
    checklist: SessionChecklist
    emit: Emit
    notify: Callable[[str, str], None]


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
        ids: Ids,
        run_blocking: Callable[..., Any],
        stand_ins: Callable[[Model], Iterator[StandIn]] = _nobody,
    ) -> None:
        self._stand_ins = stand_ins
        self._database = database
        self._toolbox = toolbox
        self._checkpoint_toolbox = checkpoint_toolbox(toolbox)
        self._prompts = prompts
        self._background = background
        self._settings = settings
        self._places = places
        self._clock = clock
        self._ids = ids
        self._run_blocking = run_blocking
        self._advised: set[str] = set()

    def ports(
        self,
        runtime: SessionRuntime,
        active: ActiveTurn,
        model: Model,
        mail: Mail,
        is_abandoned: Callable[[], bool],
    ) -> TurnPorts:
        """The ports of one turn."""
        bench = self._bench(runtime, active, model)
        gauge = WindowGauge(runtime, model, self._toolbox)
        window = TurnWindow(gauge, runtime, active.turn, self._settings.compact_at_percent)
        return TurnPorts(
            database=self._database,
            conversation=runtime.conversation,
            provider=bench.lineup,
            fall_back=bench.lineup.fall_back,
            runner=self._runner(bench, self._toolbox, window),
            system_prompt=runtime.system_prompt if model.provider.sends_tools else SHORT_PROMPT,
            load_image=self._load_image,
            emit=bench.emit,
            notify=bench.notify,
            clock=self._clock,
            streams=self._settings.streams,
            relay_errors=self._settings.relay_errors,
            loaded_tools=lambda: runtime.loaded_tools,
            note_loaded=runtime.note_loaded,
            is_abandoned=is_abandoned,
            mail=mail,
            checklist=bench.checklist.current,
            note_checklist=bench.checklist.announce,
            shows_reasoning=lambda: bool(runtime.row.capabilities.get("supports_reasoning_stream")),
            reasoning_is_watched=lambda: runtime.attending > 0 or (active.streaming and active.listeners > 0),
            window=self._window(bench, gauge),
        )

    def _bench(self, runtime: SessionRuntime, active: ActiveTurn, model: Model) -> Bench:
        turn = active.turn

        def emit(name: str, payload: Mapping[str, Any]) -> int | None:
            return runtime.emit(name, payload, turn.id)

        def notify(level: str, text: str) -> None:
            notice = {"level": level, "text": text}
            turn.notices.append(notice)
            emit("notice", notice)

        def note_serving(profile: str) -> None:
            turn.served_by = profile

        lineup = Lineup(model.provider, self._stand_ins(model), note_serving)
        return Bench(runtime, active, model, lineup, SessionChecklist(runtime, emit), emit, notify)

    def _window(self, bench: Bench, gauge: WindowGauge) -> WindowPorts:
        runtime, model = bench.runtime, bench.model
        percent = self._settings.compact_at_percent
        return WindowPorts(
            compaction=self._compaction(bench, gauge),
            ceiling_percent=percent,
            automatic=self._settings.compacts_itself,
            retention_seconds=self._settings.turn_retention_seconds,
            fresh_context=lambda: (
                build_context(runtime, model, self._toolbox, self._clock.now(), percent, whole=True).block
            ),
        )

    def compaction_ports(self, runtime: SessionRuntime, active: ActiveTurn, model: Model) -> CompactionPorts:
        """The ports of a compaction that no turn is about."""
        gauge = WindowGauge(runtime, model, self._toolbox)
        return self._compaction(self._bench(runtime, active, model), gauge)

    def _compaction(self, bench: Bench, gauge: WindowGauge) -> CompactionPorts:
        runtime, model, turn = bench.runtime, bench.model, bench.active.turn

        def add_usage(usage: Usage) -> None:
            turn.usage = turn.usage + usage

        return CompactionPorts(
            conversation=runtime.conversation,
            checkpoint=self._checkpoint(bench, gauge),
            checkpoints=lambda: self._may_check(runtime, model),
            occupancy=lambda: gauge.read(turn),
            checklist=bench.checklist.current,
            loaded_tools=lambda: runtime.loaded_tools,
            on_replaced=runtime.forget_what_was_told,
            add_usage=add_usage,
            relay_errors=self._settings.relay_errors,
            new_id=self._ids.new,
        )

    def _may_check(self, runtime: SessionRuntime, model: Model) -> bool:
        """Whether the model can hand over a summary itself: it calls tools, and the level lets them run."""
        is_able = model.provider.sends_tools and runtime.level is not Level.NONE
        return self._settings.checkpoints and is_able

    def _checkpoint(self, bench: Bench, gauge: WindowGauge) -> CheckpointPorts:
        runtime, turn = bench.runtime, bench.active.turn
        percent = self._settings.compact_at_percent

        def make_runner(handover: Handover) -> CallRunner:
            window = CheckpointWindow(gauge, runtime, turn, percent, handover)
            return self._runner(bench, self._checkpoint_toolbox, window, in_checkpoint=True)

        return CheckpointPorts(
            session_id=runtime.id,
            provider=bench.lineup,
            fall_back=bench.lineup.fall_back,
            system_prompt=runtime.system_prompt,
            load_image=self._load_image,
            clock=self._clock,
            streams=self._settings.streams,
            emit=bench.emit,
            notify=bench.notify,
            make_runner=make_runner,
        )

    def _runner(
        self, bench: Bench, toolbox: Toolbox, window: WindowPort, *, in_checkpoint: bool = False
    ) -> CallRunner:
        runtime, active, model = bench.runtime, bench.active, bench.model
        checklist, emit = bench.checklist, bench.emit
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
                private_dirs=self._places.private.paths,
                find_displaced=self._places.private.find_displaced,
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
                tools=lambda: tuple(toolbox.tools.values()),
                is_active=lambda name: toolbox.is_active(name, runtime.loaded_tools),
                checklist=checklist,
                tasks=tasks,
                window=window,
                unlimited=unlimited,
                # Beside the turn there is no result that could refer to anything.
                expands_references=bench.lineup.expands_references and not is_beside,
            )

        return CallRunner(
            toolbox=toolbox,
            gate=Gate(
                level=lambda: runtime.level,
                approvals=lambda: runtime.row.approvals and not in_checkpoint,
                ask=lambda question: self._prompts.ask(runtime, active, question),
                notify=bench.notify,
            ),
            emit=emit,
            cancel=turn.cancel,
            scratchpad=scratchpad,
            make_context=make_context,
            put_image=lambda image: self._put_image(runtime.id, image),
            start_background=tasks.start if self._background.is_enabled and not in_checkpoint else None,
            spills=not in_checkpoint,
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


def checkpoint_toolbox(toolbox: Toolbox) -> Toolbox:
    """What of a session's tools a checkpoint may use, and the one that ends it."""
    tools = [tool for name, tool in toolbox.tools.items() if name in CHECKPOINT_TOOLS]
    return Toolbox([*tools, checkpoint_tool()], {tool.name: toolbox.levels[tool.name] for tool in tools})


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
