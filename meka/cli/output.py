"""How lists and records are printed: one JSON object, or lines for a person."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import click

from meka.base.text import one_line
from meka.cli.installation import say
from meka.config.options import OutputFormat

Command = TypeVar("Command", bound=Callable[..., Any])
Record = Mapping[str, Any]


def format_option(command: Command) -> Command:
    """`--format`, for every command that shows something."""
    return click.option(
        "--format",
        "output_format",
        type=click.Choice([choice.value for choice in OutputFormat]),
        default=OutputFormat.PLAIN.value,
        show_default=True,
        help="How the answer is printed.",
    )(command)


def print_record(record: Record, output_format: str) -> None:
    """One object: as JSON, or a line a field."""
    if output_format == OutputFormat.JSON:
        print_json(record)
        return
    width = max(map(len, record), default=0)
    for key, value in record.items():
        click.echo(f"{key.ljust(width)}  {_cell(value)}")


def print_list(
    noun: str,
    records: Sequence[Record],
    output_format: str,
    columns: Sequence[str],
    extra: Record | None = None,
) -> None:
    """A list: as JSON under `noun` (with `extra` beside it), or one line an entry."""
    if output_format == OutputFormat.JSON:
        print_json({noun: list(records), **(extra or {})})
        return
    if not records:
        say(f"no {noun}")
        return
    rows = [[_cell(record.get(column, "")) for column in columns] for record in records]
    widths = [max(len(row[index]) for row in [list(columns), *rows]) for index in range(len(columns))]
    for row in [[column.upper() for column in columns], *rows]:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def print_json(record: Record) -> None:
    """One JSON object on stdout."""
    click.echo(json.dumps(record, ensure_ascii=False, indent=2))


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping | list | tuple):
        return json.dumps(value, ensure_ascii=False)
    return one_line(str(value))
