"""The context window of a loaded session: how full it is, and what its tools may ask of it."""

from meka.agent.checkpoint import Handover
from meka.agent.compaction import Wish
from meka.agent.occupancy import Occupancy, ceiling, estimate_overhead, occupancy, verbatim_budget
from meka.agent.prompt import SHORT_PROMPT
from meka.agent.toolbox import Toolbox
from meka.agent.tools.base import ToolError, WindowReport
from meka.agent.turn import Turn
from meka.service.models import Model
from meka.service.runtime import SessionRuntime


class WindowGauge:
    """Reads how full a session's window is."""

    def __init__(self, runtime: SessionRuntime, model: Model, toolbox: Toolbox) -> None:
        self._runtime = runtime
        self._model = model
        self._toolbox = toolbox

    def read(self, turn: Turn | None = None) -> Occupancy:
        """As it stands, within a turn where one is named."""
        measured = None if turn is None else turn.context_tokens
        if measured is None:
            measured = self._runtime.context_tokens
        messages = self._runtime.conversation.messages
        return occupancy(measured, self._overhead(), messages, self._model.profile.context_window)

    def _overhead(self) -> int:
        """The system prompt and the tools; counted once for each set of loaded tools."""
        runtime, sends_tools = self._runtime, self._model.provider.sends_tools
        stand = (sends_tools, runtime.loaded_tools)
        if runtime.overhead is None or runtime.overhead[0] != stand:
            tools = self._toolbox.schemas(runtime.loaded_tools) if sends_tools else ()
            prompt = runtime.system_prompt if sends_tools else SHORT_PROMPT
            runtime.overhead = (stand, estimate_overhead(prompt, tools))
        return runtime.overhead[1]


class TurnWindow:
    """What a turn's tools see of the window."""

    def __init__(self, gauge: WindowGauge, runtime: SessionRuntime, turn: Turn, percent: int) -> None:
        self._gauge = gauge
        self._runtime = runtime
        self._turn = turn
        self._percent = percent

    def report(self) -> WindowReport:
        """The window as it stands."""
        state = self._gauge.read(self._turn)
        return WindowReport(
            used=state.used,
            window=state.window,
            ceiling=ceiling(state.window, self._percent),
            verbatim=verbatim_budget(state.window),
            overhead=state.overhead,
            generation=self._runtime.conversation.generation,
        )

    def ask_to_compact(self, instructions: str | None, keep_recent: bool | None) -> None:
        """Compact once the round is over. Raises: ToolError the second time in a turn."""
        if self._turn.asked_to_compact:
            raise ToolError("this turn has asked for its compaction already")
        self._turn.asked_to_compact = True
        self._turn.compaction_wish = Wish(instructions, keep_recent)

    def hand_over(self, summary: str, keep_recent: bool | None) -> None:
        """Raises: ToolError, always."""
        raise ToolError("a summary is handed over at a checkpoint alone")


class CheckpointWindow(TurnWindow):
    """What a checkpoint's tools see of it: `context_replace` ends the checkpoint."""

    def __init__(
        self, gauge: WindowGauge, runtime: SessionRuntime, turn: Turn, percent: int, handover: Handover
    ) -> None:
        super().__init__(gauge, runtime, turn, percent)
        self._handover = handover

    def ask_to_compact(self, instructions: str | None, keep_recent: bool | None) -> None:
        """Raises: ToolError, always."""
        raise ToolError("the conversation is being compacted")

    def hand_over(self, summary: str, keep_recent: bool | None) -> None:
        """Take the summary; a later one replaces it."""
        self._handover.summary = summary
        self._handover.keep_recent = keep_recent
