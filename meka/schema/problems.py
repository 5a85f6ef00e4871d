"""GENERATED from openapi.yaml by tools/codegen; edit the document, then run `make gen`."""

from collections.abc import Mapping
from typing import NamedTuple


class ProblemKind(NamedTuple):
    """One kind of problem: its title, and the statuses it is answered with (the usual one first)."""

    title: str
    statuses: tuple[int, ...]


PROBLEMS: Mapping[str, ProblemKind] = {
    "auth": ProblemKind("Authentication failed", (401,)),
    "auth-scope": ProblemKind("Insufficient scope", (403,)),
    "session-permission": ProblemKind("Session permission too low", (403,)),
    "session-not-found": ProblemKind("Session not found", (404,)),
    "not-found": ProblemKind("Resource not found", (404,)),
    "request-not-found": ProblemKind("Pending request not found", (404,)),
    "method-not-allowed": ProblemKind("Method not allowed", (405,)),
    "session-not-loaded": ProblemKind("Session is not loaded", (409,)),
    "session-locked": ProblemKind("Session is locked by another process", (409,)),
    "turn-in-flight": ProblemKind("Turn already in flight", (409,)),
    "turn-canceled": ProblemKind("Turn canceled", (409,)),
    "turn-mismatch": ProblemKind("Turn is not the one in flight", (409,)),
    "inbox-appended": ProblemKind("Inbox item already appended", (409,)),
    "idempotency": ProblemKind("Idempotency-Key conflict", (409, 429)),
    "store-read-only": ProblemKind("Skill is in a read-only root", (409,)),
    "subagent-not-running": ProblemKind("Sub-agent is not running here", (409,)),
    "account-in-use": ProblemKind("Account is in use", (409,)),
    "precondition-failed": ProblemKind("Precondition failed", (412,)),
    "payload-too-large": ProblemKind("Request body exceeds configured limit", (413,)),
    "unsupported-media-type": ProblemKind("Unsupported media type", (415,)),
    "invalid-body": ProblemKind("Invalid request body", (422, 400)),
    "session-not-drivable": ProblemKind("Session is a sub-agent's conversation", (422,)),
    "request-too-large": ProblemKind("Request exceeds the profile's size ceiling", (422,)),
    "concurrency-limit": ProblemKind("Process-wide concurrency limit reached", (429,)),
    "internal": ProblemKind("Internal server error", (500,)),
    "sse-lag": ProblemKind("SSE consumer lagged", (500,)),
    "stream-detached": ProblemKind("Turn outcome unavailable", (500,)),
    "provider": ProblemKind("Provider call failed", (502,)),
    "provider-unavailable": ProblemKind("Provider temporarily unavailable", (502,)),
    "context-overflow": ProblemKind("Conversation exceeds the model's context window", (502,)),
    "mcp-unavailable": ProblemKind("Required MCP server is not ready", (503,)),
    "shutting-down": ProblemKind("Server is shutting down", (503,)),
    "store-unavailable": ProblemKind("Store temporarily unavailable", (503,)),
}
