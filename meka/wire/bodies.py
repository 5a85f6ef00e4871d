"""Request bodies: read as strict JSON, checked against the document, every fault named."""

import functools
import hashlib
from collections.abc import Callable, Mapping
from typing import Any

import flask

from meka.base.errors import InvalidBodyError, UnsupportedMediaTypeError
from meka.wire.answers import JSON
from meka.wire.json_reader import MAX_DEPTH, MAX_VALUES, JsonFaultError, holds_more_than, read_json
from meka.wire.schemas import CompiledSchema

# A body past one of these is read in a thread, so that others are answered meanwhile.
_LARGE_BYTES = 65536
_MANY_VALUES = 200

Offload = Callable[..., Any]
"""Runs a function with arguments, and has others answered meanwhile."""


def run_here(function: Callable[..., Any], *arguments: Any) -> Any:
    """No offloading at all."""
    return function(*arguments)


class BodyReader:
    """Reads the body of one operation; `what` names it in details (`turn`, `session patch`)."""

    def __init__(
        self,
        schema: Mapping[str, Any],
        what: str,
        required: bool,
        max_depth: int = MAX_DEPTH,
        values_a_kibibyte: int = 0,
    ) -> None:
        self._schema = CompiledSchema(schema)
        self._what = what
        self._required = required
        self._max_depth = max_depth
        self._values_a_kibibyte = values_a_kibibyte

    def read(self, raw: bytes, content_type: str) -> Any:
        """The value of `raw`: an empty optional body is `{}`, and a null for an optional field is left out.

        Raises: `UnsupportedMediaTypeError`, `InvalidBodyError` naming each field at fault.
        """
        if not raw:
            if self._required:
                raise self._refusal("the body is empty")
            return {}
        if content_type != JSON:
            raise UnsupportedMediaTypeError(f"the request body must be {JSON}")
        try:
            value = read_json(raw, self._max_depth, self._max_values(raw))
        except JsonFaultError as error:
            raise self._refusal(str(error)) from error
        faults = self._schema.faults(value)
        if faults:
            raise self._refusal("; ".join(fault.sentence("the body") for fault in faults))
        if b"null" in raw:
            self._schema.drop_nulls(value)
        return value

    def _max_values(self, raw: bytes) -> int:
        return max(MAX_VALUES, self._values_a_kibibyte * len(raw) // 1024)

    def _refusal(self, sentence: str) -> InvalidBodyError:
        return InvalidBodyError(f"invalid {self._what} request body: {sentence}")


class BodyValidator:
    """Connexion's hook for bodies (`validator_map["body"]`): calls the reader of the request's operation."""

    def __init__(
        self,
        readers: Mapping[str, BodyReader],
        offload: Offload,
        schema: Mapping[str, Any],
        *_: object,
        **__: object,
    ):
        self._readers = readers
        self._offload = offload

    def __call__(self, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Wrap `function`, which takes connexion's request."""

        @functools.wraps(function)
        def read_then_call(request: Any) -> Any:
            raw = flask.request.get_data(cache=False)
            reader, content_type = self._readers[flask.request.endpoint or ""], flask.request.mimetype
            run = self._offload if _is_slow(raw) else run_here
            flask.g.body_digest, flask.g.body = run(_read, reader, raw, content_type)
            return function(request)

        return read_then_call


def _is_slow(raw: bytes) -> bool:
    return len(raw) > _LARGE_BYTES or holds_more_than(raw, _MANY_VALUES)


def _read(reader: BodyReader, raw: bytes, content_type: str) -> tuple[str, Any]:
    return hashlib.sha256(raw).hexdigest(), reader.read(raw, content_type)


def validated_body() -> Any:
    """The body of the request in hand as its reader left it; None where the operation takes none."""
    return flask.g.get("body")


def body_digest() -> str:
    """The SHA-256 of the raw body of the request in hand, in hex: what uses of an Idempotency-Key compare."""
    digest: str = flask.g.body_digest
    return digest
