"""Random histories against a model in which a conversation is a list.

Turns, tools, rewinds, forks, compactions, withdrawals, archives and restarts leave the same view, total,
revision, checklist and answers of the search.
"""

import contextlib
import itertools
import json
import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from meka.agent.keeping import LEAST_SUMMARIZED
from meka.agent.providers.base import ModelRequest
from meka.agent.providers.scripted import ScriptedProvider
from meka.base.errors import InvalidBodyError, MekaError, PreconditionFailedError, ProviderFailedError
from meka.bootstrap import load_installation, open_core
from meka.composition import Core
from meka.config.options import RunOptions
from tests.serving import say, use

CONFIG = """
default_profile = "scripted"

[accounts.mock]
backend = "openai-chat-completions"

[profiles.scripted]
account = "mock"
model = "scripted-1"
"""
WORDS = ("platypus", "zeppelin", "京都", "ürümqi", "quokka", "marmalade")
SESSIONS = 5
SUMMARIZED = 0
"""The turn of what a compaction recorded: no rewind takes it out."""


class Kind(Enum):
    """What a message is made of."""

    WORDS = auto()
    CALLS = auto()
    RESULTS = auto()
    SUMMARY = auto()


@dataclass(frozen=True)
class Said:
    """One message of the model: whose, its words, and which turn it is of."""

    role: str
    words: str
    turn: int
    kind: Kind = Kind.WORDS

    @property
    def is_prompt(self) -> bool:
        return self.role == "user" and self.kind is Kind.WORDS


@dataclass
class Told:
    """What a session is expected to be.

    `compacted` was said and is still found, though the model no longer sees it; `deferred` has the items of
    the checklist, with their turns.
    """

    id: str
    view: list[Said] = field(default_factory=list)
    compacted: list[Said] = field(default_factory=list)
    revision: int = 0
    deferred: dict[str, int] = field(default_factory=dict)

    @property
    def openings(self) -> list[int]:
        """Where turns begin: a turn whose own beginning was summarized has none."""
        first = {said.turn: place for place, said in reversed(list(enumerate(self.view)))}
        return sorted(place for place in first.values() if self.view[place].is_prompt)

    @property
    def labels(self) -> list[str | None]:
        counts = itertools.accumulate(place in self.openings for place in range(len(self.view)))
        return [f"t_{count:04d}" if count else None for count in counts]

    def copy(self, session_id: str) -> "Told":
        return replace(
            self, id=session_id, view=[*self.view], compacted=[*self.compacted], deferred={**self.deferred}
        )

    def cut(self, turns: int) -> None:
        place = self.openings[-turns]
        gone = {said.turn for said in self.view[place:]}
        self.view = self.view[:place]
        self.deferred = {text: turn for text, turn in self.deferred.items() if turn not in gone}
        self.revision += 1

    def holds(self, word: str) -> bool:
        return any(word in said.words for said in [*self.compacted, *self.view])

    @property
    def settled(self) -> list[Said]:
        """What may be summarized: all but the prompts at the end that nothing has answered."""
        answered = [place for place, said in enumerate(self.view, start=1) if not said.is_prompt]
        return self.view[: answered[-1]] if answered else []

    def summarize(self, summary: str, begin: int) -> None:
        self.compacted += self.view[:begin]
        self.view = [Said("user", summary, SUMMARIZED, Kind.SUMMARY), *self.view[begin:]]
        self.deferred = dict.fromkeys(self.deferred, SUMMARIZED)
        self.revision += 1


def end_kept(settled: list[Said]) -> int:
    """Where the end begins that a compaction keeps: past four messages, where the model can read on."""
    places = range(LEAST_SUMMARIZED, len(settled))
    fits = (place for place in places if settled[place].is_prompt or settled[place].kind is Kind.CALLS)
    return next(fits, len(settled))


def defer_what_is_pending(request: ModelRequest) -> Any:
    """The round that defers the item that the round before it added."""
    (result,) = request.messages[-1].content
    found = re.search(r"(\d+) \(pending\)", str(result))
    assert found is not None
    return use(("tu_defer", "checklist_edit", {"id": int(found[1]), "status": "deferred", "reason": "later"}))


def hand_over(request: ModelRequest) -> Any:
    """The round that summarizes, at a checkpoint or for the summarizer."""
    summary = f"a summary of {len(request.messages)} messages"
    names = {tool.name for tool in request.tools}
    return use(("tu_over", "context_replace", {"summary": summary})) if names else say(summary)


def always(_revision: int, _total: int) -> bool:
    return True


class ConversationMachine(RuleBasedStateMachine):
    """Drives the program without its HTTP door; its provider says what each rule wants."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(prefix="machine"))
        for name in ("config", "data", "work"):
            (self.root / name).mkdir()
        (self.root / "config" / "config.toml").write_text(CONFIG, encoding="utf-8")
        self.told: list[Told] = []
        self.turn = 0
        self.provider = ScriptedProvider()
        self.stack = contextlib.ExitStack()
        self.core = self.stack.enter_context(self.opened())

    @contextlib.contextmanager
    def opened(self) -> Iterator[Core]:
        environ = {
            "MEKA_CONFIG_DIR": str(self.root / "config"),
            "MEKA_DATA_DIR": str(self.root / "data"),
        }
        options = RunOptions(environ)
        reader, loaded = load_installation(options, serving=False)
        with open_core(reader, loaded, provider=self.provider) as core:
            yield core

    def teardown(self) -> None:
        self.stack.close()
        shutil.rmtree(self.root)

    def pick(self, number: int) -> Told:
        return self.told[number % len(self.told)]

    def run(self, told: Told, body: dict[str, Any], *rounds: Any) -> MekaError | None:
        self.provider.add(*rounds)
        try:
            self.core.services.turns.submit(told.id, body).answer()
        except MekaError as error:
            return error
        return None

    @initialize()
    def begin(self) -> None:
        self.create()

    @precondition(lambda self: len(self.told) < SESSIONS)
    @rule()
    def create(self) -> None:
        record = self.core.services.sessions.create({"working_directory": str(self.root / "work")}, None)
        self.told.append(Told(record["id"]))

    @rule(number=st.integers(0, 9), asked=st.sampled_from(WORDS), answer=st.sampled_from(WORDS))
    def talk(self, number: int, asked: str, answer: str) -> None:
        told = self.pick(number)
        self.turn += 1
        assert self.run(told, {"message": f"about {asked}"}, say(f"well, {answer}")) is None
        told.view += [
            Said("user", f"about {asked}", self.turn), Said("assistant", f"well, {answer}", self.turn),
        ]  # fmt: skip

    @rule(number=st.integers(0, 9))
    def commit_to_something(self, number: int) -> None:
        told = self.pick(number)
        self.turn += 1
        item = f"item {self.turn}"
        add = use((f"tu_{self.turn}", "checklist_add", {"items": [item]}))
        assert self.run(told, {"message": "commit"}, add, defer_what_is_pending, say("noted")) is None
        calls = [
            Said("assistant", "", self.turn, Kind.CALLS), Said("user", "", self.turn, Kind.RESULTS),
        ] * 2  # fmt: skip
        told.view += [Said("user", "commit", self.turn), *calls, Said("assistant", "noted", self.turn)]
        told.deferred[item] = self.turn

    @rule(number=st.integers(0, 9), asked=st.sampled_from(WORDS))
    def take_back(self, number: int, asked: str) -> None:
        told = self.pick(number)
        body = {"message": f"about {asked}", "options": {"unanswered_message": "withdraw"}}
        assert self.run(told, body, [{"type": "fail_invalid_request", "message": "no"}]) is not None
        told.revision += 1

    @rule(number=st.integers(0, 9), asked=st.sampled_from(WORDS))
    def fail(self, number: int, asked: str) -> None:
        told = self.pick(number)
        self.turn += 1
        body = {"message": f"about {asked}"}
        assert self.run(told, body, [{"type": "fail_invalid_request", "message": "no"}]) is not None
        told.view.append(Said("user", f"about {asked}", self.turn))

    @rule(number=st.integers(0, 9), turns=st.integers(0, 4))
    def rewind(self, number: int, turns: int) -> None:
        told = self.pick(number)
        before = len(told.view)
        if not 1 <= turns <= len(told.openings):
            with pytest.raises(InvalidBodyError):
                self.core.services.histories.rewind(told.id, turns, always)
            return
        done = self.core.services.histories.rewind(told.id, turns, always)
        told.cut(turns)
        assert (done.messages_before, done.messages_after) == (before, len(told.view))
        assert (done.turns_removed, done.revision) == (turns, told.revision)

    @rule(number=st.integers(0, 9), keep_recent=st.booleans())
    def compact(self, number: int, keep_recent: bool) -> None:
        told = self.pick(number)
        body = {"keep_recent": keep_recent}
        settled = told.settled
        if not any(said.role == "assistant" for said in settled):
            with pytest.raises(InvalidBodyError):
                self.core.services.compactions.compact(told.id, body)
            return
        self.provider.add(hand_over)
        done = self.core.services.compactions.compact(told.id, body)
        begin = end_kept(settled) if keep_recent else len(settled)
        assert (done["messages_before"], done["kept_recent"]) == (len(told.view), begin < len(settled))
        summary = _words(self.core.services.sessions.history(told.id, 0, 1).body["messages"][0])
        quoted = [line.removeprefix("> ") for line in summary.splitlines() if line.startswith("> ")]
        assert quoted == [said.words for said in settled[:begin] if said.is_prompt]
        assert "a summary of" in summary
        assert all(item in summary for item in told.deferred)
        told.summarize(summary, begin)

    @rule(number=st.integers(0, 9))
    def fail_to_compact(self, number: int) -> None:
        told = self.pick(number)
        if any(said.role == "assistant" for said in told.view):
            # The checkpoint and the summarizer are both refused.
            self.provider.add(*[[{"type": "fail_invalid_request", "message": "no"}]] * 2)
            with pytest.raises(ProviderFailedError):
                self.core.services.compactions.compact(told.id, {})
            assert self.provider.rounds_left == 0

    @rule(number=st.integers(0, 9))
    def edit_what_has_changed(self, number: int) -> None:
        told = self.pick(number)
        stale = (told.revision, len(told.view) + 1)
        with pytest.raises(PreconditionFailedError) as refused:
            self.core.services.histories.rewind(told.id, 1, lambda *state: state == stale)
        members = refused.value.members
        assert (members["revision"], members["total"]) == (told.revision, len(told.view))

    @precondition(lambda self: len(self.told) < SESSIONS)
    @rule(number=st.integers(0, 9))
    def fork(self, number: int) -> None:
        told = self.pick(number)
        record = self.core.services.histories.fork(told.id, {}, None, always)
        self.told.append(told.copy(record["id"]))

    @precondition(lambda self: len(self.told) < SESSIONS)
    @rule(number=st.integers(0, 9))
    def move_house(self, number: int) -> None:
        told = self.pick(number)
        document = json.loads(b"".join(self.core.services.archives.export_json(told.id)))
        made = self.core.services.archives.import_archive(document, None)
        self.told.append(told.copy(made["session_id"]))

    @precondition(lambda self: len(self.told) > 1)
    @rule(number=st.integers(0, 9))
    def delete(self, number: int) -> None:
        told = self.pick(number)
        self.core.services.sessions.delete(told.id)
        self.told.remove(told)

    @rule()
    def restart(self) -> None:
        self.stack.close()
        self.core = self.stack.enter_context(self.opened())

    @invariant()
    def view_is_as_told(self) -> None:
        for told in self.told:
            history = self.core.services.sessions.history(told.id, 0, 1000)
            assert (history.revision, history.total) == (told.revision, len(told.view))
            messages = history.body["messages"]
            assert [(each["role"], _words(each)) for each in messages] == [
                (said.role, said.words) for said in told.view
            ]
            assert [each.get("turn_label") for each in messages] == told.labels
            assert ["compaction" in each for each in messages] == [
                said.kind is Kind.SUMMARY for said in told.view
            ]

    @invariant()
    def checklist_is_as_told(self) -> None:
        for told in self.told:
            record = self.core.services.sessions.get(told.id)
            if "checklist" in record:
                assert [item["text"] for item in record["checklist"]] == list(told.deferred)

    @invariant()
    def search_finds_what_is_told(self) -> None:
        for word in WORDS:
            found = self.core.services.search.find(word, 100, include_children=True)
            holding = {told.id for told in self.told if told.holds(word)}
            assert {each["id"] for each in found} == holding, word

    @invariant()
    def index_is_sound(self) -> None:
        self.core.database.write(
            lambda tx: tx.sql("INSERT INTO search_index (search_index, rank) VALUES ('integrity-check', 1)")
        )


def _words(message: dict[str, Any]) -> str:
    return "".join(block["text"] for block in message["content"] if block["type"] == "text")


_QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck)}
TestConversations = ConversationMachine.TestCase
TestConversations.settings = settings(max_examples=6, stateful_step_count=20, **_QUIET)  # type: ignore[arg-type]


@pytest.mark.soak
@pytest.mark.timeout(3600)
class TestConversationsAtLength(ConversationMachine.TestCase):  # type: ignore[name-defined,misc]
    """The same for longer."""

    settings = settings(max_examples=200, stateful_step_count=60, **_QUIET)  # type: ignore[arg-type]
