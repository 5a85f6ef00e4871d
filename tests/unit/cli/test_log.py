"""Log lines."""

import logging

from meka.cli.log import FieldFormatter


def test_line_ends_with_its_fields() -> None:
    record = logging.makeLogRecord(
        {"msg": "turn %s", "args": ("ended",), "levelname": "INFO", "session_id": "s1", "turn_id": 2}
    )
    assert (
        FieldFormatter("%(levelname)s %(message)s").format(record)
        == "INFO turn ended session_id=s1 turn_id=2"
    )


def test_line_without_fields_is_the_message() -> None:
    record = logging.LogRecord("meka", logging.INFO, "", 0, "hello", None, None)
    assert FieldFormatter("%(name)s: %(message)s").format(record) == "meka: hello"


def test_field_with_line_breaks_stays_on_its_line() -> None:
    record = logging.makeLogRecord({"msg": "failed", "upstream": "<html>\n2026 WARNING forged\r\n</html>"})
    line = FieldFormatter("%(message)s").format(record)
    assert line == "failed upstream=<html> 2026 WARNING forged </html>"
