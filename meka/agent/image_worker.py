"""The child process of `meka.agent.images`: decodes one image, and writes it again where that is needed.

Shape: one JSON line, `{"kept": true}` for an image that is good as it came, `{"kept": false, "media_type"}`
with the new bytes behind it, or `{"error"}` with a sentence.
"""

import io
import json
import os
import resource
import warnings
from typing import Any

from PIL import Image, ImageFile, ImageOps, UnidentifiedImageError

from meka.agent.childside import send, take_request
from meka.agent.exr_images import read_exr
from meka.agent.float_images import UnsupportedError, read_farbfeld, read_radiance, tone_map_plane

_MEMORY_BYTES = 2 * 1024**3
_PLUGINS = {
    "image/png": "PNG",
    "image/jpeg": "JPEG",
    "image/gif": "GIF",
    "image/webp": "WEBP",
    "image/bmp": "BMP",
    "image/tiff": "TIFF",
    "image/x-icon": "ICO",
    "image/x-tga": "TGA",
    "image/x-portable-anymap": "PPM",
    "image/qoi": "QOI",
    "image/vnd.ms-dds": "DDS",
}
_READERS = {
    "image/vnd.radiance": read_radiance,
    "image/x-exr": read_exr,
    "image/x-farbfeld": read_farbfeld,
}
_PNG_MODES = ("1", "L", "LA", "P", "RGB", "RGBA", "I;16")
_SHRINK_ROUNDS = 8


class RefusedError(Exception):
    """An image that will not do, with its sentence."""


def main() -> None:
    """Answer the one request that stands at standard input."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # codecs write what images make them say
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    warnings.simplefilter("ignore")
    ImageFile.LOAD_TRUNCATED_IMAGES = False
    Image.MAX_IMAGE_PIXELS = None
    request, data = take_request()
    report, body = answer(request, data)
    send(json.dumps(report).encode() + b"\n" + body)


def answer(request: dict[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
    """The report on an image, and its new bytes if it has any."""
    try:
        image = _decode(request["media_type"], data, request["max_pixels"])
        if request["passes"] and len(data) <= request["max_bytes"]:
            return {"kept": True}, b""
        media_type, body = _encode(image, request["max_bytes"])
    except RefusedError as refused:
        return {"error": str(refused)}, b""
    except MemoryError:
        return {"error": "the image takes too much memory"}, b""
    except UnsupportedError as error:
        return {"error": f"unsupported image format: {error}"}, b""
    except Exception:  # decoders raise whatever a broken file makes them stumble over
        return {"error": "the image is broken or incomplete"}, b""
    return {"kept": False, "media_type": media_type}, body


def _decode(media_type: str, data: bytes, max_pixels: int) -> Image.Image:
    reader = _READERS.get(media_type)
    if reader is not None:
        return reader(data, lambda size: _check_size(size, max_pixels))
    try:
        image: Image.Image = Image.open(io.BytesIO(data), formats=[_PLUGINS[media_type]])
    except UnidentifiedImageError as error:
        raise RefusedError("the image is broken or incomplete") from error
    _check_size(image.size, max_pixels)
    image.load()
    return image


def _check_size(size: tuple[int, int], max_pixels: int) -> None:
    width, height = size
    if width < 1 or height < 1:
        raise RefusedError("the image is empty")
    if width * height > max_pixels:
        raise RefusedError(f"the image is too large: {width} x {height} pixels")


def _encode(image: Image.Image, max_bytes: int) -> tuple[str, bytes]:
    """PNG where it fits; else JPEG (PNG for what is transparent), made smaller until it fits."""
    plain = _presentable(ImageOps.exif_transpose(image))
    if image.format != "JPEG":
        body = _bytes_of(plain, "PNG")
        if len(body) <= max_bytes:
            return "image/png", body
    kind = "PNG" if plain.has_transparency_data else "JPEG"
    small = plain.convert("RGBA" if kind == "PNG" else "RGB")
    for _ in range(_SHRINK_ROUNDS):
        body = _bytes_of(small, kind)
        if len(body) <= max_bytes:
            return f"image/{kind.lower()}", body
        ratio = min(0.9, (max_bytes / len(body)) ** 0.5)
        small.thumbnail((max(1, int(small.width * ratio)), max(1, int(small.height * ratio))))
    raise RefusedError("the image is too large")


def _presentable(image: Image.Image) -> Image.Image:
    """The image in a mode that a PNG can hold."""
    if image.mode in _PNG_MODES:
        return image
    if image.mode.startswith("I"):
        return image.convert("I").point(lambda value: value * (1 / 257)).convert("L")
    if image.mode == "F":
        return tone_map_plane(image)
    return image.convert("RGBA" if image.has_transparency_data else "RGB")


def _bytes_of(image: Image.Image, kind: str) -> bytes:
    out = io.BytesIO()
    if kind == "JPEG":
        image.save(out, kind, quality=85)
    else:
        image.save(out, kind)
    return out.getvalue()
