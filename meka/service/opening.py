"""The message a client's turn opens with: the context meka writes, then the words, then the images."""

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from meka.agent.blocks import Block, Image, Text, TurnContext
from meka.agent.context import ContextFacts, World, turn_context, world_of
from meka.agent.images import MAX_IMAGE_BYTES, ImageError, load_image
from meka.agent.toolbox import Toolbox
from meka.agent.tools.base import ImageData
from meka.base.errors import InvalidBodyError
from meka.base.levels import Level
from meka.base.text import scrub
from meka.service.models import Model
from meka.service.runtime import SessionRuntime
from meka.service.window import WindowGauge
from meka.store import blobs
from meka.store.database import Database


@dataclass(frozen=True, slots=True)
class Request:
    """What a client asks of a turn, checked as far as that goes without its session."""

    message: str
    images: Sequence[Mapping[str, Any]]
    withdraws: bool


def read_request(body: Mapping[str, Any]) -> Request:
    """The turn that a body asks for. Raises: InvalidBodyError naming the field."""
    options = body.get("options") or {}
    skill = options.get("skill")
    if skill is not None:
        raise InvalidBodyError(f"`options.skill` is invalid: no skill named '{skill}'")
    message, images = scrub(body["message"]), body.get("images") or ()
    if not message.strip() and not images:
        raise InvalidBodyError("invalid turn request body: `message` is blank and there is no image")
    return Request(message, images, options.get("unanswered_message") == "withdraw")


def build_images(
    request: Request,
    session_id: str,
    model: Model,
    database: Database,
) -> list[Image]:
    """The attachments as blocks; new bytes are stored. Raises: InvalidBodyError naming the entry."""
    if request.images and not model.profile.vision:
        raise InvalidBodyError(
            f"`images` is invalid: the profile '{model.profile.name}' takes no images (vision = false)"
        )
    read = [
        _read_image(entry, f"`images[{position}]`", session_id, database)
        for position, entry in enumerate(request.images)
    ]
    # Stored once all of them are good: a refused turn leaves the session no image.
    return [_stored(image, session_id, database) for image in read]


def _read_image(
    entry: Mapping[str, Any], field: str, session_id: str, database: Database
) -> Image | ImageData:
    try:
        return _known_image(entry, session_id, database) if "hash" in entry else _new_image(entry)
    except ImageError as error:
        raise InvalidBodyError(f"{field} is invalid: {error}") from None


def _known_image(entry: Mapping[str, Any], session_id: str, database: Database) -> Image:
    if len(entry) != 1:
        raise ImageError("a hash stands alone, without media_type or data")
    blob = database.read(lambda tx: blobs.get_for_session(tx, session_id, entry["hash"]))
    if blob is None:
        raise ImageError("this session holds no image with that hash")
    return Image(blob.media_type, entry["hash"])


def _new_image(entry: Mapping[str, Any]) -> ImageData:
    if "data" not in entry or "media_type" not in entry:
        raise ImageError("it takes either media_type and data, or hash")
    try:
        data = base64.b64decode(entry["data"], validate=True)
    except (binascii.Error, ValueError):
        raise ImageError("data is not base64") from None
    if len(data) > MAX_IMAGE_BYTES:
        raise ImageError(f"{len(data)} bytes, at most {MAX_IMAGE_BYTES} are taken")
    # Not in the pool: the child process that decodes is watched by the hub, which this lets run meanwhile.
    return load_image(data, entry["media_type"])


def _stored(image: Image | ImageData, session_id: str, database: Database) -> Image:
    if isinstance(image, Image):
        return image
    digest = database.write(lambda tx: blobs.put(tx, session_id, image.media_type, image.data))
    return Image(image.media_type, digest)


@dataclass(frozen=True, slots=True)
class Context:
    """A turn's context block, with the world it told of."""

    block: TurnContext
    world: World


def build_context(
    runtime: SessionRuntime,
    model: Model,
    toolbox: Toolbox,
    now: datetime,
    compact_at_percent: int,
    *,
    whole: bool = False,
) -> Context:
    """What the model is told ahead of the words, as things stand now; `whole` tells all of it again."""
    used = WindowGauge(runtime, model, toolbox).read().used if runtime.conversation.total else 0
    tools = (
        list(toolbox.tools.values()) if model.provider.sends_tools and runtime.level is not Level.NONE else []
    )
    world = world_of(tools, toolbox.levels, runtime.loaded_tools)
    facts = ContextFacts(
        level=runtime.level,
        approvals=runtime.row.approvals,
        vision=model.profile.vision,
        working_directory=runtime.working_directory,
        now=now,
        used_tokens=used,
        window_tokens=model.profile.context_window,
        compact_at_percent=compact_at_percent,
        world=world,
        known=None if whole else runtime.world,
        resumed=runtime.resumed and not whole,
        compactions=runtime.conversation.generation,
        running=runtime.running_tasks,
    )
    return Context(TurnContext(turn_context(facts)), world)


def opening_blocks(request: Request, images: Sequence[Image]) -> tuple[Block, ...]:
    """What the client says, in the order it is sent."""
    words = (Text(request.message),) if request.message.strip() else ()
    return (*words, *images)
