"""HTML to Markdown; also a program of its own, for pages whose conversion must be able to be ended.

As a program (`python -I markdown.py`) it imports nothing of meka: it reads a base URL on a line and HTML
after it, and writes Markdown. The converter lets other threads run meanwhile (5 MB hold them up for 15 ms at
most), but a page made to be slow (it is quadratic in an element's attributes) keeps it busy for a minute.
"""

import sys

from html_to_markdown import ConversionOptions, InlineDataMedia, PreprocessingOptions, convert


def to_markdown(html: str, base_url: str) -> str:
    """The page's body as Markdown: no head, scripts or styles; navigation kept; links absolute."""
    options = ConversionOptions(
        extract_metadata=False,
        preprocessing=PreprocessingOptions(enabled=False),
        inline_data_media=InlineDataMedia.ALT_TEXT_ONLY,
        base_url=base_url,
    )
    content: str | None = convert(html, options).content
    return (content or "").strip()


def main() -> None:
    """Convert what stands on standard input."""
    base_url, _, html = sys.stdin.buffer.read().partition(b"\n")
    sys.stdout.buffer.write(to_markdown(html.decode(), base_url.decode()).encode())


if __name__ == "__main__":
    main()
