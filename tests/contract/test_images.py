"""Images over their life: refused by name, kept by hash, and let go of where a request has no room."""

import base64
import io
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.contract.bench import Bench, running, slug_of
from tests.contract.test_answers import png
from tests.contract.test_history import fork, history
from tests.serving import say, use

SNUG = """
[profiles.snug]
account = "upstream"
model = "claude-test"
max_request_bytes = 100000
"""


@pytest.fixture(scope="module")
def snug(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """A server with a profile whose requests have little room."""
    with running(tmp_path_factory.mktemp("snug"), SNUG) as started:
        yield started


def noise(seed: int) -> str:
    """An image of about 19 kB, which nothing makes smaller."""
    raw = io.BytesIO()
    Image.frombytes("RGB", (80, 80), random.Random(seed).randbytes(80 * 80 * 3)).save(raw, "PNG")
    return base64.b64encode(raw.getvalue()).decode()


def kinds(message: dict[str, Any]) -> list[str]:
    return [block["type"] for block in message["content"] if block["type"] != "turn_context"]


def test_oldest_images_go_when_a_request_would_be_too_large(snug: Bench) -> None:
    session_id = snug.client.session(profile="snug")
    for number in range(6):
        image = {"media_type": "image/png", "data": noise(number)}
        answer = snug.client.turn(session_id, f"picture {number}", images=[image])
        assert answer.status_code == 200
        assert "image" in kinds(answer.json()["messages"][0])
        assert len(json.dumps(snug.upstream.requests[-1].body, separators=(",", ":"))) <= 100000
    told = history(snug, session_id).json()
    asked = [message for message in told["messages"] if message["role"] == "user"]
    assert kinds(asked[0]) == ["text", "text"]
    assert kinds(asked[-1]) == ["text", "image"]
    assert "removed" in asked[0]["content"][-1]["text"]
    assert told["revision"] >= 1
    sent = json.dumps(snug.upstream.requests[-1].body)
    assert sent.count("was removed here") == sum(kinds(each) == ["text", "text"] for each in asked)
    # What was sent once stays so: a turn that fits changes nothing.
    before = history(snug, session_id).json()["revision"]
    snug.client.turn(session_id, "no picture")
    assert history(snug, session_id).json()["revision"] == before
    copy = fork(snug, session_id).json()["id"]
    assert kinds(snug.client.messages(copy)[0]) == ["text", "text"]
    found = snug.client.call("GET", "/v1/sessions/search", params={"q": "removed fits"}).json()
    assert found == {"sessions": []}


def test_images_in_tool_results_go_the_same_way(snug: Bench, tmp_path: Path) -> None:
    session_id = snug.client.session(profile="snug", working_directory=str(tmp_path))
    for number in range(6):
        (tmp_path / f"{number}.png").write_bytes(base64.b64decode(noise(20 + number)))
        snug.upstream.add(use((f"tu_{number}", "file_read", {"path": f"{number}.png"})), say("seen"))
        assert snug.client.turn(session_id, f"look at {number}").status_code == 200
        assert len(json.dumps(snug.upstream.requests[-1].body, separators=(",", ":"))) <= 100000
    results = [
        block
        for message in snug.client.messages(session_id)
        for block in message["content"]
        if block["type"] == "tool_result"
    ]
    held = ["image" in {item["type"] for item in block["content"]} for block in results]
    assert (held[0], held[-1]) == (False, True)
    assert held == sorted(held)
    sent = json.dumps(snug.upstream.requests[-1].body)
    assert sent.count("was removed here") == held.count(False)


def test_turn_that_lets_images_go_says_so(snug: Bench) -> None:
    session_id = snug.client.session(profile="snug")
    snug.client.turn(session_id, "picture", images=[{"media_type": "image/png", "data": noise(8)}])
    answer = snug.client.turn(session_id, "x" * 62000).json()
    (notice,) = answer["notices"]
    assert notice["level"] == "info"
    assert notice["text"].startswith("1 image was removed from the conversation to fit")


def test_request_that_is_too_large_without_older_images_is_refused(snug: Bench) -> None:
    session_id = snug.client.session(profile="snug")
    assert snug.client.turn(session_id, "y" * 62000).status_code == 200
    refused = snug.client.turn(session_id, "picture", images=[{"media_type": "image/png", "data": noise(9)}])
    assert (refused.status_code, slug_of(refused)) == (422, "request-too-large")
    # The image that is asked about now is never the one to go.
    assert kinds(snug.client.messages(session_id)[-1]) == ["text", "image"]
    assert history(snug, session_id).json()["revision"] == 0


@pytest.mark.parametrize(
    ("images", "named"),
    [
        ([{"media_type": "image/png", "data": "AAAA"}], "`images[0]`"),
        ([{"media_type": "", "data": png()}, {"media_type": "x", "data": "aGk="}], "`images[1]`"),
        ([{"media_type": "image/png", "data": "&&&"}], "`images[0]`"),
        ([{"media_type": "image/png"}], "`images[0]"),
        ([{"data": png()}], "`images[0]"),
        ([{"hash": "0" * 64}], "`images[0]`"),
        ([{"hash": "0" * 64, "media_type": "image/png"}], "`images[0]`"),
        ([{}], "`images[0]"),
        ([{"media_type": "image/png", "data": png(), "path": "/etc/passwd"}], "`images[0]"),
    ],
)
def test_bad_image_is_refused_by_name_and_the_session_goes_on(
    bench: Bench, images: list[dict[str, str]], named: str
) -> None:
    session_id = bench.client.session()
    answer = bench.client.turn(session_id, "look", images=images)
    assert (answer.status_code, slug_of(answer)) == (422, "invalid-body")
    assert named in answer.json()["detail"]
    assert bench.client.turn(session_id, "go on").status_code == 200
    assert len(bench.client.messages(session_id)) == 2
