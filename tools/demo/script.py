"""What the scripted model says in the first turn: a reply a round, most with one call of a real tool."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tools.demo.project import REPORT

TEST_COMMAND = "python3 -B -m unittest 2>&1"
REPORT_TEXT = """\
# Fixes

The function `total` in `invoice.py` subtracted the discount as an amount of money.
It now takes the discount as a percentage of the sum.
Both tests pass.
"""


@dataclass(frozen=True, slots=True)
class Reply:
    """One round: words, then a call (or none, which ends the turn)."""

    text: str
    tool: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)


REPLIES = (
    Reply("I run the test to see it fail.", "shell_execute", {"command": TEST_COMMAND}),
    Reply("The discount is off. Where is it computed?", "file_search", {"pattern": "discount"}),
    Reply("In invoice.py, which I read.", "file_read", {"path": "invoice.py"}),
    Reply(
        "The percentage is subtracted as if it were money. I correct that line.",
        "file_edit",
        {
            "path": "invoice.py",
            "old_string": "sum(prices) - discount_percent",
            "new_string": "sum(prices) * (1 - discount_percent / 100)",
        },
    ),
    Reply("Once more the test.", "shell_execute", {"command": TEST_COMMAND}),
    Reply("It passes. I write down what I did.", "file_write", {"path": REPORT, "content": REPORT_TEXT}),
    Reply(f"Done: the discount is a percentage now, both tests pass, and {REPORT} says what was wrong."),
)
