"""What became of a fetched page: its text, whatever the charset says, and HTML as Markdown."""

import codecs
import re

from meka.agent.cancel import Cancel
from meka.agent.tools import markdown
from meka.agent.tools.base import ToolContext, ToolError
from meka.agent.tools.web_client import Page, shown_url
from meka.agent.worker import WorkerStoppedError, run_worker
from meka.base.text import scrub

CONVERT_SECONDS = 20.0
_INLINE_CHARACTERS = 256 * 1024
_SLICE_BYTES = 1 << 16
_SNIFFED_BYTES = 4096
_HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
_HTML_OPENING = re.compile(rb"\s*(<!--.*?-->\s*)?<(!doctype html|html)[\s>]", re.IGNORECASE | re.DOTALL)
_META_CHARSET = re.compile(rb"<meta[^>]{0,200}charset=[\"' ]*([a-z0-9_:.-]{1,40})", re.IGNORECASE)
_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_TEXT_CODECS = re.compile(
    r"(utf-(8|16|32)|ascii|iso8859|cp\d|koi8|gb|big5|euc|shift_jis|iso2022|johab|mac-|tis-620|hz|ptcp|kz1048)"
)


def is_html(page: Page) -> bool:
    """Whether the page says so or, when it says nothing, looks so."""
    if page.media_type:
        return page.media_type in _HTML_TYPES
    return _HTML_OPENING.match(page.body, 0, 1024) is not None


def read_text(page: Page, context: ToolContext) -> str:
    """The body as text. Raises: ToolError when it is none."""
    if (
        not page.media_type.startswith("text/")
        and b"\x00" in page.body[:_SNIFFED_BYTES]
        and not _has_bom(page.body)
    ):
        kind = page.media_type or "unknown type"
        raise ToolError(f"{shown_url(page.url)} is binary ({kind}, {len(page.body)} bytes)")
    text: str = context.run_blocking(decode_body, page.body, choose_charset(page))
    return text


def read_markdown(page: Page, context: ToolContext) -> str:
    """An HTML page as Markdown, a large one through a process that can be ended.

    Raises: ToolError, CanceledError.
    """
    html = read_text(page, context)
    if len(html) > _INLINE_CHARACTERS:
        return _convert_in_child(html, page.url, context.cancel)
    try:
        converted: str = context.run_blocking(markdown.to_markdown, html, page.url)
    except Exception as error:
        raise _unconverted(page.url) from error
    return converted


def choose_charset(page: Page) -> str:
    """The byte order mark's, the header's, the page's own or UTF-8, whichever is first and known."""
    for mark, charset in _BOMS:
        if page.body.startswith(mark):
            return charset
    stated = _META_CHARSET.search(page.body, 0, _SNIFFED_BYTES) if is_html(page) else None
    candidates: tuple[str | None, ...] = (page.charset, stated[1].decode("ascii") if stated else None)
    for charset in filter(None, candidates):
        if _is_text_codec(charset):
            return charset
    return "utf-8"


def decode_body(body: bytes, charset: str) -> str:
    """`body` as text, slice by slice so that other threads get their turn; what is invalid becomes U+FFFD."""
    decoder = codecs.getincrementaldecoder(charset)("replace")
    view = memoryview(body)
    pieces = [decoder.decode(view[at : at + _SLICE_BYTES]) for at in range(0, len(body), _SLICE_BYTES)]
    pieces.append(decoder.decode(b"", final=True))
    return scrub("".join(pieces))


def _has_bom(body: bytes) -> bool:
    return any(body.startswith(mark) for mark, _ in _BOMS)


def _is_text_codec(charset: str) -> bool:
    """Python also knows codecs that are no charsets, some of them slow enough to stop the server."""
    try:
        return _TEXT_CODECS.match(codecs.lookup(charset).name) is not None
    except (LookupError, ValueError):
        return False


def _convert_in_child(html: str, base_url: str, cancel: Cancel) -> str:
    converted = bytearray()
    try:
        run_worker(
            markdown.__name__,
            {"base_url": base_url},
            html.encode(),
            on_output=converted.extend,
            seconds=CONVERT_SECONDS,
            cancel=cancel,
        )
    except WorkerStoppedError as error:
        raise _unconverted(base_url) from error
    return converted.decode()


def _unconverted(url: str) -> ToolError:
    return ToolError(f"{shown_url(url)} could not be converted to Markdown; fetch it with raw: true")
