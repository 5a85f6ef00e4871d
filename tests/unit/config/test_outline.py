"""Places of keys in a document."""

import pytest

from meka.config.outline import KeyPath, Position, outline, position_of

DOCUMENT = '''# = [not] a "key"
plain = 1
"quoted.key" = """
multi [line] = "text" \\
""""
dotted . inner = 'lit'

[table]  # comment = 1
list = [1, "]", { deep = "}" }, # "x" = [
  2 ]
date = 1979-05-27 07:32:00
inline = { a = 1, b.c = [ 3 ] }
[ spaced . "sub.x" ]
k = 1
[[many]]
n = 1
[many.child]
n = 2
[[many]]
n = 3
'''


@pytest.mark.parametrize(
    ("path", "line", "column"),
    [
        (("plain",), 2, 1),
        (("quoted.key",), 3, 1),
        (("dotted", "inner"), 6, 10),
        (("table",), 8, 2),
        (("table", "list"), 9, 1),
        (("table", "list", 1), 9, 12),
        (("table", "list", 2, "deep"), 9, 19),
        (("table", "list", 3), 10, 3),
        (("table", "date"), 11, 1),
        (("table", "inline", "b", "c"), 12, 21),
        (("spaced", "sub.x", "k"), 14, 1),
        (("many", 0, "n"), 16, 1),
        (("many", 0, "child", "n"), 18, 1),
        (("many", 1, "n"), 20, 1),
    ],
)
def test_key_is_found(path: KeyPath, line: int, column: int) -> None:
    assert position_of(DOCUMENT, path) == Position(line, column)


def test_table_above_stands_in_for_an_unknown_key() -> None:
    assert position_of(DOCUMENT, ("many", 1, "absent")) == Position(19, 1)


def test_unknown_path_has_no_position() -> None:
    assert position_of(DOCUMENT, ("absent",)) is None


def test_every_value_is_outlined_by_its_text() -> None:
    values = {entry.path: DOCUMENT[entry.value.start : entry.value.end] for entry in outline(DOCUMENT)}
    assert values[("plain",)] == "1"
    assert values[("table", "date")] == "1979-05-27 07:32:00"
    assert values[("table", "list", 2)] == '{ deep = "}" }'
    assert values[("dotted", "inner")] == "'lit'"


def test_windows_line_ends_are_counted() -> None:
    assert position_of("a = 1\r\n[t]\r\nb = 2\r\n", ("t", "b")) == Position(3, 1)
