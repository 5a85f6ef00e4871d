"""Logging of the process: one line an outcome on stderr, its ids as fields at the end."""

import logging

from meka.base.text import one_line

_LEVELS = (logging.WARNING, logging.INFO, logging.DEBUG)
_OWN = frozenset(
    (*logging.LogRecord("", 0, "", 0, "", None, None).__dict__, "message", "asctime", "taskName")
)


class FieldFormatter(logging.Formatter):
    """The message, then what was handed over as `extra`: `... key=value`."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the name of the library
        fields = [
            f"{key}={one_line(str(value))}" for key, value in record.__dict__.items() if key not in _OWN
        ]
        return " ".join([super().formatMessage(record), *fields])


def set_up_logging(verbosity: int) -> None:
    """Log warnings, and with `-v` more; what is said last stands."""
    root = logging.getLogger()
    if not any(isinstance(handler.formatter, FieldFormatter) for handler in root.handlers):
        handler = logging.StreamHandler()
        handler.setFormatter(FieldFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        root.addHandler(handler)
    root.setLevel(_LEVELS[min(verbosity, len(_LEVELS) - 1)])
