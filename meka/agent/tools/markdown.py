"""HTML to Markdown; also a worker, for pages whose conversion must be able to be ended.

The converter lets other threads run meanwhile (5 MB hold them up for 15 ms), but a page that is made to be
slow (it is quadratic in an element's attributes) keeps it busy for a minute, and a native thread cannot be
ended.
"""

from html_to_markdown import ConversionOptions, InlineDataMedia, PreprocessingOptions, convert

from meka.agent.childside import send, take_request


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
    """Convert the payload. Shape: `base_url` in the request, UTF-8 both ways."""
    request, html = take_request()
    send(to_markdown(html.decode(), request["base_url"]).encode())
