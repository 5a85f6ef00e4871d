"""`image_render`: shows the model an image that it holds as base64."""

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from meka.agent.images import MAX_IMAGE_BYTES, ImageError, load_image
from meka.agent.tools.base import ToolContext, ToolError, ToolOutcome
from meka.base.levels import Level
from meka.base.text import one_line

_MAX_BASE64_CHARS = MAX_IMAGE_BYTES * 2


class ImageRender:
    """The tool."""

    name = "image_render"
    description = (
        "Look at an image that is held as base64, either in a scratchpad entry or given inline. Give exactly "
        "one of from_scratchpad and base64."
    )
    parameters: Mapping[str, Any] = {
        "type": "object",
        "properties": {
            "from_scratchpad": {
                "type": "string",
                "description": "The scratchpad entry that holds the base64",
            },
            "base64": {"type": "string", "description": "The image's bytes as base64, or a data: URL"},
        },
    }
    level = Level.READ
    summary_argument: str | None = "from_scratchpad"
    takes_scratchpad = False
    deferred = False
    serial = False

    def run(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
        """Show one image. Raises: ToolError."""
        name, inline = arguments.get("from_scratchpad"), arguments.get("base64")
        if (name is None) == (inline is None):
            raise ToolError("give exactly one of from_scratchpad and base64")
        data = context.run_blocking(_decode, inline if name is None else _entry(context, name))
        if len(data) > MAX_IMAGE_BYTES:
            raise ToolError(f"the image holds {len(data):,} bytes; at most {MAX_IMAGE_BYTES:,} can be shown")
        try:
            image = load_image(data, cancel=context.cancel)
        except ImageError as error:
            raise ToolError(str(error)) from error
        label = "<inline base64>" if name is None else one_line(name)
        return ToolOutcome(f"[Image: {label}]", images=(image,))


def _entry(context: ToolContext, name: str) -> str:
    entry = context.scratchpad.get(name)
    if entry is None:
        raise ToolError(f"no scratchpad entry named '{one_line(name)}'")
    return entry.content


def _decode(text: str) -> bytes:
    if len(text) > _MAX_BASE64_CHARS:
        raise ToolError(f"the image is too large; at most {MAX_IMAGE_BYTES:,} bytes can be shown")
    if text.startswith("data:"):
        text = text.partition(",")[2]
    packed = "".join(text.split())
    try:
        return base64.b64decode(packed + "=" * (-len(packed) % 4), validate=True)
    except (binascii.Error, ValueError) as error:
        raise ToolError("not base64") from error
