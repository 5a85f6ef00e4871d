"""`make demo`: one server, one session, two turns before your eyes, then read back over HTTP."""

import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NoReturn

from tools.demo.client import Client, DemoError
from tools.demo.endpoint import scripted_endpoint
from tools.demo.project import REPORT, make_project
from tools.demo.screen import say, show_messages, show_text, show_turn, show_turns, text_of
from tools.demo.script import REPLIES
from tools.demo.server import running_server

TASK = f"The test of this project fails. Find out why, repair it, and write what you did into {REPORT}."
QUESTION = "How does the function `total` take the discount now? Answer in one sentence."


def run_demo(home: Path) -> None:
    """The whole story, with everything it makes under `home`."""
    project = home / "invoice"
    make_project(project)
    say(f"A small project with a bug: {project}")
    with scripted_endpoint(REPLIES) as scripted_url:
        say("Starting meka on loopback, with its own folders and a fresh token.")
        with running_server(home, scripted_url) as client:
            session = open_session(client, project)
            let_script_repair(client, session, project)
            ask_embedded_model(client, session, project)
            read_back(client, session)
    say("\nThe server has drained and ended. Nothing is left running.")


def open_session(client: Client, project: Path) -> str:
    """A session on the project's folder, at the level that its tools need here."""
    record = client.post("/v1/sessions", {"working_directory": str(project), "permission": "workspace"})
    session = str(record["id"])
    say(f"Session {session} is open on that folder, at level workspace.")
    tools = client.get(f"/v1/sessions/{session}/tools")["tools"]
    needed = {tool["name"]: tool["required_permission"] for tool in tools}
    if needed["shell_execute"] == "unrestricted":
        say("No sandbox here (`apt-get install bubblewrap` brings one): level unrestricted, for this folder.")
        client.patch(f"/v1/sessions/{session}", {"permission": "unrestricted"})
    return session


def let_script_repair(client: Client, session: str, project: Path) -> None:
    """The first turn: a scripted model whose tool calls are run for real."""
    say("\n== Turn 1: a scripted model works on the files with meka's tools ==")
    run_turn(client, session, TASK)
    check = subprocess.run(
        [sys.executable, "-B", "-m", "unittest"], cwd=project, capture_output=True, check=False
    )
    if check.returncode != 0:
        raise DemoError(f"the project's test still fails:\n{check.stderr.decode()}")
    say("   Run by this demo itself, outside meka: the project's test passes now.")


def ask_embedded_model(client: Client, session: str, project: Path) -> None:
    """The second turn: the same session on the embedded model, about what the first one wrote."""
    say("\n== Turn 2: the embedded model (SmolLM2, 135 million parameters) reads what was written ==")
    client.patch(f"/v1/sessions/{session}", {"profile": "embedded"})
    report = (project / REPORT).read_text()
    question = f"Read this text:\n\n{report}\n{QUESTION}"
    show_text(question, "   ? ")
    say()
    run_turn(client, session, question)


def run_turn(client: Client, session: str, message: str) -> None:
    """Run a turn and show it as it happens."""
    events = client.stream(f"/v1/sessions/{session}/turn", {"message": message, "stream": True})
    event, data = show_turn(events)
    if event != "turn.finished":
        raise DemoError(f"the turn ended with {event}: {data}")


def read_back(client: Client, session: str) -> None:
    """What the server kept of it all."""
    messages: list[dict[str, Any]] = client.get(f"/v1/sessions/{session}/messages")["messages"]
    say(f"\n== Read back: GET /v1/sessions/{session}/messages ==")
    show_messages(messages)
    say(f"\n== Read back: GET /v1/sessions/{session}/turns, newest first ==")
    turns = client.get(f"/v1/sessions/{session}/turns")["turns"]
    show_turns(turns)
    if [turn.get("status") for turn in turns] != ["succeeded", "succeeded"]:
        raise DemoError("two turns should have succeeded")
    if not text_of(messages[-1]["content"]).strip():
        raise DemoError("the embedded model's answer is not in the history")


def _stop(signal_number: int, _frame: object) -> NoReturn:
    raise SystemExit(128 + signal_number)


def main() -> int:
    """0 when all went as promised, 1 when not, 130 when interrupted."""
    signal.signal(signal.SIGTERM, _stop)
    try:
        with tempfile.TemporaryDirectory(prefix="meka-demo-") as home:
            run_demo(Path(home).resolve())
    except DemoError as error:
        say(f"\nThat went wrong: {error}")
        return 1
    except KeyboardInterrupt:
        say("\nInterrupted; the server was stopped.")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
