"""What a background task leaves: a short text in its row, the rest in the session's scratchpad."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from meka.agent.tools.base import ImageData
from meka.base.text import cut_utf8
from meka.store.tasks import TaskStatus

INLINE_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a task ended and what it gave; `entry` is where its call wants the text kept."""

    status: TaskStatus
    text: str = ""
    images: Sequence[ImageData] = ()
    entry: str | None = None


@dataclass(frozen=True, slots=True)
class Parcel:
    """An outcome as stored: `said` in the row, `entry` where its whole text is, `entries` to be written."""

    said: str | None
    entry: str | None = None
    entries: Mapping[str, str] = field(default_factory=dict)


def pack(outcome: Outcome, stem: str) -> Parcel:
    """Stow an outcome; what its call gave no name is kept under names that begin with `stem`.

    A report is text, so images go to the scratchpad as well: as base64, which `image_render` shows.
    """
    images = {_image_name(stem, number): image for number, image in enumerate(outcome.images, 1)}
    entries = {name: base64.b64encode(image.data).decode("ascii") for name, image in images.items()}
    notes = "\n".join(_note(name, image) for name, image in images.items())
    said = "\n".join(part for part in (outcome.text, notes) if part)
    entry = outcome.entry
    if entry is None and len(said.encode()) > INLINE_BYTES:
        entry = stem
    if entry is not None:
        said, entries = notes, {**entries, entry: outcome.text}
    return Parcel(cut_utf8(said, INLINE_BYTES) or None, entry, entries)


def _image_name(stem: str, number: int) -> str:
    return f"{stem}_image" if number == 1 else f"{stem}_image_{number}"


def _note(name: str, image: ImageData) -> str:
    return (
        f"[image: {image.media_type}, {len(image.data)} bytes, is in the scratchpad as '{name}'; "
        "look at it with image_render (from_scratchpad)]"
    )
