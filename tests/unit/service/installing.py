"""A whole program on an installation in a directory, for tests of what manages it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from meka.agent.providers.scripted import ScriptedProvider
from meka.bootstrap import Core, load_installation, open_core
from meka.config.options import RunOptions
from tests.fakes import FakeClock

CONFIG = """\
# By hand.
[accounts.pro]
backend = "claude-subscription"
client_id = "ours"
oauth_token_url = "{token_url}"

[accounts.gpt]
backend = "chatgpt-subscription"
client_id = "ours"
oauth_token_url = "{token_url}"

[profiles.main]
account = "pro"
model = "m"
"""


@contextmanager
def installed(root: Path, text: str | None, clock: FakeClock | None = None) -> Iterator[Core]:
    """The program on a file of that text, or on none."""
    (root / "config").mkdir()
    if text is not None:
        config_of(root).write_text(text)
    environ = {"MEKA_CONFIG_DIR": str(root / "config"), "MEKA_DATA_DIR": str(root / "data")}
    reader, loaded = load_installation(RunOptions(environ), serving=False)
    with open_core(reader, loaded, clock=clock or FakeClock(), provider=ScriptedProvider()) as core:
        yield core


def config_of(root: Path) -> Path:
    """Where the file is."""
    return root / "config" / "config.toml"
