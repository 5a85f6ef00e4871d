"""Writes requirements-local.txt: the pins of requirements-local.in, with the hash of each platform's wheel.

pip-compile would resolve what those packages depend on, which is never installed (`--no-deps`), so pip itself
is asked, once a platform, which file it would take. `python -m tools.local_lock` prints the lock.
"""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

SOURCE = Path("requirements-local.in")
PYTHON = "3.11"
PLATFORMS = (
    "manylinux2014_x86_64",
    "manylinux2014_aarch64",
    "macosx_14_0_arm64",
    "macosx_14_0_x86_64",
)
HEADER = """\
# Made by `make lock` from requirements-local.in. Install it with
#   pip install --no-deps --require-hashes -r requirements-local.txt
"""


def read_pins(text: str) -> list[str]:
    """The `name==version` lines of a requirements file."""
    lines = (line.split("#")[0].strip() for line in text.splitlines())
    return [line for line in lines if line]


def ask_pip(pins: Sequence[str], platform: str) -> dict[str, Any]:
    """pip's report of what it would install on `platform`; nothing is installed."""
    command = [
        sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed", "--no-deps",
        "--only-binary", ":all:", "--python-version", PYTHON, "--platform", platform,
        "--target", "never-written", "--report", "-", *pins,
    ]  # fmt: skip
    finished = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    report: dict[str, Any] = json.loads(finished.stdout)
    return report


def hashes_in(report: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """(`name==version`, SHA-256 in hex) of each file in a report."""
    for item in report["install"]:
        metadata = item["metadata"]
        digest = item["download_info"]["archive_info"]["hashes"]["sha256"]
        yield f"{metadata['name'].lower()}=={metadata['version']}", digest


def render_lock(hashes: dict[str, set[str]]) -> str:
    """The lock file's text, in one order whatever order pip answered in."""
    lines = [HEADER]
    for pin, digests in sorted(hashes.items()):
        lines.append(
            " \\\n".join([pin, *(f"    --hash=sha256:{digest}" for digest in sorted(digests))]) + "\n"
        )
    return "".join(lines)


def main() -> None:
    """Ask for every platform and print the lock."""
    pins = read_pins(SOURCE.read_text())
    hashes: dict[str, set[str]] = {}
    for platform in PLATFORMS:
        for pin, digest in hashes_in(ask_pip(pins, platform)):
            hashes.setdefault(pin, set()).add(digest)
    sys.stdout.write(render_lock(hashes))


if __name__ == "__main__":
    main()
