"""Images that enter a session: told by their bytes, checked, made PNG where providers do not take the format.

Decoding runs in a child process: a broken or hostile image can cost that child its life and nothing else.
"""

import json
from collections.abc import Mapping
from typing import Any

from meka.agent.cancel import Cancel
from meka.agent.tools.base import ImageData
from meka.agent.worker import WorkerStoppedError, run_worker

MAX_IMAGE_BYTES = 5 * 1024 * 1024 * 3 // 4
"""3.75 MB: what one image may hold when it is handed to a provider (5 MiB as base64)."""

MAX_PIXELS = 50_000_000
CONVERSION_SECONDS = 30.0
_WORKER = "meka.agent.image_worker"

PASSED_THROUGH = ("image/png", "image/jpeg", "image/gif", "image/webp")
_EXTENSIONS: Mapping[str, tuple[str, ...]] = {
    "image/png": (".png",),
    "image/jpeg": (".jpg", ".jpeg", ".jpe", ".jfif"),
    "image/gif": (".gif",),
    "image/webp": (".webp",),
    "image/bmp": (".bmp", ".dib"),
    "image/tiff": (".tif", ".tiff"),
    "image/x-icon": (".ico",),
    "image/vnd.radiance": (".hdr",),
    "image/x-exr": (".exr",),
    "image/x-tga": (".tga",),
    "image/x-portable-anymap": (".pnm", ".pbm", ".pgm", ".ppm", ".pam"),
    "image/qoi": (".qoi",),
    "image/vnd.ms-dds": (".dds",),
    "image/x-farbfeld": (".ff", ".farbfeld"),
}
IMAGE_EXTENSIONS = frozenset(extension for each in _EXTENSIONS.values() for extension in each)

_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"BM", "image/bmp"),
    (b"II*\0", "image/tiff"),
    (b"MM\0*", "image/tiff"),
    (b"II+\0", "image/tiff"),
    (b"MM\0+", "image/tiff"),
    (b"\0\0\1\0", "image/x-icon"),
    (b"#?RADIANCE", "image/vnd.radiance"),
    (b"#?RGBE", "image/vnd.radiance"),
    (b"\x76\x2f\x31\x01", "image/x-exr"),
    (b"qoif", "image/qoi"),
    (b"DDS ", "image/vnd.ms-dds"),
    (b"farbfeld", "image/x-farbfeld"),
)
_TGA_HINTS = ("tga", "targa")
_TGA_KINDS = (1, 2, 3, 9, 10, 11)


class ImageError(Exception):
    """Bytes that are no image that can be used; its sentence can be shown."""


def sniff(data: bytes, hint: str = "") -> str | None:
    """The media type that the bytes themselves tell, or None for no format that is supported.

    `hint` (a media type or a file's extension) is heard only for TGA, which has no mark of its own.
    """
    for magic, media_type in _MAGIC:
        if data.startswith(magic):
            return media_type
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    if _is_anymap(data):
        return "image/x-portable-anymap"
    is_named_tga = any(name in hint.lower() for name in _TGA_HINTS)
    if data[-18:] == b"TRUEVISION-XFILE.\0" or (is_named_tga and _is_plausible_tga(data)):
        return "image/x-tga"
    return None


def load_image(data: bytes, hint: str = "", cancel: Cancel | None = None) -> ImageData:
    """The image as a provider takes it: whole, at most `MAX_IMAGE_BYTES` (a larger one is made smaller).

    Waits for a child process, letting the hub run. Raises: ImageError; CanceledError.
    """
    media_type = sniff(data, hint)
    if media_type is None:
        raise ImageError("unsupported image format")
    answer = bytearray()
    request = {
        "media_type": media_type,
        "passes": media_type in PASSED_THROUGH,
        "max_bytes": MAX_IMAGE_BYTES,
        "max_pixels": MAX_PIXELS,
    }
    try:
        run_worker(_WORKER, request, data, on_output=answer.extend, seconds=CONVERSION_SECONDS, cancel=cancel)
    except WorkerStoppedError as error:
        raise ImageError("the image could not be decoded") from error
    return _read_answer(bytes(answer), data, media_type)


def _read_answer(answer: bytes, data: bytes, media_type: str) -> ImageData:
    head, _, body = answer.partition(b"\n")
    report: dict[str, Any] = json.loads(head)
    if "error" in report:
        raise ImageError(report["error"])
    if report["kept"]:
        return ImageData(media_type, data)
    return ImageData(report["media_type"], body)


def _is_anymap(data: bytes) -> bool:
    return len(data) > 3 and data[:1] == b"P" and data[1:2] in b"1234567" and data[2:3] in b" \t\r\n#"


def _is_plausible_tga(data: bytes) -> bool:
    if len(data) < 19:
        return False
    has_map, kind, depth = data[1], data[2], data[16]
    return has_map in (0, 1) and kind in _TGA_KINDS and depth in (8, 15, 16, 24, 32)
