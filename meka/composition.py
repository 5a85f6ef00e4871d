"""How the services are tied together, once what they stand on is there."""

import json
from contextlib import suppress
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from meka.agent.toolbox import Toolbox
from meka.agent.tools.private import PrivateDirectories
from meka.base.clock import Clock
from meka.base.ids import Ids
from meka.base.version import VERSION
from meka.config.model import Config
from meka.config.places import Places
from meka.config.reading import ConfigReader
from meka.service.access_tokens import AccessTokens
from meka.service.accounts import Accounts, runs_on
from meka.service.announce import Announcer
from meka.service.archives import Archives
from meka.service.assembly import Assembly, ToolPlaces, TurnSettings
from meka.service.background import Background
from meka.service.compactions import Compactions
from meka.service.discovery import Discovery
from meka.service.dispatch import Dispatcher
from meka.service.feed import Feed
from meka.service.held_streams import HeldStreams
from meka.service.history import Histories
from meka.service.housekeeping import HousekeepingSettings, IdleEviction, StartupSweep
from meka.service.idempotency import IdempotencyKeys
from meka.service.in_force import InForce
from meka.service.inbox import Inboxes
from meka.service.installation import Installation
from meka.service.logins import Logins
from meka.service.models import Models
from meka.service.pool import Pool
from meka.service.profiles import Profiles
from meka.service.projects import Projects
from meka.service.prompts import Prompts
from meka.service.registry import Registry
from meka.service.search import Search
from meka.service.services import Services
from meka.service.sessions import SessionDefaults, Sessions
from meka.service.streams import Streams
from meka.service.turns import Turns
from meka.store.database import Database
from meka.store.locks import SessionLocks


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
    dispatcher: Dispatcher
    background: Background
    server_feed: Feed
    in_force: InForce
    startup_sweep: StartupSweep
    idle_eviction: IdleEviction
    compute: Pool
    access_tokens: AccessTokens


@dataclass(frozen=True, slots=True)
class Base:
    """What the services stand on."""

    config: Config
    reader: ConfigReader
    in_force: InForce
    installation: Installation
    database: Database
    registry: Registry
    models: Models
    toolbox: Toolbox
    clock: Clock
    ids: Ids
    pool: Pool
    compute: Pool
    access_tokens: AccessTokens
    locks: SessionLocks
    writable_roots: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Running:
    """What runs turns, and what hears of them."""

    settings: TurnSettings
    server_feed: Feed
    announcer: Announcer
    background: Background
    prompts: Prompts
    assembly: Assembly
    turns: Turns
    dispatcher: Dispatcher


def build_running(base: Base) -> Running:
    """Turns and their surroundings: what one tells another goes through callables set here."""
    config, database, registry, clock, ids = base.config, base.database, base.registry, base.clock, base.ids
    first_id = int(clock.now().timestamp() * 1_000_000)
    server_feed = Feed(first_id, config.serve.stream_replay_events, {})
    announcer = Announcer(registry, server_feed)
    settings = _turn_settings(config)
    grace = settings.reattach_grace_seconds
    max_tasks = config.background.max_tasks if config.background.enabled else None

    def poke(session_id: str) -> None:
        dispatcher.poke(session_id)

    background = Background(database, registry, ids, max_tasks, poke)
    registry.on_unload.append(lambda runtime: background.end_session(runtime.id))
    base.in_force.observers.append(lambda _loaded: registry.doubt_names())
    prompts = Prompts(registry, clock, ids, grace)
    places = base.reader.places
    with suppress(OSError):
        # One that is missing could be made by a command, and would be read at the next start.
        places.config_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    private = PrivateDirectories((places.config_dir, places.data_dir))
    tool_places = ToolPlaces(private, (places.skills_dir,), base.writable_roots)
    assembly = Assembly(
        database,
        base.toolbox,
        prompts,
        background,
        settings,
        tool_places,
        clock,
        ids,
        base.pool.run,
        base.models.stand_ins,
    )
    turns = Turns(database, registry, base.models, base.toolbox, assembly, settings, clock, ids)
    dispatcher = Dispatcher(database, registry, turns, clock)
    turns.announce = dispatcher.announce = announcer.item_fate
    turns.poke = dispatcher.poke
    return Running(settings, server_feed, announcer, background, prompts, assembly, turns, dispatcher)


def build_services(base: Base, running: Running) -> Services:
    """What handlers are given."""
    config, database, registry, clock, ids = base.config, base.database, base.registry, base.clock, base.ids
    projects = Projects(database)
    sessions = Sessions(
        database,
        registry,
        base.locks,
        base.models,
        _defaults(config),
        running.announcer,
        clock,
        ids,
        base.pool.run,
        base.compute.run,
        projects.names,
    )
    installation = base.installation
    logins = Logins(installation, database, clock, ids, lambda: running.turns.is_draining)
    inboxes = Inboxes(
        database, registry, clock, ids, config.serve.inbox_retry_ceiling, running.dispatcher.poke
    )
    return Services(
        sessions=sessions,
        histories=Histories(
            database, registry, running.announcer, ids, base.pool.run, running.dispatcher.poke
        ),
        archives=Archives(database, registry, base.models, running.announcer, ids, base.compute.run),
        search=Search(database, registry),
        turns=running.turns,
        discovery=Discovery(database, base.models, config.permissions, base.toolbox, sessions, VERSION),
        idempotency=IdempotencyKeys(base.clock),
        document=document_bytes() if config.serve.docs else None,
        inboxes=inboxes,
        streams=Streams(registry, running.server_feed, clock),
        prompts=running.prompts,
        background=running.background,
        compactions=Compactions(
            database, registry, base.models, base.toolbox, running.turns, running.assembly, running.settings
        ),
        installation=installation,
        accounts=Accounts(
            installation,
            database,
            base.reader.places,
            base.pool.run,
            logins,
            lambda name: base.access_tokens.is_refreshing(name) or runs_on(registry, base.models, name),
        ),
        logins=logins,
        profiles=Profiles(installation, database, registry, running.announcer),
        projects=projects,
        held_streams=HeldStreams(),
    )


def build_core(base: Base) -> Core:
    """The program on its base."""
    config, database, registry, clock = base.config, base.database, base.registry, base.clock
    running = build_running(base)
    services = build_services(base, running)
    housekeeping = HousekeepingSettings(
        idle_seconds=config.serve.idle_timeout,
        scan_seconds=config.serve.gc_scan_interval,
        delete_on_idle=config.serve.delete_on_idle,
        retention_seconds=config.session.retention,
    )
    return Core(
        config,
        base.reader.places,
        database,
        registry,
        services,
        running.turns,
        base.toolbox,
        running.dispatcher,
        running.background,
        running.server_feed,
        base.in_force,
        StartupSweep(database, base.locks, clock, base.pool.run, housekeeping),
        IdleEviction(
            database,
            registry,
            services.sessions.delete,
            lambda session_id: bool(running.background.running_in(session_id)),
            clock,
            housekeeping,
        ),
        base.compute,
        base.access_tokens,
    )


def _defaults(config: Config) -> SessionDefaults:
    permissions = config.permissions
    return SessionDefaults(permissions.default, permissions.enabled, permissions.approvals, Path.cwd())


def _turn_settings(config: Config) -> TurnSettings:
    return TurnSettings(
        streams=config.display.stream,
        relay_errors=config.serve.relay_provider_errors,
        reattach_grace_seconds=config.serve.stream_reattach_grace,
        max_concurrent=config.serve.max_concurrent_turns,
        compact_at_percent=config.session.context_ceiling_percent,
        compacts_itself=config.session.auto_compact,
        checkpoints=config.session.compact_checkpoint,
        turn_retention_seconds=config.session.turn_retention,
    )


def read_document() -> dict[str, Any]:
    """The contract that is routed."""
    document: dict[str, Any] = json.loads(document_bytes())
    return document


def document_bytes() -> bytes:
    """The contract as it is published."""
    return resources.files("meka.schema").joinpath("openapi.json").read_bytes()
