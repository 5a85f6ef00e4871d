"""The tools that work on files and images, made once a process: they share the locks of paths."""

from meka.agent.tools.base import Tool
from meka.agent.tools.file_read import FileRead
from meka.agent.tools.file_write import FileEdit, FileWrite, PathLocks
from meka.agent.tools.render import ImageRender
from meka.agent.tools.search import FileFind, FileSearch


def file_tools(locks: PathLocks | None = None) -> tuple[Tool, ...]:
    """file_read, file_write, file_edit, file_find, file_search and image_render.

    `locks` is given where other tools that write files are to take turns with these.
    """
    locks = locks or PathLocks()
    return FileRead(), FileWrite(locks), FileEdit(locks), FileFind(), FileSearch(), ImageRender()
