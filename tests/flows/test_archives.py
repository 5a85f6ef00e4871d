"""A large archive: taken in by another server, it goes out again with the same bytes."""

import io
import random
import re
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest
from PIL import Image as Picture

from meka.agent.blocks import Image, Text, to_records
from meka.store import blobs, messages, sessions, turns
from meka.store.connection import Tx
from meka.store.database import Database
from meka.store.turns import TurnRow
from tests.fakes import FakeClock
from tests.serving import Client, Server

PIXELS = 24
_UPDATED = re.compile(rb'"updated_at":"[^"]+"')


def picture(random_: random.Random) -> bytes:
    """A PNG of noise, unlike any other."""
    raw = io.BytesIO()
    Picture.frombytes("RGB", (PIXELS, PIXELS), random_.randbytes(3 * PIXELS**2)).save(raw, "PNG")
    return raw.getvalue()


def fill(data: Path, count: int) -> list[str]:
    """A session with `count` - 1 sub-agents below it, in three floors, in the store of a data directory."""
    random_ = random.Random(7)
    ids = [str(UUID(int=random_.getrandbits(128), version=4)) for _ in range(count)]
    clock = FakeClock()

    def unit(tx: Tx) -> None:
        for number, session_id in enumerate(ids):
            clock.advance(1)
            parent = None if not number else ids[0] if number < 10 else ids[1 + number % 9]
            add(tx, session_id, parent, data, random_)

    with Database.open(data / "meka.db", clock=clock) as database:
        database.write(unit)
    return ids


def add(tx: Tx, session_id: str, parent: str | None, data: Path, random_: random.Random) -> None:
    """One session: a turn with two images, one that was taken back, and a compaction of both."""
    now = tx.now()
    sessions.create(
        tx, session_id, working_directory=str(data), permission="read", approvals=False, profile="scripted",
        parent_id=parent, title=f"Ärger “{random_.random()}”",
    )  # fmt: skip
    shown = [Image("image/png", blobs.put(tx, session_id, "image/png", picture(random_))) for _ in range(2)]
    for number in range(2):
        ended = now + timedelta(seconds=number)
        turn_id = str(UUID(int=number))
        turns.add(tx, TurnRow(turn_id, session_id, "client", now, "read", ended, "succeeded", "end_turn"))
        asked = to_records([Text(f"look \u2028 {random_.random()} 東京"), *shown])
        said = to_records([Text(f"seen <&> {random_.random()}\n\ttwice")])
        rows = messages.append(
            tx,
            session_id,
            messages.message("user", asked, turn_id=turn_id),
            messages.message("assistant", said, turn_id=turn_id),
        )
    messages.append(tx, session_id, messages.rewind(rows[0].seq, seqs=[row.seq for row in rows]))
    summary = messages.message("user", to_records([Text("so far")]), meta={"compaction": {"generation": 1}})
    (row,) = messages.append(tx, session_id, summary)
    messages.append(tx, session_id, messages.boundary([row.seq, row.seq - 5, row.seq - 4], generation=1))


def export(client: Client, session_id: str) -> bytes:
    answer = client.call("GET", f"/v1/sessions/{session_id}/export", params={"format": "json"}, timeout=300)
    assert answer.status_code == 200, answer.text
    return answer.content


def bring_in(client: Client, archive: bytes) -> str:
    """Import an archive; the root's new id."""
    headers = {"Content-Type": "application/json"}
    answer = client.call("POST", "/v1/sessions/import", data=archive, headers=headers, timeout=300)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["session_id"])


def session_ids(archive: bytes) -> list[str]:
    """The ids of an archive's sessions, in its order."""
    return [each.decode() for each in re.findall(rb'\{"id":"([0-9a-f-]{36})","created_at"', archive)]


def with_ids(document: bytes, old: Sequence[str], new: Sequence[str]) -> bytes:
    """A document whose sessions have other ids."""
    names = dict(zip(map(str.encode, old), map(str.encode, new), strict=True))
    return re.sub(b"|".join(names), lambda found: names[found[0]], document)


def conversations(client: Client, ids: Sequence[str]) -> Iterator[bytes]:
    for session_id in ids:
        answer = client.call("GET", f"/v1/sessions/{session_id}/messages")
        assert answer.status_code == 200, answer.text
        yield answer.content


@pytest.mark.parametrize("count", [50, pytest.param(500, marks=[pytest.mark.soak, pytest.mark.timeout(600)])])
def test_archive_of_many_sessions_with_images_comes_back_byte_for_byte(tmp_path: Path, count: int) -> None:
    there, here = tmp_path / "there", tmp_path / "here"
    (root, *_) = fill(there / "data", count)
    with Server(there) as origin, Server(here) as taker:
        old, new = origin.client(), taker.client()
        sent = export(old, root)
        back = export(new, bring_in(new, sent))

        theirs, ours = session_ids(sent), session_ids(back)
        assert len(theirs) == len(set(theirs)) == count
        assert not set(theirs) & set(ours)
        assert _UPDATED.sub(b"", with_ids(back, ours, theirs)) == _UPDATED.sub(b"", sent)
        read = zip(conversations(old, theirs), conversations(new, ours), strict=True)
        assert all(with_ids(copy, ours, theirs) == original for original, copy in read)
