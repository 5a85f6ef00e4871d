"""A profile that is renamed, over HTTP or in a shell: its sessions run on it, and on no other."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from meka.store import renames, sessions
from tests.contract.bench import Bench, running, slug_of
from tests.contract.test_installation import add_profile, edited
from tests.loopback_provider import Reply

SPENT = Reply(status=402, body={"error": {"type": "billing_error", "message": "no credit"}})


@pytest.fixture
def renaming(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with running(tmp_path_factory.mktemp("renaming")) as bench:
        for name in ("a", "c"):
            add_profile(bench, name, model=f"model-{name}")
        yield bench


def model_of(bench: Bench, session_id: str) -> str:
    """The model that a turn of the session runs on."""
    bench.upstream.requests.clear()
    answer = bench.client.turn(session_id)
    assert answer.status_code == 200, answer.text
    return str(bench.upstream.requests[-1].body["model"])


@contextmanager
def renamed_in_a_shell(bench: Bench, old: str, new: str, *, moves_rows: bool = True) -> Iterator[None]:
    """As `meka profile rename` does it; without `moves_rows`, as far as one that was killed came."""
    bench.store.write(lambda tx: renames.note(tx, old, new))
    with edited(bench, f"[profiles.{old}]", f"[profiles.{new}]"):
        if moves_rows:
            bench.store.write(lambda tx: sessions.rename_profile(tx, old, new))
        yield


def reload(bench: Bench) -> None:
    assert bench.client.call("POST", "/v1/config/reload").status_code == 200


def profile_of(bench: Bench, session_id: str) -> str:
    return str(bench.client.call("GET", f"/v1/sessions/{session_id}").json()["profile"])


def test_session_made_between_a_rename_and_the_reload_follows(renaming: Bench) -> None:
    with renamed_in_a_shell(renaming, "a", "b"):
        made = renaming.client.session(profile="a")
        assert model_of(renaming, made) == "model-a"
        unused = renaming.stored_session(profile="a")
        reload(renaming)
        assert [model_of(renaming, each) for each in (made, unused)] == ["model-a"] * 2
        assert [profile_of(renaming, each) for each in (made, unused)] == ["b", "b"]


def test_session_is_served_before_the_new_name_is_in_force(renaming: Bench) -> None:
    stored = renaming.stored_session(profile="a")
    with renamed_in_a_shell(renaming, "a", "b"):
        assert model_of(renaming, stored) == "model-a"
        assert profile_of(renaming, stored) == "b"


def test_rename_that_was_cut_short_leaves_no_session_behind(renaming: Bench) -> None:
    stored = renaming.stored_session(profile="a")
    with renamed_in_a_shell(renaming, "a", "b", moves_rows=False):
        reload(renaming)
        assert model_of(renaming, stored) == "model-a"
        assert profile_of(renaming, stored) == "b"


def test_sessions_made_during_renames_run(renaming: Bench) -> None:
    made: list[str] = []
    over, maker_client = threading.Event(), renaming.server.client("everything")

    def make() -> None:
        while not over.is_set():
            answer = maker_client.call("POST", "/v1/sessions", json={"profile": "a"})
            if answer.status_code == 201:
                made.append(answer.json()["id"])

    maker = threading.Thread(target=make)
    maker.start()
    try:
        for old, new in (("a", "b"), ("b", "a"), ("a", "d")):
            client = renaming.client_with("everything")
            assert client.call("PATCH", f"/v1/profiles/{old}", json={"name": new}).status_code == 200
    finally:
        over.set()
        maker.join()
    assert made
    assert {model_of(renaming, each) for each in made[-20:]} == {"model-a"}


def test_name_that_another_profile_has_now_is_that_ones(renaming: Bench) -> None:
    session_id = renaming.client.session(profile="a")
    assert model_of(renaming, session_id) == "model-a"
    with renamed_in_a_shell(renaming, "a", "b"):
        reload(renaming)
        add_profile(renaming, "a", model="model-new")
        path = f"/v1/sessions/{session_id}"
        assert renaming.client.call("PATCH", path, json={"profile": "a"}).json()["profile"] == "a"
        assert model_of(renaming, session_id) == "model-new"
        assert renaming.client.call("DELETE", "/v1/profiles/a").status_code == 204
        answer = renaming.client.turn(renaming.stored_session(profile="a"))
        assert (answer.status_code, slug_of(answer)) == (422, "invalid-body")


def test_renamed_fallback_stands_in_and_no_other_of_its_name(renaming: Bench) -> None:
    add_profile(renaming, "leaning", model="first", fallbacks=["c"])
    session_id = renaming.client.session(profile="leaning")
    assert model_of(renaming, session_id) == "first"
    assert renaming.client.call("PATCH", "/v1/profiles/c", json={"name": "c2"}).status_code == 200
    add_profile(renaming, "c", model="stranger")
    renaming.upstream.add(SPENT)
    assert model_of(renaming, session_id) == "model-c"


def test_fallback_renamed_in_a_shell_stands_in(renaming: Bench) -> None:
    add_profile(renaming, "leaning", model="first", fallbacks=["c"])
    session_id = renaming.client.session(profile="leaning")
    assert model_of(renaming, session_id) == "first"
    assert renaming.client.call("PATCH", "/v1/profiles/leaning", json={"fallbacks": None}).status_code == 200
    with renamed_in_a_shell(renaming, "c", "c2"):
        reload(renaming)
        renaming.upstream.add(SPENT)
        assert model_of(renaming, session_id) == "model-c"
