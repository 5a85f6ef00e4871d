"""`tool_load` and `tool_search`."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from meka.agent.tools.base import Tool, ToolContext, ToolError, ToolOutcome
from meka.agent.tools.discovery import discovery_tools, summarize
from meka.agent.tools.function_tool import FunctionTool, object_schema
from meka.base.levels import Level
from tests.fakes import make_context

LOAD, SEARCH = discovery_tools()


def tool(name: str, description: str, level: Level = Level.READ, deferred: bool = True) -> Tool:
    schema = object_schema(["path"], path={"type": "string"})
    return FunctionTool(
        name, description, schema, lambda _, __: ToolOutcome(""), level=level, deferred=deferred
    )


TOOLS = [
    tool("mcp_git_commit", "Record changes to the repository.", Level.WORKSPACE),
    tool("mcp_git_status", "Show the state of the working tree. Lists changes."),
    tool("mcp_mail_send", "Send a message; its commit is immediate.", Level.UNRESTRICTED),
    tool("web_fetch", "GET a web page.", deferred=False),
]


@pytest.fixture
def context(tmp_path: Path) -> ToolContext:
    return make_context(tmp_path, level=Level.READ, tools=TOOLS, active=["web_fetch"])


def test_tool_load_gives_the_schema_and_makes_the_tool_callable(context: ToolContext) -> None:
    outcome = LOAD.run({"name": "mcp_git_status"}, context)
    assert outcome.loaded == ("mcp_git_status",)
    first, _, rest = outcome.text.partition("\n\n")
    assert "callable" in first
    assert rest.startswith(
        "# mcp_git_status\n\nShow the state of the working tree. Lists changes.\n\n## Schema\n\n```json\n{"
    )


def test_tool_load_says_what_a_tool_over_the_level_needs(context: ToolContext) -> None:
    text = LOAD.run({"name": "mcp_git_commit"}, context).text
    assert "workspace" in text.splitlines()[0]
    assert "read" in text.splitlines()[0]


def test_tool_load_of_an_active_tool_says_to_call_it(context: ToolContext) -> None:
    outcome = LOAD.run({"name": ["web_fetch", "mcp_mail_send"]}, context)
    assert outcome.loaded == ("mcp_mail_send",)
    assert outcome.text.startswith("web_fetch is already active; call it directly.\n\n---\n\n")


def test_tool_load_of_an_unknown_name_offers_near_ones(context: ToolContext) -> None:
    outcome = LOAD.run({"name": ["git_status_mcp", "web_fetch"]}, context)
    assert "Did you mean mcp_git_status" in outcome.text


def test_tool_load_fails_only_when_no_name_is_known(context: ToolContext) -> None:
    with pytest.raises(ToolError, match="xyzzy"):
        LOAD.run({"name": ["xyzzy", "plugh"]}, context)


def test_tool_load_drops_more_than_ten_names_with_a_note(tmp_path: Path) -> None:
    tools = [tool(f"tool_{number}", "It.") for number in range(12)]
    context = make_context(tmp_path, level=Level.READ, tools=tools)
    outcome = LOAD.run({"name": [each.name for each in tools]}, context)
    assert len(outcome.loaded) == 10
    assert "2 more names" in outcome.text


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("commit", ["mcp_git_commit", "mcp_mail_send"]),
        ("git commit", ["mcp_git_commit", "mcp_git_status", "mcp_mail_send"]),
        ("stat", ["mcp_git_status"]),
        ("repository", ["mcp_git_commit"]),
        ("comit", ["mcp_git_commit", "mcp_mail_send"]),
        ("WEB", ["web_fetch"]),
    ],
)
def test_tool_search_ranks_names_above_descriptions(
    context: ToolContext, query: str, names: Sequence[str]
) -> None:
    rows = SEARCH.run({"query": query}, context).text.splitlines()
    assert [row.split()[1] for row in rows] == names


def test_tool_search_tells_state_and_level(context: ToolContext) -> None:
    assert "(deferred; needs workspace" in SEARCH.run({"query": "repository"}, context).text
    assert "(active; callable" in SEARCH.run({"query": "page"}, context).text


def test_what_the_provider_expands_is_loaded_by_reference(tmp_path: Path) -> None:
    context = make_context(
        tmp_path, level=Level.READ, tools=TOOLS, active=["mcp_git_status"], expands_references=True
    )

    loaded = LOAD.run({"name": ["mcp_git_commit", "web_fetch"]}, context)
    found = SEARCH.run({"query": "git web"}, context)

    assert (loaded.loaded, loaded.refers) == (("mcp_git_commit",), True)
    assert loaded.text.startswith("mcp_git_commit is loaded; needs workspace")
    assert "Schema" not in loaded.text
    assert (found.loaded, found.refers) == (("mcp_git_commit",), True)
    assert [row.split()[1:3] for row in found.text.splitlines()] == [
        ["mcp_git_commit", "(loaded;"], ["mcp_git_status", "(active;"], ["web_fetch", "(active;"]
    ]  # fmt: skip


def test_tool_search_loads_no_more_than_it_shows(tmp_path: Path) -> None:
    tools = [tool(f"thing_{number}", "It.") for number in range(30)]
    outcome = SEARCH.run({"query": "thing"}, make_context(tmp_path, tools=tools, expands_references=True))
    assert len(outcome.loaded) == 10


def test_tool_search_loads_nothing_elsewhere(context: ToolContext) -> None:
    assert SEARCH.run({"query": "repository"}, context).loaded == ()


@pytest.mark.parametrize("query", ["", "zzzzzzzzzz", "!!!"])
def test_tool_search_says_so_when_nothing_matches(context: ToolContext, query: str) -> None:
    assert SEARCH.run({"query": query}, context).text == "No tool matches the query."


def test_tool_search_gives_at_most_ten_hits(tmp_path: Path) -> None:
    context = make_context(tmp_path, tools=[tool(f"thing_{number}", "It.") for number in range(30)])
    assert len(SEARCH.run({"query": "thing"}, context).text.splitlines()) == 10


@pytest.mark.parametrize(
    ("description", "summary"),
    [
        ("Short.", "Short."),
        ("One.\n  Two.", "One. Two."),
        ("First sentence. " + "x" * 300, "First sentence. ..."),
        ("y" * 300, "y" * 247 + "..."),
    ],
)
def test_summarize_keeps_whole_sentences(description: str, summary: str) -> None:
    assert summarize(description) == summary
    assert len(summarize(description)) <= 250
