"""The linear-time engine, bounded in size: the one place where a pattern is compiled, here and in the child.

Imports nothing but the engine: the search worker runs it in a bare interpreter.
"""

from typing import Any

import re2

MAX_PATTERN_MEMORY_BYTES = 1024 * 1024
LINE_ANCHORS = "(?m)"

EngineError: type[Exception] = re2.error


def compile_bytes(pattern: str, *, case_sensitive: bool = True, whole_text: bool = False) -> Any:
    """The engine's object, which searches UTF-8 bytes; `^` and `$` are the ends of a line.

    A match stays within a line unless `whole_text`. Raises: EngineError.
    """
    options = re2.Options()
    options.max_mem = MAX_PATTERN_MEMORY_BYTES
    options.log_errors = False
    options.never_capture = True
    options.case_sensitive = case_sensitive
    options.never_nl = not whole_text
    return re2.compile((LINE_ANCHORS + pattern).encode("utf-8", "replace"), options)
