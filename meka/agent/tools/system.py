"""The tools that reach the machine, the web and the session itself, put together."""

from meka.agent.tools.base import Tool
from meka.agent.tools.conversation import conversation_tools
from meka.agent.tools.discovery import discovery_tools
from meka.agent.tools.file_write import PathLocks
from meka.agent.tools.sandbox import Sandbox
from meka.agent.tools.scratchpad import scratchpad_tools
from meka.agent.tools.scratchpad_files import scratchpad_file_tools
from meka.agent.tools.shell import ShellTool
from meka.agent.tools.web import WebFetchTool
from meka.agent.tools.web_client import WebClient


def system_tools(sandbox: Sandbox, web_client: WebClient, locks: PathLocks | None = None) -> tuple[Tool, ...]:
    """`shell_execute`, `web_fetch`, `scratchpad_*`, `conversation_*`, `tool_load` and `tool_search`.

    `locks` are those of the file tools, where they are to take turns with `scratchpad_save_file`.
    """
    return (
        ShellTool(sandbox),
        WebFetchTool(web_client),
        *scratchpad_tools(),
        *scratchpad_file_tools(locks or PathLocks()),
        *conversation_tools(),
        *discovery_tools(),
    )
