"""The bounds a server keeps its clients to."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Bounds of sizes and of waits."""

    max_body_bytes: int = 10 * 1024 * 1024
    """A request body past this is a 413, whatever its framing."""
    head_timeout_seconds: float = 10.0
    """A head must be complete so soon after its first byte; a fresh connection must send that as soon."""
    idle_timeout_seconds: float = 75.0
    """A kept-alive connection may rest so long between two requests."""
    io_timeout_seconds: float = 30.0
    """A client that stalls inside a body, or stops reading, is dropped after so long."""
    linger_seconds: float = 1.0
    """How long the rest of a refused request is read, so that the client gets to see its answer."""
