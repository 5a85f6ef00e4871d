"""The set of system tools."""

import jsonschema
import pytest

from meka.agent.tools.base import Tool
from meka.agent.tools.sandbox import Probe, Sandbox
from meka.agent.tools.system import system_tools
from meka.agent.tools.web_client import build_web_client
from meka.base.levels import Level
from meka.config.model import SandboxBackend as Backend
from meka.config.model import Web

NO_SANDBOX = Sandbox(False, None, Probe(Backend.BUBBLEWRAP, reason="off"))
TOOLS = system_tools(NO_SANDBOX, build_web_client(Web()))
LEVELS = {
    "shell_execute": Level.UNRESTRICTED,
    "scratchpad_save_file": Level.WORKSPACE,
}
SUMMARIES = {
    "shell_execute": "command", "web_fetch": "url", "scratchpad_load_file": "path",
    "scratchpad_merge": "sources", "scratchpad_rename": "old", "scratchpad_list": None,
    "conversation_search": "query", "conversation_read": "start", "tool_load": "name", "tool_search": "query",
}  # fmt: skip


def test_system_tools_have_distinct_names() -> None:
    names = [tool.name for tool in TOOLS]
    assert sorted(set(names)) == sorted(names)
    assert len([name for name in names if name.startswith("scratchpad_")]) == 9


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_system_tool_has_a_face_a_model_can_use(tool: Tool) -> None:
    jsonschema.Draft202012Validator.check_schema(tool.parameters)
    properties = tool.parameters["properties"]
    assert set(tool.parameters.get("required", ())) <= set(properties)
    assert tool.summary_argument is None or tool.summary_argument in properties
    assert tool.description.endswith(".")
    assert tool.level is LEVELS.get(tool.name, Level.READ)
    assert tool.summary_argument == SUMMARIES.get(tool.name, "name")
    assert not tool.deferred
    assert not tool.serial
    assert tool.takes_scratchpad is (tool.name in {"shell_execute", "web_fetch", "conversation_read"})
