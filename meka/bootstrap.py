"""THE composition root: everything is made here, from configuration and environment, and ended here."""

import gc
import logging
import platform
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import gevent
from gevent.event import Event

from meka.agent.checklist import TOOLS as CHECKLIST_TOOLS
from meka.agent.prompt import PromptFacts, system_prompt
from meka.agent.providers.base import Provider
from meka.agent.providers.scripted import ScriptedProvider, ScriptError
from meka.agent.toolbox import Toolbox
from meka.agent.tools.base import Tool
from meka.agent.tools.builtin import builtin_tools
from meka.agent.tools.sandbox import Sandbox, build_sandbox
from meka.agent.tools.web_client import build_web_client
from meka.base.clock import Clock, SystemClock
from meka.base.errors import ConfigurationError
from meka.base.ids import Ids, RandomIds
from meka.base.levels import Level
from meka.composition import Base, Core, build_core, read_document
from meka.config.advice import unmatched_tool_names
from meka.config.catalog import unknown_profile
from meka.config.instructions import read_instructions
from meka.config.load import LoadedConfig
from meka.config.model import Config, Tools
from meka.config.options import RunOptions, ServeOptions
from meka.config.places import Places, find_places
from meka.config.reading import ConfigReader
from meka.server import Server, ServerSettings
from meka.service.access_tokens import AccessTokens
from meka.service.devices import Devices
from meka.service.in_force import InForce
from meka.service.installation import Installation
from meka.service.local_model import LocalModel
from meka.service.models import Models
from meka.service.pool import Pool
from meka.service.registry import Registry
from meka.service.standing import SessionInstructions
from meka.store.database import Database
from meka.store.locks import SessionLocks
from meka.store.sessions import SessionRow
from meka.wire.app import build_app
from meka.wire.auth import Tokens
from meka.wire.cors import Cors

LOG = logging.getLogger(__name__)

_POOL_THREADS = 8
BACKGROUND_TOOLS = ("task_list", "task_cancel")
"""Registered only where `[background].enabled` is on."""
_COLLECT_AFTER_OBJECTS = 20_000
_SWITCH_SECONDS = 0.0005
"""How long a thread that computes keeps the hub waiting, at each step of each answer: by default 5 ms."""


def open_store(places: Places, clock: Clock | None = None) -> Database:
    """The store of an installation, migrated. Raises: MekaError, when it cannot be opened."""
    return Database.open(places.store_path, clock=clock or SystemClock())


def load_installation(options: RunOptions, *, serving: bool) -> tuple[ConfigReader, LoadedConfig]:
    """Where the installation is and what it says, warnings logged. Raises: ConfigurationError."""
    places, warnings = find_places(options.environ)
    reader = ConfigReader(places, options, serving, _check_web)
    loaded = reader.read()
    for warning in (*warnings, *loaded.warnings):
        LOG.warning("%s", warning)
    return reader, loaded


def _check_web(config: Config) -> None:
    build_web_client(config.web)


def build_toolbox(config: Config, sandbox: Sandbox) -> Toolbox:
    """The built-in tools that `[tools]` lets in, at the levels it says. Raises: ConfigurationError."""
    tools = builtin_tools(sandbox, build_web_client(config.web))
    for sentence in unmatched_tool_names(config, [tool.name for tool in tools]):
        LOG.warning("%s", sentence)
    if not config.background.enabled:
        tools = tuple(tool for tool in tools if tool.name not in BACKGROUND_TOOLS)
    return Toolbox(
        _admitted(tools, config.tools),
        config.tools.tool_permissions,
        background=config.background.enabled,
    )


def _admitted(tools: tuple[Tool, ...], rules: Tools) -> list[Tool]:
    allowed = set(rules.allowed_tools)
    return [
        tool for tool in tools
        if (not allowed or tool.name in allowed) and tool.name not in rules.disabled_tools
    ]  # fmt: skip


@contextmanager
def open_core(
    reader: ConfigReader,
    loaded: LoadedConfig,
    *,
    oneshot: bool = False,
    writable_roots: tuple[Path, ...] = (),
    clock: Clock | None = None,
    ids: Ids | None = None,
    provider: Provider | None = None,
) -> Iterator[Core]:
    """The whole program but for HTTP, ended when the block is left."""
    clock, ids = clock or SystemClock(), ids or RandomIds()
    config, places, options = loaded.config, reader.places, reader.options
    sandbox = build_sandbox(config.shell.sandbox, config.shell.sandbox_backend)
    toolbox = build_toolbox(config, sandbox)
    in_force = InForce(loaded, read_instructions(places, options.environ, options.instructions), clock)
    database, pool, local = open_store(places, clock), Pool(_POOL_THREADS), LocalModel(clock)
    # One thread: two of them would get no more done, and leave the hub's the less of the interpreter.
    compute = Pool(1)
    try:
        locks = SessionLocks(places.data_dir / "locks")
        instructions = SessionInstructions(in_force, config.instructions.files, options.environ, pool.run)
        facts = PromptFacts(  # noqa: S604 - `shell` is a name here, nothing runs
            shell_sandboxed=sandbox.shell_level is not Level.UNRESTRICTED,
            shell="sh",
            system=platform.system(),
            instructions="",
            oneshot=oneshot,
        )
        registry = Registry(
            database,
            locks,
            clock,
            config.serve.stream_replay_events,
            build_prompt=lambda row: system_prompt(replace(facts, instructions=instructions.read(row))),
            admit_level=_level_admission(config),
            keeps_checklist=any(name in toolbox.tools for name in CHECKLIST_TOOLS),
        )
        access_tokens = AccessTokens(database, places.data_dir / "locks", clock)
        installation = Installation(in_force, reader, pool.run)
        models = Models(
            lambda: in_force.config,
            database,
            local,
            access_tokens,
            Devices(installation.amend).of,
            provider or _scripted(options.environ),
        )
        base = Base(
            config,
            reader,
            in_force,
            installation,
            database,
            registry,
            models,
            toolbox,
            clock,
            ids,
            pool,
            compute,
            access_tokens,
            locks,
            writable_roots,
        )
        yield build_core(base)
    finally:
        local.stop()
        for runtime in registry.all():
            registry.unload(runtime)
        database.close()
        pool.close()
        compute.close()


def _scripted(environ: Mapping[str, str]) -> Provider | None:
    if environ.get("MEKA_MOCK_PROVIDER") != "1":
        return None
    path = environ.get("MEKA_MOCK_PROVIDER_SCRIPT")
    try:
        return ScriptedProvider.from_file(path)
    except OSError as error:
        raise ConfigurationError(f"MEKA_MOCK_PROVIDER_SCRIPT: {path}: {error.strerror}") from None
    except ScriptError as error:
        raise ConfigurationError(f"MEKA_MOCK_PROVIDER_SCRIPT: {error}") from None


def _level_admission(config: Config) -> Callable[[SessionRow], SessionRow]:
    """A session whose recorded level is no longer enabled loads at the default, with a warning."""
    enabled = {level.value for level in config.permissions.enabled}

    def admit(row: SessionRow) -> SessionRow:
        if row.permission in enabled:
            return row
        LOG.warning("a session's level is not enabled; it loads at the default", extra={"session_id": row.id})
        return replace(row, permission=config.permissions.default.value)

    return admit


def serve(options: ServeOptions) -> int:
    """Run the server until it is told to stop. Shape: the exit code, 1 when the drain ran out of time.

    Raises: ConfigurationError.
    """
    reader, loaded = load_installation(options, serving=True)
    config = loaded.config
    served = options.flags.profile
    if served is not None and served not in config.profiles:
        raise ConfigurationError(f"--profile: {unknown_profile(config, served)}")
    stop = Event()
    with open_core(reader, loaded) as core:
        tokens = Tokens(loaded.tokens)
        follow_tokens(core, tokens)
        app = build_app(core.services, read_document(), find_token=tokens, offload=core.compute.run)
        settings = ServerSettings(max_body_bytes=config.serve.max_body_bytes)
        origins = config.serve.cors_allowed_origins
        shared = Cors(app, origins)
        grant = shared.grant if origins else None
        server = Server(options.bind or config.serve.bind, shared, settings, grant)
        core.startup_sweep.run()
        try:
            server.start()
        except OSError as error:
            wanted = f"--bind {options.bind}" if options.bind else f"serve.bind {config.serve.bind}"
            raise ConfigurationError(f"{wanted} cannot be listened on: {error.strerror or error}") from None
        core.dispatcher.start()
        evicting = gevent.spawn(core.idle_eviction.run, stop)
        evicting.name = "idle-eviction"
        sweeping = gevent.spawn(core.startup_sweep.run_beside)
        sweeping.name = "startup-sweep"
        _calm_collector()
        sys.setswitchinterval(_SWITCH_SECONDS)
        for number in (signal.SIGTERM, signal.SIGINT):
            gevent.signal_handler(number, stop.set)
        gevent.signal_handler(signal.SIGHUP, reload, core)
        LOG.warning("listening on http://%s:%s", *server.address)
        stop.wait()
        gevent.joinall([evicting, sweeping])
        return drain(core, server, config.serve.shutdown_drain_timeout)


def reload(core: Core) -> None:
    """What SIGHUP asks for: as `POST /v1/config/reload`, its answer in the log."""
    try:
        done = core.services.installation.reload()
    except ConfigurationError as error:
        LOG.error("the configuration was not reloaded: %s", error.detail)  # noqa: TRY400 - the sentence says it
    else:
        LOG.warning("the configuration was reloaded", extra={"restart_required": done["restart_required"]})


def follow_tokens(core: Core, tokens: Tokens) -> None:
    """Have each configuration that is put in force replace the tokens, and end the streams they held."""
    held = core.services.held_streams
    held.scopes_of = tokens.scopes_of

    def replace_tokens(loaded: LoadedConfig) -> None:
        tokens.replace(loaded.tokens)
        held.end_refused()

    core.in_force.observers.append(replace_tokens)


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
    core.services.logins.close()
    core.dispatcher.stop()
    ended = core.turns.drain(timeout_seconds)
    ended = core.background.drain(max(0.0, deadline - clock.monotonic())) and ended
    ended = core.access_tokens.drain(max(0.0, deadline - clock.monotonic())) and ended
    core.registry.end_feeds()
    core.server_feed.end()
    closed = server.close(max(0.0, deadline - clock.monotonic()))
    if ended and closed:
        return 0
    LOG.warning("the drain ran out of time; what still runs is abandoned")
    return 1
