"""Plain text for the person who watches: a turn as it happens, then what the server kept of it."""

import sys
from collections.abc import Iterable
from typing import Any

OUTPUT_LINES = 12
LINE_WIDTH = 100


def say(text: str = "") -> None:
    """One line, at once."""
    print(text, flush=True)


def show_turn(events: Iterable[tuple[str, dict[str, Any]]]) -> tuple[str, dict[str, Any]]:
    """Print a turn's events as they come. Returns its terminal event and that event's data."""
    last: tuple[str, dict[str, Any]] = ("", {})
    for last in events:
        _show_event(*last)
    return last


def _show_event(event: str, data: dict[str, Any]) -> None:
    match event:
        case "assistant_text.delta":
            sys.stdout.write(printable(data["text"]))
            sys.stdout.flush()
        case "tool_call.executing":
            say(f"\n   > {data['name']} {one_line(data.get('display_summary', ''))}")
        case "tool_call.completed":
            show_text(text_of(data["content"]), "     | ")
            say()
        case "notice":
            say(f"\n   ! {one_line(data['text'])}")
        case "turn.finished":
            say()
            _show_usage(data["usage"])


def _show_usage(usage: dict[str, int]) -> None:
    """What the turn's requests counted; a scripted model counts nothing."""
    if usage["output_tokens"]:
        read = usage["input_tokens"] + usage["cache_read_input_tokens"]
        say(f"   ({read} tokens read, {usage['output_tokens']} written)")


def show_messages(messages: Iterable[dict[str, Any]]) -> None:
    """A line a block, as `GET /messages` gives them."""
    for message in messages:
        for block in message["content"]:
            say(f"   {message['role']:<9} {block['type']:<12} {one_line(_gist_of(block))}")


def show_turns(turns: Iterable[dict[str, Any]]) -> None:
    """A line a turn, as `GET /turns` gives them."""
    for turn in turns:
        say(f"   {turn['started_at']}  {turn.get('status', 'running')}  at {turn['permission']}")


def text_of(content: Iterable[dict[str, Any]]) -> str:
    """The text blocks of a message or of a tool's result, joined."""
    return "".join(block["text"] for block in content if block["type"] == "text")


def show_text(text: str, margin: str) -> None:
    """The first lines of `text`, and how many more there are."""
    lines = printable(text).rstrip().splitlines()
    for line in lines[:OUTPUT_LINES]:
        say(margin + line[:LINE_WIDTH])
    if len(lines) > OUTPUT_LINES:
        say(f"{margin}... and {len(lines) - OUTPUT_LINES} more lines")


def one_line(text: str) -> str:
    """`text` without its line breaks, cut to the screen."""
    flat = " ".join(printable(text).split())
    return flat if len(flat) <= LINE_WIDTH else flat[: LINE_WIDTH - 3] + "..."


def printable(text: str) -> str:
    """`text` without what would steer the terminal."""
    return "".join(character for character in text if character.isprintable() or character in "\n\t")


def _gist_of(block: dict[str, Any]) -> str:
    match block["type"]:
        case "tool_use":
            return f"{block['name']} {block['input']}"
        case "tool_result":
            return text_of(block["content"])
        case _:
            return str(block.get("text", ""))
