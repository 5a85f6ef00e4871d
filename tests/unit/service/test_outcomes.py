"""What a background task leaves, and where."""

import base64

import pytest

from meka.agent.tools.base import ImageData
from meka.service.outcomes import INLINE_BYTES, Outcome, Parcel, pack
from meka.store.tasks import TaskStatus

STEM = "task_0a1b2c3d_file_read"
PNG, GIF = ImageData("image/png", b"\x89png"), ImageData("image/gif", b"gif")


def packed(text: str, *images: ImageData, entry: str | None = None) -> Parcel:
    return pack(Outcome(TaskStatus.COMPLETED, text, images, entry), STEM)


@pytest.mark.parametrize(("text", "said"), [("done", "done"), ("", None), ("x" * 4096, "x" * 4096)])
def test_short_text_is_in_the_row_alone(text: str, said: str | None) -> None:
    assert packed(text) == Parcel(said)


def test_long_text_is_in_the_scratchpad_alone() -> None:
    text = "x" * (INLINE_BYTES + 1)
    assert packed(text) == Parcel(None, STEM, {STEM: text})


@pytest.mark.parametrize("text", ["", "short", "x" * 9000])
def test_text_is_where_its_call_wants_it(text: str) -> None:
    assert packed(text, entry="mine") == Parcel(None, "mine", {"mine": text})


def test_images_are_base64_that_the_row_names() -> None:
    parcel = packed("[Image: a.png]", PNG, GIF)
    first, second = f"{STEM}_image", f"{STEM}_image_2"
    assert {name: base64.b64decode(text) for name, text in parcel.entries.items()} == {
        first: PNG.data, second: GIF.data
    }  # fmt: skip
    assert parcel.entry is None
    words, *notes = (parcel.said or "").splitlines()
    assert words == "[Image: a.png]"
    assert [name in note for name, note in zip((f"'{first}'", f"'{second}'"), notes, strict=True)] == [
        True
    ] * 2
    assert "image/png, 4 bytes" in notes[0]


def test_images_are_named_beside_text_that_is_elsewhere() -> None:
    for parcel, entry in ((packed("words", PNG, entry="mine"), "mine"), (packed("x" * 5000, PNG), STEM)):
        assert parcel.entry == entry
        assert set(parcel.entries) == {entry, f"{STEM}_image"}
        assert (parcel.said or "").startswith("[image: image/png")


def test_notes_that_no_longer_fit_the_row_are_cut() -> None:
    assert len((packed("x", *[PNG] * 200).said or "").encode()) <= INLINE_BYTES
