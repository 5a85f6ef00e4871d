"""Reads meka's event streams; beside `meka_client`, which is generated and calls everything else."""

from .errors import ProblemError, StreamError, StreamLostError
from .events import Event
from .reader import Reconnect, follow_server, follow_session, run_turn
from .sse import Frame, SseDecoder

__all__ = [
    "Event",
    "Frame",
    "ProblemError",
    "Reconnect",
    "SseDecoder",
    "StreamError",
    "StreamLostError",
    "follow_server",
    "follow_session",
    "run_turn",
]
