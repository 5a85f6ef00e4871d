"""Edits of a TOML text that leave every byte they do not mean to change: comments, order, spacing.

Each function takes a valid document and returns the changed one; all three spellings of a table (a header,
dotted keys, an inline table) are kept as they are written.
"""

import re
from collections.abc import Mapping, Sequence

import tomlkit

from meka.config.outline import Entry, KeyPath, Kind, Span, outline

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_COMMA_AFTER = re.compile(r"\s*,[ \t]*")
_COMMA_BEFORE = re.compile(r"\s*,\s*$")
_BLANK_LINE = re.compile(r"[ \t]*\r?\n")

TomlValue = str | bool | int | Sequence[str]


def rename_key(text: str, path: KeyPath, name: str) -> str:
    """The key at the end of `path` becomes `name`, wherever it is written."""
    spans = {key.span for entry in outline(text) for key in entry.keys if key.path == path}
    return _replace_spans(text, [(span, key_text(name)) for span in spans])


def set_value(text: str, path: KeyPath, value: TomlValue, order: Sequence[str] = ()) -> str:
    """`path` holds `value`; a new key stands where `order` puts it among the keys of its table."""
    for entry in outline(text):
        if entry.path == path and entry.kind is not Kind.HEADER:
            return _replace_spans(text, [(entry.value, value_text(value))])
    return _insert_key(text, path, value_text(value), order)


def remove_path(text: str, path: KeyPath) -> str:
    """Nothing is stated at or under `path`; comments that stand outside of what goes stay."""
    entries = outline(text)
    doomed: list[Span] = []
    for index, entry in enumerate(entries):
        if entry.path[: len(path)] != path or any(entry.span.start < span.end for span in doomed):
            continue
        if entry.kind is Kind.HEADER:
            doomed.append(_block_span(text, entries, index))
        elif entry.kind is Kind.PAIR:
            doomed.append(_line_span(text, entry))
        else:
            doomed.append(_member_span(text, entry))
    for span in reversed(doomed):
        text = _close_gap(text[: span.start], text[span.end :])
    return text


def add_table(text: str, path: KeyPath, values: Mapping[str, TomlValue], sections: Sequence[str]) -> str:
    """A new table at `path` (section and name), after the section's others, or where `sections` puts it."""
    section = path[:1]
    if any(entry.path == section and entry.kind is Kind.PAIR for entry in outline(text)):
        members = ", ".join(f"{key_text(key)} = {value_text(value)}" for key, value in values.items())
        return _insert_key(text, path, f"{{ {members} }}", ())
    newline = _newline_of(text)
    lines = [f"[{'.'.join(key_text(str(part)) for part in path)}]"]
    lines += [f"{key_text(key)} = {value_text(value)}" for key, value in values.items()]
    return _insert_block(text, _place_of_table(text, section, sections), newline.join(lines) + newline)


def key_text(name: str) -> str:
    """`name` as a key is written."""
    return name if _BARE_KEY.fullmatch(name) else tomlkit.string(name).as_string()


def value_text(value: TomlValue) -> str:
    """`value` as TOML writes it."""
    return tomlkit.item(list(value) if isinstance(value, tuple) else value).as_string()


def _replace_spans(text: str, replacements: Sequence[tuple[Span, str]]) -> str:
    for span, replacement in sorted(replacements, key=lambda pair: pair[0].start, reverse=True):
        text = text[: span.start] + replacement + text[span.end :]
    return text


def _newline_of(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _line_end(text: str, offset: int) -> int:
    """The offset after the line that holds `offset`."""
    found = text.find("\n", offset)
    return len(text) if found < 0 else found + 1


def _line_span(text: str, entry: Entry) -> Span:
    return Span(text.rfind("\n", 0, entry.span.start) + 1, _line_end(text, entry.span.end))


def _block_span(text: str, entries: Sequence[Entry], index: int) -> Span:
    """From a header's line to the end of the last line that belongs to it."""
    last = entries[index]
    for entry in entries[index + 1 :]:
        if entry.kind is Kind.HEADER:
            break
        if entry.kind is Kind.PAIR:
            last = entry
    return Span(_line_span(text, entries[index]).start, _line_span(text, last).end)


def _member_span(text: str, entry: Entry) -> Span:
    """A member of an inline table (or an item of an array) with the comma that goes with it."""
    after = _COMMA_AFTER.match(text, entry.span.end)
    if after is not None:
        return Span(entry.span.start, after.end())
    before = _COMMA_BEFORE.search(text[: entry.span.start])
    return Span(before.start() if before is not None else entry.span.start, entry.span.end)


def _close_gap(before: str, after: str) -> str:
    """The two halves around what was removed, without a second blank line between them."""
    blank = _BLANK_LINE.match(after)
    if blank is not None and (not before or re.search(r"\n[ \t]*\r?\n$", before)):
        after = after[blank.end() :]
    return before + after


def _insert_key(text: str, path: KeyPath, value: str, order: Sequence[str]) -> str:
    table, statement = path[:-1], f"{key_text(str(path[-1]))} = {value}"
    entries = outline(text)
    for index, entry in enumerate(entries):
        if entry.path == table and entry.kind is Kind.HEADER:
            return _insert_line(text, _place_in_block(text, entries[index:], path, order), statement)
        if entry.path == table and text[entry.value.start : entry.value.start + 1] == "{":
            return _insert_member(text, entries, entry, statement)
    if not table:
        return _insert_root_line(text, entries, statement)
    return _insert_dotted(text, entries, table, statement)


def _place_in_block(text: str, block: Sequence[Entry], path: KeyPath, order: Sequence[str]) -> int:
    """The offset of the line before which a key goes into the header's table that `block` begins with."""
    rank = _rank(str(path[-1]), order)
    place = _line_span(text, block[0]).end
    for entry in block[1:]:
        if entry.kind is Kind.HEADER:
            break
        if entry.kind is Kind.PAIR and _rank(str(entry.path[len(path) - 1]), order) <= rank:
            place = _line_span(text, entry).end
    return place


def _rank(key: str, order: Sequence[str]) -> int:
    return order.index(key) if key in order else len(order)


def _insert_line(text: str, place: int, statement: str) -> str:
    newline, before = _newline_of(text), text[:place]
    if before and not before.endswith("\n"):
        before += newline
    return before + statement + newline + text[place:]


def _insert_member(text: str, entries: Sequence[Entry], table: Entry, statement: str) -> str:
    members = [
        entry
        for entry in entries
        if entry.kind is Kind.MEMBER
        and entry.path[: len(table.path)] == table.path
        and entry.value.end < table.value.end
    ]
    if not members:
        return _replace_spans(text, [(table.value, f"{{ {statement} }}")])
    end = max(entry.span.end for entry in members)
    return f"{text[:end]}, {statement}{text[end:]}"


def _insert_root_line(text: str, entries: Sequence[Entry], statement: str) -> str:
    """A key of the document itself stands after the others, and before the first table."""
    headers = [entry for entry in entries if entry.kind is Kind.HEADER]
    first = headers[0].span.start if headers else len(text)
    pairs = [entry for entry in entries if entry.kind is Kind.PAIR and entry.span.start < first]
    if pairs:
        return _insert_line(text, _line_span(text, pairs[-1]).end, statement)
    if not headers:
        return _insert_line(text, len(text), statement)
    return _insert_block(text, _above_comments(text, headers[0]), statement + _newline_of(text))


def _insert_dotted(text: str, entries: Sequence[Entry], table: KeyPath, statement: str) -> str:
    """A table that only dotted keys make grows by another of them, spelled like the last."""
    last, key = [
        (entry, key)
        for entry in entries
        if entry.kind is Kind.PAIR
        for key in entry.keys
        if key.path == table
    ][-1]
    prefix = text[last.span.start : key.span.end]
    return _insert_line(text, _line_span(text, last).end, f"{prefix}.{statement}")


def _place_of_table(text: str, section: KeyPath, sections: Sequence[str]) -> int:
    entries = outline(text)
    same = [
        index
        for index, entry in enumerate(entries)
        if entry.kind is Kind.HEADER and entry.path[:1] == section
    ]
    if same:
        return _block_span(text, entries, same[-1]).end
    rank = _rank(str(section[0]), sections)
    for entry in entries:
        if entry.kind is Kind.HEADER and _rank(str(entry.path[0]), sections) > rank:
            return _above_comments(text, entry)
    return len(text)


def _above_comments(text: str, header: Entry) -> int:
    """The start of the lines of comment that stand right above a header, or of the header's own line."""
    place = text.rfind("\n", 0, header.span.start) + 1
    while place:
        above = text.rfind("\n", 0, place - 1) + 1
        if not text[above:place].lstrip().startswith("#"):
            break
        place = above
    return place


def _insert_block(text: str, place: int, block: str) -> str:
    """`block` with a blank line before and after, where other lines stand there."""
    newline, before, after = _newline_of(text), text[:place], text[place:]
    if before and not before.endswith("\n"):
        before += newline
    if before and not re.search(r"(?:^|\n)[ \t]*\r?\n$", before):
        before += newline
    if after and not _BLANK_LINE.match(after):
        after = newline + after
    return before + block + after
