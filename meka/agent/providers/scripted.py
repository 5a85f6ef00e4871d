"""A provider that plays rounds of events from a script: `MEKA_MOCK_PROVIDER`, and every test of the loop.

Every attempt consumes one round, streamed or whole, whoever makes it. A spent script answers with an empty
message. A round is a list of JSON objects tagged by `type`:

| `type` | fields | effect |
|---|---|---|
| `text`, `thinking_delta` | `text` | a delta |
| `thinking_progress` | `estimated_tokens`? | nothing |
| `thinking_complete` | `opaque`?, `item_id`? | closes the reasoning block |
| `redacted_thinking` | `data` | a sealed block |
| `tool_use_start` | `id`, `name` | a call begins to be written |
| `tool_use_end` | `id`, `name`?, `input`? | a call is whole (the name may come from its start) |
| `tool_rejected` | `id`, `name`?, `reason`? | a call whose arguments did not parse |
| `usage` | the four token counts | counters |
| `message_end` | `stop_reason`, `refusal_text`? | ends the round |
| `sleep` | `ms` | a wait that ends when the reading greenlet is killed |
| `stall` | `ms` | a wait that outlives the kill: it runs to its end, then the reader dies |
| `notice` | `message`, `level`? | an advisory |
| `redaction` | `images`, `bytes` | the advisory that images were removed to fit |
| `fail`, `fail_retryable`, `fail_invalid_request`, `fail_stream`, `fail_context_overflow`, `fail_quota`,
  `fail_credential`, `fail_too_large` | `message`?, `retry_after_secs`?, `status`? | the attempt fails |

A failure's `message` is the upstream's text. A round without a `message_end` ends as its calls say:
`tool_use` where it holds one, else `end_turn`.
"""

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import gevent

from meka.agent.providers.base import (
    Accepted,
    Cause,
    MessageEnd,
    ModelRequest,
    ProviderError,
    ProviderEvent,
    ProviderNotice,
    RedactedThinkingPart,
    StopReason,
    TextDelta,
    ThinkingComplete,
    ThinkingDelta,
    ToolEnd,
    ToolRejected,
    ToolStart,
    Usage,
    UsageReport,
)
from meka.agent.providers.failures import STREAM_CUT, failure
from meka.agent.providers.fold import fold

ScriptEvent = Mapping[str, Any] | Callable[[], object]
"""An event of a round; a callable (in memory only) is called where it stands, to gate or to observe."""

Round = Sequence[ScriptEvent] | Callable[[ModelRequest], Sequence[ScriptEvent]]
"""The events of one attempt, or (in memory only) a function that makes them for the request at hand."""

RECORDED_REQUESTS = 1000
_COUNTS = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


class ScriptError(ValueError):
    """The script is not what a scripted provider can play."""


@dataclass(frozen=True, slots=True)
class _Failure:
    cause: Cause
    status: int | None
    after_head: bool = False


_FAILURES: Mapping[str, _Failure] = {
    "fail": _Failure(Cause.OTHER, None),
    "fail_retryable": _Failure(Cause.TRANSIENT, 503),
    "fail_invalid_request": _Failure(Cause.MALFORMED, 400),
    "fail_stream": _Failure(Cause.TRANSIENT, None, after_head=True),
    "fail_context_overflow": _Failure(Cause.OVERFLOW, 413),
    "fail_quota": _Failure(Cause.QUOTA, 402),
    "fail_credential": _Failure(Cause.CREDENTIAL, 401),
    "fail_too_large": _Failure(Cause.TOO_LARGE, None),
}
_DELAYS = ("sleep", "stall")
_SILENT = ("thinking_progress", *_DELAYS)


class ScriptedProvider:
    """Plays `rounds` in order and keeps the requests it was sent (the newest thousand, messages copied)."""

    def __init__(
        self,
        rounds: Iterable[Round] = (),
        *,
        backend: str = "scripted",
        sends_tools: bool = True,
        sleep: Callable[[float], object] = gevent.sleep,
    ) -> None:
        self.backend = backend
        self.sends_tools = sends_tools
        self.sends_images = True
        self.sends_result_images = True
        self.expands_references = False
        self.requests: deque[ModelRequest] = deque(maxlen=RECORDED_REQUESTS)
        self._rounds = deque(rounds)
        self._sleep = sleep
        for position, script in enumerate(self._rounds):
            if not callable(script):
                _check_round(script, f"round {position}")

    @classmethod
    def from_file(cls, path: Path | str | None) -> "ScriptedProvider":
        """The provider that plays the JSON file at `path`; without a path it answers with empty messages.

        Raises: ScriptError, OSError.
        """
        if not path:
            return cls()
        try:
            rounds = json.loads(Path(path).read_text(encoding="utf-8"))
        except ValueError as error:
            raise ScriptError(f"the provider script {path} is no JSON: {error}") from error
        if not isinstance(rounds, list):
            raise ScriptError(f"the provider script {path} is no array of rounds")
        return cls(rounds)

    def add(self, *rounds: Round) -> None:
        """Append rounds to the script."""
        self._rounds.extend(rounds)

    @property
    def rounds_left(self) -> int:
        """How many rounds nobody asked for yet."""
        return len(self._rounds)

    def stream(self, request: ModelRequest) -> Iterator[ProviderEvent]:
        """Play the next round. Raises: ProviderError where the round says so."""
        self.requests.append(replace(request, messages=tuple(request.messages), tools=tuple(request.tools)))
        script = self._rounds.popleft() if self._rounds else ()
        events = self._play(script(request) if callable(script) else script)
        return events if request.stream else fold(events)

    def _play(self, script: Sequence[ScriptEvent]) -> Iterator[ProviderEvent]:
        if not _refused(script):
            yield Accepted()
        names: dict[str, str] = {}
        called = False
        for event in script:
            if callable(event):
                event()
                continue
            if event["type"] in _DELAYS:
                self._delay(event)
                continue
            produced = produce(event, names)
            if produced is None:
                continue
            yield produced
            called = called or isinstance(produced, ToolEnd | ToolRejected)
            if isinstance(produced, MessageEnd):
                return
        yield MessageEnd(StopReason.TOOL_USE if called else StopReason.END_TURN)

    def _delay(self, event: Mapping[str, Any]) -> None:
        wait = self._sleep if event["type"] == "sleep" else self._stall
        wait(event["ms"] / 1000)

    def _stall(self, seconds: float) -> None:
        """Sleep to the end even when the greenlet is killed meanwhile; the kill takes effect then."""
        sleeper = gevent.spawn(self._sleep, seconds)
        killed: gevent.GreenletExit | None = None
        while not sleeper.ready():
            try:
                sleeper.join()
            except gevent.GreenletExit as error:
                killed = error
        if killed is not None:
            raise killed


def produce(event: Mapping[str, Any], names: dict[str, str]) -> ProviderEvent | None:
    """What `event` of a script becomes, if anything; `names` remembers the names of calls by id.

    Raises: ProviderError for the kinds that fail.
    """
    match event["type"]:
        case "text":
            return TextDelta(event["text"])
        case "thinking_delta":
            return ThinkingDelta(event["text"])
        case "thinking_complete":
            return ThinkingComplete(event.get("opaque") or "", event.get("item_id") or "")
        case "redacted_thinking":
            return RedactedThinkingPart(event["data"])
        case "tool_use_start":
            names[event["id"]] = event["name"]
            return ToolStart(event["id"], event["name"])
        case "tool_use_end":
            return ToolEnd(event["id"], _name(event, names), event.get("input") or {})
        case "tool_rejected":
            reason = event.get("reason") or "the arguments are not valid JSON"
            return ToolRejected(event["id"], _name(event, names), reason)
        case "usage":
            return UsageReport(Usage(**{count: event.get(count, 0) for count in _COUNTS}))
        case "message_end":
            return MessageEnd(StopReason(event["stop_reason"]), event.get("refusal_text") or "")
        case "notice" | "redaction":
            return _notice(event)
        case kind if kind in _FAILURES:
            raise _failure(event)
        case _:
            return None


def _name(event: Mapping[str, Any], names: Mapping[str, str]) -> str:
    return str(event.get("name") or names.get(event["id"], ""))


def _notice(event: Mapping[str, Any]) -> ProviderNotice:
    if event["type"] == "notice":
        return ProviderNotice(event.get("level", "info"), event["message"])
    return ProviderNotice(
        "info", f"removed {event['images']} images ({event['bytes']} bytes) to fit the request size budget"
    )


def _failure(event: Mapping[str, Any]) -> ProviderError:
    kind = _FAILURES[event["type"]]
    return failure(
        kind.cause,
        event.get("message"),
        sentence=STREAM_CUT if kind.after_head else None,
        retry_after=event.get("retry_after_secs"),
        status=event.get("status", kind.status),
    )


def _refused(script: Sequence[ScriptEvent]) -> bool:
    """Whether the attempt fails before the provider began answering."""
    for event in script:
        if callable(event) or event["type"] in _SILENT:
            continue
        kind = _FAILURES.get(event["type"])
        return kind is not None and not kind.after_head
    return False


_FIELDS: Mapping[str, tuple[str, ...]] = {
    "text": ("text",),
    "thinking_delta": ("text",),
    "thinking_progress": (),
    "thinking_complete": (),
    "redacted_thinking": ("data",),
    "tool_use_start": ("id", "name"),
    "tool_use_end": ("id",),
    "tool_rejected": ("id",),
    "usage": (),
    "message_end": ("stop_reason",),
    "sleep": ("ms",),
    "stall": ("ms",),
    "notice": ("message",),
    "redaction": ("images", "bytes"),
} | dict.fromkeys(_FAILURES, ())


def _check_round(script: Any, where: str) -> None:
    if not isinstance(script, Sequence) or isinstance(script, str):
        raise ScriptError(f"{where} is no array of events")
    for position, event in enumerate(script):
        if not callable(event):
            _check_event(event, f"{where}, event {position}")


def _check_event(event: Any, where: str) -> None:
    if not isinstance(event, Mapping) or event.get("type") not in _FIELDS:
        raise ScriptError(f"{where} has no known `type`")
    missing = [name for name in _FIELDS[event["type"]] if name not in event]
    if missing:
        raise ScriptError(f"{where} ({event['type']}) lacks {', '.join(missing)}")
    if event["type"] == "message_end" and event["stop_reason"] not in tuple(StopReason):
        raise ScriptError(f"{where} has the unknown stop reason {event['stop_reason']!r}")
