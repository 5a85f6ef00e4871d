"""Images that no longer fit a profile's `max_request_bytes`: the oldest are replaced by a text, for good.

The conversation records it once, so that every later request begins with the same words and a client reads
what the model was last sent.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from meka.agent.blocks import Block, Image, Text, ToolResult
from meka.agent.conversation import Entry
from meka.agent.providers.base import ProviderError
from meka.agent.turn import Turn, TurnPorts

MOST_FREED_BYTES = 6 * 1024 * 1024
"""How far below the ceiling a request is brought (at most half of it), so that the next image fits too."""


@dataclass(frozen=True, slots=True)
class Redaction:
    """What is replaced: new contents by seq. `freed_bytes` is what that takes off a request, roughly."""

    contents: Mapping[int, tuple[Block, ...]]
    images: int
    freed_bytes: int


def make_room(turn: Turn, ports: TurnPorts, error: ProviderError) -> bool:
    """Take the oldest images out of a conversation that is too large to send; False when that cannot help."""
    if error.oversize is None or not ports.provider.sends_images:
        return False
    size, ceiling = error.oversize
    goal = size - ceiling + min(MOST_FREED_BYTES, ceiling // 2)
    redaction = plan(ports.conversation.entries[:-1], goal, ports)
    if not redaction.images or size - redaction.freed_bytes > ceiling:
        return False
    ports.conversation.redact(redaction.contents)
    replaced = {entry.seq: entry for entry in ports.conversation.entries}
    turn.entries = [replaced.get(entry.seq, entry) for entry in turn.entries]
    noun = "image was" if redaction.images == 1 else "images were"
    ports.notify(
        "info",
        f"{redaction.images} {noun} removed from the conversation to fit the request into {ceiling} bytes "
        f"({redaction.freed_bytes} bytes)",
    )
    return True


def plan(entries: list[Entry], goal_bytes: int, ports: TurnPorts) -> Redaction:
    """The oldest images that together take this much, or all there are."""
    contents: dict[int, tuple[Block, ...]] = {}
    images = freed = 0
    for entry in entries:
        content = entry.message.content
        for place, size in _images(content, ports):
            if freed >= goal_bytes:
                return Redaction(contents, images, freed)
            content = _without(content, place)
            contents[entry.seq] = content
            images, freed = images + 1, freed + size
    return Redaction(contents, images, freed)


Place = tuple[int, int | None]
"""Where an image is: its block, and where it is in that result."""


def _images(content: tuple[Block, ...], ports: TurnPorts) -> Iterator[tuple[Place, int]]:
    """The images that a request carries, each with the bytes it takes there."""
    for position, block in enumerate(content):
        if isinstance(block, Image):
            yield (position, None), _size(block, ports)
        elif isinstance(block, ToolResult) and ports.provider.sends_result_images:
            for inner, item in enumerate(block.content):
                if isinstance(item, Image):
                    yield (position, inner), _size(item, ports)


def _size(image: Image, ports: TurnPorts) -> int:
    """As base64."""
    data = ports.load_image(image.hash)
    return 0 if data is None else (len(data) + 2) // 3 * 4


def _without(content: tuple[Block, ...], place: Place) -> tuple[Block, ...]:
    position, inner = place
    block = content[position]
    if isinstance(block, ToolResult):
        items = tuple(
            _stand_in(item) if at == inner and isinstance(item, Image) else item
            for at, item in enumerate(block.content)
        )
        block = replace(block, content=items)
    elif isinstance(block, Image):
        block = _stand_in(block)
    return (*content[:position], block, *content[position + 1 :])


def _stand_in(image: Image) -> Text:
    return Text(f"[An image ({image.media_type}) was removed here, so that the request fits its size limit.]")
