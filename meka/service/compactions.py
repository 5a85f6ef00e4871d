"""Compaction as a client asks for it, and the context window as a client reads it."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import gevent

from meka.agent.cancel import CanceledError
from meka.agent.compaction import Compacted, CompactionPorts, Job, Trigger, Wish, can_compact, compact
from meka.agent.failures import failure_of
from meka.agent.loop import close_unanswered_calls
from meka.agent.providers.base import ProviderError, StopReason
from meka.agent.toolbox import Toolbox
from meka.agent.turn import Ending, Status
from meka.base.clock import rfc3339
from meka.base.errors import (
    InternalError,
    InvalidBodyError,
    MekaError,
    SessionNotFoundError,
    TurnCanceledError,
)
from meka.base.text import scrub
from meka.config.catalog import context_window
from meka.service.assembly import Assembly, TurnSettings
from meka.service.models import Models
from meka.service.registry import Registry
from meka.service.runtime import ActiveTurn, SessionRuntime
from meka.service.sessions import not_drivable
from meka.service.turns import Turns
from meka.service.window import WindowGauge
from meka.store import messages, sessions, turns
from meka.store.connection import Tx
from meka.store.database import Database

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a compaction that a client asked for ended: with what it did, or with why it did nothing."""

    done: Compacted | None = None
    error: MekaError | None = None


class Compactions:
    """Compacts sessions on request. A compaction holds its session as a turn does; no turn is recorded."""

    def __init__(
        self,
        database: Database,
        registry: Registry,
        models: Models,
        toolbox: Toolbox,
        turns_: Turns,
        assembly: Assembly,
        settings: TurnSettings,
    ) -> None:
        self._database = database
        self._registry = registry
        self._models = models
        self._toolbox = toolbox
        self._turns = turns_
        self._assembly = assembly
        self._settings = settings

    def compact(self, session_id: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Compact a session now and wait for it; it runs on when nobody waits any more.

        Raises: MekaError when it was refused, failed or was stopped; the conversation is as it was then.
        """
        runtime = self._registry.load(session_id)
        if runtime.row.parent_id is not None:
            raise not_drivable(runtime.row)
        active = self._turns.admit_compaction(runtime)
        try:
            ports = self._ports(runtime, active)
        except BaseException:
            self._turns.release(runtime, active)
            raise
        worker = gevent.spawn(self._run, runtime, active, ports, _wish_of(body))
        worker.name = f"compaction-{session_id}"
        outcome: Outcome = worker.get()
        if outcome.done is None:
            raise outcome.error or InternalError()
        return _answer(session_id, outcome.done)

    def _ports(self, runtime: SessionRuntime, active: ActiveTurn) -> CompactionPorts:
        """What the compaction runs with. Raises: InvalidBodyError when there is nothing to compact."""
        model = self._turns.model_of(runtime)
        close_unanswered_calls(runtime.conversation)
        if not can_compact(runtime.conversation):
            raise InvalidBodyError("there is nothing to compact: no exchange follows the last summary")
        return self._assembly.compaction_ports(runtime, active, model)

    def _run(
        self, runtime: SessionRuntime, active: ActiveTurn, ports: CompactionPorts, wish: Wish
    ) -> Outcome:
        turn = active.turn
        started = {"started_at": rfc3339(turn.started_at), "source": turn.source.value}
        runtime.emit("turn.started", started, turn.id)
        outcome = self._attempt(active, ports, wish)
        if outcome.done is not None:
            runtime.has_run = True
        self._turns.conclude(runtime, active, self._ending(runtime, active, outcome))
        return outcome

    def _attempt(self, active: ActiveTurn, ports: CompactionPorts, wish: Wish) -> Outcome:
        turn = active.turn
        try:
            return Outcome(compact(Job(Trigger.MANUAL, wish), ports, turn.cancel))
        except CanceledError:
            return Outcome(error=TurnCanceledError("the compaction was canceled before it ended"))
        except ProviderError as error:
            LOG.warning(
                "a compaction failed",
                extra={"session_id": turn.session_id, "cause": error.cause.value, "upstream": error.upstream},
            )
            return Outcome(error=failure_of(error, self._settings.relay_errors))
        except MekaError as error:
            return Outcome(error=error)
        except Exception:
            LOG.exception("a compaction failed unexpectedly", extra={"session_id": turn.session_id})
            return Outcome(error=InternalError())

    def _ending(self, runtime: SessionRuntime, active: ActiveTurn, outcome: Outcome) -> Ending:
        usage, revision = active.turn.usage, runtime.conversation.revision
        if outcome.done is not None:
            return Ending(Status.SUCCEEDED, usage, stop_reason=StopReason.END_TURN, revision=revision)
        failed = Ending(Status.FAILED, usage, message_withdrawn=False, revision=revision)
        if isinstance(outcome.error, TurnCanceledError):
            return replace(failed, status=Status.CANCELED, reason=active.turn.cancel.reason)
        return replace(failed, error=outcome.error)

    def context(self, session_id: str) -> dict[str, Any]:
        """How full a session's window is; reading never loads it, and then the live counters are left out.

        Raises: SessionNotFoundError.
        """
        row, totals, generation = self._database.read(lambda tx: _stored(tx, session_id))
        if row is None:
            raise SessionNotFoundError(session_id)
        profile = self._models.config.profiles.get(row.profile)
        view: dict[str, Any] = {"session_id": session_id, "generation": generation, "totals": totals}
        if profile is not None:
            view["window"] = context_window(self._models.config, profile)
        if self._settings.compacts_itself:
            view["compact_at_percent"] = self._settings.compact_at_percent
        runtime = self._registry.get(session_id)
        return view if runtime is None else view | self._live(runtime)

    def _live(self, runtime: SessionRuntime) -> dict[str, Any]:
        """What only a loaded session knows; the messages cannot be counted while a turn adds to them."""
        live: dict[str, Any] = {"generation": runtime.conversation.generation}
        active = runtime.active
        if active is None:
            live["message_count"] = runtime.conversation.total
        if runtime.has_run and runtime.model is not None:
            gauge = WindowGauge(runtime, runtime.model, self._toolbox)
            state = gauge.read(None if active is None else active.turn)
            live |= {"used": state.used, "overhead": state.overhead, "window": state.window}
        return live


def _wish_of(body: Mapping[str, Any]) -> Wish:
    instructions = scrub(body.get("instructions") or "").strip()
    return Wish(instructions or None, body.get("keep_recent"))


def _answer(session_id: str, done: Compacted) -> dict[str, Any]:
    marker = {name: done.marker[name] for name in ("source", "memories_written", "kept_recent")}
    return {
        "session_id": session_id,
        **marker,
        "messages_before": done.messages_before,
        "messages_after": done.messages_after,
    }


def _stored(tx: Tx, session_id: str) -> tuple[Any, dict[str, int], int]:
    """The session's row, what its turns came to, and how often it was compacted."""
    usage = turns.usage_of(tx, session_id)
    totals = {
        "turns": turns.count(tx, session_id),
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cache_creation_input_tokens": usage.cache_creation_input_tokens,
        "cache_read_input_tokens": usage.cache_read_input_tokens,
    }
    return sessions.get(tx, session_id), totals, messages.count_boundaries(tx, session_id)
