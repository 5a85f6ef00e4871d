"""Whether the blocks of an archive are ones that this program could have written."""

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Any

from meka.agent.blocks import (
    KINDS,
    Block,
    Image,
    Text,
    ToolReference,
    ToolResult,
    from_records,
)

_WITHIN_RESULTS = (Text.type, Image.type, ToolReference.type)


class BlockFaultError(Exception):
    """What is wrong with a block, in words."""


def read_blocks(records: object, where: str) -> tuple[Block, ...]:
    """The blocks of a message. Raises: BlockFaultError."""
    if not isinstance(records, list):
        raise BlockFaultError(f"`{where}` must be an array")
    for position, record in enumerate(records):
        _check(record, f"{where}[{position}]", tuple(KINDS))
    return from_records(records)


def images_in(blocks: Sequence[Block]) -> list[Image]:
    """The images of a message, those in results too."""
    found: list[Image] = []
    for block in blocks:
        inner = block.content if isinstance(block, ToolResult) else (block,)
        found += [each for each in inner if isinstance(each, Image)]
    return found


def _check(record: object, where: str, allowed: Sequence[str]) -> None:
    if not isinstance(record, dict) or record.get("type") not in allowed:
        raise BlockFaultError(f"`{where}` is no block that can stand there")
    kind = KINDS[record["type"]]
    known = {field.name.rstrip("_"): field for field in fields(kind)}
    if unknown := set(record) - set(known) - {"type"}:
        raise BlockFaultError(f"`{where}.{min(unknown)}` is not a known field")
    for name, field in known.items():
        if name in record:
            _check_value(name, record[name], f"{where}.{name}")
        elif field.default is MISSING:
            raise BlockFaultError(f"`{where}.{name}` is missing")


def _check_value(name: str, value: Any, where: str) -> None:
    match name:
        case "content":
            _check_list(value, where)
            for position, item in enumerate(value):
                _check(item, f"{where}[{position}]", _WITHIN_RESULTS)
        case "task_ids":
            _check_list(value, where)
            if not all(isinstance(item, str) for item in value):
                raise BlockFaultError(f"`{where}` must hold strings")
        case "input":
            if not isinstance(value, Mapping):
                raise BlockFaultError(f"`{where}` must be an object")
        case "is_error":
            if not isinstance(value, bool):
                raise BlockFaultError(f"`{where}` must be a boolean")
        case _:
            if not isinstance(value, str):
                raise BlockFaultError(f"`{where}` must be a string")


def _check_list(value: object, where: str) -> None:
    if not isinstance(value, list):
        raise BlockFaultError(f"`{where}` must be an array")
