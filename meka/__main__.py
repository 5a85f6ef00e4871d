"""`meka`: the entry point; gevent patches the standard library before anything else is imported."""

from gevent import monkey

monkey.patch_all()

import os  # noqa: E402
import sys  # noqa: E402

from meka.cli.main import run  # noqa: E402
from meka.cli.program import BootstrapProgram  # noqa: E402


def main() -> None:
    """Run the command line and leave with its exit code."""
    sys.exit(run(sys.argv[1:], BootstrapProgram(), os.environ))


if __name__ == "__main__":
    main()
