"""Export and import: what comes back is the same conversation, and a bad archive leaves nothing behind."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import requests

from meka.store import inbox, messages, scratchpad, sessions
from meka.store.inbox import InboxRow, ItemState
from tests.contract.bench import Bench, slug_of
from tests.contract.checking import drives
from tests.contract.test_answers import png, write_locked
from tests.contract.test_history import history, rewind, stored_turn, turns_of
from tests.serving import say, use


def export(bench: Bench, session_id: str, form: str = "json") -> requests.Response:
    return bench.client.call("GET", f"/v1/sessions/{session_id}/export", params={"format": form})


def bring_in(bench: Bench, document: Any) -> requests.Response:
    return bench.client.call(
        "POST",
        "/v1/sessions/import",
        data=json.dumps(document).encode(),
        headers={"Content-Type": "application/json"},
    )


def rich_session(bench: Bench) -> str:
    """A session with everything that an archive can hold."""
    session_id = bench.client.session(permission="read", capabilities={"supports_reasoning_stream": True})
    bench.upstream.add(
        use(("tu_1", "scratchpad_write", {"name": "../../etc/passwd", "content": "kept\n"})), say("noted")
    )
    bench.client.turn(session_id, "look", images=[{"media_type": "image/png", "data": png()}])
    bench.client.turn(session_id, "dropped")
    rewind(bench, session_id)
    bench.client.turn(session_id, "日本 and é")
    bench.client.call("PATCH", f"/v1/sessions/{session_id}", json={"title": "Rich", "pinned": True})
    child = bench.stored_session(parent_id=session_id, permission="read")
    stored_turn(bench, child, 7)
    grandchild = bench.stored_session(parent_id=child)
    stored_turn(bench, grandchild, 8)
    item = InboxRow(
        child, session_id, "followup", "x", ItemState.WITHDRAWN, bench.store.read(lambda tx: tx.now()),
        bench.store.read(lambda tx: tx.now()),
    )  # fmt: skip
    bench.store.write(lambda tx: inbox.add(tx, item))
    return session_id


def stable(document: dict[str, Any]) -> dict[str, Any]:
    """An archive without what an import makes anew."""
    plain = copy.deepcopy(document)
    numbers = {each["id"]: number for number, each in enumerate(plain["sessions"])}
    for each in plain["sessions"]:
        each.pop("updated_at")
        each["id"] = numbers[each["id"]]
        if "parent_id" in each:
            each["parent_id"] = numbers[each["parent_id"]]
    return plain


@drives(("export_session", 200), ("import_session", 201))
def test_archive_comes_back_as_the_same_conversation(bench: Bench) -> None:
    session_id = rich_session(bench)
    exported = export(bench, session_id)
    document = exported.json()
    answer = bring_in(bench, document)
    made = answer.json()["session_id"]
    assert answer.json() == {"session_id": made, "sessions_imported": 3}
    assert answer.headers["Location"] == f"/v1/sessions/{made}"
    again = export(bench, made).json()
    assert json.dumps(stable(again)) == json.dumps(stable(document))
    assert made != session_id
    theirs, ours = history(bench, session_id), history(bench, made)
    assert ours.json() | {"session_id": session_id} == theirs.json()
    assert ours.headers["ETag"] == theirs.headers["ETag"]
    assert turns_of(bench, made) == turns_of(bench, session_id)
    record = bench.client.call("GET", f"/v1/sessions/{made}").json()
    assert (record["title"], record["permission"], record.get("pinned_at")) == ("Rich", "read", None)
    assert record["capabilities"]["supports_reasoning_stream"] is True
    children = bench.client.call("GET", "/v1/sessions", params={"parent": made}).json()["sessions"]
    assert len(children) == 1
    entry = bench.store.read(lambda tx: scratchpad.get(tx, made, "../../etc/passwd"))
    assert entry == "kept\n"
    digest = next(iter(document["images"]))
    blob = bench.client.call("GET", f"/v1/sessions/{made}/blobs/{digest}")
    assert blob.status_code == 200
    assert bench.client.turn(made, "and on", images=[{"hash": digest}]).status_code == 200


@drives(("export_session", 200))
def test_markdown_holds_what_was_said_and_not_what_was_taken_back(bench: Bench) -> None:
    session_id = bench.client.session()
    bench.upstream.add(use(("tu_1", "file_find", {"pattern": "```"})), say("first answer"))
    bench.client.turn(session_id, "first question")
    bench.client.turn(session_id, "dropped question")
    rewind(bench, session_id)
    compact(bench, session_id)
    text = export(bench, session_id, "markdown")
    assert text.headers["Content-Type"] == "text/markdown; charset=utf-8"
    assert text.text == bench.client.call("GET", f"/v1/sessions/{session_id}/export").text
    for said in ("# first question", "first answer", "Called `file_find`", "````json", "so far"):
        assert said in text.text
    assert "dropped question" not in text.text
    assert "Permission context" not in text.text


def compact(bench: Bench, session_id: str) -> None:
    def unit(tx: Any) -> None:
        summary = messages.message(
            "user", [{"type": "text", "text": "so far"}], meta={"compaction": {"generation": 1}}
        )
        seq = messages.append(tx, session_id, summary)[0].seq
        messages.append(tx, session_id, messages.boundary([seq]))
        sessions.bump_revision(tx, session_id)

    bench.store.write(unit)


@drives(("export_session", 422, "invalid-body"), ("export_session", 400, "invalid-body"))
def test_export_refuses_other_formats(bench: Bench) -> None:
    session_id = bench.client.session()
    for form in ("html", "JSON", ""):
        assert export(bench, session_id, form).status_code == 422
    path = f"/v1/sessions/{session_id}/export?format=json&format=json"
    assert bench.client.call("GET", path).status_code == 400


@drives(("export_session", 404, "session-not-found"))
@pytest.mark.parametrize("form", ["json", "markdown"])
def test_export_of_nothing_is_not_found(bench: Bench, form: str) -> None:
    answer = export(bench, "3f2b8c1e-0000-4000-8000-000000000000", form)
    assert (answer.status_code, slug_of(answer)) == (404, "session-not-found")


# Hostile and broken archives


@pytest.fixture(scope="module")
def archive(bench: Bench) -> dict[str, Any]:
    document: dict[str, Any] = export(bench, rich_session(bench)).json()
    return document


def row(document: Any, kind: str = "message") -> Any:
    return next(each for each in document["sessions"][0]["log"] if each["kind"] == kind)


def image_block(document: Any) -> Any:
    blocks = [block for each in document["sessions"][0]["log"] for block in each.get("content", ())]
    return next(block for block in blocks if block["type"] == "image")


def only_image(document: Any) -> Any:
    return next(iter(document["images"].values()))


def rename_image(document: Any) -> None:
    digest, record = document["images"].popitem()
    document["images"]["0" * 64] = record
    document["sessions"][0]["images"] = ["0" * 64]
    assert digest


DAMAGES: dict[str, Callable[[Any], Any]] = {
    "another format": lambda d: d.update(format="zip"),
    "no format": lambda d: d.pop("format"),
    "a version to come": lambda d: d.update(format_version=9),
    "a version in words": lambda d: d.update(format_version="1"),
    "a version that is true": lambda d: d.update(format_version=True),
    "no sessions": lambda d: d.update(sessions=[]),
    "sessions that are none": lambda d: d.update(sessions=[7]),
    "an unknown field": lambda d: d.update(extra=1),
    "an unknown field of a session": lambda d: d["sessions"][0].update(owner="root"),
    "a session twice": lambda d: d["sessions"].append(copy.deepcopy(d["sessions"][1])),
    "two roots": lambda d: d["sessions"][1].pop("parent_id"),
    "a parent elsewhere": lambda d: d["sessions"][1].update(parent_id="3f2b8c1e-0000-4000-8000-000000000000"),
    "a circle": lambda d: d["sessions"][0].update(parent_id=d["sessions"][2]["id"]),
    "its own parent": lambda d: d["sessions"][1].update(parent_id=d["sessions"][1]["id"]),
    "a child before its parent": lambda d: d["sessions"].insert(1, d["sessions"].pop()),
    "an id that is a path": lambda d: d["sessions"][0].update(id="../../x"),
    "an unknown profile": lambda d: d["sessions"][1].update(profile="nobody"),
    "an unknown project": lambda d: d["sessions"][1].update(project="nowhere"),
    "an unknown level": lambda d: d["sessions"][0].update(permission="root"),
    "a directory that climbs": lambda d: d["sessions"][0].update(working_directory="/tmp/../etc"),
    "a relative directory": lambda d: d["sessions"][0].update(working_directory="etc"),
    "a long title": lambda d: d["sessions"][0].update(title="x" * 201),
    "a title of two lines": lambda d: d["sessions"][0].update(title="a\nb"),
    "a moment that is none": lambda d: d["sessions"][0].update(created_at="yesterday"),
    "a moment without an offset": lambda d: row(d).update(created_at="2026-01-01T00:00:00"),
    "a negative revision": lambda d: d["sessions"][0].update(revision=-1),
    "a revision past counting": lambda d: d["sessions"][0].update(revision=2**60),
    "capabilities in words": lambda d: d["sessions"][0].update(capabilities={"x": "yes"}),
    "a turn twice": lambda d: d["sessions"][0]["turns"].append(d["sessions"][0]["turns"][0]),
    "a turn half ended": lambda d: d["sessions"][0]["turns"][0].pop("status"),
    "a turn of nobody": lambda d: d["sessions"][0]["turns"][0].update(source="me"),
    "a turn without usage": lambda d: d["sessions"][0]["turns"][0].pop("usage"),
    "a row of an unknown kind": lambda d: row(d).update(kind="poem"),
    "a message of nobody": lambda d: row(d).pop("role"),
    "a message of a system": lambda d: row(d).update(role="system"),
    "a rewind that speaks": lambda d: row(d, "rewind").update(role="user"),
    "a rewind to nowhere": lambda d: row(d, "rewind")["meta"].pop("before"),
    "a rewind of words": lambda d: row(d, "rewind")["meta"].update(seqs=["1"]),
    "a rewind without a word": lambda d: row(d, "rewind").pop("meta"),
    "a turn id that is none": lambda d: row(d).update(turn_id="1"),
    "content that is no list": lambda d: row(d).update(content="words"),
    "a block of an unknown kind": lambda d: row(d)["content"].append({"type": "script", "text": "x"}),
    "a block of none": lambda d: row(d)["content"].append(None),
    "a text that is a number": lambda d: row(d)["content"].append({"type": "text", "text": 1}),
    "a text without text": lambda d: row(d)["content"].append({"type": "text"}),
    "a block with an extra": lambda d: row(d)["content"].append({"type": "text", "text": "x", "y": 1}),
    "an image of elsewhere": lambda d: image_block(d).update(hash="0" * 64),
    "an image in place of its bytes": lambda d: d["images"].clear(),
    "an image that is not held": lambda d: d["sessions"][0].update(images=[]),
    "an image under another hash": rename_image,
    "an image that is a page": lambda d: only_image(d).update(media_type="text/html"),
    "an image of another type": lambda d: only_image(d).update(media_type="image/webp"),
    "an image that is no base64": lambda d: only_image(d).update(data="&"),
    "an entry twice": lambda d: d["sessions"][0]["scratchpad"].append(d["sessions"][0]["scratchpad"][0]),
    "an entry without a name": lambda d: d["sessions"][0]["scratchpad"][0].update(name=" "),
}  # fmt: skip


@drives(("import_session", 422, "invalid-body"))
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_bad_archive_is_refused_and_leaves_nothing(
    bench: Bench, archive: dict[str, Any], damage: Callable[[Any], Any]
) -> None:
    before = everything(bench)
    document = copy.deepcopy(archive)
    damage(document)
    answer = bring_in(bench, document)
    assert (answer.status_code, slug_of(answer)) == (422, "invalid-body")
    assert everything(bench) == before


def everything(bench: Bench) -> Any:
    tables = ("sessions", "messages", "turns", "blobs", "session_blobs", "scratchpad_entries", "search_texts")
    return bench.store.read(lambda tx: [tx.sql(f"SELECT COUNT(*) FROM {table}") for table in tables])


@drives(("import_session", 422, "invalid-body"))
def test_truncated_archive_is_refused_wherever_it_ends(bench: Bench, archive: dict[str, Any]) -> None:
    before = everything(bench)
    raw = json.dumps(archive).encode()
    for end in range(1, len(raw) - 1, max(1, len(raw) // 40)):
        answer = bench.client.call(
            "POST", "/v1/sessions/import", data=raw[:end], headers={"Content-Type": "application/json"}
        )
        assert answer.status_code == 422
    assert everything(bench) == before


def test_profile_that_an_archive_leaves_out_is_the_default(bench: Bench, archive: dict[str, Any]) -> None:
    document = copy.deepcopy(archive)
    for each in document["sessions"]:
        each.pop("profile")
    made = bring_in(bench, document).json()["session_id"]
    assert bench.client.call("GET", f"/v1/sessions/{made}").json()["profile"] == "main"
    document["sessions"][0]["profile"] = "nobody"
    detail = bring_in(bench, document).json()["detail"]
    assert detail.startswith("no profile named 'nobody' (configured: ")


def test_deep_arguments_of_a_call_go_out_and_in(bench: Bench, archive: dict[str, Any]) -> None:
    deep: Any = "end"
    for _ in range(60):
        deep = [deep]
    document = copy.deepcopy(archive)
    call = {"type": "tool_use", "id": "tu_9", "name": "x", "input": {"deep": deep}}
    document["sessions"][0]["log"].append(
        {"kind": "message", "role": "assistant", "content": [call], "created_at": "2026-01-01T00:00:00Z"}
    )
    made = bring_in(bench, document)
    assert made.status_code == 201
    assert export(bench, made.json()["session_id"]).json()["sessions"][0]["log"][-1]["content"] == [call]
    for _ in range(40):
        deep = [deep]
    call["input"] = {"deep": deep}
    refused = bring_in(bench, document)
    assert refused.status_code == 422
    assert "nested deeper than 96" in refused.json()["detail"]


@drives(("import_session", 422, "invalid-body"))
def test_archive_past_the_cap_is_told_where_to_go(bench: Bench) -> None:
    answer = bring_in(bench, {"format": "meka-session-archive", "format_version": 1, "sessions": [{}] * 1001})
    detail = answer.json()["detail"]
    assert answer.status_code == 422
    assert all(part in detail for part in ("1001", "1000", "meka session import"))


@drives(("import_session", 503, "store-unavailable"), ("import_session", 201))
def test_import_into_a_busy_store_leaves_nothing(bench: Bench, archive: dict[str, Any]) -> None:
    before = everything(bench)
    with write_locked(bench.store.path):
        assert bring_in(bench, archive).status_code == 503
    assert everything(bench) == before
    assert bring_in(bench, archive).status_code == 201


def test_imported_sessions_are_told_on_the_server_feed(bench: Bench, archive: dict[str, Any]) -> None:
    with bench.client.call("GET", "/v1/stream", stream=True) as response:
        made = bring_in(bench, archive).json()["session_id"]
        told = []
        for line in response.iter_lines(chunk_size=1):
            if line.startswith(b"data: ") and b'"session_id"' in line:
                told.append(json.loads(line.removeprefix(b"data: ")))
            if sum(each.get("parent_id") is not None for each in told if "parent_id" in each) and any(
                each["session_id"] == made for each in told
            ):
                break
    assert made in [each["session_id"] for each in told]


def test_directory_of_an_archive_need_not_be_there(bench: Bench, archive: dict[str, Any]) -> None:
    document = copy.deepcopy(archive)
    document["sessions"][0]["working_directory"] = str(Path("/gone/since"))
    made = bring_in(bench, document).json()["session_id"]
    record = bench.client.call("GET", f"/v1/sessions/{made}").json()
    assert record["working_directory"] == "/gone/since"
