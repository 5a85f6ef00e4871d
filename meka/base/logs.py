"""The log: one line an outcome on stderr, its ids as fields; never a token, a prompt or a provider's text."""

import logging
import sys
from collections.abc import Mapping

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_LEVELS = (logging.WARNING, logging.INFO, logging.DEBUG)


class FieldFormatter(logging.Formatter):
    """`time level logger: message key=value ...`"""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        """The line, the record's extra fields behind it."""
        fields = [f"{name}={value}" for name, value in vars(record).items() if name not in _STANDARD]
        return " ".join([super().formatMessage(record), *fields])


def set_up_logging(environ: Mapping[str, str], verbosity: int, serving: bool = False) -> None:
    """Log to stderr: `MEKA_LOG` names a level; else `-v` counts, and a server starts at info."""
    named = logging.getLevelNamesMapping().get(environ.get("MEKA_LOG", "").upper())
    counted = _LEVELS[min(verbosity + serving, len(_LEVELS) - 1)]
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(FieldFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    for ours in ("meka", "handlers"):
        logging.getLogger(ours).setLevel(counted if named is None else named)
