"""What the demo prints of events and messages."""

from tools.demo.screen import OUTPUT_LINES, show_messages, show_text, show_turn

USAGE = {"input_tokens": 4, "cache_read_input_tokens": 3, "output_tokens": 3}
EVENTS = (
    ("turn.started", {"source": "client"}),
    ("assistant_text.delta", {"text": "I "}),
    ("assistant_text.delta", {"text": "look.\x1b[2J"}),
    ("tool_call.executing", {"id": "c", "name": "file_read", "input": {}, "display_summary": "a.py"}),
    ("tool_call.completed", {"id": "c", "is_error": False, "content": [{"type": "text", "text": "x = 1\n"}]}),
    ("turn.finished", {"usage": USAGE}),
)


def test_turn_is_shown_as_it_happens_without_what_steers_a_terminal(capsys):
    event, _data = show_turn(EVENTS)
    shown = capsys.readouterr().out
    assert event == "turn.finished"
    assert "I look.[2J" in shown
    assert "> file_read a.py" in shown
    assert "| x = 1" in shown
    assert "(7 tokens read, 3 written)" in shown


def test_turn_without_events_has_no_terminal():
    assert show_turn(()) == ("", {})


def test_text_is_cut_after_some_lines(capsys):
    show_text("\n".join(f"line {number}" for number in range(OUTPUT_LINES + 3)), "| ")
    shown = capsys.readouterr().out.splitlines()
    assert shown[-1] == "| ... and 3 more lines"
    assert len(shown) == OUTPUT_LINES + 1


def test_messages_are_shown_a_line_a_block(capsys):
    call = {"type": "tool_use", "id": "c", "name": "file_read", "input": {"path": "a.py"}}
    result = {"type": "tool_result", "tool_use_id": "c", "content": [{"type": "text", "text": "x\ny"}]}
    show_messages([{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}])
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].split() == ["assistant", "tool_use", "file_read", "{'path':", "'a.py'}"]
    assert shown[1].split() == ["user", "tool_result", "x", "y"]
