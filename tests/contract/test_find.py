"""Search and images: what is found and how it is shown, and whose bytes are served."""

import base64
import hashlib
from typing import Any

import pytest

from meka.store import messages
from tests.contract.bench import NOWHERE, Bench, slug_of
from tests.contract.checking import drives
from tests.contract.test_answers import png
from tests.contract.test_archives import compact
from tests.contract.test_history import fork, rewind
from tests.serving import say, use


def search(bench: Bench, q: str, **more: Any) -> list[dict[str, Any]]:
    answer = bench.client.call("GET", "/v1/sessions/search", params={"q": q, **more})
    assert answer.status_code == 200
    found: list[dict[str, Any]] = answer.json()["sessions"]
    return found


def ids(found: list[dict[str, Any]]) -> list[str]:
    return [each["id"] for each in found]


@drives(("search_sessions", 200))
def test_session_is_found_by_what_was_said_and_by_nothing_else(bench: Bench) -> None:
    session_id = bench.client.session(capabilities={"supports_reasoning_stream": True})
    bench.upstream.add(
        [{"type": "thinking", "text": "quagmire"}, *use(("tu_1", "file_find", {"pattern": "wombat*"}))],
        say("The zeppelin\nlands at dawn\nnear Ürümqi"),
    )
    bench.client.turn(session_id, "when does the platypus land?")
    record = bench.client.call("GET", f"/v1/sessions/{session_id}").json()
    record.pop("inbox_pending", None)
    assert search(bench, "LANDING dawn") == [record | {"excerpt": "lands at dawn"}]
    assert search(bench, "platypus")[0]["excerpt"] == "when does the platypus land?"
    assert search(bench, "urumqi")[0]["excerpt"] == "near Ürümqi"
    for unsaid in ("quagmire", "wombat", "permission", "resumed"):
        assert session_id not in ids(search(bench, unsaid))


@drives(("search_sessions", 200))
def test_title_goes_first_and_shows_an_excerpt_only_of_words(bench: Bench) -> None:
    said, titled, both = (bench.client.session() for _ in range(3))
    bench.client.turn(said, "a word ahead")
    bench.client.turn(said, "okapi okapi okapi and ibex ibex ibex")
    bench.client.turn(titled, "something else")
    bench.client.turn(both, "ahead of it")
    bench.client.turn(both, "of the ibex and the okapi there is a great deal to say, if one has the time")
    for each in (titled, both):
        bench.client.call("PATCH", f"/v1/sessions/{each}", json={"title": "Okapi & ibex"})
    found = search(bench, "ibex okapi")
    assert ids(found) == [both, titled, said]
    assert "excerpt" not in found[1]
    assert found[0]["excerpt"].startswith("of the ibex")
    bench.client.call("PATCH", f"/v1/sessions/{titled}", json={"title": ""})
    assert ids(search(bench, "ibex okapi")) == [both, said]


def test_words_are_tried_whole_then_as_beginnings_then_any(bench: Bench) -> None:
    one, two = bench.client.session(), bench.client.session()
    bench.client.turn(one, "axolotl gharial")
    bench.client.turn(two, "gharial")
    assert ids(search(bench, "gharial axolotl")) == [one]
    assert ids(search(bench, "ghar axol")) == [one]
    assert set(ids(search(bench, "gharial nothinglikeit"))) == {one, two}
    assert ids(search(bench, "axol nothinglikeit")) == [one]
    assert search(bench, "nothinglikeit norlikethis") == []


@pytest.mark.parametrize("q", ["", " ", "\t", "-", '"', "*", "( )", "\0"])
def test_blank_search_finds_nothing(bench: Bench, q: str) -> None:
    assert search(bench, q) == []


@pytest.mark.parametrize(
    "q", ['a" OR b', "NEAR(", "x AND", "text:x", "^x", "a*b", "'", "x" * 4000, "a " * 3000]
)
def test_nothing_in_a_search_is_a_language(bench: Bench, q: str) -> None:
    search(bench, q)


@drives(("search_sessions", 400, "invalid-body"))
@pytest.mark.parametrize("query", ["", "q=a&q=b", "q=a&limit=x", "q=a&limit=-1", "q=a&include_children=2"])
def test_search_refuses_a_bad_query(bench: Bench, query: str) -> None:
    assert bench.client.call("GET", f"/v1/sessions/search?{query}").status_code == 400


def test_sub_agents_are_found_on_demand_and_the_limit_is_clamped(bench: Bench) -> None:
    parent = bench.client.session()
    bench.client.turn(parent, "quokka")
    child = bench.stored_session(parent_id=parent)
    other = bench.client.session()
    bench.client.turn(other, "quokka")
    content = [{"type": "text", "text": "quokka"}]
    bench.store.write(lambda tx: messages.append(tx, child, messages.message("user", content)))
    assert set(ids(search(bench, "quokka"))) == {parent, other}
    assert set(ids(search(bench, "quokka", include_children="true"))) == {parent, other, child}
    assert len(search(bench, "quokka", limit=0)) == 1
    assert len(search(bench, "quokka", limit=100000)) == 2


def test_search_follows_the_conversation(bench: Bench) -> None:
    session_id = bench.client.session()
    bench.client.turn(session_id, "first numbat")
    bench.client.turn(session_id, "then a dugong")
    copy = fork(bench, session_id).json()["id"]
    assert set(ids(search(bench, "dugong"))) == {session_id, copy}
    rewind(bench, session_id)
    assert ids(search(bench, "dugong")) == [copy]
    compact(bench, session_id)
    assert session_id in ids(search(bench, "numbat"))
    found = {each["id"]: each["excerpt"] for each in search(bench, '"so far"')}
    assert found[session_id] == "(summary) so far"
    bench.upstream.add([{"type": "fail_invalid_request", "message": "no"}])
    bench.client.turn(copy, "withdrawn manatee", options={"unanswered_message": "withdraw"})
    assert search(bench, "manatee") == []
    bench.client.call("DELETE", f"/v1/sessions/{copy}")
    assert search(bench, "dugong") == []


def test_scripts_without_spaces_match_by_character(bench: Bench) -> None:
    session_id = bench.client.session()
    bench.client.turn(session_id, "昨日は京都へ行きました。ภาษาไทยง่ายมาก")
    for q in ("京都", "都へ", "行", "ไทย"):
        assert ids(search(bench, q)) == [session_id], q
    assert search(bench, "京都")[0]["excerpt"] == "昨日は京都へ行きました。ภาษาไทยง่ายมาก"


# Images


@drives(("get_blob", 200))
def test_image_is_served_under_its_own_type(bench: Bench) -> None:
    session_id = bench.client.session()
    raw = base64.b64decode(png())
    bench.client.turn(session_id, images=[{"media_type": "application/octet-stream", "data": png()}])
    digest = hashlib.sha256(raw).hexdigest()
    path = f"/v1/sessions/{session_id}/blobs/{digest}"
    answer = bench.client.call("GET", path)
    assert (answer.content, answer.headers["Content-Type"]) == (raw, "image/png")
    assert answer.headers["ETag"] == f'"{digest}"'
    assert "immutable" in answer.headers["Cache-Control"]
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    head = bench.client.call("HEAD", path)
    assert (head.status_code, head.content, head.headers["Content-Length"]) == (200, b"", str(len(raw)))
    rewind(bench, session_id)
    assert bench.client.call("GET", path).status_code == 200


@drives(("get_blob", 404, "not-found"), ("get_blob", 404, "session-not-found"))
def test_image_of_another_session_is_not_served(bench: Bench) -> None:
    session_id, other = bench.client.session(), bench.client.session()
    bench.client.turn(session_id, images=[{"media_type": "image/png", "data": png()}])
    digest = hashlib.sha256(base64.b64decode(png())).hexdigest()
    for digest_ in (digest, digest.upper(), "x", "0" * 64):
        answer = bench.client.call("GET", f"/v1/sessions/{other}/blobs/{digest_}")
        assert (answer.status_code, slug_of(answer)) == (404, "not-found")
    answer = bench.client.call("GET", f"/v1/sessions/{NOWHERE}/blobs/{digest}")
    assert (answer.status_code, slug_of(answer)) == (404, "session-not-found")
