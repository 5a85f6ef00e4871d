"""`file_find` and `file_search`: names and lines below directories, found by a child process within 60 s."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from meka.agent.tools.base import ToolContext, ToolError, ToolOutcome
from meka.agent.tools.confined import is_within
from meka.agent.tools.globs import Glob, parse_glob, parse_name_glob
from meka.agent.tools.paths import PathRules, rules_of, shown
from meka.agent.tools.patterns import compile_pattern
from meka.agent.worker import WorkerStoppedError, run_worker
from meka.base.levels import Level
from meka.base.text import scrub

BUDGET_SECONDS = 60.0
FIND_LIMIT = 500
SEARCH_LIMIT = 100
MAX_OUTPUT_CHARS = 16 * 1024 * 1024
_GRACE_SECONDS = 1.0
_WORKER = "meka.agent.tools.search_worker"


@dataclass(slots=True)
class _Findings:
    """What the child reported so far."""

    rows: list[str] = field(default_factory=list)
    shown: int = 0
    total: int = 0
    unreadable: int = 0
    end: str = "time"
    _rest: bytes = b""

    def take(self, output: bytes) -> None:
        *lines, self._rest = (self._rest + output).split(b"\n")
        for line in lines:
            report = json.loads(line)
            self.rows.append(report["text"])
            self.shown, self.total = report["shown"], report["total"]
            self.unreadable = report["unreadable"]
            self.end = report.get("end", self.end)

    def render(self, nothing: str, seconds: float) -> str:
        notes = []
        if self.shown < self.total:
            more = "" if self.end == "done" else "at least "
            notes.append(f"shown {self.shown} of {more}{self.total}")
        if self.end == "time":
            notes.append(f"stopped after {seconds:g} s")
        if self.unreadable:
            notes.append(f"{self.unreadable} unreadable")
        text = "".join(self.rows).rstrip("\n") or nothing
        return f"{text}\n... ({', '.join(notes)})" if notes else text


class FileFind:
    """The tool. `budget_seconds` is how long a walk may take."""

    name = "file_find"
    description = (
        "Find files by a glob over their path below a directory: * and ? within one path component, ** any "
        "number of directories, [a-z], {a,b}. Returns one path a line. Linked directories are not entered."
    )
    parameters: Mapping[str, Any] = {
        "type": "object",
        "properties": {
            "glob": {"type": "string", "description": "For example **/*.py or src/*.{c,h}"},
            "path": {
                "type": "string",
                "description": "The directory to look in; default the working directory and further roots",
            },
            "limit": {"type": "integer", "minimum": 1, "description": f"Most paths; default {FIND_LIMIT}"},
        },
        "required": ["glob"],
    }
    level = Level.READ
    summary_argument: str | None = "glob"
    takes_scratchpad = True
    deferred = False
    serial = False

    def __init__(self, budget_seconds: float = BUDGET_SECONDS) -> None:
        self._seconds = budget_seconds

    def run(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
        """Walk and list. Raises: ToolError."""
        glob = parse_glob(scrub(arguments["glob"]))
        compile_pattern(glob.regex)
        rules = rules_of(context)
        roots = context.run_blocking(_find_roots, rules, arguments.get("path"), glob)
        request = _request(rules, roots, name_pattern=glob.regex, max_depth=glob.max_depth)
        request["limit"] = _limit(arguments, context, FIND_LIMIT)
        return ToolOutcome(_run(request, context, self._seconds, "(no files match)"))


class FileSearch:
    """The tool. `budget_seconds` is how long a search may take."""

    name = "file_search"
    description = (
        "Search the lines of files for a regular expression (RE2 syntax: no look-around, no "
        "back-references). Returns path:line:text rows. Skips entries that begin with a dot, target, "
        "node_modules, linked directories and binary files; .gitignore is not read."
    )
    parameters: Mapping[str, Any] = {
        "type": "object",
        "properties": {
            "pattern": {"type": "string", "description": "The regular expression"},
            "path": {
                "type": "string",
                "description": "A directory or one file; default the working directory and further roots",
            },
            "glob": {"type": "string", "description": "Only files whose name matches, for example *.py"},
            "limit": {
                "type": "integer",
                "minimum": 1,
                "maximum": SEARCH_LIMIT,
                "description": f"Most rows; default {SEARCH_LIMIT}",
            },
        },
        "required": ["pattern"],
    }
    level = Level.READ
    summary_argument: str | None = "pattern"
    takes_scratchpad = True
    deferred = False
    serial = False

    def __init__(self, budget_seconds: float = BUDGET_SECONDS) -> None:
        self._seconds = budget_seconds

    def run(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
        """Search and list. Raises: ToolError."""
        pattern = scrub(arguments["pattern"])
        compile_pattern(pattern)
        glob = arguments.get("glob")
        name_pattern = None if glob is None else parse_name_glob(scrub(glob))
        if name_pattern is not None:
            compile_pattern(name_pattern)
        rules = rules_of(context)
        roots = context.run_blocking(_search_roots, rules, arguments.get("path"))
        request = _request(rules, roots, name_pattern=name_pattern, pattern=pattern)
        request["limit"] = _limit(arguments, context, SEARCH_LIMIT)
        return ToolOutcome(_run(request, context, self._seconds, "(no lines match)"))


def _limit(arguments: Mapping[str, Any], context: ToolContext, default: int) -> int | None:
    given: int | None = arguments.get("limit")
    if given is not None:
        return given
    return None if context.unlimited else default


def _request(
    rules: PathRules,
    roots: Sequence[str],
    *,
    name_pattern: str | None,
    pattern: str | None = None,
    max_depth: int | None = None,
) -> dict[str, Any]:
    return {
        "roots": roots,
        "name_pattern": name_pattern,
        "pattern": pattern,
        "max_depth": max_depth,
        "skip_hidden": pattern is not None,
        "confined": not rules.unrestricted,
        "private": [os.path.realpath(path) for path in rules.private_dirs],
        "readable": [os.path.realpath(path) for path in rules.readable_private],
        "max_chars": MAX_OUTPUT_CHARS,
    }


def _find_roots(rules: PathRules, path: str | None, glob: Glob) -> list[str]:
    starts = [path] if path is not None else [str(root) for root in rules.roots] or ["."]
    for start in starts:
        if not rules.resolve_to_read(start).is_dir():
            raise ToolError(f"{shown(start)}: no such directory")
    if glob.base.startswith("/"):
        starts = ["/"]
    resolved = dict.fromkeys(rules.resolve_to_read(os.path.join(start, glob.base)) for start in starts)
    found = [str(directory) for directory in resolved if directory.is_dir()]
    return _outermost(found) if glob.max_depth is None else found


def _search_roots(rules: PathRules, path: str | None) -> list[str]:
    starts = [path] if path is not None else [str(root) for root in rules.roots] or ["."]
    found: dict[Path, None] = {}
    for start in starts:
        resolved = rules.resolve_to_read(start)
        if not resolved.is_dir() and not resolved.is_file():
            kind = "not a regular file or a directory" if resolved.exists() else "no such file or directory"
            raise ToolError(f"{shown(start)}: {kind}")
        found[resolved] = None
    return _outermost([str(each) for each in found])


def _outermost(paths: Sequence[str]) -> list[str]:
    """The paths that lie below no other: what is below is reached from there."""
    return [path for path in paths if not any(path != other and is_within(path, other) for other in paths)]


def _run(request: dict[str, Any], context: ToolContext, seconds: float, nothing: str) -> str:
    findings = _Findings()
    request["seconds"] = seconds
    try:
        run_worker(
            _WORKER,
            request,
            on_output=findings.take,
            seconds=seconds + _GRACE_SECONDS,
            cancel=context.cancel,
        )
    except WorkerStoppedError as error:
        if not error.is_late:
            raise ToolError(
                "the search process ended before its work was done; try a smaller directory"
            ) from error
    return findings.render(nothing, seconds)
