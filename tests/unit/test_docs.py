"""The documentation held to the code: links resolve, and whatever a user can name has its place."""

import dataclasses
import json
import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, get_type_hints

import click
import pytest

from meka.agent.tools.base import Tool
from meka.agent.tools.builtin import builtin_tools
from meka.agent.tools.sandbox import build_sandbox
from meka.agent.tools.web_client import build_web_client
from meka.base.durations import render_duration
from meka.cli.commands import cli
from meka.config import model
from meka.config.backends import Backend
from meka.config.decode import Ignored
from meka.config.load import load_text
from meka.config.model import Web
from meka.schema.events import EVENTS
from meka.schema.operations import OPERATIONS, SCOPES
from meka.schema.problems import PROBLEMS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
REFERENCE = DOCS / "reference"
PAGES = (ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted(DOCS.rglob("*.md")))
SECTIONS: Mapping[str, type] = {
    "Top level": model.Config,
    "`[accounts.<name>]`": model.Account,
    "`[profiles.<name>]`": model.Profile,
    "`[permissions]`": model.Permissions,
    "`[shell]`": model.Shell,
    "`[tools]`": model.Tools,
    "`[instructions]`": model.Instructions,
    "`[session]`": model.Session,
    "`[thinking]`": model.Thinking,
    "`[web]`": model.Web,
    "`[serve]`": model.Serve,
    "`[[serve.tokens]]`": model.TokenEntry,
    "`[[serve.webhooks]]`": model.WebhookEntry,
    "`[mcp]`": model.Mcp,
    "`[[mcp.servers]]`": model.McpServer,
    "`[mcp.servers.auth]`": model.McpAuth,
    "`[subagents]`": model.Subagents,
    "`[skills]`": model.Skills,
    "`[memory]`": model.Memory,
    "`[schedule]`": model.Schedule,
    "`[background]`": model.Background,
    "`[display]`": model.Display,
}
_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_ROW = re.compile(r"^\| `(?P<key>\w+)` \| (?P<type>[^|]+) \| (?P<default>[^|]+) \|", re.MULTILINE)
_ENVIRON = {"MEKA_API_TOKEN": "a-token"}


def prose(page: Path) -> str:
    return _FENCE.sub("", page.read_text())


def fences(page: Path, language: str) -> list[str]:
    return [body for tag, body in _FENCE.findall(page.read_text()) if tag == language]


def headings(page: Path) -> list[str]:
    return _HEADING.findall(prose(page))


def sections(page: Path) -> dict[str, str]:
    """What stands under each heading, up to the next one of any depth."""
    parts = _HEADING.split(prose(page))
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def anchor(heading: str) -> str:
    kept = re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower())
    return kept.replace(" ", "-")


def broken_links(page: Path) -> Iterator[str]:
    for target in _LINK.findall(prose(page)):
        if "://" in target:
            continue
        path, _, fragment = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        if not linked.exists() or (fragment and fragment not in map(anchor, headings(linked))):
            yield target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_page_links_only_to_what_is_there(page: Path) -> None:
    assert list(broken_links(page)) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_page_samples_parse(page: Path) -> None:
    for text in fences(page, "json"):
        json.loads(text)
    for text in fences(page, "toml"):
        load_text(text, Path("sample.toml"), _ENVIRON, serving="[[serve.tokens]]" in text)


def test_every_page_is_linked_from_the_readme() -> None:
    linked = {target.partition("#")[0] for target in _LINK.findall(prose(ROOT / "README.md"))}
    assert {str(page.relative_to(ROOT)) for page in DOCS.rglob("*.md")} <= linked


def test_sections_cover_every_table_of_the_configuration() -> None:
    written = {
        each for each in vars(model).values()
        if isinstance(each, type) and dataclasses.is_dataclass(each) and each.__module__ == model.__name__
    }  # fmt: skip
    assert set(SECTIONS.values()) == written


@pytest.mark.parametrize("heading", SECTIONS)
def test_configuration_page_has_every_key_with_its_default(heading: str) -> None:
    table = SECTIONS[heading]
    rows = {row["key"]: row["default"].strip() for row in _ROW.finditer(settings_text(heading))}
    hints = get_type_hints(table)
    expected = {
        field.name: shown_default(field, hints[field.name])
        for field in dataclasses.fields(table)
        if table is not model.Config or field.name == "default_profile"
    }
    assert rows == expected


def settings_text(heading: str) -> str:
    return sections(DOCS / "configuration.md")[heading]


def shown_default(field: "dataclasses.Field[Any]", kind: object) -> str:
    if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
        return "required"
    value = field.default
    if value is model.ORDER:
        return "all four"
    if value is dataclasses.MISSING or value is None or value == () or kind is Ignored:
        return "none"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, str | StrEnum):
        return f'`"{value}"`'
    return f'`"{render_duration(value)}"`' if isinstance(value, float) else f"`{value}`"


def commands(command: click.Command, path: str = "meka") -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        for name, each in command.commands.items():
            yield from commands(each, f"{path} {name}")


@pytest.mark.parametrize(("path", "command"), list(commands(cli)), ids=str)
def test_command_has_a_heading_that_names_exactly_its_options(path: str, command: click.Command) -> None:
    text = sections(DOCS / "cli.md")[f"`{path}`"]
    shown = {option for option in command.params if isinstance(option, click.Option) and not option.hidden}
    rows = re.findall(r"^\| (`-[^|]+) \|", text, re.MULTILINE)
    assert set(re.findall(r"`(-[^`]+)`", " ".join(rows))) == {name for each in shown for name in each.opts}


def tools() -> tuple[Tool, ...]:
    return builtin_tools(build_sandbox(False), build_web_client(Web()))


def test_tools_page_has_a_heading_for_each_tool_and_no_other() -> None:
    named = [heading.strip("`") for heading in headings(DOCS / "tools.md") if heading.startswith("`")]
    assert sorted(named) == sorted(tool.name for tool in tools())


@pytest.mark.parametrize("tool", tools(), ids=lambda tool: tool.name)
def test_tool_has_its_level_and_exactly_its_parameters(tool: Tool) -> None:
    text = sections(DOCS / "tools.md")[f"`{tool.name}`"]
    rows = re.findall(r"^\| (`[^|]+) \|", text, re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", " ".join(rows))) == set(tool.parameters["properties"])
    required = {
        name for row in re.findall(r"^\| `.*Required\..*$", text, re.MULTILINE) for name in names(row)
    }
    assert required == set(tool.parameters.get("required", ()))
    assert tool.name == "shell_execute" or f"Level `{tool.level}`." in text


@pytest.mark.parametrize("tool", tools(), ids=lambda tool: tool.name)
def test_tool_has_the_types_of_its_parameters(tool: Tool) -> None:
    text = sections(DOCS / "tools.md")[f"`{tool.name}`"]
    rows = re.findall(r"^\| (`[^|]+) \| ([^|]+) \|", text, re.MULTILINE)
    shown = {name: kind for named, kind in rows for name in re.findall(r"`(\w+)`", named)}
    assert shown == {name: shown_type(schema) for name, schema in tool.parameters["properties"].items()}


def shown_type(schema: Mapping[str, Any]) -> str:
    if "anyOf" in schema:
        return " or ".join(map(shown_type, schema["anyOf"]))
    if schema["type"] == "array":
        return "list of strings" if schema["items"].get("type") == "string" else "list"
    return str(schema["type"])


def names(row: str) -> list[str]:
    return re.findall(r"`(\w+)`", row.split("|")[1])


def test_errors_page_says_what_to_do_about_every_problem() -> None:
    named = set(re.findall(r"`([a-z-]+)`", " ".join(headings(DOCS / "errors.md"))))
    assert named == set(PROBLEMS)


@pytest.mark.parametrize(
    ("page", "entries"),
    [
        ("problems.md", set(PROBLEMS)),
        ("events.md", set(EVENTS)),
        ("scopes.md", set(SCOPES)),
        ("operations.md", {f"{each.method} {each.path}" for each in OPERATIONS.values()}),
    ],
)
def test_reference_page_has_a_heading_for_each_entry(page: str, entries: set[str]) -> None:
    assert {heading.strip("`") for heading in headings(REFERENCE / page)} >= entries


def test_backends_page_names_every_backend() -> None:
    assert all(f"`{backend}`" in sections(DOCS / "providers.md")["Backends"] for backend in Backend)
