"""Every tool that is built in, in the order the model is told of them."""

from meka.agent.tools.base import Tool
from meka.agent.tools.checklist import checklist_tools
from meka.agent.tools.file_write import PathLocks
from meka.agent.tools.files import file_tools
from meka.agent.tools.sandbox import Sandbox
from meka.agent.tools.system import system_tools
from meka.agent.tools.tasks import task_tools
from meka.agent.tools.web_client import WebClient
from meka.agent.tools.window import window_tools


def builtin_tools(sandbox: Sandbox, web: WebClient) -> tuple[Tool, ...]:
    """The tools, made once a process: they hold nothing of a session."""
    locks = PathLocks()
    return (
        *file_tools(locks),
        *system_tools(sandbox, web, locks),
        *checklist_tools(),
        *window_tools(),
        *task_tools(),
    )
