"""The tree of errors, a slug each; `problem_of` turns any of them into the problem a client reads.

    MekaError
    ├── AuthError 401 auth              ├── ScopeError 403 auth-scope
    ├── SessionPermissionError 403      ├── SessionNotFoundError 404     ├── NotFoundError 404
    ├── SessionNotLoadedError 409       ├── SessionLockedError 409       ├── TurnInFlightError 409
    ├── TurnCanceledError 409           ├── TurnMismatchError 409        ├── PreconditionFailedError 412
    ├── InboxAppendedError 409          ├── RequestNotFoundError 404     ├── SubagentNotRunningError 409
    ├── StoreReadOnlyError 409          ├── AccountInUseError 409
    ├── InvalidBodyError 422 / 400      ├── PayloadTooLargeError 413     ├── UnsupportedMediaTypeError 415
    ├── IdempotencyError 409 / 429
    ├── RequestTooLargeError 422        ├── ConcurrencyLimitError 429    ├── StoreUnavailableError 503
    ├── ProviderFailedError 502         ├── ProviderUnavailableError 502 ├── ContextOverflowError 502
    └── ConfigurationError 422 (a sentence about config.toml, shared by the API and the command line)

Status and title come from the catalogue in `openapi.yaml` (`meka.schema.problems`), never from here.
"""

from collections.abc import Mapping
from typing import ClassVar, Self

from meka.base.text import cut_utf8
from meka.schema.problems import PROBLEMS

TYPE_PREFIX = "https://meka.run/errors/"
INTERNAL_DETAIL = "internal server error; consult server logs"


class MekaError(Exception):
    """A failure a client may be told about.

    `detail` is our own sentence; `members` are further members of the problem body; a member that is None is
    left out. `status` picks one of the statuses the catalogue lists for the slug (the first by default).
    """

    slug: ClassVar[str] = "internal"
    may_pass: bool = False
    """Whether waiting can change the answer: an outage, a spent quota, a full disk."""
    back_in_seconds: int | None = None
    """When the upstream said that it would be back, where it did."""

    def __init__(self, detail: str, *, status: int | None = None, **members: object) -> None:
        super().__init__(detail)
        self.detail = detail
        self.status = PROBLEMS[self.slug].statuses[0] if status is None else status
        self.members = {name: value for name, value in members.items() if value is not None}

    @property
    def type(self) -> str:
        """The stable, machine-readable URI of this kind of error."""
        return TYPE_PREFIX + self.slug

    @property
    def title(self) -> str:
        """The catalogue's title for this kind of error."""
        return PROBLEMS[self.slug].title


class InternalError(MekaError):
    """A fault of ours or of the installation: the sentence goes to the log, never to the client."""

    def __init__(self) -> None:
        super().__init__(INTERNAL_DETAIL)


class AuthError(MekaError):
    slug = "auth"


class ScopeError(MekaError):
    slug = "auth-scope"


class SessionPermissionError(MekaError):
    slug = "session-permission"


class SessionNotFoundError(MekaError):
    slug = "session-not-found"

    def __init__(self, session_id: str) -> None:
        super().__init__(f"session '{session_id}' not found", session_id=session_id)


class NotFoundError(MekaError):
    slug = "not-found"


class MethodNotAllowedError(MekaError):
    slug = "method-not-allowed"


class UnsupportedMediaTypeError(MekaError):
    slug = "unsupported-media-type"


class SessionNotLoadedError(MekaError):
    slug = "session-not-loaded"


class SessionLockedError(MekaError):
    slug = "session-locked"

    def __init__(self, session_id: str) -> None:
        super().__init__(f"session '{session_id}' is open in another process", session_id=session_id)


class SessionNotDrivableError(MekaError):
    slug = "session-not-drivable"


class TurnInFlightError(MekaError):
    slug = "turn-in-flight"

    def __init__(self, session_id: str) -> None:
        super().__init__(
            f"session '{session_id}' has a turn in flight; cancel it or wait for it", session_id=session_id
        )


class TurnCanceledError(MekaError):
    slug = "turn-canceled"


class TurnMismatchError(MekaError):
    slug = "turn-mismatch"


class IdempotencyError(MekaError):
    slug = "idempotency"

    @classmethod
    def at_capacity(cls) -> Self:
        """The refusal of a key while all the keys that its token may hold are in use."""
        return cls("too many requests with an Idempotency-Key are running", status=429, retry_after=60)


class InboxAppendedError(MekaError):
    slug = "inbox-appended"


class RequestNotFoundError(MekaError):
    slug = "request-not-found"


class SubagentNotRunningError(MekaError):
    slug = "subagent-not-running"


class StoreReadOnlyError(MekaError):
    slug = "store-read-only"


class AccountInUseError(MekaError):
    slug = "account-in-use"


class SseLagError(MekaError):
    slug = "sse-lag"


class StreamDetachedError(MekaError):
    slug = "stream-detached"


class PreconditionFailedError(MekaError):
    slug = "precondition-failed"


class PayloadTooLargeError(MekaError):
    slug = "payload-too-large"


class InvalidBodyError(MekaError):
    slug = "invalid-body"


class ConfigurationError(InvalidBodyError):
    """What the configuration refuses, in the one sentence that the API and the command line share."""


class RequestTooLargeError(MekaError):
    slug = "request-too-large"


class ConcurrencyLimitError(MekaError):
    slug = "concurrency-limit"


class StoreUnavailableError(MekaError):
    may_pass = True
    slug = "store-unavailable"

    def __init__(self, detail: str = "the store is busy or its disk is full; try again") -> None:
        super().__init__(detail, retry_after=1)


class McpUnavailableError(MekaError):
    may_pass = True
    slug = "mcp-unavailable"


class ShuttingDownError(MekaError):
    slug = "shutting-down"


class ProviderFailedError(MekaError):
    slug = "provider"


class ProviderUnavailableError(MekaError):
    slug = "provider-unavailable"


class ContextOverflowError(MekaError):
    slug = "context-overflow"


_DETAIL_BYTES = 16384
"""A detail may repeat a name that a client sent, and that may have been megabytes."""


def problem_of(error: BaseException, instance: str | None = None) -> Mapping[str, object]:
    """The one mapping from an error to the problem a client reads (answers, turn.failed, last_turn).

    Shape: `type`, `title`, `status`, `detail`, `instance`?, then the error's own members. Anything that is
    not a MekaError is an `internal` problem that says nothing of itself.
    """
    known = error if isinstance(error, MekaError) else InternalError()
    problem: dict[str, object] = {
        "type": known.type,
        "title": known.title,
        "status": known.status,
        "detail": cut_utf8(known.detail, _DETAIL_BYTES, " (cut)"),
    }
    if instance is not None:
        problem["instance"] = instance
    return problem | known.members
