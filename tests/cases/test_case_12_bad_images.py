"""Case 12: an attached image that is too large, or no image."""

import base64
import io
import json
from pathlib import Path

import pytest
from PIL import Image

from tests.cases.support import slug, words
from tests.serving import Client, Server, say

LIMIT_BYTES = 5 * 1024 * 1024 * 3 // 4


def encoded(data: bytes, media_type: str = "image/png") -> dict[str, str]:
    return {"media_type": media_type, "data": base64.b64encode(data).decode()}


def picture(kind: str = "PNG", **options: object) -> bytes:
    raw = io.BytesIO()
    Image.new("RGB", (8, 8), "red").save(raw, kind, **options)
    return raw.getvalue()


BAD = {
    "one byte too large": picture() + bytes(LIMIT_BYTES + 1 - len(picture())),
    "empty": b"",
    "words": b"this is no image",
    "a page": b"<html><script>alert(1)</script></html>",
    "SVG": b'<svg xmlns="http://www.w3.org/2000/svg"/>',
    "PDF": b"%PDF-1.7 ...",
    "a head without a picture": picture()[:20],
    "a picture that breaks off": picture()[:50],
    "a head and noise": b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8,
    "a bomb": picture()[:16] + b"\x7f\xff\xff\xff" * 2 + picture()[24:],
}


def test_bad_image_is_named_and_the_session_goes_on(tmp_path: Path) -> None:
    rounds = [say(f"answer {number}") for number in range(len(BAD) + 1)]
    with Server(tmp_path, rounds, serve="max_body_bytes = 16777216") as server:
        client = server.client()
        session = client.session()
        good = encoded(picture())
        for number, (name, data) in enumerate(BAD.items()):
            answer = client.turn(session, "look", images=[good, encoded(data)])
            assert (answer.status_code, slug(answer)) == (422, "invalid-body"), name
            assert answer.json()["detail"].startswith("`images[1]` is invalid: "), name
            assert client.turn(session, f"go on {number}").status_code == 200
        assert client.turn(session, "and a good one", images=[good]).status_code == 200
        history = client.messages(session)
        assert len(history) == 2 * (len(BAD) + 1)
        assert words(history)[:2] == ["go on 0", "answer 0"]
        _check_nothing_of_it_was_kept(client, session)


def _check_nothing_of_it_was_kept(client: Client, session: str) -> None:
    archive = client.call("GET", f"/v1/sessions/{session}/export", params={"format": "json"}).json()
    assert len(archive["images"]) == 1, json.dumps(list(archive["images"]))


@pytest.mark.parametrize("kind", ["JPEG", "GIF", "WEBP", "BMP", "TIFF", "ICO", "TGA", "PPM", "DDS"])
def test_good_image_of_each_kind_is_taken(tmp_path: Path, kind: str) -> None:
    with Server(tmp_path, [say("seen")]) as server:
        client = server.client()
        session = client.session()
        media_type = "image/x-tga" if kind == "TGA" else "application/octet-stream"
        answer = client.turn(session, "look", images=[encoded(picture(kind), media_type)])
        assert answer.status_code == 200, answer.text
        (block,) = [each for each in client.messages(session)[0]["content"] if each["type"] == "image"]
        taken = {"JPEG": "image/jpeg", "GIF": "image/gif", "WEBP": "image/webp"}
        assert block["media_type"] == taken.get(kind, "image/png")
