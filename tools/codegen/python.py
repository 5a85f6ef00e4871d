"""What the generated Python modules have in common."""

import json
from collections.abc import Iterable

HEADER = '"""GENERATED from openapi.yaml by tools/codegen; edit the document, then run `make gen`."""\n'


def string(text: str) -> str:
    """`text` as a Python literal in double quotes."""
    return json.dumps(text, ensure_ascii=False)


def strings(texts: Iterable[str]) -> str:
    """A tuple of text as a Python literal."""
    return tuple_of(string(text) for text in texts)


def numbers(values: Iterable[int]) -> str:
    """A tuple of numbers as a Python literal."""
    return tuple_of(str(value) for value in values)


def tuple_of(literals: Iterable[str]) -> str:
    """A tuple of what is a Python literal already."""
    items = list(literals)
    return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"
