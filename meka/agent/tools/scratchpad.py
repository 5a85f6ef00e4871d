"""The nine `scratchpad_*` tools: named texts of a session, its own and those inherited read-only."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from meka.agent.tools.base import ScratchpadEntry, Tool, ToolContext, ToolError, ToolOutcome
from meka.agent.tools.function_tool import FunctionTool, object_schema
from meka.agent.tools.scratchpad_view import view_entry
from meka.base.text import one_line, scrub

_STRING = {"type": "string"}
_NAME = {"type": "string", "minLength": 1, "description": "Name of the entry."}
_FORMATS = ("concat_with_headers", "concat", "json_array")
_OWN = "own"


def scratchpad_tools() -> tuple[Tool, ...]:
    """The seven that touch only the scratchpad."""
    return (
        _write_tool(),
        _read_tool(),
        _edit_tool(),
        _list_tool(),
        _delete_tool(),
        _rename_tool(),
        _merge_tool(),
    )


def write_entry(arguments: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
    """Store a text under a name, in place of what was there."""
    return ToolOutcome(store_entry(context, arguments["name"], arguments["content"]))


def read_entry(arguments: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
    """The lines of an entry that were asked for, within what the context has room for."""
    entry = find_entry(context, arguments["name"])
    room = None if context.unlimited else context.context_room() or 0
    text: str = context.run_blocking(
        view_entry, entry.content, arguments.get("start"), arguments.get("end"), arguments.get("regex"), room
    )
    return ToolOutcome(text, never_spill=True)


def edit_entry(arguments: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
    """Replace an entry's whole content, or one string in it (the first occurrence unless `replace_all`)."""
    entry = find_entry(context, arguments["name"])
    content, old, new = (arguments.get(key) for key in ("content", "old_string", "new_string"))
    if (content is None) == (old is None and new is None) or (old is None) != (new is None):
        raise ToolError("give either content, or old_string together with new_string")
    if content is not None:
        return ToolOutcome(store_entry(context, entry.name, content))
    if not old or old not in entry.content:
        raise ToolError(f"old_string was not found in '{one_line(entry.name)}'")
    count = entry.content.count(old) if arguments.get("replace_all", False) else 1
    said = store_entry(context, entry.name, entry.content.replace(old, new or "", count))
    return ToolOutcome(f"Replaced {count} occurrence{'s' if count > 1 else ''}. {said}")


def list_entries(arguments: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
    """A table of the entries."""
    entries = context.scratchpad.entries()
    if not entries:
        return ToolOutcome("The scratchpad is empty.")
    sizes = [size_bytes(entry.content) for entry in entries]
    rows = [("Name", "Size", "Created", "Origin")]
    rows += [
        (one_line(entry.name), str(size), entry.created_at, entry.origin)
        for entry, size in zip(entries, sizes, strict=True)
    ]
    return ToolOutcome(
        f"{_table(rows)}\n\n{_count(len(entries), 'entry', 'entries')}, {sum(sizes)} bytes in all"
    )


def delete_entry(arguments: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
    """Remove an entry of the session's own."""
    entry = own_entry(context, arguments["name"])
    context.scratchpad.delete(entry.name)
    return ToolOutcome(f"Deleted '{one_line(entry.name)}'.")


def rename_entry(arguments: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
    """Give an entry of the session's own another, unused name."""
    entry, new = own_entry(context, arguments["old"]), scrub(arguments["new"])
    if context.scratchpad.get(new) is not None:
        raise ToolError(f"there is already an entry named '{one_line(new)}'")
    context.scratchpad.rename(entry.name, new)
    return ToolOutcome(f"Renamed '{one_line(entry.name)}' to '{one_line(new)}'.")


def merge_entries(arguments: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
    """Put several entries together into one."""
    target = scrub(arguments["target"])
    sources = _merge_sources(arguments, target, context)
    content = _merged(sources, arguments.get("format", _FORMATS[0]))
    said = store_entry(context, target, content)
    return ToolOutcome(f"Merged {_count(len(sources), 'entry', 'entries')}. {said}")


def store_entry(context: ToolContext, name: str, content: str) -> str:
    """Store a text; answers the line that says so. Raises: ToolError when `name` is inherited."""
    name, content = scrub(name), scrub(content)
    _refuse_inherited(context.scratchpad.get(name))
    context.scratchpad.put(name, content)
    return f"Stored {size_bytes(content)} bytes in '{one_line(name)}'."


def find_entry(context: ToolContext, name: str) -> ScratchpadEntry:
    """The entry called `name`. Raises: ToolError."""
    entry = context.scratchpad.get(scrub(name))
    if entry is None:
        raise ToolError(f"there is no scratchpad entry named '{one_line(name)}'")
    return entry


def own_entry(context: ToolContext, name: str) -> ScratchpadEntry:
    """`find_entry` for one that may be changed. Raises: ToolError."""
    entry = find_entry(context, name)
    _refuse_inherited(entry)
    return entry


def size_bytes(text: str) -> int:
    """The length of `text` as UTF-8."""
    return len(text) if text.isascii() else len(text.encode())


def _refuse_inherited(entry: ScratchpadEntry | None) -> None:
    if entry is not None and entry.origin != _OWN:
        raise ToolError(f"the scratchpad entry '{one_line(entry.name)}' is inherited and read-only")


def _merge_sources(arguments: Mapping[str, Any], target: str, context: ToolContext) -> list[ScratchpadEntry]:
    if (arguments.get("sources") is None) == (arguments.get("prefix") is None):
        raise ToolError("give either sources or prefix")
    if arguments.get("sources") is not None:
        return [find_entry(context, name) for name in arguments["sources"]]
    prefix: str = arguments["prefix"]
    entries = sorted(context.scratchpad.entries(), key=lambda entry: entry.name)
    chosen = [entry for entry in entries if entry.name.startswith(prefix) and entry.name != target]
    if not chosen:
        raise ToolError(f"no scratchpad entry begins with '{one_line(prefix)}'")
    return chosen


def _merged(sources: Sequence[ScratchpadEntry], style: str) -> str:
    if style == "json_array":
        return json.dumps(
            [{"name": entry.name, "content": entry.content} for entry in sources], ensure_ascii=False
        )
    if style == "concat":
        return "\n".join(entry.content for entry in sources)
    return "\n\n".join(f"=== {one_line(entry.name)} ===\n{entry.content}" for entry in sources)


def _table(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _write_tool() -> Tool:
    return FunctionTool(
        name="scratchpad_write",
        description="Store a text in the scratchpad under a name, replacing what was there.",
        parameters=object_schema(["name", "content"], name=_NAME, content=_STRING),
        function=write_entry,
        summary_argument="name",
    )


def _read_tool() -> Tool:
    line = {"type": "integer", "minimum": 1}
    return FunctionTool(
        name="scratchpad_read",
        description="Read a scratchpad entry: all of it, the lines from start to end (counted from 1), or "
        "the lines that match a regular expression (the first 100, as line:text).",
        parameters=object_schema(["name"], name=_NAME, start=line, end=line, regex=_STRING),
        function=read_entry,
        summary_argument="name",
    )


def _edit_tool() -> Tool:
    return FunctionTool(
        name="scratchpad_edit",
        description="Change a scratchpad entry: give its whole new content, or old_string and new_string "
        "(the first occurrence is replaced unless replace_all).",
        parameters=object_schema(
            ["name"],
            name=_NAME,
            content=_STRING,
            old_string=_STRING,
            new_string=_STRING,
            replace_all={"type": "boolean", "default": False},
        ),
        function=edit_entry,
        summary_argument="name",
    )


def _list_tool() -> Tool:
    return FunctionTool(
        name="scratchpad_list",
        description="List the scratchpad's entries with their sizes.",
        parameters=object_schema(),
        function=list_entries,
    )


def _delete_tool() -> Tool:
    return FunctionTool(
        name="scratchpad_delete",
        description="Delete a scratchpad entry.",
        parameters=object_schema(["name"], name=_NAME),
        function=delete_entry,
        summary_argument="name",
    )


def _rename_tool() -> Tool:
    return FunctionTool(
        name="scratchpad_rename",
        description="Rename a scratchpad entry; the new name must be unused.",
        parameters=object_schema(["old", "new"], old=_NAME, new=_NAME),
        function=rename_entry,
        summary_argument="old",
    )


def _merge_tool() -> Tool:
    return FunctionTool(
        name="scratchpad_merge",
        description="Merge scratchpad entries, named in sources or found by prefix, into the entry target.",
        parameters=object_schema(
            ["target"],
            target=_NAME,
            sources={"type": "array", "items": _STRING, "minItems": 1},
            prefix=_STRING,
            format={"type": "string", "enum": list(_FORMATS), "default": _FORMATS[0]},
        ),
        function=merge_entries,
        summary_argument="sources",
    )
