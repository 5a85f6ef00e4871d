"""A start that is refused says what to mend, and a server that runs reads its file again on SIGHUP."""

import json
import signal
import socket
from pathlib import Path

import pytest

from tests.cases.support import eventually
from tests.serving import Server, say


def refusal(server: Server) -> str:
    """What a server said that did not start."""
    with pytest.raises(AssertionError):
        server.start()
    assert server.process.wait(10) == 1
    server._reader.join(5)
    server.process.stderr.close()  # type: ignore[union-attr]
    said = "".join(server.log)
    assert "Traceback" not in said
    return said


def test_address_that_is_taken_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        said = refusal(Server(tmp_path, arguments=["--bind", address]))
    assert f"error: --bind {address} cannot be listened on: Address already in use" in said


def test_profile_that_is_not_configured_is_refused(tmp_path: Path) -> None:
    assert "error: --profile: no profile named 'zz'" in refusal(
        Server(tmp_path, arguments=["--profile", "zz"])
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [(None, "No such file"), ("{", "is no JSON"), (json.dumps({"foo": 1}), "is no array of rounds")],
)
def test_script_that_cannot_be_played_is_named(tmp_path: Path, text: str | None, sentence: str) -> None:
    script = tmp_path / "rounds.json"
    if text is not None:
        script.write_text(text)
    said = refusal(Server(tmp_path, environ={"MEKA_MOCK_PROVIDER_SCRIPT": str(script)}))
    assert "error: MEKA_MOCK_PROVIDER_SCRIPT: " in said
    assert str(script) in said
    assert sentence in said


def test_hangup_reads_the_configuration_again(tmp_path: Path) -> None:
    with Server(tmp_path, [say("ok")]) as server:
        path = tmp_path / "config" / "config.toml"
        good = path.read_text()
        path.write_text(good + '\n[profiles.more]\naccount = "mock"\nmodel = "m"\n')
        server.process.send_signal(signal.SIGHUP)
        client = server.client()
        eventually(lambda: "more" in client.call("GET", "/v1/profiles").text, "the new profile is there")
        path.write_text("[[broken")
        server.process.send_signal(signal.SIGHUP)
        eventually(lambda: any("was not reloaded" in line for line in server.log), "the refusal is logged")
        assert client.turn(client.session()).status_code == 200
