"""`web_fetch`: a page as Markdown, as text, as an image, or what a regular expression finds in it."""

from collections.abc import Iterator, Mapping
from typing import Any

from meka.agent.images import ImageError, load_image
from meka.agent.tools.base import ToolContext, ToolError, ToolOutcome
from meka.agent.tools.patterns import Pattern, compile_pattern
from meka.agent.tools.web_client import Page, WebClient, shown_url
from meka.agent.tools.web_page import is_html, read_markdown, read_text
from meka.base.levels import Level
from meka.base.text import scrub

DEFAULT_LIMIT = 30_000
_TEXT_IMAGES = frozenset({"image/svg+xml"})


class WebFetchTool:
    """GETs one address through the client it was made with."""

    name = "web_fetch"
    description = (
        "GET a web page. HTML comes back as Markdown (raw: as it is), other text as it is, an image as an "
        "image. The body may be 10 MiB; the text is cut at limit characters."
    )
    parameters: Mapping[str, Any] = {
        "type": "object",
        "properties": {
            "url": {"type": "string", "description": "An http or https address."},
            "limit": {
                "type": "integer",
                "minimum": 0,
                "default": DEFAULT_LIMIT,
                "description": "Most characters to return, 0 for all.",
            },
            "headers": {
                "type": "object",
                "additionalProperties": {"type": "string"},
                "description": "Further request headers.",
            },
            "regex": {"type": "string", "description": "Return only what matches, one match a line."},
            "raw": {"type": "boolean", "default": False, "description": "Do not convert HTML to Markdown."},
        },
        "required": ["url"],
    }
    level = Level.READ
    summary_argument: str | None = "url"
    takes_scratchpad = True
    deferred = False
    serial = False

    def __init__(self, client: WebClient) -> None:
        self._client = client

    def run(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
        """Fetch one page. Raises: ToolError."""
        pattern = _pattern(arguments.get("regex"))
        page = self._client.fetch(
            scrub(arguments["url"]).strip(), arguments.get("headers") or {}, context.cancel
        )
        if page.media_type.startswith("image/") and page.media_type not in _TEXT_IMAGES:
            return _image(page, context)
        as_markdown = is_html(page) and not arguments.get("raw", False)
        text = read_markdown(page, context) if as_markdown else read_text(page, context)
        limit = arguments.get("limit", 0 if context.unlimited else DEFAULT_LIMIT)
        shown: str = context.run_blocking(_select, text, pattern, limit)
        return ToolOutcome(shown)


def _image(page: Page, context: ToolContext) -> ToolOutcome:
    try:
        image = load_image(page.body, page.media_type, context.cancel)
    except ImageError as error:
        raise ToolError(f"{shown_url(page.url)}: {error}") from error
    return ToolOutcome(f"[Image: {shown_url(page.url)}]", images=(image,))


def _pattern(regex: str | None) -> Pattern | None:
    return None if regex is None else compile_pattern(regex, whole_text=True)


def _select(text: str, pattern: Pattern | None, limit: int) -> str:
    """What matches, or all, cut at `limit` characters (0 = never) with a note of what is missing."""
    if pattern is not None:
        return _select_matches(pattern.find_all(text), limit)
    if not text:
        return "(the page is empty)"
    if not limit or len(text) <= limit:
        return text
    return f"{text[:limit]}\n\n... (showing first {limit} of {len(text)} characters)"


def _select_matches(matches: Iterator[str], limit: int) -> str:
    kept: list[str] = []
    room = limit
    for match in matches:
        kept.append(match)
        room -= len(match) + 1
        if limit and room < -1:
            text = "\n".join(kept)
            return f"{text[:limit]}\n\n... (showing first {limit} characters of the matches; there are more)"
    return "\n".join(kept) or "(no matches)"
