"""LocalModel: who gets which child, and when a new one is started."""

from pathlib import Path

import gevent
import pytest
from gevent.event import Event

from meka.agent.providers.base import Cause, ProviderError
from meka.base.errors import ConfigurationError
from meka.service.local_child import Endpoint
from meka.service.local_model import STARTS, STARTS_WINDOW_SECONDS, LocalModel
from meka.service.local_weights import find_weights

MODEL = "small"
WAIT = 5.0


class FakeClock:
    def __init__(self) -> None:
        self.seconds = 100.0

    def monotonic(self) -> float:
        return self.seconds


class FakeChild:
    """A child that answers when it is let to."""

    def __init__(self, pid: int, ready: Event, failure: ProviderError | None) -> None:
        self.pid = pid
        self.lives = True
        self.starting = Event()
        self._ready = ready
        self._failure = failure

    @property
    def alive(self) -> bool:
        gevent.idle()  # as asking a process may, this lets others run
        return self.lives

    def await_endpoint(self, weights: Path) -> Endpoint:
        self.starting.set()
        self._ready.wait(WAIT)
        if self._failure:
            raise self._failure
        return Endpoint(f"http://127.0.0.1:{self.pid}", f"key-{self.pid}")

    def stop(self) -> None:
        self.lives = False


class Nursery:
    """Starts fake children and remembers them."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.children: list[FakeChild] = []
        self.ready = Event()
        self.ready.set()
        self.failure = failure
        self.clock = FakeClock()

    def start(self, model: str) -> FakeChild:
        if isinstance(self.failure, OSError):
            raise self.failure
        self.children.append(FakeChild(len(self.children) + 1, self.ready, self.failure))
        return self.children[-1]

    def model(self) -> LocalModel:
        return LocalModel(self.clock, find=Path, start_child=self.start)


def test_local_model_starts_nothing_before_it_is_asked():
    nursery = Nursery()
    nursery.model().stop()
    assert nursery.children == []


def test_local_model_hands_the_same_child_to_all():
    nursery = Nursery()
    model = nursery.model()
    assert model.endpoint(MODEL) == model.endpoint(MODEL) == ("http://127.0.0.1:1", "key-1")
    assert len(nursery.children) == 1


def test_local_model_starts_one_child_when_several_ask_at_once():
    nursery = Nursery()
    nursery.ready.clear()
    model = nursery.model()
    askers = [gevent.spawn(model.endpoint, MODEL) for _ in range(3)]
    gevent.idle()
    nursery.ready.set()
    gevent.joinall(askers, timeout=WAIT)
    assert {asker.value for asker in askers} == {("http://127.0.0.1:1", "key-1")}


def test_local_model_goes_on_starting_when_the_one_who_asked_is_killed():
    nursery = Nursery()
    nursery.ready.clear()
    model = nursery.model()
    asker = gevent.spawn(model.endpoint, MODEL)
    gevent.idle()
    assert nursery.children[0].starting.wait(WAIT)
    asker.kill()
    nursery.ready.set()
    assert model.endpoint(MODEL) == ("http://127.0.0.1:1", "key-1")
    assert nursery.children[0].alive


def test_local_model_starts_another_child_when_one_died():
    nursery = Nursery()
    model = nursery.model()
    model.endpoint(MODEL)
    nursery.children[0].lives = False
    assert model.endpoint(MODEL) == ("http://127.0.0.1:2", "key-2")


def test_local_model_starts_one_child_when_several_find_that_one_died():
    nursery = Nursery()
    model = nursery.model()
    model.endpoint(MODEL)
    nursery.children[0].lives = False
    askers = [gevent.spawn(model.endpoint, MODEL) for _ in range(3)]
    gevent.joinall(askers, timeout=WAIT)
    assert {asker.value for asker in askers} == {("http://127.0.0.1:2", "key-2")}
    assert len(nursery.children) == 2


def test_local_model_gives_up_when_its_child_keeps_dying_and_tries_again_later():
    nursery = Nursery()
    model = nursery.model()
    for number in range(STARTS):
        model.endpoint(MODEL)
        nursery.children[number].lives = False
    with pytest.raises(ProviderError, match="keeps ending") as refused:
        model.endpoint(MODEL)
    assert refused.value.cause is Cause.TRANSIENT
    assert len(nursery.children) == STARTS
    nursery.clock.seconds += STARTS_WINDOW_SECONDS
    assert model.endpoint(MODEL)[0].endswith(str(STARTS + 1))


def test_local_model_passes_a_failed_start_on_and_ends_the_child():
    nursery = Nursery(ProviderError(Cause.TRANSIENT, "did not start"))
    model = nursery.model()
    with pytest.raises(ProviderError, match="did not start"):
        model.endpoint(MODEL)
    assert not nursery.children[0].alive
    nursery.failure = None
    assert model.endpoint(MODEL) == ("http://127.0.0.1:2", "key-2")


def test_local_model_is_a_provider_error_when_no_process_can_be_made():
    with pytest.raises(ProviderError, match="consult server logs"):
        Nursery(OSError("no processes left")).model().endpoint(MODEL)


def test_local_model_ends_its_child_and_starts_none_after_stop():
    nursery = Nursery()
    model = nursery.model()
    model.endpoint(MODEL)
    model.stop()
    assert not nursery.children[0].alive
    with pytest.raises(ProviderError, match="shutting down"):
        model.endpoint(MODEL)


def test_local_model_ends_a_child_that_is_being_started_on_stop():
    nursery = Nursery()
    nursery.ready.clear()
    model = nursery.model()
    asker = gevent.spawn(_error_of, model)
    gevent.idle()
    assert nursery.children[0].starting.wait(WAIT)
    model.stop()
    assert not nursery.children[0].alive
    assert "shutting down" in asker.get(timeout=WAIT)


def _error_of(model: LocalModel) -> str:
    with pytest.raises(ProviderError) as raised:
        model.endpoint(MODEL)
    return str(raised.value)


def test_find_weights_names_the_packaged_models_when_the_model_is_unknown():
    with pytest.raises(ConfigurationError, match=r"no model 'gpt-9' \(packaged: smollm2-135m-instruct\)"):
        find_weights("gpt-9")
