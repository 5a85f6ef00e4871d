"""`file_read`: text whole or in a window, the lines a pattern matches, images."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from meka.agent.images import IMAGE_EXTENSIONS, ImageError, load_image, sniff
from meka.agent.tools.base import FileState, ToolContext, ToolError, ToolOutcome
from meka.agent.tools.lines import chunks_of
from meka.agent.tools.paths import FILE_PATH, PathRules, rules_of, shown
from meka.agent.tools.patterns import Pattern, compile_pattern
from meka.agent.tools.textfiles import (
    MAX_WHOLE_BYTES,
    Window,
    decode,
    naming,
    read_bytes,
    state_of,
    stream_window,
    window_of,
)
from meka.base.levels import Level

DEFAULT_LINES = 2000
MAX_ROWS = 100
MAX_IMAGE_FILE_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class _Request:
    path: str
    start: int | None
    end: int | None
    regex: str | None

    @property
    def windowed(self) -> bool:
        return self.start is not None or self.end is not None

    @property
    def first(self) -> int:
        return self.start or 1

    @property
    def last(self) -> int:
        return self.end or self.first + DEFAULT_LINES - 1


@dataclass(frozen=True, slots=True)
class _Contents:
    """What was found at a path: `data` for a file read whole, `window` for one that was streamed."""

    path: Path
    state: FileState
    data: bytes = b""
    window: Window | None = None
    is_image: bool = False


class FileRead:
    """The tool."""

    name = "file_read"
    description = (
        "Read a text file, or look at an image. Without start and end the whole file is returned when it has "
        f"at most {DEFAULT_LINES} lines, else its first {DEFAULT_LINES} lines; a notice then tells how many "
        "there are. With regex, the matching lines are returned as `line:text` (the first "
        f"{MAX_ROWS}; RE2 syntax: no look-around, no back-references). Files above 16 MiB need start and end."
    )
    parameters: Mapping[str, Any] = {
        "type": "object",
        "properties": {
            "path": FILE_PATH,
            "start": {"type": "integer", "minimum": 1, "description": "First line, from 1; default 1"},
            "end": {
                "type": "integer",
                "minimum": 1,
                "description": f"Last line, inclusive; default start + {DEFAULT_LINES - 1}",
            },
            "regex": {"type": "string", "description": "Return only the lines that match this pattern"},
        },
        "required": ["path"],
    }
    level = Level.READ
    summary_argument: str | None = "path"
    takes_scratchpad = True
    deferred = False
    serial = False

    def run(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
        """Read one file and note that the model has seen it. Raises: ToolError."""
        request = _Request(
            arguments["path"], arguments.get("start"), arguments.get("end"), arguments.get("regex")
        )
        if request.last < request.first:
            raise ToolError(f"end ({request.last}) lies before start ({request.first})")
        pattern = None if request.regex is None else compile_pattern(request.regex)
        canceled = context.cancel
        contents = context.run_blocking(_open, request, rules_of(context), lambda: canceled.requested)
        if contents.is_image:
            outcome = _image_outcome(request, contents)
        else:
            text = context.run_blocking(_render, request, contents, pattern, lambda: canceled.requested)
            outcome = ToolOutcome(text)
        if contents.window is None:
            context.reads.seen[contents.path] = contents.state
        return outcome


def _open(request: _Request, rules: PathRules, is_stopped: Callable[[], bool]) -> _Contents:
    path = rules.resolve_to_read(request.path)
    with naming(request.path):
        if path.suffix.lower() in IMAGE_EXTENSIONS:
            data, status = read_bytes(path, MAX_IMAGE_FILE_BYTES)
            if sniff(data, path.suffix) is not None:
                return _Contents(path, state_of(status), data, is_image=True)
        if request.windowed and path.stat().st_size > MAX_WHOLE_BYTES:
            window = stream_window(path, request.first, request.last, is_stopped)
            return _Contents(path, FileState(0, 0), window=window)
        data, status = read_bytes(path, MAX_WHOLE_BYTES)
        return _Contents(path, state_of(status), data)


def _image_outcome(request: _Request, contents: _Contents) -> ToolOutcome:
    try:
        image = load_image(contents.data, contents.path.suffix)
    except ImageError as error:
        raise ToolError(f"{shown(request.path)}: {error}") from error
    return ToolOutcome(f"[Image: {shown(request.path)}]", images=(image,))


def _render(
    request: _Request, contents: _Contents, pattern: Pattern | None, is_stopped: Callable[[], bool]
) -> str:
    window = contents.window
    if window is None:
        text = decode(contents.data, contents.path)
        if not request.windowed:
            if pattern is not None:
                return _render_matches(text, 1, pattern, is_stopped)
            if contents.data.count(b"\n") + (not contents.data.endswith(b"\n")) <= DEFAULT_LINES:
                return text
        window = window_of(chunks_of(contents.data), contents.path, request.first, request.last, is_stopped)
    if pattern is not None:
        return _render_matches(window.text, window.start, pattern, is_stopped)
    return _render_window(window)


def _render_window(window: Window) -> str:
    if window.start > window.total:
        return f"(no lines: the file has {window.total} lines, start was {window.start})"
    if window.start == 1 and window.end == window.total:
        return window.text
    return f"{window.text}\n\n(lines {window.start}-{window.end} of {window.total})"


def _render_matches(text: str, first_number: int, pattern: Pattern, is_stopped: Callable[[], bool]) -> str:
    found = pattern.matching_lines(text, MAX_ROWS, first_number=first_number, is_stopped=is_stopped)
    if not found.total:
        return "(no matches)"
    rows = [f"{row.number}:{row.text}" for row in found.rows]
    if found.total > MAX_ROWS:
        rows.append(f"... (showing first {MAX_ROWS} of {found.total} matches)")
    return "\n".join(rows)
