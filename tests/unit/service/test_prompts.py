"""Approvals: who is asked, how a prompt ends, what is remembered."""

from collections.abc import Iterator
from typing import Any

import gevent
import pytest
from gevent import Greenlet

from meka.agent.permission import Question, Verdict
from meka.base.errors import (
    InvalidBodyError,
    RequestNotFoundError,
    SessionNotDrivableError,
    SessionNotFoundError,
)
from meka.service.prompts import EXPIRY_SECONDS, Prompts
from meka.service.runtime import ActiveTurn, SessionRuntime
from tests.fakes import FakeClock
from tests.unit.service.support import (
    PARENT,
    SESSION,
    TURN,
    Numbers,
    OneSession,
    make_runtime,
    open_turn,
    take,
)

GRACE = 30.0
RETURNS = {"answers_prompts_on_return": True}
CALL = Question("call_1", "file_write", {"path": "a", "content": "b", "background": True})


class Scene:
    """A session, its turn, and what its readers saw."""

    def __init__(self, runtime: SessionRuntime, active: ActiveTurn, grace_seconds: float = GRACE) -> None:
        self.runtime, self.active = runtime, active
        self.clock = FakeClock()
        self.prompts = Prompts(OneSession(runtime), self.clock, Numbers(), grace_seconds)
        self.reader = runtime.feed.attach(runtime.feed.live())
        self.asked: list[Greenlet] = []

    def ask(self, question: Question = CALL) -> Greenlet:
        """A call that asks, as far as it gets."""
        asking = gevent.spawn(self.prompts.ask, self.runtime, self.active, question)
        self.asked.append(asking)
        settle()
        return asking

    @property
    def request_id(self) -> str:
        (only,) = self.runtime.parked
        return only

    def answer(self, outcome: str, request_id: str | None = None, **more: Any) -> None:
        self.prompts.answer(SESSION, request_id or self.request_id, {"outcome": outcome, **more})

    def leave(self) -> None:
        """The streaming client is gone."""
        self.active.listeners -= 1
        self.runtime.note_leaving(self.clock.monotonic())
        settle()

    def pass_time(self, seconds: float) -> None:
        """Let time pass, and those who wait look at the clock."""
        self.clock.advance(seconds)
        self.runtime.attendance.set()
        settle()

    def outcomes(self) -> list[str]:
        return [event.data["outcome"] for event in take(self.reader) if event.name == "permission_resolved"]


def settle() -> None:
    """Let every greenlet that can run do so."""
    for _ in range(5):
        gevent.sleep(0)


@pytest.fixture
def scenes() -> Iterator[list[Scene]]:
    made: list[Scene] = []
    yield made
    gevent.killall([greenlet for scene in made for greenlet in scene.asked])


@pytest.fixture
def scene(scenes: list[Scene]) -> Scene:
    """A held stream on a session that shows prompts."""
    runtime = make_runtime()
    scenes.append(Scene(runtime, open_turn(runtime)))
    return scenes[0]


def make_scene(
    scenes: list[Scene],
    *,
    held: bool = True,
    streaming: bool = True,
    attending: int = 0,
    **capabilities: bool,
) -> Scene:
    runtime = make_runtime(capabilities=capabilities)
    runtime.attending = attending
    scenes.append(Scene(runtime, open_turn(runtime, held=held, streaming=streaming)))
    return scenes[-1]


@pytest.mark.parametrize(
    ("setting", "parks"),
    [
        ({"held": True, "streaming": True}, True),
        ({"held": False, "streaming": True}, True),
        ({"held": True, "streaming": False}, False),
        ({"held": False, "streaming": False}, False),
        ({"streaming": True, "supports_permission_prompts": False}, False),
        ({"streaming": True, "supports_permission_prompts": False, "attending": 1}, True),
        ({"streaming": False, "attending": 1}, True),
        ({"held": False, "streaming": False, **RETURNS}, True),
        ({"held": True, "streaming": False, **RETURNS}, False),
    ],
)
def test_call_parks_only_when_someone_is_there_to_answer(
    scenes: list[Scene], setting: dict[str, Any], parks: bool
) -> None:
    scene = make_scene(scenes, **setting)
    asking = scene.ask()
    assert bool(scene.runtime.parked) is parks
    if not parks:
        assert asking.get(timeout=1) is Verdict.NOBODY
        assert take(scene.reader) == []


def test_prompt_shows_every_argument_and_its_deadline(scene: Scene) -> None:
    scene.ask()
    (event,) = take(scene.reader)
    assert event.name == "permission_required"
    assert event.id is not None
    assert event.data == {
        "request_id": scene.request_id,
        "tool_name": "file_write",
        "input": {"path": "a", "content": "b", "background": True},
        "expires_in_seconds": 1800,
        "expires_at": "2026-01-01T00:30:00Z",
        "session_id": SESSION,
        "turn_id": TURN,
    }
    assert scene.request_id.startswith("req_")


@pytest.mark.parametrize(
    ("outcome", "verdict"),
    [
        ("allow", Verdict.ALLOWED),
        ("allow_always", Verdict.ALLOWED),
        ("deny", Verdict.DENIED),
        ("deny_always", Verdict.DENIED),
    ],
)
def test_answer_closes_the_prompt_and_is_said(scene: Scene, outcome: str, verdict: Verdict) -> None:
    asking = scene.ask()
    scene.answer(outcome)
    assert asking.get(timeout=1) is verdict
    assert scene.outcomes() == [outcome]
    assert not scene.runtime.parked


@pytest.mark.parametrize(
    ("outcome", "verdict"), [("allow_always", Verdict.ALLOWED), ("deny_always", Verdict.DENIED)]
)
def test_answer_that_sticks_holds_for_that_tool_alone(scene: Scene, outcome: str, verdict: Verdict) -> None:
    scene.ask()
    scene.answer(outcome)
    settle()
    assert scene.ask().get(timeout=1) is verdict
    scene.ask(Question("call_2", "shell_execute", {}))
    assert scene.runtime.parked


@pytest.mark.parametrize("outcome", ["allow", "deny"])
def test_plain_answer_is_for_one_call(scene: Scene, outcome: str) -> None:
    scene.ask()
    scene.answer(outcome)
    settle()
    scene.ask()
    assert scene.runtime.parked


def test_prompt_expires_as_denied(scene: Scene) -> None:
    asking = scene.ask()
    scene.pass_time(EXPIRY_SECONDS - 1)
    assert not asking.ready()
    scene.pass_time(1)
    assert asking.get(timeout=1) is Verdict.EXPIRED
    assert scene.outcomes() == ["expired"]


def test_prompt_waits_out_the_grace_when_its_last_answerer_leaves(scene: Scene) -> None:
    asking = scene.ask()
    scene.pass_time(100)
    scene.leave()
    scene.pass_time(GRACE - 1)
    assert not asking.ready()
    scene.pass_time(1)
    assert asking.get(timeout=1) is Verdict.CANCELED
    assert scene.outcomes() == ["canceled"]


def test_prompt_stays_when_someone_attends_within_the_grace(scene: Scene) -> None:
    asking = scene.ask()
    scene.leave()
    scene.pass_time(GRACE - 1)
    scene.runtime.attending += 1
    scene.pass_time(GRACE * 3)
    assert not asking.ready()
    scene.runtime.attending -= 1
    scene.pass_time(0)
    scene.pass_time(GRACE - 1)
    assert not asking.ready()
    scene.pass_time(1)
    assert asking.get(timeout=1) is Verdict.CANCELED


def test_prompt_is_canceled_at_once_without_a_grace(scenes: list[Scene]) -> None:
    runtime = make_runtime()
    scenes.append(Scene(runtime, open_turn(runtime), grace_seconds=0.0))
    asking = scenes[0].ask()
    scenes[0].leave()
    assert asking.get(timeout=1) is Verdict.CANCELED


def test_prompt_of_a_client_that_returns_waits_out_its_expiry_alone(scenes: list[Scene]) -> None:
    scene = make_scene(scenes, held=False, streaming=False, **RETURNS)
    asking = scene.ask()
    scene.pass_time(EXPIRY_SECONDS - 1)
    assert not asking.ready()
    scene.pass_time(1)
    assert asking.get(timeout=1) is Verdict.EXPIRED


def test_prompt_of_a_held_turn_keeps_the_grace_though_its_client_returns(scenes: list[Scene]) -> None:
    scene = make_scene(scenes, held=True, streaming=True, **RETURNS)
    asking = scene.ask()
    scene.leave()
    scene.pass_time(GRACE)
    assert asking.get(timeout=1) is Verdict.CANCELED


def test_prompt_is_canceled_with_its_turn(scene: Scene) -> None:
    asking = scene.ask()
    scene.active.turn.cancel.request("client")
    assert asking.get(timeout=1) is Verdict.CANCELED
    assert scene.outcomes() == ["canceled"]


def test_prompt_is_closed_when_its_call_is_killed(scene: Scene) -> None:
    asking = scene.ask()
    asking.kill()
    assert scene.outcomes() == ["canceled"]
    assert not scene.runtime.parked
    assert not scene.runtime.feed.prompts(0, scene.runtime.feed.next_id)


def test_two_prompts_are_parked_beside_each_other_and_answered_each(scene: Scene) -> None:
    first = scene.ask()
    second = scene.ask()
    one, two = scene.runtime.parked
    scene.answer("deny", two)
    assert second.get(timeout=1) is Verdict.DENIED
    assert not first.ready()
    scene.answer("allow", one)
    assert first.get(timeout=1) is Verdict.ALLOWED


def test_second_answer_finds_nothing(scene: Scene) -> None:
    scene.ask()
    request_id = scene.request_id
    scene.answer("allow")
    for _ in range(2):
        with pytest.raises(RequestNotFoundError) as caught:
            scene.answer("deny", request_id)
        assert caught.value.members == {"session_id": SESSION, "request_id": request_id}
        settle()
    assert scene.outcomes() == ["allow"]


def test_answer_of_the_wrong_kind_leaves_the_prompt_parked(scene: Scene) -> None:
    scene.ask()
    for outcome in ("accept", "decline", "cancel"):
        with pytest.raises(InvalidBodyError, match="approval"):
            scene.answer(outcome)
    with pytest.raises(InvalidBodyError, match="content"):
        scene.answer("allow", content={})
    assert scene.runtime.parked


def test_answer_to_what_is_not_there_is_refused(scene: Scene) -> None:
    with pytest.raises(RequestNotFoundError):
        scene.answer("allow", "req_unknown")
    with pytest.raises(SessionNotFoundError):
        scene.prompts.answer(PARENT, "req_unknown", {"outcome": "allow"})


@pytest.mark.parametrize("loaded", [True, False])
def test_sub_agents_id_takes_no_answer(loaded: bool) -> None:
    runtime = make_runtime(parent_id=PARENT)
    prompts = Prompts(OneSession(runtime, loaded=loaded), FakeClock(), Numbers(), GRACE)
    with pytest.raises(SessionNotDrivableError):
        prompts.answer(SESSION, "req_any", {"outcome": "allow"})
