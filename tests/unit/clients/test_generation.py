"""The generated client: as the document has it, and its table of events whole."""

from pathlib import Path

import pytest
from meka_client import feed_events, models

from tools.clients.__main__ import check, known_models, render_events
from tools.codegen import document

ROOT = Path(__file__).parents[3]
CLIENT = ROOT / "clients/python/meka_client"


def test_events_are_those_of_the_document() -> None:
    source = document.load(ROOT / "openapi.yaml")
    assert list(feed_events.MODELS) == list(source.events)
    assert feed_events.MODELS["feed.gap"] is models.FeedGapEvent
    rendered = render_events(source, known_models(CLIENT))
    assert rendered == (CLIENT / "feed_events.py").read_text("utf-8")


def test_events_without_a_class_are_refused() -> None:
    with pytest.raises(KeyError, match=r"TurnStartedEvent of turn\.started"):
        render_events(document.load(ROOT / "openapi.yaml"), frozenset())


def test_check_names_files_that_differ_or_are_on_one_side_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made, committed = tmp_path / "made", tmp_path / "committed"
    for root in (made, committed):
        (root / "api").mkdir(parents=True)
        (root / "api/same.py").write_text("same")
        (root / "api/other.py").write_text(root.name)
    (made / "new.py").touch()
    (committed / "old.py").touch()
    assert check(made, committed) == 1
    printed = capsys.readouterr().out.splitlines()
    assert printed[:-1] == [f"clients: {name} differs" for name in ("api/other.py", "new.py", "old.py")]
    assert check(made, made) == 0
