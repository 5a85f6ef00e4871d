"""`scratchpad_load_file` and `scratchpad_save_file`: by the rules of the file tools."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from meka.agent.tools.base import Tool, ToolContext, ToolOutcome
from meka.agent.tools.file_write import FileWrite, PathLocks
from meka.agent.tools.function_tool import FunctionTool, object_schema
from meka.agent.tools.paths import PathRules, rules_of
from meka.agent.tools.scratchpad import find_entry, store_entry
from meka.agent.tools.textfiles import naming, read_text
from meka.base.levels import Level

_NAME = {"type": "string", "minLength": 1, "description": "Name of the entry."}
_PATH = {"type": "string", "description": "The file; a relative path starts at the working directory."}


def scratchpad_file_tools(locks: PathLocks) -> tuple[Tool, ...]:
    """The two tools; `locks` are those of the file tools, so that writes to one path take turns."""
    load = FunctionTool(
        name="scratchpad_load_file",
        description="Store a text file's content in the scratchpad.",
        parameters=object_schema(["path", "name"], path=_PATH, name=_NAME),
        function=load_file,
        summary_argument="path",
    )
    save = FunctionTool(
        name="scratchpad_save_file",
        description="Write a scratchpad entry to a file. A file that was read in this session and has "
        "changed on disk since is not overwritten unless force is true.",
        parameters=object_schema(
            ["name", "path"], name=_NAME, path=_PATH, force={"type": "boolean", "default": False}
        ),
        function=FileSaver(FileWrite(locks)).save,
        summary_argument="name",
        level=Level.WORKSPACE,
    )
    return load, save


def load_file(arguments: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
    """Put a file's text into an entry. Raises: ToolError."""
    text: str = context.run_blocking(_read, rules_of(context), arguments["path"])
    return ToolOutcome(store_entry(context, arguments["name"], text))


class FileSaver:
    """Saves entries the way `file_write` writes."""

    def __init__(self, writer: FileWrite) -> None:
        self._writer = writer

    def save(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
        """Write an entry to a file. Raises: ToolError."""
        entry = find_entry(context, arguments["name"])
        written = self._writer.run(
            {"path": arguments["path"], "content": entry.content, "force": arguments.get("force", False)},
            context,
        )
        return ToolOutcome(written.text)


def _read(rules: PathRules, argument: str) -> str:
    path: Path = rules.resolve_to_read(argument)
    with naming(argument):
        return read_text(path).text
