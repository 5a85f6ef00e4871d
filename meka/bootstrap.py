"""THE composition root: everything is made here, from configuration and environment, and ended here."""

import gc
import json
import logging
import platform
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from importlib import resources
from pathlib import Path
from typing import Any

import gevent
from gevent.event import Event

from meka.agent.prompt import PromptFacts, system_prompt
from meka.agent.providers.base import Provider
from meka.agent.providers.scripted import ScriptedProvider
from meka.agent.toolbox import Toolbox
from meka.agent.tools.base import Tool
from meka.agent.tools.builtin import builtin_tools
from meka.agent.tools.sandbox import Sandbox, build_sandbox
from meka.agent.tools.web_client import WebSettings, build_web_client
from meka.base.clock import Clock, SystemClock
from meka.base.ids import Ids, RandomIds
from meka.base.levels import Level
from meka.base.version import VERSION
from meka.config.advice import unmatched_tool_names
from meka.config.environment import apply_overrides
from meka.config.instructions import read_instructions
from meka.config.load import LoadedConfig, load_config
from meka.config.model import Config, Tools, Web
from meka.config.options import RunOptions, ServeOptions
from meka.config.places import Places, find_places
from meka.server import Server, ServerSettings
from meka.service.discovery import Discovery
from meka.service.local_model import LocalModel
from meka.service.models import Models
from meka.service.pool import Pool
from meka.service.registry import Registry
from meka.service.services import Services
from meka.service.sessions import SessionDefaults, Sessions
from meka.service.turns import ToolPlaces, Turns, TurnSettings
from meka.store.database import Database
from meka.store.locks import SessionLocks
from meka.store.sessions import SessionRow
from meka.wire.app import build_app
from meka.wire.auth import Tokens

LOG = logging.getLogger(__name__)

_POOL_THREADS = 8
_COLLECT_AFTER_OBJECTS = 20_000


@dataclass(frozen=True, slots=True)
class Core:
    """The program without its HTTP door."""

    config: Config
    places: Places
    database: Database
    registry: Registry
    services: Services
    turns: Turns
    toolbox: Toolbox


def open_store(places: Places, clock: Clock | None = None) -> Database:
    """The store of an installation, migrated. Raises: MekaError, when it cannot be opened."""
    return Database.open(places.store_path, clock=clock or SystemClock())


def load_installation(options: RunOptions, *, serving: bool) -> tuple[Places, LoadedConfig]:
    """Where the installation is and what it says, warnings logged. Raises: ConfigurationError."""
    places, warnings = find_places(options.environ)
    loaded = load_config(places.config_path, options.environ, serving=serving)
    config, more_warnings = apply_overrides(loaded.config, options.environ, options.flags)
    for warning in (*warnings, *loaded.warnings, *more_warnings):
        LOG.warning("%s", warning)
    return places, replace(loaded, config=config)


def build_toolbox(config: Config, sandbox: Sandbox) -> Toolbox:
    """The built-in tools that `[tools]` lets in, at the levels it says. Raises: ConfigurationError."""
    tools = builtin_tools(sandbox, build_web_client(_web_settings(config.web)))
    for sentence in unmatched_tool_names(config, [tool.name for tool in tools]):
        LOG.warning("%s", sentence)
    return Toolbox(_admitted(tools, config.tools), config.tools.tool_permissions)


def _web_settings(web: Web) -> WebSettings:
    """The section's keys that are set; what is left out is the client's default."""
    stated = {each.name: getattr(web, each.name) for each in fields(web)}
    return WebSettings(**{name: value for name, value in stated.items() if value is not None})


def _admitted(tools: tuple[Tool, ...], rules: Tools) -> list[Tool]:
    allowed = set(rules.allowed_tools)
    return [
        tool for tool in tools
        if (not allowed or tool.name in allowed) and tool.name not in rules.disabled_tools
    ]  # fmt: skip


@contextmanager
def open_core(
    places: Places,
    config: Config,
    options: RunOptions,
    *,
    oneshot: bool = False,
    writable_roots: tuple[Path, ...] = (),
    clock: Clock | None = None,
    ids: Ids | None = None,
    provider: Provider | None = None,
) -> Iterator[Core]:
    """The whole program but for HTTP, ended when the block is left."""
    clock, ids = clock or SystemClock(), ids or RandomIds()
    sandbox = build_sandbox(config.shell.sandbox, config.shell.sandbox_backend)
    toolbox = build_toolbox(config, sandbox)
    instructions = read_instructions(places, options.environ, options.instructions).content
    database, pool, local = open_store(places, clock), Pool(_POOL_THREADS), LocalModel(clock)
    try:
        locks = SessionLocks(places.data_dir / "locks")
        prompt = system_prompt(
            PromptFacts(  # noqa: S604 - `shell` is a name here, nothing runs
                shell_sandboxed=sandbox.shell_level is not Level.UNRESTRICTED,
                shell="sh",
                system=platform.system(),
                instructions=instructions,
                oneshot=oneshot,
            )
        )
        registry = Registry(
            database,
            locks,
            clock,
            config.serve.stream_replay_events,
            build_prompt=lambda _row: prompt,
            admit_level=_level_admission(config),
        )
        models = Models(lambda: config, database, local, provider or _scripted(options.environ))
        sessions = Sessions(database, registry, locks, models, _defaults(config), clock, ids, pool.run)
        turns = Turns(
            database,
            registry,
            models,
            toolbox,
            _turn_settings(config),
            ToolPlaces((places.config_dir, places.data_dir), (places.skills_dir,), writable_roots),
            clock,
            ids,
            pool.run,
        )
        discovery = Discovery(database, models, config.permissions, toolbox, sessions, VERSION)
        document = read_document() if config.serve.docs else None
        services = Services(sessions, turns, discovery, document)
        yield Core(config, places, database, registry, services, turns, toolbox)
    finally:
        local.stop()
        for runtime in registry.all():
            registry.unload(runtime)
        database.close()
        pool.close()


def _scripted(environ: Mapping[str, str]) -> Provider | None:
    if environ.get("MEKA_MOCK_PROVIDER") != "1":
        return None
    return ScriptedProvider.from_file(environ.get("MEKA_MOCK_PROVIDER_SCRIPT"))


def _defaults(config: Config) -> SessionDefaults:
    permissions = config.permissions
    return SessionDefaults(permissions.default, permissions.enabled, permissions.approvals, Path.cwd())


def _level_admission(config: Config) -> Callable[[SessionRow], SessionRow]:
    """A session whose recorded level is no longer enabled loads at the default, with a warning."""
    enabled = {level.value for level in config.permissions.enabled}

    def admit(row: SessionRow) -> SessionRow:
        if row.permission in enabled:
            return row
        LOG.warning("a session's level is not enabled; it loads at the default", extra={"session_id": row.id})
        return replace(row, permission=config.permissions.default.value)

    return admit


def _turn_settings(config: Config) -> TurnSettings:
    return TurnSettings(
        streams=config.display.stream,
        relay_errors=config.serve.relay_provider_errors,
        reattach_grace_seconds=config.serve.stream_reattach_grace,
        max_concurrent=config.serve.max_concurrent_turns,
        compact_at_percent=config.session.context_ceiling_percent,
    )


def read_document() -> dict[str, Any]:
    """The contract that is routed and published."""
    text = resources.files("meka.schema").joinpath("openapi.json").read_text(encoding="utf-8")
    document: dict[str, Any] = json.loads(text)
    return document


def serve(options: ServeOptions) -> int:
    """Run the server until it is told to stop. Shape: the exit code, 1 when the drain ran out of time.

    Raises: ConfigurationError.
    """
    places, loaded = load_installation(options, serving=True)
    config = loaded.config
    stop = Event()
    with open_core(places, config, options) as core:
        app = build_app(core.services, read_document(), find_token=Tokens(loaded.tokens))
        settings = ServerSettings(max_body_bytes=config.serve.max_body_bytes)
        server = Server(options.bind or config.serve.bind, app, settings)
        server.start()
        _calm_collector()
        for number in (signal.SIGTERM, signal.SIGINT):
            gevent.signal_handler(number, stop.set)
        LOG.warning("listening on http://%s:%s", *server.address)
        stop.wait()
        return drain(core, server, config.serve.shutdown_drain_timeout)


def _calm_collector() -> None:
    """Keep the garbage collector from walking the whole program again and again while it serves.

    What start-up made stays until the end, so it is set aside; and a burst of events makes thousands of small
    objects that are gone at once, so young objects are looked at less often.
    """
    gc.freeze()
    gc.set_threshold(_COLLECT_AFTER_OBJECTS, 20, 20)


def drain(core: Core, server: Server, timeout_seconds: float) -> int:
    """Stop accepting, cancel every turn and wait for what they still have to write and to say."""
    clock = SystemClock()
    deadline = clock.monotonic() + timeout_seconds
    LOG.info("draining")
    server.stop_accepting()
    ended = core.turns.drain(timeout_seconds)
    core.registry.end_feeds()
    closed = server.close(max(0.0, deadline - clock.monotonic()))
    if ended and closed:
        return 0
    LOG.warning("the drain ran out of time; what still runs is abandoned")
    return 1
