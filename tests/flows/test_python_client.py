"""The generated Python client: it drives a server, its types hold, and it installs as one package."""

import shutil
import subprocess
import sys
import uuid
import zipfile
from pathlib import Path

from meka_client import AuthenticatedClient
from meka_client.api.messages import list_messages
from meka_client.api.sessions import create_session, get_session, list_sessions
from meka_client.api.turns import get_turn, submit_turn
from meka_client.models import (
    CreateSessionRequest,
    ListSessionsResponse,
    MessagesResponse,
    ProblemDetail,
    SessionResponse,
    StopReason,
    TextBlock,
    TurnRecord,
    TurnRequest,
    TurnResponse,
    TurnStatus,
)
from meka_client_stream import run_turn

from tests.serving import TOKEN, Server, say

ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "clients/python"


def test_generated_client_drives_a_server(tmp_path: Path) -> None:
    with (
        Server(tmp_path, rounds=(say("one"), say("two"))) as server,
        AuthenticatedClient(base_url=server.base_url, token=TOKEN) as client,
    ):
        session = create_session.sync(client=client, body=CreateSessionRequest())
        assert isinstance(session, SessionResponse)
        listed = list_sessions.sync(client=client)
        assert isinstance(listed, ListSessionsResponse)
        assert [each.id for each in listed.sessions] == [session.id]

        turn = submit_turn.sync(session.id, client=client, body=TurnRequest(message="first"))
        assert isinstance(turn, TurnResponse)
        assert turn.stop_reason is StopReason.END_TURN
        record = get_turn.sync(session.id, turn.turn_id, client=client)
        assert isinstance(record, TurnRecord)
        assert record.status is TurnStatus.SUCCEEDED

        streamed = list(run_turn(client.get_httpx_client(), str(session.id), {"message": "second"}))
        assert streamed[-1].name == "turn.finished"

        history = list_messages.sync(session.id, client=client)
        assert isinstance(history, MessagesResponse)
        blocks = [block for message in history.messages for block in message.content]
        texts = [block.text for block in blocks if isinstance(block, TextBlock)]
        assert texts == ["first", "one", "second", "two"]


def test_generated_client_reads_a_refusal(tmp_path: Path) -> None:
    with Server(tmp_path) as server, AuthenticatedClient(base_url=server.base_url, token=TOKEN) as client:
        refused = get_session.sync(uuid.uuid4(), client=client)
    assert isinstance(refused, ProblemDetail)
    assert (refused.status, refused.type_.rpartition("/")[2]) == (404, "session-not-found")


def test_client_and_what_uses_it_pass_the_type_check(tmp_path: Path) -> None:
    done = check_types(tmp_path, CLIENT / "meka_client", CLIENT / "meka_client_stream", CLIENT / "examples")
    assert done.returncode == 0, done.stdout
    done = check_types(tmp_path, Path(__file__))
    assert done.returncode == 0, done.stdout


def test_type_check_refuses_a_field_that_the_contract_has_not(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text('from meka_client.models import TurnRequest\nTurnRequest(massage="first")\n')
    done = check_types(tmp_path, wrong)
    assert done.returncode == 1, done.stdout
    assert 'Unexpected keyword argument "massage"' in done.stdout


def check_types(tmp_path: Path, *sources: Path) -> subprocess.CompletedProcess[str]:
    """mypy as the project has it, with the client where an installation would have it."""
    config = tmp_path / "mypy.ini"
    config.write_text(
        f"[mypy]\nstrict = True\nmypy_path = {CLIENT}:{ROOT}\ncache_dir = {tmp_path / 'cache'}\n"
    )
    command = [sys.executable, "-m", "mypy", "--config-file", str(config), *map(str, sources)]
    return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)


def test_client_wheel_carries_both_packages_and_says_that_they_are_typed(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    shutil.copytree(CLIENT, tree, ignore=shutil.ignore_patterns("__pycache__", "build", "*.egg-info"))
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path)]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    sources = {
        path.relative_to(CLIENT).as_posix()
        for package in ("meka_client", "meka_client_stream")
        for path in (CLIENT / package).rglob("*.py")
    }
    assert sources <= names
    assert {"meka_client/py.typed", "meka_client_stream/py.typed"} <= names
    assert not [name for name in names if name.startswith("examples")]
