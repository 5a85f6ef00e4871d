"""The chain of a profile and its fallbacks, link by link."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from meka.agent.blocks import Image, Message, Role, Text, ToolResult
from meka.agent.cancel import CanceledError
from meka.agent.lineup import Lineup, StandIn
from meka.agent.prompt import SHORT_PROMPT
from meka.agent.providers.base import (
    Accepted,
    AttemptFailed,
    Cause,
    ModelRequest,
    Provider,
    ProviderError,
    ProviderEvent,
    ProviderNotice,
    TextDelta,
    ToolSchema,
)
from meka.agent.providers.retry import stream_with_retries

IMAGE = Image("image/png", "0" * 64)
PLAIN = ModelRequest(
    session_id="s",
    system="Be brief.",
    messages=(Message(Role.USER, (Text("hi"),)),),
    tools=(ToolSchema("t", "does", {}),),
    load_image=lambda _hash: None,
)


class Named:
    """A provider that answers with its name and keeps what it was asked."""

    sends_images = True
    sends_result_images = True
    expands_references = False

    def __init__(self, name: str, *, sends_tools: bool = True) -> None:
        self.backend = name
        self.sends_tools = sends_tools
        self.asked: list[ModelRequest] = []

    def stream(self, request: ModelRequest) -> Iterator[ProviderEvent]:
        self.asked.append(request)
        yield Accepted()
        yield TextDelta(self.backend)


class Chain:
    """A lineup of an own provider and stand-ins, and what it noted."""

    def __init__(self, *stand_ins: StandIn, own: Provider | None = None) -> None:
        self.served: list[str] = []
        self.built: list[str] = []
        self.lineup = Lineup(own or Named("own"), self._build(stand_ins), self.served.append)

    def _build(self, stand_ins: Sequence[StandIn]) -> Iterator[StandIn]:
        for stand_in in stand_ins:
            self.built.append(stand_in.profile)
            yield stand_in

    def fail(self, cause: Cause, request: ModelRequest = PLAIN) -> str | None:
        return self.lineup.fall_back(ProviderError(cause, "no"), request)

    def answer(self, request: ModelRequest = PLAIN) -> str:
        events = list(self.lineup.stream(request))
        return "".join(event.text for event in events if isinstance(event, TextDelta))


def stand_in(name: str, *, vision: bool = True, sends_tools: bool = True) -> StandIn:
    return StandIn(name, vision, Named(name, sends_tools=sends_tools))


@pytest.mark.parametrize("cause", list(Cause))
def test_outage_quota_and_credential_pass_a_turn_on_and_nothing_else_does(cause: Cause) -> None:
    chain = Chain(stand_in("first"))
    passes = cause in {Cause.TRANSIENT, Cause.QUOTA, Cause.CREDENTIAL}
    assert chain.fail(cause) == ("first" if passes else None)
    assert chain.answer() == ("first" if passes else "own")
    assert chain.built == (["first"] if passes else [])


def test_chain_is_gone_through_once_in_order() -> None:
    chain = Chain(stand_in("first"), stand_in("second"))
    assert [chain.fail(Cause.QUOTA) for _ in range(3)] == ["first", "second", None]
    assert chain.answer() == "second"


def test_stand_in_is_noted_only_once_it_answers_and_the_own_provider_never() -> None:
    chain = Chain(stand_in("first"))
    chain.answer()
    chain.fail(Cause.TRANSIENT)
    assert chain.served == []
    chain.answer()
    assert chain.served == ["first"]


@pytest.mark.parametrize(
    "message",
    [
        Message(Role.USER, (Text("see"), IMAGE)),
        Message(Role.USER, (ToolResult("c", False, (Text("it"), IMAGE)),)),
    ],
)
def test_stand_in_without_vision_is_passed_over_when_an_image_is_shown(message: Message) -> None:
    request = replace(PLAIN, messages=(message,))
    assert Chain(stand_in("blind", vision=False), stand_in("seeing")).fail(Cause.QUOTA, request) == "seeing"
    assert Chain(stand_in("blind", vision=False)).fail(Cause.QUOTA, request) is None
    assert Chain(stand_in("blind", vision=False)).fail(Cause.QUOTA) == "blind"


def test_stand_in_that_calls_no_tools_is_asked_without_them() -> None:
    small = stand_in("small", sends_tools=False)
    chain = Chain(small)
    chain.fail(Cause.TRANSIENT)
    chain.answer()
    asked = small.provider.asked[0]  # type: ignore[attr-defined]
    assert (asked.tools, asked.system) == ((), SHORT_PROMPT)


class Failing:
    """A provider that fails each attempt, after some words where it has any."""

    backend = "failing"
    sends_tools = sends_images = sends_result_images = True
    expands_references = False

    def __init__(self, cause: Cause, words: str = "") -> None:
        self._cause = cause
        self._words = words

    def stream(self, request: ModelRequest) -> Iterator[ProviderEvent]:
        yield Accepted()
        if self._words:
            yield TextDelta(self._words)
        raise ProviderError(self._cause, "no")


class Moving:
    """A clock and a cancel in one: waiting moves the clock, and the wait of that number is canceled."""

    def __init__(self, canceled_in_wait: int | None = None) -> None:
        self._seconds = 0.0
        self._waits = 0
        self._canceled_in_wait = canceled_in_wait

    def monotonic(self) -> float:
        return self._seconds

    def check(self) -> None:
        """Never canceled between waits."""

    def wait(self, seconds: float) -> bool:
        self._waits += 1
        self._seconds += seconds
        return self._waits == self._canceled_in_wait


def run(chain: Chain, *, moving: Moving | None = None, published: bool = False) -> list[ProviderEvent]:
    time = moving or Moving()
    return list(
        stream_with_retries(
            chain.lineup,
            PLAIN,
            cancel=time,
            clock=time,
            was_published=lambda: published,
            fall_back=lambda error: chain.lineup.fall_back(error, PLAIN),
        )
    )


def test_outage_is_retried_before_another_profile_takes_over_with_a_notice() -> None:
    chain = Chain(stand_in("first"), own=Failing(Cause.TRANSIENT))
    events = run(chain)
    failures = [event for event in events if isinstance(event, AttemptFailed)]
    assert [failure.wait_seconds for failure in failures] == [1.0, 2.0, 0.0]
    notices = [event for event in events if isinstance(event, ProviderNotice)]
    assert [notice.text for notice in notices] == [
        "the profile cannot serve this turn; 'first' stands in for it"
    ]
    assert events[-1] == TextDelta("first")


def test_spent_quota_passes_on_at_once_and_a_stand_in_that_fails_passes_on_too() -> None:
    chain = Chain(
        StandIn("first", True, Failing(Cause.CREDENTIAL)), stand_in("second"), own=Failing(Cause.QUOTA)
    )
    events = run(chain)
    assert [event.wait_seconds for event in events if isinstance(event, AttemptFailed)] == [0.0, 0.0]
    assert chain.served == ["first", "second"]
    assert events[-1] == TextDelta("second")


def test_nobody_takes_over_once_output_was_published() -> None:
    chain = Chain(stand_in("first"), own=Failing(Cause.QUOTA, words="half"))
    with pytest.raises(ProviderError):
        run(chain, published=True)
    assert chain.built == []


def test_nobody_takes_over_for_a_cancel() -> None:
    chain = Chain(stand_in("first"), own=Failing(Cause.TRANSIENT))
    with pytest.raises(CanceledError):
        run(chain, moving=Moving(canceled_in_wait=1))
    assert chain.built == []
