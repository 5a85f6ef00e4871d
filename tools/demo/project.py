"""The folder that the demo works on: a small project with a bug and the test that shows it."""

from pathlib import Path

SOURCE = '''\
"""Adds up an invoice."""


def total(prices, discount_percent=0):
    """The sum of `prices` less the discount, rounded to cents."""
    return round(sum(prices) - discount_percent, 2)
'''
TEST = '''\
"""Run with `python3 -m unittest`."""

import unittest

from invoice import total


class TotalTest(unittest.TestCase):
    def test_sum_of_the_prices(self):
        self.assertEqual(total([19.99, 5.01]), 25)

    def test_discount_is_a_percentage(self):
        self.assertEqual(total([40, 10], discount_percent=10), 45)
'''
REPORT = "FIXES.md"


def make_project(folder: Path) -> None:
    """Write the files of the project into `folder`, which is made."""
    folder.mkdir()
    (folder / "invoice.py").write_text(SOURCE)
    (folder / "test_invoice.py").write_text(TEST)
    (folder / "README.md").write_text("# Invoice\n\nAdds up invoices. Its test: `python3 -m unittest`.\n")
