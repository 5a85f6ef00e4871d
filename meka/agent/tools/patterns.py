"""Regular expressions that a model or a client wrote: matched in time linear to the text."""

from typing import Any

import re2

from meka.agent.tools.base import ToolError


def compile_pattern(text: str) -> Any:
    """The compiled pattern. Raises: ToolError with what the engine says of a pattern it cannot take."""
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(text, options)
    except re2.error as error:
        reason = error.args[0].decode("utf-8", "replace") if isinstance(error.args[0], bytes) else str(error)
        raise ToolError(f"bad regular expression: {reason}") from error
