"""A session in a store with a scripted model, on which the loop's tests run turns."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from meka.agent.blocks import Image, Text, ToolResult, TurnContext
from meka.agent.cancel import Cancel
from meka.agent.checklist import fold
from meka.agent.conversation import Conversation
from meka.agent.loop import open_turn, run_turn
from meka.agent.mail import Mail, NoMail
from meka.agent.permission import Gate, Verdict
from meka.agent.providers.scripted import Round, ScriptedProvider
from meka.agent.runner import CallRunner
from meka.agent.toolbox import Toolbox
from meka.agent.tools.base import Tool, ToolContext, ToolOutcome
from meka.agent.turn import Ending, Source, Turn, TurnPorts
from meka.base.levels import Level
from meka.store import sessions
from meka.store.database import Database
from tests.fakes import FakeClock, FakeScratchpad, make_context

SESSION = "00000000-0000-4000-8000-000000000001"
TURN = "00000000-0000-4000-8000-0000000000aa"


@dataclass
class FakeTool:
    """A tool whose work is a function of its arguments."""

    name: str
    work: Callable[[Mapping[str, Any], ToolContext], ToolOutcome]
    level: Level = Level.READ
    description: str = "For tests."
    parameters: Mapping[str, Any] = field(
        default_factory=lambda: {"type": "object", "properties": {"text": {"type": "string"}}}
    )
    summary_argument: str | None = "text"
    takes_scratchpad: bool = True
    deferred: bool = False
    serial: bool = False

    def run(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
        return self.work(arguments, context)


class HurriedCancel(Cancel):
    """A cancel whose waits take no time."""

    def wait(self, seconds: float) -> bool:
        return self.requested


class Stage:
    """A session in a store, ready for turns."""

    def __init__(self, database: Database, tmp_path: Path) -> None:
        self.database = database
        self.tmp_path = tmp_path
        self.clock = FakeClock()
        self.events: list[tuple[str, Mapping[str, Any]]] = []
        self.notices: list[tuple[str, str]] = []
        self.scratchpad = FakeScratchpad(self.clock)
        self.level = Level.READ
        self.approvals = False
        self.abandoned = False
        self.cancel = Cancel()
        self.mail: Mail = NoMail()
        database.write(
            lambda tx: sessions.create(
                tx, SESSION, working_directory="/", permission="read", approvals=False, profile="p"
            )
        )
        self.conversation = Conversation.load(database, SESSION, 0)

    def run(
        self,
        rounds: Sequence[Round],
        tools: Sequence[Tool] = (),
        *,
        withdraws: bool = False,
        turn: str = TURN,
    ) -> Ending:
        self.provider = ScriptedProvider(rounds)
        self.turn = Turn(
            id=turn,
            session_id=SESSION,
            source=Source.CLIENT,
            permission="read",
            started_at=self.clock.now(),
            opening=(TurnContext("<context></context>"), Text("go")),
            withdraws=withdraws,
            cancel=self.cancel,
        )
        ports = self.ports(tools)
        open_turn(self.turn, ports)
        return run_turn(self.turn, ports)

    def ports(self, tools: Sequence[Tool]) -> TurnPorts:
        def emit(name: str, payload: Mapping[str, Any]) -> None:
            self.events.append((name, payload))

        def notify(level: str, text: str) -> None:
            self.notices.append((level, text))

        toolbox = Toolbox(tools)
        runner = CallRunner(
            toolbox=toolbox,
            gate=Gate(lambda: self.level, lambda: self.approvals, lambda _q: Verdict.NOBODY, notify),
            emit=emit,
            cancel=self.cancel,
            scratchpad=self.scratchpad,
            make_context=lambda _call, unlimited, _cancel: make_context(self.tmp_path, unlimited=unlimited),
            put_image=lambda image: Image(image.media_type, "0" * 64),
        )
        return TurnPorts(
            database=self.database,
            conversation=self.conversation,
            provider=self.provider,
            runner=runner,
            system_prompt="be good",
            load_image=lambda _hash: None,
            emit=emit,
            notify=notify,
            clock=self.clock,
            streams=True,
            relay_errors=True,
            loaded_tools=lambda: (),
            note_loaded=lambda _names: None,
            is_abandoned=lambda: self.abandoned,
            mail=self.mail,
            checklist=lambda: fold(self.conversation.messages),
            note_checklist=lambda: None,
            shows_reasoning=lambda: True,
            reasoning_is_watched=lambda: False,
        )

    def names(self) -> list[str]:
        return [name for name, _ in self.events]

    def payloads(self, wanted: str) -> list[Mapping[str, Any]]:
        return [payload for name, payload in self.events if name == wanted]

    def stored(self) -> Conversation:
        """The conversation as another process would load it."""
        return Conversation.load(self.database, SESSION, self.conversation.revision)


def say(text: str, **end: Any) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text}, {"type": "message_end", "stop_reason": "end_turn", **end}]


def call(*calls: tuple[str, str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = []
    for call_id, name, given in calls:
        events.append({"type": "tool_use_start", "id": call_id, "name": name})
        events.append({"type": "tool_use_end", "id": call_id, "name": name, "input": dict(given)})
    return [*events, {"type": "message_end", "stop_reason": "tool_use"}]


def echo(arguments: Mapping[str, Any], _context: ToolContext) -> ToolOutcome:
    return ToolOutcome(f"heard {arguments.get('text')}")


def results(stage: Stage) -> list[ToolResult]:
    return [b for m in stage.stored().messages for b in m.content if isinstance(b, ToolResult)]
