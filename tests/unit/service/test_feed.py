"""Readers of a feed and how they end."""

from meka.service.feed import Feed, Reader


def names_of(reader: Reader) -> list[str]:
    """What a reader is handed until it has nothing more, by event name."""
    frames = reader.next_frames(0.01) or []
    return [frame.decode().partition("\n")[0].removeprefix("event: ") for frame in frames]


def test_reader_of_a_turn_has_its_terminal_when_the_feed_ends_at_once() -> None:
    feed = Feed(1, 256, {"session_id": "s"})
    reader = feed.attach("t")
    feed.publish("turn.started", {}, "t")
    feed.publish("turn.canceled", {"reason": "server_shutdown"}, "t", terminal=True)
    feed.end()
    assert names_of(reader) == ["turn.started", "turn.canceled"]
    assert reader.next_frames(0.01) is None


def test_reader_of_a_turn_ends_with_its_terminal() -> None:
    feed = Feed(1, 256, {"session_id": "s"})
    reader = feed.attach("t")
    feed.publish("turn.finished", {}, "t", terminal=True)
    feed.publish("turn.started", {}, "u")
    assert names_of(reader) == ["turn.finished"]
    assert reader.next_frames(0.01) is None


def test_reader_that_left_is_handed_nothing_more() -> None:
    feed = Feed(1, 256, {"session_id": "s"})
    reader = feed.attach("t")
    reader.close()
    reader.close()
    feed.publish("turn.started", {}, "t")
    assert feed.readers == 0
