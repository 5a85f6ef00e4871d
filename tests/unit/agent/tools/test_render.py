import base64
import io
from pathlib import Path

import pytest
from PIL import Image

from meka.agent.images import MAX_IMAGE_BYTES
from meka.agent.tools.base import ImageData, ToolError
from meka.agent.tools.render import ImageRender
from meka.base.levels import Level
from tests.fakes import make_context


def picture(kind: str) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (4, 4)).save(out, kind)
    return out.getvalue()


PNG = base64.b64encode(picture("PNG")).decode()


@pytest.mark.parametrize(
    "text", [PNG, f"data:image/png;base64,{PNG}", PNG.rstrip("="), f"{PNG[:20]}\n {PNG[20:]}"]
)
def test_image_render_shows_inline_base64(tmp_path: Path, text: str) -> None:
    outcome = ImageRender().run({"base64": text}, make_context(tmp_path, level=Level.READ))
    assert outcome.text == "[Image: <inline base64>]"
    assert outcome.images == (ImageData("image/png", picture("PNG")),)


def test_image_render_shows_a_scratchpad_entry_and_converts_it(tmp_path: Path) -> None:
    context = make_context(tmp_path, level=Level.READ)
    context.scratchpad.put("shot", base64.b64encode(picture("BMP")).decode())
    outcome = ImageRender().run({"from_scratchpad": "shot"}, context)
    assert outcome.text == "[Image: shot]"
    assert [image.media_type for image in outcome.images] == ["image/png"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({}, "exactly one of from_scratchpad and base64"),
        ({"base64": PNG, "from_scratchpad": "x"}, "exactly one of"),
        ({"from_scratchpad": "absent"}, "no scratchpad entry named 'absent'"),
        ({"base64": "***"}, "not base64"),
        ({"base64": "\u00e9"}, "not base64"),
        ({"base64": "aGVsbG8="}, "unsupported image format"),
        ({"base64": PNG[:60]}, "the image is broken"),
        ({"base64": base64.b64encode(bytes(MAX_IMAGE_BYTES + 1)).decode()}, "at most 3,932,160"),
        ({"base64": "A" * (MAX_IMAGE_BYTES * 3)}, "at most 3,932,160"),
    ],
)
def test_image_render_refuses(tmp_path: Path, arguments: dict[str, object], sentence: str) -> None:
    with pytest.raises(ToolError, match=sentence):
        ImageRender().run(arguments, make_context(tmp_path))
