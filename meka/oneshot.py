"""`meka --oneshot`: one turn without a server, its answer on stdout as text or as one JSON object."""

import json
import signal
import sys
from collections.abc import Mapping
from typing import Any

import gevent

from meka.base.errors import TurnCanceledError
from meka.bootstrap import load_installation, open_core
from meka.composition import Core
from meka.config.options import OneshotOptions, OutputFormat
from meka.service.held import HeldTurn

INTERRUPTED_EXIT = 130


def oneshot(options: OneshotOptions) -> int:
    """Run the turn. Shape: the exit code, 130 when it was interrupted. Raises: MekaError when it failed."""
    reader, loaded = load_installation(options, serving=False)
    roots = options.writable_roots
    with open_core(reader, loaded, oneshot=True, writable_roots=roots) as core:
        session_id = options.session_id or str(core.services.sessions.create({}, None)["id"])
        plain = options.format is OutputFormat.PLAIN
        if plain:
            core.registry.load(session_id).feed.observers.append(_print_delta)
        turn = core.turns.submit(session_id, {"message": options.prompt})
        gevent.signal_handler(signal.SIGINT, core.turns.cancel, session_id, None)
        try:
            answer, code = turn.answer(), 0
        except TurnCanceledError:
            answer, code = turn.partial_answer("interrupted"), INTERRUPTED_EXIT
        finally:
            if plain:
                print(flush=True)
                print(f"session {session_id}", file=sys.stderr)
        if not plain:
            print(json.dumps(_result(core, turn, answer), ensure_ascii=False), flush=True)
        return code


def _print_delta(name: str, payload: Mapping[str, Any]) -> None:
    if name == "assistant_text.delta":
        print(payload["text"], end="", flush=True)
    elif name == "tool_call.executing":
        print(f"\n[{payload['name']} {payload.get('display_summary', '')}]", file=sys.stderr, flush=True)


def _result(core: Core, turn: HeldTurn, answer: Mapping[str, Any]) -> dict[str, Any]:
    """The one object that `--format json` prints."""
    messages = answer["messages"]
    blocks = [block for message in messages for block in message["content"]]
    failed = {block["tool_use_id"]: block["is_error"] for block in blocks if block["type"] == "tool_result"}
    words = [_words(message) for message in messages if message["role"] == "assistant"]
    result = {
        "session_id": answer["session_id"],
        "profile": core.services.sessions.get(turn.session_id)["profile"],
        "stop_reason": answer["stop_reason"],
        "text": "\n\n".join(text for text in words if text),
        "tool_calls": [
            {"name": block["name"], "input": block["input"], "is_error": failed.get(block["id"], True)}
            for block in blocks
            if block["type"] == "tool_use"
        ],
        "usage": answer["usage"],
        "notices": answer["notices"],
    }
    return result | ({"refusal_text": answer["refusal_text"]} if "refusal_text" in answer else {})


def _words(message: Mapping[str, Any]) -> str:
    return "".join(block["text"] for block in message["content"] if block["type"] == "text")
