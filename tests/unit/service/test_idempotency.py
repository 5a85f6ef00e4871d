"""Idempotency keys: one run a key, its answer again, and the bounds of what is kept."""

import pytest

from meka.base.errors import IdempotencyError
from meka.service.idempotency import Answer, IdempotencyKeys, Ticket
from tests.fakes import FakeClock

DAY = 24 * 3600.0


def answer(size: int = 10, status: int = 200) -> Answer:
    return Answer(status, (), b"x" * size)


def begin(
    keys: IdempotencyKeys, key: str, *, token: str = "token", session: str = "s", body: str = "body"
) -> Ticket:
    begun = keys.begin(token, session, key, body)
    assert isinstance(begun, Ticket)
    return begun


def is_kept(keys: IdempotencyKeys, key: str, *, token: str = "token") -> bool:
    begun = keys.begin(token, "s", key, "body")
    if isinstance(begun, Ticket):
        begun.forget()
    return isinstance(begun, Answer)


def test_key_is_answered_again_once_it_completed() -> None:
    keys = IdempotencyKeys(FakeClock())
    first = Answer(202, (("Location", "/v1/there"), ("Content-Type", "application/json")), b'{"a":1}')
    begin(keys, "k").complete(first)
    assert keys.begin("token", "s", "k", "body") is first
    assert keys.begin("token", "s", "k", "body") is first


def test_key_is_refused_while_its_first_request_runs() -> None:
    keys = IdempotencyKeys(FakeClock())
    begin(keys, "k")
    with pytest.raises(IdempotencyError, match="still running") as caught:
        keys.begin("token", "s", "k", "body")
    assert caught.value.status == 409


@pytest.mark.parametrize("completed", [True, False])
def test_key_is_refused_with_another_body(completed: bool) -> None:
    keys = IdempotencyKeys(FakeClock())
    ticket = begin(keys, "k")
    if completed:
        ticket.complete(answer())
    with pytest.raises(IdempotencyError, match="another body") as caught:
        keys.begin("token", "s", "k", "other")
    assert caught.value.status == 409


def test_key_belongs_to_its_token_and_session() -> None:
    keys = IdempotencyKeys(FakeClock())
    begin(keys, "k").complete(answer())
    begin(keys, "k", token="another", body="other")
    begin(keys, "k", session="another", body="other")


def test_key_runs_again_when_it_was_forgotten() -> None:
    keys = IdempotencyKeys(FakeClock())
    begin(keys, "k").forget()
    begin(keys, "k", body="other")


def test_ticket_forgets_when_its_block_raises() -> None:
    keys = IdempotencyKeys(FakeClock())
    with pytest.raises(KeyboardInterrupt), begin(keys, "k"):
        raise KeyboardInterrupt
    begin(keys, "k")


def test_ticket_keeps_its_answer_when_its_block_raises_afterwards() -> None:
    keys = IdempotencyKeys(FakeClock())

    def complete_then_raise() -> None:
        with begin(keys, "k") as ticket:
            ticket.complete(answer())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        complete_then_raise()
    assert is_kept(keys, "k")


def test_ticket_settles_once_and_leaves_the_next_ones_alone() -> None:
    keys = IdempotencyKeys(FakeClock())
    first = begin(keys, "k")
    first.forget()
    begin(keys, "k")
    first.complete(answer())
    first.forget()
    with pytest.raises(IdempotencyError, match="still running"):
        keys.begin("token", "s", "k", "body")


def test_answer_is_kept_for_a_day_from_its_completion() -> None:
    clock = FakeClock()
    keys = IdempotencyKeys(clock)
    ticket = begin(keys, "k")
    clock.advance(DAY * 2)
    ticket.complete(answer())
    clock.advance(DAY - 1)
    assert is_kept(keys, "k")
    clock.advance(1)
    assert not is_kept(keys, "k")


def test_oldest_answer_goes_when_a_token_holds_as_many_as_it_may() -> None:
    keys = IdempotencyKeys(FakeClock(), max_entries=3)
    slow = begin(keys, "slow")
    begin(keys, "a").complete(answer())
    begin(keys, "b").complete(answer())
    begin(keys, "c").complete(answer())
    slow.complete(answer())
    assert is_kept(keys, "slow")
    assert is_kept(keys, "c")
    assert not is_kept(keys, "a")


def test_oldest_answer_goes_when_a_token_holds_as_many_bytes_as_it_may() -> None:
    keys = IdempotencyKeys(FakeClock(), max_bytes=100)
    for key in ("a", "b"):
        begin(keys, key).complete(answer(50))
    begin(keys, "c").complete(answer(1))
    assert [is_kept(keys, key) for key in ("a", "b", "c")] == [False, True, True]


def test_bytes_are_given_back_when_answers_go() -> None:
    clock = FakeClock()
    keys = IdempotencyKeys(clock, max_bytes=100)
    begin(keys, "a").complete(answer(100))
    clock.advance(DAY)
    begin(keys, "b").complete(answer(50))
    begin(keys, "c").complete(answer(50))
    assert is_kept(keys, "b")
    assert is_kept(keys, "c")


def test_answer_that_is_too_large_is_not_kept_and_drops_no_other() -> None:
    keys = IdempotencyKeys(FakeClock(), max_bytes=100)
    begin(keys, "a").complete(answer(60))
    begin(keys, "large").complete(answer(101))
    assert not is_kept(keys, "large")
    assert is_kept(keys, "a")


def test_key_is_refused_when_all_of_a_token_are_running() -> None:
    keys = IdempotencyKeys(FakeClock(), max_entries=2)
    begin(keys, "a")
    last = begin(keys, "b")
    with pytest.raises(IdempotencyError) as caught:
        keys.begin("token", "s", "c", "body")
    assert (caught.value.status, caught.value.members) == (429, {"retry_after": 60})
    begin(keys, "c", token="another")
    last.complete(answer())
    begin(keys, "c")
