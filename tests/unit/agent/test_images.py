import io
import os
import struct
import zlib
from itertools import pairwise

import pytest
from PIL import Image

from meka.agent.images import MAX_IMAGE_BYTES, ImageError, load_image, sniff

SIZE = (24, 10)
COLOR = (200, 100, 50)


def saved(kind: str, mode: str = "RGB", size: tuple[int, int] = SIZE, **options: object) -> bytes:
    out = io.BytesIO()
    color: object = {"RGB": COLOR, "RGBA": (*COLOR, 128), "L": 100, "1": 1, "I;16": 30000, "F": 0.5}.get(
        mode, 0
    )
    Image.new(mode, size, color).save(out, kind, **options)
    return out.getvalue()


def opened(data: bytes) -> Image.Image:
    image = Image.open(io.BytesIO(data))
    image.load()
    return image


def png_claiming(width: int, height: int) -> bytes:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")


def farbfeld() -> bytes:
    pixel = struct.pack(">4H", *(value * 257 for value in (*COLOR, 255)))
    return b"farbfeld" + struct.pack(">II", *SIZE) + pixel * (SIZE[0] * SIZE[1])


def radiance(*, packed: bool, width: int = SIZE[0]) -> bytes:
    """Linear 0.5, 0.25 and 1.0: mantissas 128, 64 and 255 at exponent 128."""
    row = bytes((128, 64, 255, 128))
    if packed:
        channels = b"".join(bytes((4, *[value] * 4, 128 + width - 4, value)) for value in row)
        body = (struct.pack(">BBH", 2, 2, width) + channels) * SIZE[1]
    else:
        body = row * (width * SIZE[1])
    return b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y %d +X %d\n" % (SIZE[1], width) + body


def exr(compression: int, kind: int = 1, *, flags: int = 2) -> bytes:
    """Channels B, G and R of constant linear 1.0, 0.25 and 0.5."""

    def attribute(name: bytes, type_name: bytes, body: bytes) -> bytes:
        return name + b"\0" + type_name + b"\0" + struct.pack("<I", len(body)) + body

    width, height = SIZE
    channels = (
        b"".join(name + b"\0" + struct.pack("<4i", kind, 0, 1, 1) for name in (b"B", b"G", b"R")) + b"\0"
    )
    head = b"\x76\x2f\x31\x01" + struct.pack("<I", flags)
    head += attribute(b"channels", b"chlist", channels)
    head += attribute(b"compression", b"compression", bytes((compression,)))
    head += (
        attribute(b"dataWindow", b"box2i", struct.pack("<4i", 5, 7, 5 + width - 1, 7 + height - 1)) + b"\0"
    )
    form = {1: "<e", 2: "<f"}[kind]
    row = b"".join(struct.pack(form, value) * width for value in (1.0, 0.25, 0.5))
    rows_a_block = 16 if compression == 3 else 1
    blocks = []
    for first in range(0, height, rows_a_block):
        raw = row * min(rows_a_block, height - first)
        body = exr_packed(raw, compression)
        blocks.append(struct.pack("<iI", first + 7, len(body)) + body)
    offset = len(head) + 8 * len(blocks)
    table = b""
    for block in blocks:
        table += struct.pack("<Q", offset)
        offset += len(block)
    return head + table + b"".join(blocks)


def exr_packed(raw: bytes, compression: int) -> bytes:
    if compression == 0:
        return raw
    mixed = raw[::2] + raw[1::2]
    shifted = mixed[:1] + bytes((after - before + 128) & 255 for before, after in pairwise(mixed))
    if compression in (2, 3):
        return zlib.compress(shifted)
    out = b""  # run lengths: literal runs of up to 100 bytes, and one repeated byte
    for start in range(0, len(shifted) - 1, 100):
        piece = shifted[start : min(start + 100, len(shifted) - 1)]
        out += bytes((256 - len(piece),)) + piece
    return out + bytes((0, shifted[-1]))


@pytest.mark.parametrize(
    ("data", "hint", "media_type"),
    [
        (saved("PNG"), "", "image/png"),
        (saved("JPEG"), "image/png", "image/jpeg"),
        (saved("GIF"), "application/octet-stream", "image/gif"),
        (saved("WEBP"), "", "image/webp"),
        (saved("BMP"), "", "image/bmp"),
        (saved("TIFF"), "", "image/tiff"),
        (saved("ICO"), "", "image/x-icon"),
        (saved("PPM"), "", "image/x-portable-anymap"),
        (saved("QOI"), "", "image/qoi"),
        (saved("DDS"), "", "image/vnd.ms-dds"),
        (saved("TGA"), "", "image/x-tga"),
        (saved("TGA")[:-26], "", None),
        (saved("TGA")[:-26], ".tga", "image/x-tga"),
        (saved("TGA")[:-26], "image/x-targa", "image/x-tga"),
        (b"no such thing, but long enough", ".tga", None),
        (farbfeld(), "", "image/x-farbfeld"),
        (radiance(packed=True), "", "image/vnd.radiance"),
        (exr(0), "", "image/x-exr"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "image/svg+xml", None),
        (b"\0\0\0\x20ftypavif", "image/avif", None),
        (b"", "", None),
        (b"P", "", None),
        (b"Plain text", "", None),
    ],
)
def test_sniff_goes_by_the_bytes(data: bytes, hint: str, media_type: str | None) -> None:
    assert sniff(data, hint) == media_type


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP"])
def test_load_image_passes_on_what_providers_take(kind: str) -> None:
    data = saved(kind)
    image = load_image(data, "application/octet-stream")
    assert (image.media_type, image.data) == (f"image/{kind.lower()}", data)


@pytest.mark.parametrize(
    ("data", "pixel"),
    [
        (saved("BMP"), COLOR),
        (saved("TIFF"), COLOR),
        (saved("TIFF", "CMYK"), (255, 255, 255)),
        (saved("TIFF", "F"), 188),
        (saved("ICO"), COLOR),
        (saved("TGA"), COLOR),
        (saved("TGA", "RGBA"), (*COLOR, 128)),
        (saved("PPM"), COLOR),
        (saved("PPM", "1"), 255),
        (b"P2 24 10 65535\n" + b"65535 " * 240, None),
        (saved("QOI"), COLOR),
        (saved("DDS"), COLOR),
        (farbfeld(), (*COLOR, 255)),
        (radiance(packed=True), (188, 137, 255)),
        (radiance(packed=False), (188, 137, 255)),
        *((exr(compression, kind), (188, 137, 255)) for compression in range(4) for kind in (1, 2)),
    ],
)
def test_load_image_makes_a_png_of_the_rest(data: bytes, pixel: object) -> None:
    image = load_image(data)
    assert image.media_type == "image/png"
    picture = opened(image.data)
    assert picture.size in (SIZE, (16, 16))
    if pixel is not None:
        assert picture.getpixel((1, 1)) == pixel


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "unsupported image format"),
        (b"<svg/>", "unsupported image format"),
        (exr(4), "unsupported image format: EXR compressed with PIZ"),
        (exr(0, flags=2 | 0x200), "unsupported image format: EXR with tiles"),
        (radiance(packed=True).replace(b"-Y", b"+Y"), "unsupported image format: HDR in this orientation"),
        (saved("PNG")[:-30], "the image is broken"),
        (saved("JPEG")[:300], "the image is broken"),
        (b"GIF89a", "the image is broken"),
        (b"BM" + bytes(100), "the image is broken"),
        (b"farbfeld", "the image is broken"),
        (farbfeld()[:100], "the image is broken"),
        (radiance(packed=True)[:100], "the image is broken"),
        (exr(3)[:-20], "the image is broken"),
        (exr(0)[:60], "the image is broken"),
        (b"DDS " + bytes(200), "the image is broken"),
        (b"qoif" + struct.pack(">II", 5, 5), "the image is broken"),
        (png_claiming(50_000, 50_000), "the image is too large: 50000 x 50000 pixels"),
        (b"farbfeld" + struct.pack(">II", 1 << 31, 1 << 31), "the image is too large"),
        (b"P6 90000 90000 255\n", "the image is too large"),
    ],
)
def test_load_image_refuses(data: bytes, sentence: str) -> None:
    with pytest.raises(ImageError) as caught:
        load_image(data)
    assert str(caught.value).startswith(sentence)


@pytest.mark.parametrize(("mode", "media_type"), [("RGB", "image/jpeg"), ("RGBA", "image/png")])
def test_load_image_makes_a_large_one_smaller(mode: str, media_type: str) -> None:
    out = io.BytesIO()
    size = (1400, 1000)
    Image.frombytes(mode, size, os.urandom(size[0] * size[1] * len(mode))).save(out, "PNG", compress_level=0)
    assert len(out.getvalue()) > MAX_IMAGE_BYTES
    image = load_image(out.getvalue())
    assert image.media_type == media_type
    assert len(image.data) <= MAX_IMAGE_BYTES
    picture = opened(image.data)
    assert 300 < picture.width <= 1400


def test_max_image_bytes_is_five_mebibytes_of_base64() -> None:
    assert MAX_IMAGE_BYTES == 3_932_160
