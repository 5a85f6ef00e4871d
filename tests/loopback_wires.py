"""Rounds of the scripted provider's format, written as replies of the three wire protocols."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

Event = Mapping[str, Any]
Json = dict[str, Any]

COUNTS = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


class WireWriter(Protocol):
    """One protocol's side of the server; made anew for each reply."""

    def open(self) -> Iterator[bytes]: ...
    def write(self, event: Event) -> Iterator[bytes]: ...
    def close(self) -> Iterator[bytes]: ...
    def whole(self, events: Sequence[Event]) -> Json: ...
    def error(self, kind: str, message: str) -> Json: ...
    def error_frame(self, kind: str, message: str) -> bytes: ...


def sse(data: Json, event: str | None = None) -> bytes:
    head = f"event: {event}\n" if event else ""
    return f"{head}data: {json.dumps(data)}\n\n".encode()


def stop_of(events: Sequence[Event]) -> str:
    """The stop reason of a round, as the scripted provider would give it."""
    for event in events:
        if event["type"] == "message_end":
            return str(event["stop_reason"])
    return "tool_use" if any(event["type"] == "tool_use_end" for event in events) else "end_turn"


def counts(events: Sequence[Event]) -> dict[str, int]:
    """The round's counters; a later non-zero one stands."""
    merged = dict.fromkeys(COUNTS, 0)
    for event in events:
        if event["type"] == "usage":
            merged |= {name: event[name] for name in COUNTS if event.get(name)}
    return merged


def runs(events: Sequence[Event]) -> list[Event]:
    """Neighbouring deltas joined, as a whole reply has them."""
    joined: list[Event] = []
    for event in events:
        if joined and event["type"] == joined[-1]["type"] and event["type"] in ("text", "thinking_delta"):
            joined[-1] = {**event, "text": joined[-1]["text"] + event["text"]}
        else:
            joined.append(event)
    return joined


def named_calls(events: Sequence[Event]) -> list[Json]:
    """The round's calls with their names, which their starts may hold."""
    names = {event["id"]: event["name"] for event in events if event["type"] == "tool_use_start"}
    return [
        {"id": event["id"], "name": event.get("name") or names[event["id"]], "input": event.get("input", {})}
        for event in events
        if event["type"] == "tool_use_end"
    ]


class AnthropicWriter:
    """Anthropic Messages."""

    def __init__(self, events: Sequence[Event]) -> None:
        self._usage = counts(events)
        self._stop = stop_of(events)
        self._index = -1
        self._kind = ""
        self._names: dict[str, str] = {}

    def open(self) -> Iterator[bytes]:
        message = {
            "id": "msg_1",
            "role": "assistant",
            "content": [],
            "usage": {**self._usage, "output_tokens": 1},
        }
        yield sse({"type": "message_start", "message": message}, "message_start")

    def write(self, event: Event) -> Iterator[bytes]:
        match event["type"]:
            case "text":
                yield from self._begin("text", {"type": "text", "text": ""})
                yield self._delta({"type": "text_delta", "text": event["text"]})
            case "thinking_delta":
                yield from self._begin("thinking", {"type": "thinking", "thinking": "", "signature": ""})
                yield self._delta({"type": "thinking_delta", "thinking": event["text"]})
            case "thinking_complete":
                yield from self._begin("thinking", {"type": "thinking", "thinking": "", "signature": ""})
                yield self._delta({"type": "signature_delta", "signature": event.get("opaque") or ""})
                yield from self._end_block()
            case "redacted_thinking":
                yield from self._begin("redacted", {"type": "redacted_thinking", "data": event["data"]})
                yield from self._end_block()
            case "tool_use_start":
                self._names[event["id"]] = event["name"]
                yield from self._begin_call(event)
            case "tool_use_end":
                if self._kind != event["id"]:
                    yield from self._begin_call(
                        {**event, "name": event.get("name") or self._names[event["id"]]}
                    )
                text = json.dumps(event.get("input", {}))
                for piece in (text[: len(text) // 2], text[len(text) // 2 :]):
                    yield self._delta({"type": "input_json_delta", "partial_json": piece})
                yield from self._end_block()

    def _begin_call(self, event: Event) -> Iterator[bytes]:
        block = {"type": "tool_use", "id": event["id"], "name": event["name"], "input": {}}
        yield from self._begin(event["id"], block)

    def _begin(self, kind: str, block: Json) -> Iterator[bytes]:
        if self._kind != kind:
            yield from self._end_block()
            self._kind, self._index = kind, self._index + 1
            body = {"type": "content_block_start", "index": self._index, "content_block": block}
            yield sse(body, "content_block_start")

    def _delta(self, delta: Json) -> bytes:
        body = {"type": "content_block_delta", "index": self._index, "delta": delta}
        return sse(body, "content_block_delta")

    def _end_block(self) -> Iterator[bytes]:
        if self._kind:
            self._kind = ""
            yield sse({"type": "content_block_stop", "index": self._index}, "content_block_stop")

    def close(self) -> Iterator[bytes]:
        yield from self._end_block()
        usage = {"output_tokens": self._usage["output_tokens"]}
        delta = {"stop_reason": self._stop, "stop_sequence": None}
        yield sse({"type": "message_delta", "delta": delta, "usage": usage}, "message_delta")
        yield sse({"type": "message_stop"}, "message_stop")

    def whole(self, events: Sequence[Event]) -> Json:
        calls = {call["id"]: call for call in named_calls(events)}
        content: list[Json] = []
        for event in runs(events):
            match event["type"]:
                case "text":
                    content.append({"type": "text", "text": event["text"]})
                case "thinking_delta":
                    content.append({"type": "thinking", "thinking": event["text"], "signature": ""})
                case "thinking_complete" if content and content[-1]["type"] == "thinking":
                    content[-1]["signature"] = event.get("opaque") or ""
                case "redacted_thinking":
                    content.append({"type": "redacted_thinking", "data": event["data"]})
                case "tool_use_end":
                    content.append({"type": "tool_use", **calls[event["id"]]})
        return {"type": "message", "content": content, "stop_reason": self._stop, "usage": self._usage}

    def error(self, kind: str, message: str) -> Json:
        return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}

    def error_frame(self, kind: str, message: str) -> bytes:
        return sse(self.error(kind, message), "error")


_FINISH_REASONS: Mapping[str, str] = {
    "end_turn": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "refusal": "content_filter",
}


class ChatWriter:
    """Chat Completions."""

    def __init__(self, events: Sequence[Event]) -> None:
        self._events = events
        self._calls = {call["id"]: call for call in named_calls(events)}
        self._finish = _FINISH_REASONS[stop_of(events)]
        self._order: list[str] = []

    def _usage(self) -> Json:
        used = counts(self._events)
        cached = used["cache_read_input_tokens"]
        return {
            "prompt_tokens": used["input_tokens"] + cached,
            "completion_tokens": used["output_tokens"],
            "prompt_tokens_details": {"cached_tokens": cached},
        }

    def _chunk(self, delta: Json, finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return sse({"id": "c1", "object": "chat.completion.chunk", "choices": [choice]})

    def open(self) -> Iterator[bytes]:
        yield self._chunk({"role": "assistant", "content": ""})

    def write(self, event: Event) -> Iterator[bytes]:
        match event["type"]:
            case "text":
                yield self._chunk({"content": event["text"]})
            case "thinking_delta":
                yield self._chunk({"reasoning_content": event["text"]})
            case "tool_use_end":
                call, index = self._calls[event["id"]], len(self._order)
                self._order.append(event["id"])
                text = json.dumps(call["input"])
                head = {"name": call["name"], "arguments": ""}
                first = {"index": index, "id": call["id"], "type": "function", "function": head}
                yield self._chunk({"tool_calls": [first]})
                for piece in (text[: len(text) // 2], text[len(text) // 2 :]):
                    yield self._chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})

    def close(self) -> Iterator[bytes]:
        refusals = [event.get("refusal_text") for event in self._events if event["type"] == "message_end"]
        for text in filter(None, refusals):
            yield self._chunk({"refusal": text})
        yield self._chunk({}, self._finish)
        yield sse({"id": "c1", "object": "chat.completion.chunk", "choices": [], "usage": self._usage()})
        yield b"data: [DONE]\n\n"

    def whole(self, events: Sequence[Event]) -> Json:
        text = "".join(event["text"] for event in events if event["type"] == "text")
        thoughts = "".join(event["text"] for event in events if event["type"] == "thinking_delta")
        calls = [
            {
                "id": call["id"],
                "type": "function",
                "function": {"name": call["name"], "arguments": json.dumps(call["input"])},
            }
            for call in self._calls.values()
        ]
        message: Json = {"role": "assistant", "content": text or None}
        message |= {"tool_calls": calls} if calls else {}
        message |= {"reasoning_content": thoughts} if thoughts else {}
        choice = {"index": 0, "message": message, "finish_reason": self._finish}
        return {"object": "chat.completion", "choices": [choice], "usage": self._usage()}

    def error(self, kind: str, message: str) -> Json:
        return {"error": {"message": message, "type": kind, "code": kind, "param": None}}

    def error_frame(self, kind: str, message: str) -> bytes:
        return sse(self.error(kind, message))


class ResponsesWriter:
    """Responses."""

    def __init__(self, events: Sequence[Event]) -> None:
        self._events = events
        self._calls = {call["id"]: call for call in named_calls(events)}
        self._stop = stop_of(events)
        self._index = 0
        self._started: dict[str, int] = {}

    def open(self) -> Iterator[bytes]:
        yield self._event("response.created", {"response": {"id": "resp_1", "status": "in_progress"}})

    def _event(self, kind: str, body: Json) -> bytes:
        return sse({"type": kind, **body}, kind)

    def write(self, event: Event) -> Iterator[bytes]:
        match event["type"]:
            case "text":
                yield self._event("response.output_text.delta", {"delta": event["text"]})
            case "thinking_delta":
                yield self._event("response.reasoning_summary_text.delta", {"delta": event["text"]})
            case "thinking_complete":
                item = {
                    "type": "reasoning",
                    "id": event.get("item_id") or "rs_1",
                    "encrypted_content": event.get("opaque") or "",
                }
                yield self._event("response.output_item.done", {"output_index": self._next(), "item": item})
            case "tool_use_start":
                yield from self._start_call(event["id"])
            case "tool_use_end":
                if event["id"] not in self._started:
                    yield from self._start_call(event["id"])
                yield from self._end_call(event["id"])

    def _next(self) -> int:
        self._index += 1
        return self._index

    def _start_call(self, call_id: str) -> Iterator[bytes]:
        self._started[call_id] = self._next()
        yield self._item_event("added", call_id, "")

    def _end_call(self, call_id: str) -> Iterator[bytes]:
        text = json.dumps(self._calls[call_id]["input"])
        for piece in (text[: len(text) // 2], text[len(text) // 2 :]):
            body = {"output_index": self._started[call_id], "delta": piece}
            yield self._event("response.function_call_arguments.delta", body)
        yield self._item_event("done", call_id, text)

    def _item_event(self, what: str, call_id: str, arguments: str) -> bytes:
        name = self._name(call_id)
        item = {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}
        body = {"output_index": self._started[call_id], "item": item}
        return self._event(f"response.output_item.{what}", body)

    def _name(self, call_id: str) -> str:
        starts = (event for event in self._events if event["type"] == "tool_use_start")
        names = {event["id"]: event["name"] for event in starts}
        return str(names.get(call_id) or self._calls[call_id]["name"])

    def close(self) -> Iterator[bytes]:
        used = counts(self._events)
        cached = used["cache_read_input_tokens"]
        usage = {
            "input_tokens": used["input_tokens"] + cached,
            "output_tokens": used["output_tokens"],
            "input_tokens_details": {"cached_tokens": cached},
        }
        for event in self._events:
            if event["type"] == "message_end" and event.get("refusal_text"):
                yield self._event("response.refusal.done", {"refusal": event["refusal_text"]})
        if self._stop == "max_tokens":
            details = {"reason": "max_output_tokens"}
            body: Json = {"status": "incomplete", "incomplete_details": details, "usage": usage}
            yield self._event("response.incomplete", {"response": body})
        else:
            yield self._event("response.completed", {"response": {"status": "completed", "usage": usage}})

    def whole(self, events: Sequence[Event]) -> Json:
        raise NotImplementedError("the Responses API is always streamed here")

    def error(self, kind: str, message: str) -> Json:
        return {"error": {"message": message, "type": kind, "code": kind}}

    def error_frame(self, kind: str, message: str) -> bytes:
        return self._event("error", {"code": kind, "message": message})


def writer_for(path: str, events: Sequence[Event]) -> WireWriter | None:
    """The writer of the protocol that is spoken under `path`, if any."""
    for suffix, writer in _WRITERS.items():
        if path.partition("?")[0].endswith(suffix):
            return writer(events)
    return None


_WRITERS: Mapping[str, Callable[[Sequence[Event]], WireWriter]] = {
    "/messages": AnthropicWriter,
    "/chat/completions": ChatWriter,
    "/responses": ResponsesWriter,
}
