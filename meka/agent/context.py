"""The `turn_context` block: what the model is told ahead of the words of each turn.

The world (tools) is stated whole on the first turn after a load and later only as far as it changed. A
snapshot of what was told is handed back, so that an opening that is taken back takes its news along.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from email.utils import format_datetime
from pathlib import Path

from meka.agent.tools.base import Tool
from meka.agent.tools.discovery import summarize
from meka.base.levels import Level
from meka.base.text import cut_utf8

_DISCOVERY_BYTES = 8192
_DISCOVERY_NAMES = 200
_RUNNING_TASKS = 20


@dataclass(frozen=True, slots=True)
class World:
    """What the model was last told of its surroundings: each tool with its one line."""

    callable: Mapping[str, str] = field(default_factory=dict)
    deferred: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ContextFacts:
    """What one turn's context depends on.

    Units: tokens for `used_tokens` and `window_tokens`; `known` is the world as it was told before, None at
    the first turn after a load; `resumed` says that earlier turns happened before this load; `running` are
    the labels of the background tasks that run, by id.
    """

    level: Level
    approvals: bool
    vision: bool
    working_directory: Path | None
    now: datetime
    used_tokens: int
    window_tokens: int
    compact_at_percent: int
    world: World
    known: World | None
    resumed: bool
    running: Mapping[str, str] = field(default_factory=dict)
    compactions: int = 0


def world_of(tools: Sequence[Tool], levels: Mapping[str, Level], active: Sequence[str]) -> World:
    """The tools as they stand: `levels` the level each requires here, `active` the deferred ones loaded."""
    direct: dict[str, str] = {}
    deferred: dict[str, str] = {}
    for tool in tools:
        line = f"(level {levels[tool.name]})"
        if tool.deferred and tool.name not in active:
            deferred[tool.name] = f"{line}: {summarize(tool.description)}"
        else:
            direct[tool.name] = line
    return World(direct, deferred)


def turn_context(facts: ContextFacts) -> str:
    """The block's text."""
    sections = [
        _resumed(facts),
        _permission(facts),
        f"[Execution context]\nImage input: {'enabled' if facts.vision else 'disabled'}.",
        _budget(facts),
        _background(facts.running),
        _environment(facts),
        *_world(facts),
    ]
    return "<context>\n" + "\n".join(section for section in sections if section) + "\n</context>"


def _resumed(facts: ContextFacts) -> str:
    if not facts.resumed:
        return ""
    return (
        "[Session resumed]\nTime has passed since the last turn. Files may have changed: read them again "
        "before you rely on them or edit them. Your checklist, if you keep one, stands as you left it."
    )


def _permission(facts: ContextFacts) -> str:
    line = f"Level: {facts.level}."
    if facts.level is not Level.UNRESTRICTED:
        line += f" Approvals: {'on' if facts.approvals else 'off'}."
    return f"[Permission context]\n{line}"


def _budget(facts: ContextFacts) -> str:
    if facts.window_tokens <= 0 or facts.used_tokens <= 0:
        return ""
    percent = round(100 * facts.used_tokens / facts.window_tokens)
    return (
        f"[Context budget]\n{facts.used_tokens} of {facts.window_tokens} tokens used ({percent}%); "
        f"the ceiling is {facts.compact_at_percent}%."
        + (f" Compactions so far: {facts.compactions}." if facts.compactions > 1 else "")
    )


def _background(running: Mapping[str, str]) -> str:
    if not running:
        return ""
    lines = [f"- **{task_id[:8]}**: {label}" for task_id, label in running.items()]
    rest = [f"({len(lines) - _RUNNING_TASKS} more)"] if len(lines) > _RUNNING_TASKS else []
    return "\n".join(["[Background]", *lines[:_RUNNING_TASKS], *rest])


def _environment(facts: ContextFacts) -> str:
    if facts.level is Level.NONE:
        return ""
    lines = ["[Environment context]"]
    if facts.working_directory is not None:
        lines.append(f"Working directory: {facts.working_directory}")
        if facts.level is Level.WORKSPACE:
            lines.append(f"Writable roots: {facts.working_directory}")
    lines.append(f"Date: {format_datetime(facts.now.astimezone())}")
    return "\n".join(lines)


def _world(facts: ContextFacts) -> list[str]:
    if facts.known is None:
        return [_listing("[Available tools]", facts.world.callable), _discovery(facts.world.deferred)]
    return [_changes(facts.known, facts.world)]


def _listing(heading: str, lines: Mapping[str, str]) -> str:
    if not lines:
        return ""
    return "\n".join([heading, *(f"- **{name}** {line}" for name, line in lines.items())])


def _discovery(deferred: Mapping[str, str]) -> str:
    """Deferred tools in at most 8 KiB and 200 names: summaries are given up first, then names."""
    if not deferred:
        return ""
    names = list(deferred)[:_DISCOVERY_NAMES]
    text = _listing("[Tool discovery]", {name: deferred[name] for name in names})
    if len(text.encode()) > _DISCOVERY_BYTES:
        bare = "\n".join(["[Tool discovery]", *(f"- **{name}**" for name in names)])
        text = cut_utf8(bare, _DISCOVERY_BYTES)
    missing = len(deferred) - text.count("\n- **") - text.startswith("- **")
    return text + (f"\n({missing} more; find them with tool_search)" if missing > 0 else "")


def _changes(known: World, world: World) -> str:
    lines: list[str] = []
    for name, line in world.callable.items():
        if name not in known.callable:
            lines.append(f"- **{name}** {line}: newly callable")
        elif known.callable[name] != line:
            lines.append(f"- **{name}** is now {line}")
    lines += [f"- **{name}** {line}: newly deferred" for name, line in world.deferred.items()
              if name not in known.deferred]  # fmt: skip
    gone = [*known.callable, *known.deferred]
    lines += [f"- **{name}**: gone" for name in gone
              if name not in world.callable and name not in world.deferred]  # fmt: skip
    return "\n".join(["[Available tools]", *lines]) if lines else ""
