"""`python -m tools.codegen` writes what is generated; with `--check` it only says what differs."""

import argparse
import difflib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tools.codegen import docs, document, events, operations, problems, types

_ROOT = Path(__file__).resolve().parents[2]
_SHOWN_LINES = 20
_SHOWN_WIDTH = 160


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the result is the exit status."""
    options = _parser().parse_args(arguments)
    try:
        outputs = generate(document.load(options.root / "openapi.yaml"))
    except (document.DocumentError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return check(options.root, outputs) if options.check else write(options.root, outputs)


def generate(source: document.Document) -> Mapping[str, str]:
    """The text of every generated file, by its path from the top level."""
    return {
        "meka/schema/openapi.json": document.render(source),
        "meka/schema/types.py": types.render(source),
        "meka/schema/operations.py": operations.render(source),
        "meka/schema/problems.py": problems.render(source),
        "meka/schema/events.py": events.render(source),
        **{f"docs/reference/{name}": page for name, page in docs.render(source).items()},
    }


def write(root: Path, outputs: Mapping[str, str]) -> int:
    """Write the files that differ, and say which."""
    for name, text in outputs.items():
        if _current(root / name) != text:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, "utf-8")
            print(f"wrote {name}")
    return 0


def check(root: Path, outputs: Mapping[str, str]) -> int:
    """Say what differs, and write nothing."""
    drifted = {name: text for name, text in outputs.items() if _current(root / name) != text}
    for name, text in drifted.items():
        print(_difference(name, _current(root / name), text))
    if drifted:
        print(f"{len(drifted)} of {len(outputs)} generated files differ from openapi.yaml; run `make gen`")
    return 1 if drifted else 0


def _difference(name: str, current: str | None, wanted: str) -> str:
    if current is None:
        return f"{name}: missing"
    names = f"{name} (committed)", f"{name} (generated)"
    lines = difflib.unified_diff(current.splitlines(), wanted.splitlines(), *names, lineterm="", n=1)
    shown = [line[:_SHOWN_WIDTH] for line in lines]
    rest = len(shown) - _SHOWN_LINES
    return "\n".join(shown[:_SHOWN_LINES] + ([f"... and {rest} more lines"] if rest > 0 else []))


def _current(path: Path) -> str | None:
    return path.read_text("utf-8") if path.exists() else None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.codegen", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a file differs")
    parser.add_argument("--root", type=Path, default=_ROOT, help="the top level of the project")
    return parser


if __name__ == "__main__":
    sys.exit(main())
