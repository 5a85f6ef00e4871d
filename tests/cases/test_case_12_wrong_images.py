"""Case 12: an attached image that is too large, or no image."""

import base64
import io
from pathlib import Path
from typing import Any

from PIL import Image

from tests.cases.support import slug, wired_server
from tests.loopback_provider import LoopbackProvider
from tests.serving import say


def encoded(data: bytes, media_type: str = "image/png") -> dict[str, Any]:
    return {"media_type": media_type, "data": base64.b64encode(data).decode()}


def png() -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (3, 3), "red").save(out, "PNG")
    return out.getvalue()


def test_wrong_image_is_named_and_the_session_stays_usable(tmp_path: Path) -> None:
    good = encoded(png())
    wrong = [
        encoded(png() + b"\0" * 4_000_000),
        encoded(b"no image at all"),
        encoded(b""),
        encoded(png()[:20]),
        encoded(b"%PDF-1.7"),
        {"media_type": "image/png", "data": "not base64!"},
        {"hash": "0" * 64},
    ]
    serve = "max_body_bytes = 20000000"
    with (
        LoopbackProvider(default=say("seen")) as upstream,
        wired_server(tmp_path, upstream, serve=serve) as server,
    ):
        client = server.client()
        session = client.session()
        for image in wrong:
            answer = client.turn(session, "look", images=[good, image])
            assert (answer.status_code, slug(answer)) == (422, "invalid-body"), answer.text
            assert answer.json()["detail"].startswith("`images[1]`")
        assert client.messages(session) == []
        assert upstream.requests == []
        assert client.turn(session, "look", images=[good]).status_code == 200
        opening = client.messages(session)[0]["content"]
        assert [block["type"] for block in opening].count("image") == 1
        assert len(upstream.requests) == 1
