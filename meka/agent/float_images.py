"""Readers for image formats that Pillow lacks: Radiance HDR and Farbfeld; OpenEXR is in `exr_images`.

High dynamic range is brought to eight bits by clipping at 1.0 and the sRGB curve; the work on pixels is
Pillow's, a plane at a time.
"""

import struct
from collections.abc import Callable
from typing import Any

from PIL import Image, ImageMath

CheckSize = Callable[[tuple[int, int]], None]


class UnsupportedError(Exception):
    """A variant of a format that these readers do not read; the argument says which."""


def read_farbfeld(data: bytes, check_size: CheckSize) -> Image.Image:
    """Sixteen bits a channel, RGBA, big-endian: the high bytes are the picture."""
    size = struct.unpack_from(">II", data, 8)
    check_size(size)
    high = data[16 : 16 + size[0] * size[1] * 8 : 2]
    return Image.frombytes("RGBA", size, high)


def read_radiance(data: bytes, check_size: CheckSize) -> Image.Image:
    """Radiance RGBE, new-style run lengths or flat pixels, in the usual orientation (-Y +X)."""
    head, _, rest = data.partition(b"\n\n")
    if b"32-bit_rle_xyze" in head:
        raise UnsupportedError("HDR in XYZE")
    resolution, _, body = rest.partition(b"\n")
    match resolution.split():
        case [b"-Y", rows, b"+X", columns]:
            size = (int(columns), int(rows))
        case _:
            raise UnsupportedError("HDR in this orientation")
    check_size(size)
    planes = _radiance_planes(body, *size)
    red, green, blue, exponent = (Image.frombytes("L", size, bytes(plane)) for plane in planes)
    return Image.merge("RGB", [_expose(plane, exponent) for plane in (red, green, blue)])


def _radiance_planes(body: bytes, width: int, height: int) -> list[bytearray]:
    if not (8 <= width < 32768 and body[:2] == b"\x02\x02"):
        flat = body[: width * height * 4]
        return [bytearray(flat[channel::4]) for channel in range(4)]
    planes = [bytearray() for _ in range(4)]
    at = 0
    for _ in range(height):
        if body[at : at + 4] != struct.pack(">BBH", 2, 2, width):
            raise ValueError("a scanline without its head")
        at += 4
        for plane in planes:
            at = _unpack_runs(body, at, width, plane)
    return planes


def _unpack_runs(body: bytes, at: int, width: int, plane: bytearray) -> int:
    """Append one scanline of one channel to `plane`; returns where the next begins."""
    left = width
    while left > 0:
        count = body[at]
        if count > 128:
            count -= 128
            plane.extend(body[at + 1 : at + 2] * count)
            at += 2
        else:
            plane.extend(body[at + 1 : at + 1 + count])
            at += 1 + count
        if count == 0:
            raise ValueError("an empty run")
        left -= count
    if left:
        raise ValueError("a run past the scanline's end")
    return at


def _expose(mantissa: Image.Image, exponent: Image.Image) -> Image.Image:
    """Eight-bit sRGB of `mantissa * 2 ** (exponent - 136)`, one exponent after another."""
    out = Image.new("L", mantissa.size, 0)
    for power, count in enumerate(exponent.histogram()):
        if not count or not power:
            continue
        table = [srgb((value + 0.5) * 2.0 ** (power - 136)) if value else 0 for value in range(256)]
        mask = exponent.point([255 if value == power else 0 for value in range(256)])
        out.paste(mantissa.point(table), mask=mask)
    return out


def srgb(linear: float) -> int:
    """Linear light, 0 to 1, as eight bits; what lies outside is clipped."""
    value = min(1.0, max(0.0, linear))
    curved = 12.92 * value if value <= 0.0031308 else 1.055 * value ** (1 / 2.4) - 0.055
    return int(curved * 255 + 0.5)


def tone_map_plane(plane: Image.Image) -> Image.Image:
    """A plane of floats as eight-bit sRGB."""
    scaled: Any = ImageMath.lambda_eval(
        lambda args: args["convert"](args["min"](args["max"](args["p"], 0.0), 1.0) * 65535.0, "I"), p=plane
    )
    image: Image.Image = scaled
    return image.point([srgb(value / 65535) for value in range(65536)], "L")
