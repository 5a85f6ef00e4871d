"""The program behind the command line, imported when a command needs it: most commands only edit a file."""

from collections.abc import Mapping, Sequence
from typing import Any

from meka.base.clock import SystemClock
from meka.cli.options import OneshotRequest, RunOptions
from meka.config.places import Places
from meka.store.database import Database


class BootstrapProgram:
    """What `meka.bootstrap` composes, as `meka.cli.installation.Program`."""

    def serve(self, options: RunOptions) -> int:
        from meka import bootstrap  # noqa: PLC0415

        return bootstrap.serve(_bootstrap_options(options, oneshot=False))

    def oneshot(self, options: RunOptions, request: OneshotRequest) -> int:
        from meka import bootstrap  # noqa: PLC0415

        return bootstrap.oneshot(
            _bootstrap_options(options, oneshot=True),
            prompt=request.prompt,
            as_json=request.format == "json",
            session_id=request.session_id,
            writable_roots=request.writable_roots,
        )

    def list_tools(self, options: RunOptions) -> Sequence[Mapping[str, Any]]:
        from meka import bootstrap  # noqa: PLC0415

        return bootstrap.list_tools(_bootstrap_options(options, oneshot=False))

    def open_store(self, places: Places) -> Database:
        return Database.open(places.store_path, clock=SystemClock())


def _bootstrap_options(options: RunOptions, *, oneshot: bool) -> Any:
    from meka import bootstrap  # noqa: PLC0415

    return bootstrap.Options(
        environ=options.environ,
        flags=options.flags,
        bind=options.bind,
        instructions=options.instructions,
        oneshot=oneshot,
    )
