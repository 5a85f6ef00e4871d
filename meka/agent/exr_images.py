"""A reader for OpenEXR with one part of scanlines: uncompressed, RLE, ZIPS or ZIP.

The library that reads the rest needs 80 MB of packages; such files are refused with a sentence that says why.
"""

import itertools
import math
import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

from PIL import Image

from meka.agent.float_images import CheckSize, UnsupportedError, srgb, tone_map_plane


class _Channel(NamedTuple):
    name: str
    kind: int


_UINT, _HALF, _FLOAT = 0, 1, 2
_KIND_BYTES = {_UINT: 4, _HALF: 2, _FLOAT: 4}
_NONE, _RLE, _ZIPS, _ZIP = 0, 1, 2, 3
_BLOCK_ROWS = {_NONE: 1, _RLE: 1, _ZIPS: 1, _ZIP: 16}
_COMPRESSIONS = ("none", "RLE", "ZIPS", "ZIP", "PIZ", "PXR24", "B44", "B44A", "DWAA", "DWAB")


def read_exr(data: bytes, check_size: CheckSize) -> Image.Image:
    """OpenEXR with one part of scanlines: uncompressed, RLE, ZIPS or ZIP; half, float or uint channels."""
    flags = struct.unpack_from("<I", data, 4)[0] >> 8
    if flags & 0b11010:
        raise UnsupportedError("EXR with tiles, deep pixels or several parts")
    attributes, at = _exr_attributes(data)
    left, top, right, bottom = struct.unpack("<4i", attributes["dataWindow"])
    width, height = right - left + 1, bottom - top + 1
    check_size((width, height))
    compression = attributes["compression"][0]
    if compression not in _BLOCK_ROWS:
        raise UnsupportedError(f"EXR compressed with {_COMPRESSIONS[min(compression, 9)]}")
    channels = list(_exr_channels(attributes["channels"]))
    planes: dict[str, bytearray] = {
        channel.name: bytearray(width * height * _KIND_BYTES[channel.kind]) for channel in channels
    }
    blocks = -(-height // _BLOCK_ROWS[compression])
    for offset in struct.unpack_from(f"<{blocks}Q", data, at):
        _read_exr_block(data, offset, compression, channels, planes, (width, height), top)
    return _exr_picture(channels, planes, (width, height))


def _exr_attributes(data: bytes) -> tuple[dict[str, bytes], int]:
    attributes: dict[str, bytes] = {}
    at = 8
    while data[at]:
        name, at = _exr_name(data, at)
        _, at = _exr_name(data, at)
        (size,) = struct.unpack_from("<I", data, at)
        attributes[name] = data[at + 4 : at + 4 + size]
        at += 4 + size
    return attributes, at + 1


def _exr_name(data: bytes, at: int) -> tuple[str, int]:
    end = data.index(b"\0", at)
    return data[at:end].decode("latin-1"), end + 1


def _exr_channels(data: bytes) -> Iterator[_Channel]:
    at = 0
    while data[at]:
        name, at = _exr_name(data, at)
        kind, _, x_sampling, y_sampling = struct.unpack_from("<4i", data, at)
        if (x_sampling, y_sampling) != (1, 1):
            raise UnsupportedError("EXR with subsampled channels")
        at += 16
        yield _Channel(name, kind)


def _read_exr_block(
    data: bytes,
    offset: int,
    compression: int,
    channels: list[_Channel],
    planes: dict[str, bytearray],
    size: tuple[int, int],
    top: int,
) -> None:
    width, height = size
    first, packed_bytes = struct.unpack_from("<iI", data, offset)
    first -= top
    rows = min(_BLOCK_ROWS[compression], height - first)
    row_bytes = sum(_KIND_BYTES[channel.kind] for channel in channels) * width
    raw = _unpack_exr(data[offset + 8 : offset + 8 + packed_bytes], compression, rows * row_bytes)
    if first < 0 or len(raw) != rows * row_bytes:
        raise ValueError("a block of the wrong size")
    at = 0
    for row in range(first, first + rows):
        for channel in channels:
            count = width * _KIND_BYTES[channel.kind]
            planes[channel.name][row * count : (row + 1) * count] = raw[at : at + count]
            at += count


def _unpack_exr(packed: bytes, compression: int, expected_bytes: int) -> bytes:
    if compression == _NONE or len(packed) == expected_bytes:
        return packed
    if compression == _RLE:
        mixed = _unpack_exr_runs(packed, expected_bytes)
    else:
        mixed = zlib.decompressobj().decompress(packed, expected_bytes)
    shifted = mixed[:1] + mixed[1:].translate(bytes((value + 128) % 256 for value in range(256)))
    summed = bytes(total & 255 for total in itertools.accumulate(shifted))
    half = (len(summed) + 1) // 2
    out = bytearray(len(summed))
    out[::2], out[1::2] = summed[:half], summed[half:]
    return bytes(out)


def _unpack_exr_runs(packed: bytes, expected_bytes: int) -> bytes:
    out = bytearray()
    at = 0
    while at < len(packed) and len(out) <= expected_bytes:
        count = packed[at]
        if count > 127:
            out.extend(packed[at + 1 : at + 257 - count])
            at += 257 - count
        else:
            out.extend(packed[at + 1 : at + 2] * (count + 1))
            at += 2
    return bytes(out)


def _exr_picture(
    channels: list[_Channel], planes: dict[str, bytearray], size: tuple[int, int]
) -> Image.Image:
    kinds = {channel.name.rpartition(".")[2]: channel for channel in reversed(channels)}
    shown = ("R", "G", "B") if {"R", "G", "B"} <= kinds.keys() else ("Y",)
    if shown == ("Y",) and "Y" not in kinds:
        shown = (next(iter(kinds)),)
    pictures = [_exr_plane(kinds[name], planes, size) for name in shown]
    return Image.merge("RGB", pictures) if len(pictures) == 3 else pictures[0]


def _exr_plane(channel: _Channel, planes: dict[str, bytearray], size: tuple[int, int]) -> Image.Image:
    raw = bytes(planes[channel.name])
    if channel.kind == _HALF:
        halves = struct.unpack("<65536e", struct.pack("<65536H", *range(65536)))
        table = [srgb(value) if not math.isnan(value) else 0 for value in halves]
        return Image.frombytes("I;16", size, raw).convert("I").point(table, "L")
    if channel.kind == _FLOAT:
        return tone_map_plane(Image.frombytes("F", size, raw, "raw", "F;32F"))
    return Image.frombytes("I", size, raw, "raw", "I;32").point(lambda value: value * 1).convert("L")
