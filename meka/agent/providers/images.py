"""Images as a request carries them: base64, fitted to an endpoint's bound, or a text in their place."""

import base64
import io
from collections import OrderedDict
from dataclasses import dataclass

import gevent
from PIL import Image as Picture
from PIL import ImageOps

from meka.agent.blocks import Image
from meka.agent.images import sniff
from meka.agent.providers.base import LoadImage

GONE = "[image no longer available]"
MISMATCH = "[image left out: its bytes are not of the type it was stored under]"
NO_VISION = "[image left out: this model takes no images]"
CACHE_BYTES = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ImageText:
    """What stands in the place of an image that is not sent."""

    text: str


@dataclass(frozen=True, slots=True)
class EncodedImage:
    """An image ready for JSON."""

    media_type: str
    base64: str

    @property
    def data_url(self) -> str:
        """The image as a `data:` URL."""
        return f"data:{self.media_type};base64,{self.base64}"


class ImageEncoder:
    """Turns image blocks into what a request holds.

    `max_side`: larger images are scaled down to it (pixels) and sent as PNG; the newest results are kept,
    since a conversation sends its images again with every round.
    """

    def __init__(self, *, vision: bool, max_side: int | None = None, cache_bytes: int = CACHE_BYTES) -> None:
        self._vision = vision
        self._max_side = max_side
        self._cache_bytes = cache_bytes
        self._scaled: OrderedDict[str, EncodedImage | None] = OrderedDict()

    def encode(self, image: Image, load: LoadImage) -> EncodedImage | ImageText:
        """The image, or the text that stands for it."""
        if not self._vision:
            return ImageText(NO_VISION)
        known = self._scaled.get(image.hash)
        if known is not None:
            self._scaled.move_to_end(image.hash)
            return known
        data = load(image.hash)
        if data is None:
            return ImageText(GONE)
        if sniff(data, image.media_type) not in (None, image.media_type):
            return ImageText(MISMATCH)
        return self._fit(image, data) or EncodedImage(image.media_type, _text(data))

    def _fit(self, image: Image, data: bytes) -> EncodedImage | None:
        """The image scaled down, or None where it fits as it is."""
        if self._max_side is None or image.hash in self._scaled:
            return None
        png = gevent.get_hub().threadpool.apply(scale_down, (data, self._max_side))
        scaled = None if png is None else EncodedImage("image/png", _text(png))
        self._remember(image.hash, scaled)
        return scaled

    def _remember(self, image_hash: str, scaled: EncodedImage | None) -> None:
        self._scaled[image_hash] = scaled
        while sum(map(_cost, self._scaled.values())) > self._cache_bytes:
            self._scaled.popitem(last=False)


def _cost(entry: EncodedImage | None) -> int:
    return 100 + (len(entry.base64) if entry else 0)


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def scale_down(data: bytes, max_side: int) -> bytes | None:
    """`data` as a PNG with no side over `max_side` pixels; None where it fits already or is unreadable."""
    try:
        with Picture.open(io.BytesIO(data)) as picture:
            if max(picture.size) <= max_side:
                return None
            upright = ImageOps.exif_transpose(picture)
            upright.thumbnail((max_side, max_side))
            out = io.BytesIO()
            _plain(upright).save(out, "PNG")
            return out.getvalue()
    except (OSError, ValueError, SyntaxError, Picture.DecompressionBombError):
        return None


def _plain(picture: Picture.Image) -> Picture.Image:
    """`picture` in a mode that PNG can hold."""
    return picture if picture.mode in ("1", "L", "LA", "P", "RGB", "RGBA") else picture.convert("RGB")
