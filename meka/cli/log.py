"""Logging of the process: one line an outcome, on stderr."""

import logging

_LEVELS = (logging.WARNING, logging.INFO, logging.DEBUG)


def set_up_logging(verbosity: int) -> None:
    """Log warnings, and with `-v` more; `force` so that a second run in one process starts afresh."""
    logging.basicConfig(
        level=_LEVELS[min(verbosity, len(_LEVELS) - 1)],
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
        force=True,
    )
