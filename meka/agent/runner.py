"""Runs the tool calls of one assistant message: all at once, answered in call order, each with one result."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import gevent
from gevent import Greenlet
from gevent.event import AsyncResult

from meka.agent.blocks import Image, Text, ToolReference, ToolResult
from meka.agent.cancel import Cancel, CanceledError
from meka.agent.permission import Gate, Question
from meka.agent.toolbox import Arguments, Fault, Toolbox, display_summary
from meka.agent.tools.base import ImageData, Scratchpad, Tool, ToolContext, ToolError, ToolOutcome
from meka.agent.tools.names import near_names
from meka.base.text import cut_utf8, one_line, scrub

LOG = logging.getLogger(__name__)

SPILL_BYTES = 30_000
_SHOWN_BYTES = 2_000
INTERRUPTED = "The execution of this call was interrupted before it finished."

Emit = Callable[[str, Mapping[str, Any]], object]


@dataclass(frozen=True, slots=True)
class Call:
    """One call as the model made it; `rejected` says why its arguments could not be read at all."""

    id: str
    name: str
    input: Mapping[str, Any]
    rejected: str | None = None


class StartBackground(Protocol):
    """Lets a call go on beside the turn; the outcome says that it does. Raises: ToolError.

    `entry` is where in the scratchpad the call wants its result.
    """

    def __call__(
        self, call: Call, label: str | None, work: Callable[[Cancel], ToolOutcome], entry: str | None, /
    ) -> ToolOutcome: ...


@dataclass(frozen=True, slots=True)
class Finished:
    """What one call came to: what history keeps, what the feed shows, and the tools it made callable."""

    result: ToolResult
    shown: tuple[Text | Image | ToolReference, ...]
    change: Mapping[str, Any] | None = None
    loaded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CallRunner:
    """What running calls takes. `make_context(call, unlimited)` builds what a tool is handed.

    `spills` False cuts a long result instead of keeping it in the scratchpad.
    `advised` holds the tools whose undeclared arguments the model was told of; one set a process.
    """

    toolbox: Toolbox
    gate: Gate
    emit: Emit
    cancel: Cancel
    scratchpad: Scratchpad
    make_context: Callable[[Call, bool, Cancel], ToolContext]
    put_image: Callable[[ImageData], Image]
    start_background: StartBackground | None = None
    spills: bool = True
    advised: set[str] = field(default_factory=set)

    def run(self, calls: Sequence[Call]) -> list[Finished]:
        """Run every call; a cancel ends those still running, each with a result that says so."""
        answers = [AsyncResult() for _ in calls]
        greenlets = [gevent.spawn(self._run_serial, self._serial(calls, answers))]
        greenlets += [
            gevent.spawn(self._run_into, call, answer)
            for call, answer in zip(calls, answers, strict=True)
            if not self._is_serial(call)
        ]
        for greenlet in greenlets:
            greenlet.name = "tool-call"
        try:
            return [
                self._collect(call, answer, greenlets) for call, answer in zip(calls, answers, strict=True)
            ]
        finally:
            gevent.killall(greenlets)

    def _is_serial(self, call: Call) -> bool:
        tool = self.toolbox.get(call.name)
        return tool is not None and tool.serial

    def _serial(
        self, calls: Sequence[Call], answers: Sequence[AsyncResult]
    ) -> list[tuple[Call, AsyncResult]]:
        return [pair for pair in zip(calls, answers, strict=True) if self._is_serial(pair[0])]

    def _run_serial(self, pairs: Sequence[tuple[Call, AsyncResult]]) -> None:
        for call, answer in pairs:
            self._run_into(call, answer)

    def _run_into(self, call: Call, answer: AsyncResult) -> None:
        answer.set(self._run_one(call))

    def _collect(self, call: Call, answer: AsyncResult, greenlets: Sequence[Greenlet]) -> Finished:
        self.cancel.wait_beside([answer])
        if not answer.ready():
            # Ended first: what is said to be interrupted must not go on to do its work, or start a task.
            gevent.killall(greenlets)
        finished: Finished = answer.get() if answer.ready() else _failed(call, INTERRUPTED)
        payload: dict[str, Any] = {
            "id": call.id,
            "is_error": finished.result.is_error,
            "content": [_shown(item) for item in finished.shown],
        }
        if finished.change is not None:
            payload["change"] = finished.change
        self.emit("tool_call.completed", payload)
        return finished

    def _run_one(self, call: Call) -> Finished:
        tool = self.toolbox.get(call.name)
        if call.rejected is not None:
            return _failed(call, f"The call was rejected: no JSON object as arguments ({call.rejected}).")
        if tool is None:
            return _failed(call, unknown_tool(call.name, self.toolbox))
        arguments = self.toolbox.check(tool, call.input)
        if isinstance(arguments, Fault):
            return _failed(call, f"Tool error: {arguments.sentence}")
        question = Question(call.id, call.name, call.input)
        refusal = self.gate.refusal(question, self.toolbox.levels[tool.name])
        if refusal is not None:
            return _failed(call, refusal)
        try:
            outcome = self._outcome(call, tool, arguments)
            return self._finish(
                call,
                outcome,
                None if arguments.background else arguments.scratchpad,
                self._advice(tool, arguments.undeclared),
            )
        except CanceledError:
            return _failed(call, INTERRUPTED)
        except ToolError as error:
            return _failed(call, f"Tool error: {error}")
        except Exception:
            LOG.exception("tool crashed", extra={"tool": tool.name, "call_id": call.id})
            return _failed(call, f"Tool error: {tool.name} failed unexpectedly; the turn goes on.")

    def _outcome(self, call: Call, tool: Tool, arguments: Arguments) -> ToolOutcome:
        """Run the call in the turn, or start it beside the turn; then its whole outcome is the task's."""
        unlimited = arguments.scratchpad is not None

        def work(cancel: Cancel) -> ToolOutcome:
            return tool.run(arguments.own, self.make_context(call, unlimited, cancel))

        if not arguments.background or self.start_background is None:
            return work(self.cancel)
        if arguments.scratchpad is not None:
            self._refuse_inherited(arguments.scratchpad)
        return self.start_background(call, display_summary(tool, call.input), work, arguments.scratchpad)

    def _advice(self, tool: Tool, undeclared: Sequence[str]) -> str:
        if not undeclared or tool.name in self.advised:
            return ""
        self.advised.add(tool.name)
        return f"\n[meka harness] {tool.name} has no parameter {', '.join(undeclared)}; ignored."

    def _finish(self, call: Call, outcome: ToolOutcome, entry: str | None, advice: str) -> Finished:
        text = scrub(outcome.text)
        images = tuple(self.put_image(image) for image in outcome.images)
        kept = self._kept(call, text, entry, outcome.never_spill) + advice
        change = None
        if outcome.change is not None and not outcome.is_error:
            change = {
                key: scrub(value)
                for key in ("path", "old", "new")
                if (value := getattr(outcome.change, key)) is not None
            }
        references = tuple(map(ToolReference, outcome.loaded)) if outcome.refers else ()
        result = ToolResult(call.id, outcome.is_error, (Text(kept), *images, *references))
        return Finished(result, (Text(text + advice), *images, *references), change, outcome.loaded)

    def _kept(self, call: Call, text: str, entry: str | None, never_spill: bool) -> str:
        """What history holds of a result: itself, or a pointer to where the scratchpad has it."""
        size = len(text.encode())
        if entry is not None:
            self._put(entry, text)
            return f"The result is in the scratchpad as '{one_line(entry)}' ({size} bytes)."
        if never_spill or size <= SPILL_BYTES:
            return text
        if not self.spills:
            return cut_utf8(text, SPILL_BYTES, "\n... [cut]")
        name = self._spill_name(call)
        self._put(name, text)
        head = cut_utf8(text, _SHOWN_BYTES)
        return (
            f'<large-output name="{name}" size="{size}">\nThe result is {size} bytes long and is kept in the '
            f"scratchpad. Read it with scratchpad_read (name, start, end). It begins:\n{head}\n...\n"
            "</large-output>"
        )

    def _put(self, name: str, text: str) -> None:
        self._refuse_inherited(name)
        self.scratchpad.put(name, text)

    def _refuse_inherited(self, name: str) -> None:
        existing = self.scratchpad.get(name)
        if existing is not None and existing.origin != "own":
            raise ToolError(f"the scratchpad entry '{one_line(name)}' is inherited and read-only")

    def _spill_name(self, call: Call) -> str:
        tail = "".join(ch for ch in call.id if ch.isalnum())[-6:]
        number = 1
        while self.scratchpad.get(f"{call.name}_{tail}_{number}") is not None:
            number += 1
        return f"{call.name}_{tail}_{number}"


def unknown_tool(name: str, toolbox: Toolbox) -> str:
    """What the model reads of a tool that is not there, with near names."""
    near = near_names(name, list(toolbox.tools))
    hint = f" Did you mean {', '.join(near)}?" if near else ""
    return f"There is no tool named '{name}'.{hint}"


def interrupted(call_id: str) -> ToolResult:
    """The one result of a call that never finished."""
    return ToolResult(call_id, True, (Text(INTERRUPTED),))


def _failed(call: Call, sentence: str) -> Finished:
    text = Text(scrub(sentence))
    return Finished(ToolResult(call.id, True, (text,)), (text,))


def _shown(item: Text | Image | ToolReference) -> dict[str, Any]:
    """A result's item on the feed: an image by its type alone."""
    if isinstance(item, Text):
        return {"type": "text", "text": item.text}
    if isinstance(item, Image):
        return {"type": "image", "media_type": item.media_type}
    return {"type": "tool_reference", "tool_name": item.tool_name}
