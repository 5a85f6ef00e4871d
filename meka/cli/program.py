"""The program behind the command line, imported when a command needs it: most commands only edit a file."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from meka.base.clock import SystemClock
from meka.cli.log import set_up_logging
from meka.config.model import Tools
from meka.config.options import OneshotOptions, RunOptions, ServeOptions
from meka.config.places import Places
from meka.store.database import Database


class BootstrapProgram:
    """What the composition root makes, as `meka.cli.installation.Program`."""

    def set_up_logging(self, verbosity: int) -> None:
        set_up_logging(verbosity)

    def serve(self, options: ServeOptions) -> int:
        from meka.bootstrap import serve  # noqa: PLC0415

        return serve(options)

    def oneshot(self, options: OneshotOptions) -> int:
        from meka.oneshot import oneshot  # noqa: PLC0415

        return oneshot(options)

    def list_tools(self, options: RunOptions) -> Sequence[Mapping[str, Any]]:
        from meka.agent.tools.sandbox import build_sandbox  # noqa: PLC0415
        from meka.bootstrap import build_toolbox, load_installation  # noqa: PLC0415

        config = load_installation(options, serving=False)[1].config
        sandbox = build_sandbox(config.shell.sandbox, config.shell.sandbox_backend)
        admitted = build_toolbox(config, sandbox)
        overrides = config.tools.tool_permissions
        every = build_toolbox(replace(config, tools=Tools(tool_permissions=overrides)), sandbox)
        return [
            {
                "name": name,
                "permission": every.levels[name].value,
                "source": "override" if name in overrides else "builtin",
                "status": _status(admitted=name in admitted.tools, deferred=tool.deferred),
            }
            for name, tool in every.tools.items()
        ]

    def open_store(self, places: Places) -> Database:
        return Database.open(places.store_path, clock=SystemClock())


def _status(*, admitted: bool, deferred: bool) -> str:
    if not admitted:
        return "disabled"
    return "deferred" if deferred else "enabled"
