"""Managing the installation over HTTP: accounts, profiles, the file itself, instructions, projects."""

import json
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from meka.store import credentials, sessions
from meka.store.credentials import CredentialKind
from tests.contract.bench import TOKENS, Bench, running, slug_of
from tests.contract.checking import drives
from tests.serving import read_events

MODEL = {"account": "upstream", "model": "claude-test"}
KEYED = {"backend": "anthropic-messages", "api_key": "sk-first"}


def file_of(bench: Bench) -> Path:
    return bench.root / "config" / "config.toml"


def document_of(bench: Bench) -> dict[str, Any]:
    return tomllib.loads(file_of(bench).read_text())


@contextmanager
def edited(bench: Bench, old: str, new: str) -> Iterator[None]:
    """The file with a hand's edit in it, taken back afterwards."""
    before = file_of(bench).read_text()
    assert old in before
    file_of(bench).write_text(before.replace(old, new, 1))
    try:
        yield
    finally:
        file_of(bench).write_text(before)
        assert bench.client.call("POST", "/v1/config/reload").status_code == 200


def stored_key(bench: Bench, account: str) -> str | None:
    stored = bench.store.read(lambda tx: credentials.get(tx, account))
    return None if stored is None else str(stored.secret["api_key"])


def add_account(bench: Bench, name: str) -> None:
    answer = bench.client.call("POST", "/v1/accounts", json={"name": name, **KEYED})
    assert answer.status_code == 201, answer.text


def add_profile(bench: Bench, name: str, **settings: Any) -> None:
    answer = bench.client.call("POST", "/v1/profiles", json={"name": name, **MODEL, **settings})
    assert answer.status_code == 201, answer.text


# Accounts


@drives(("create_account", 201), ("get_account", 200), ("list_accounts", 200))
def test_account_is_added_with_its_key_in_the_store_alone(bench: Bench) -> None:
    body = {"name": "my key", "base_url": "http://127.0.0.1:1/v1", "client_id": None, **KEYED}
    answer = bench.client.call("POST", "/v1/accounts", json=body)
    view = answer.json()
    assert answer.headers["Location"] == "/v1/accounts/my%20key"
    assert view == {
        "name": "my key",
        "backend": "anthropic-messages",
        "base_url": "http://127.0.0.1:1/v1",
        "authenticated": "yes",
    }
    assert bench.client.call("GET", answer.headers["Location"]).json() == view
    assert view in bench.client.call("GET", "/v1/accounts").json()["accounts"]
    assert stored_key(bench, "my key") == "sk-first"
    assert "sk-first" not in file_of(bench).read_text()


@drives(("create_account", 422, "invalid-body"))
@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({"name": "upstream", **KEYED}, "already configured"),
        ({"name": " padded", **KEYED}, "whitespace"),
        ({"name": "a/b", **KEYED}, "/"),
        ({"name": "x", "backend": "anthropic-messages"}, "api_key"),
        ({"name": "x", **KEYED, "api_key": " "}, "api_key"),
        ({"name": "x", "backend": "claude-subscription", "api_key": "k"}, "no API key"),
        ({"name": "x", **KEYED, "stream_usage": True}, "never reads"),
        ({"name": "x", **KEYED, "base_url": "ftp://x"}, "base_url"),
        ({"name": "x", "backend": "telepathy"}, "`backend`"),
    ],
)
def test_account_is_refused_and_nothing_is_written(bench: Bench, body: dict[str, Any], named: str) -> None:
    before = file_of(bench).read_text()
    answer = bench.client.call("POST", "/v1/accounts", json=body)
    assert answer.status_code == 422
    assert named in answer.json()["detail"]
    assert file_of(bench).read_text() == before


@drives(("patch_account", 200))
def test_rename_of_an_account_moves_its_credential_and_its_profiles(bench: Bench) -> None:
    add_account(bench, "old")
    add_profile(bench, "mover", account="old")
    view = bench.client.call("PATCH", "/v1/accounts/old", json={"name": "new"}).json()
    assert (view["name"], view["authenticated"]) == ("new", "yes")
    assert document_of(bench)["profiles"]["mover"]["account"] == "new"
    assert (stored_key(bench, "old"), stored_key(bench, "new")) == (None, "sk-first")


@drives(
    ("delete_account", 204),
    ("delete_account", 422, "invalid-body"),
    ("delete_account", 404, "not-found"),
    ("get_account", 404, "not-found"),
)
def test_account_is_removed_once_no_profile_is_on_it(bench: Bench) -> None:
    add_account(bench, "leaving")
    add_profile(bench, "holder", account="leaving")
    assert "holder" in bench.client.call("DELETE", "/v1/accounts/leaving").json()["detail"]
    assert bench.client.call("DELETE", "/v1/profiles/holder").status_code == 204
    assert bench.client.call("DELETE", "/v1/accounts/leaving").status_code == 204
    assert stored_key(bench, "leaving") is None
    assert bench.client.call("GET", "/v1/accounts/leaving").status_code == 404
    assert bench.client.call("DELETE", "/v1/accounts/leaving").status_code == 404


@drives(("create_account", 422, "invalid-body"), ("patch_account", 422, "invalid-body"))
def test_orphaned_credential_is_listed_and_never_adopted(bench: Bench) -> None:
    bench.store.write(lambda tx: credentials.put(tx, "ghost", CredentialKind.API_KEY, {"api_key": "k"}))
    add_account(bench, "living")
    assert bench.client.call("GET", "/v1/accounts").json()["orphaned_credentials"] == ["ghost"]
    added = bench.client.call("POST", "/v1/accounts", json={"name": "ghost", **KEYED})
    renamed = bench.client.call("PATCH", "/v1/accounts/living", json={"name": "ghost"})
    for answer in (added, renamed):
        assert answer.status_code == 422
        assert "DELETE /v1/accounts/ghost" in answer.json()["detail"]
    assert bench.client.call("DELETE", "/v1/accounts/ghost").status_code == 204
    assert "orphaned_credentials" not in bench.client.call("GET", "/v1/accounts").json()


@drives(("list_accounts", 200))
def test_account_added_in_a_shell_claims_its_credential_before_it_is_served(bench: Bench) -> None:
    bench.store.write(lambda tx: credentials.put(tx, "shell", CredentialKind.API_KEY, {"api_key": "k"}))
    with edited(
        bench, "[accounts.absent]", '[accounts.shell]\nbackend = "openai-responses"\n[accounts.absent]'
    ):
        assert "orphaned_credentials" not in bench.client.call("GET", "/v1/accounts").json()
    bench.store.write(lambda tx: credentials.delete(tx, "shell"))


@drives(
    ("login_account", 200),
    ("login_account", 422, "invalid-body"),
    ("login_account", 404, "not-found"),
    ("patch_account", 404, "not-found"),
)
def test_rotated_key_is_presented_by_the_next_session(bench: Bench) -> None:
    add_account(bench, "rotating")
    answer = bench.client.call("POST", "/v1/accounts/rotating/login", json={"api_key": "sk-second"})
    assert answer.json()["authenticated"] == "yes"
    assert stored_key(bench, "rotating") == "sk-second"
    assert bench.client.call("POST", "/v1/accounts/rotating/login").status_code == 422
    assert bench.client.call("POST", "/v1/accounts/nobody/login", json={"api_key": "k"}).status_code == 404
    assert bench.client.call("PATCH", "/v1/accounts/nobody", json={"name": "x"}).status_code == 404


# Profiles


@drives(("create_profile", 201), ("get_profile", 200), ("submit_turn", 200))
def test_added_profile_serves_the_next_session(bench: Bench) -> None:
    body = {
        "name": "fresh", **MODEL, "effort": "high", "thinking": "budgeted", "thinking_budget": 2000,
        "max_output_tokens": 4000, "vision": None, "fallbacks": [" tiny ", "", "blind"],
    }  # fmt: skip
    answer = bench.client.call("POST", "/v1/profiles", json=body)
    detail = answer.json()
    assert answer.headers["Location"] == "/v1/profiles/fresh"
    assert (detail["active"], detail["vision"], detail["fallbacks"]) == (False, True, ["tiny", "blind"])
    assert bench.client.call("GET", "/v1/profiles/fresh").json() == detail
    assert bench.client.turn(bench.client.session(profile="fresh")).status_code == 200


@drives(("create_profile", 422, "invalid-body"))
@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({"name": "main"}, "already configured"),
        ({"name": "x", "account": "nobody"}, "no account named 'nobody'"),
        ({"name": "x", "model": " "}, "no model"),
        ({"name": "x", "thinking_display": "redacted"}, "never sends"),
        ({"name": "x", "fallbacks": ["nowhere"]}, "nowhere"),
        ({"name": "x", "thinking": "hard"}, "`thinking`"),
        ({"name": "x", "context_window": 0}, "context_window"),
    ],
)
def test_profile_is_refused_and_nothing_is_written(bench: Bench, body: dict[str, Any], named: str) -> None:
    before = file_of(bench).read_text()
    answer = bench.client.call("POST", "/v1/profiles", json=MODEL | body)
    assert answer.status_code == 422
    assert named in answer.json()["detail"]
    assert file_of(bench).read_text() == before


@drives(("patch_profile", 200))
def test_patch_keeps_removes_and_sets_in_one_write(bench: Bench) -> None:
    add_profile(bench, "shaped", effort="low", max_output_tokens=100, context_window=5000)
    before = file_of(bench).read_text()
    body = {"effort": "", "max_output_tokens": None, "vision": False, "thinking": "off"}
    detail = bench.client.call("PATCH", "/v1/profiles/shaped", json=body).json()
    stated = document_of(bench)["profiles"]["shaped"]
    assert stated == {**MODEL, "context_window": 5000, "vision": False, "thinking": "off"}
    assert {key: detail[key] for key in stated} == stated
    assert (
        file_of(bench).read_text().partition("[profiles.shaped]")[0]
        == before.partition("[profiles.shaped]")[0]
    )


@drives(("patch_profile", 422, "invalid-body"), ("patch_profile", 404, "not-found"))
@pytest.mark.parametrize(
    "body",
    [
        {"default": False},
        {"name": "other", "effort": "low"},
        {"model": None},
        {"model": ""},
        {"account": None},
        {"thinking": "hard"},
        {"fallbacks": ["nowhere"]},
        {"name": "main"},
    ],
)
def test_patch_of_a_profile_is_refused(bench: Bench, body: dict[str, Any]) -> None:
    if "stays" not in document_of(bench)["profiles"]:
        add_profile(bench, "stays")
    assert bench.client.call("PATCH", "/v1/profiles/stays", json=body).status_code == 422
    assert bench.client.call("PATCH", "/v1/profiles/nowhere", json=body | {"name": "x"}).status_code in (
        404,
        422,
    )
    assert bench.client.call("PATCH", "/v1/profiles/nowhere", json={}).status_code == 404


@drives(("patch_profile", 200))
def test_rename_moves_sessions_loaded_or_not(bench: Bench) -> None:
    add_profile(bench, "before")
    add_profile(bench, "leaning", fallbacks=["before"])
    loaded, stored = bench.client.session(profile="before"), bench.stored_session(profile="before")
    with bench.client.call("GET", f"/v1/sessions/{loaded}/stream", stream=True) as feed:
        answer = bench.client_with("without-mcp:r").call(
            "PATCH", "/v1/profiles/before", json={"name": "after"}
        )
        assert answer.json()["name"] == "after"
        event = next(read_events(feed))
    assert (event.name, event.data["profile"]) == ("session.updated", "after")
    for session_id in (loaded, stored):
        assert bench.client.call("GET", f"/v1/sessions/{session_id}").json()["profile"] == "after"
    assert document_of(bench)["profiles"]["leaning"]["fallbacks"] == ["after"]
    assert bench.client.turn(loaded).status_code == 200


@drives(
    ("delete_profile", 204),
    ("delete_profile", 404, "not-found"),
    ("delete_profile", 422, "invalid-body"),
    ("get_profile", 404, "not-found"),
)
def test_profile_is_removed_unless_something_names_it(bench: Bench) -> None:
    add_profile(bench, "target")
    add_profile(bench, "pointer", fallbacks=["target"])
    assert "'pointer'" in bench.client.call("DELETE", "/v1/profiles/target").json()["detail"]
    assert '"default": true' in bench.client.call("DELETE", "/v1/profiles/main").json()["detail"]
    session_id = bench.client.session(profile="pointer")
    assert bench.client.call("DELETE", "/v1/profiles/pointer").status_code == 204
    assert bench.client.call("GET", "/v1/profiles/pointer").status_code == 404
    assert bench.client.call("DELETE", "/v1/profiles/pointer").status_code == 404
    assert bench.client.call("GET", f"/v1/sessions/{session_id}").json()["profile"] == "pointer"


@drives(("ready", 503), ("create_profile", 201), ("patch_profile", 200), ("ready", 200))
def test_empty_installation_is_brought_up_over_http(tmp_path: Path) -> None:
    with running(tmp_path) as bench:
        client = bench.client
        with edited(bench, file_of(bench).read_text().partition("[permissions]")[0], ""):
            assert client.call("POST", "/v1/config/reload").status_code == 200
            assert client.call("GET", "/v1/health/ready").status_code == 503
            refused = client.call("POST", "/v1/sessions", json={})
            assert "no profile configured" in refused.json()["detail"]
            client.call("DELETE", "/v1/accounts/upstream")
            add_account(bench, "mine")
            for name in ("one", "two"):
                add_profile(bench, name, account="mine")
                assert client.call("GET", "/v1/profiles/one").json()["active"] is True
            assert document_of(bench)["default_profile"] == "one"
            client.call("PATCH", "/v1/profiles/two", json={"default": True})
            assert client.call("GET", "/v1/profiles/two").json()["active"] is True
            assert client.call("GET", "/v1/health/ready").status_code == 200
            assert client.call("DELETE", "/v1/profiles/one").status_code == 204
            assert client.call("DELETE", "/v1/profiles/two").status_code == 204
            assert "default_profile" not in document_of(bench)


@drives(("patch_profile", 422, "invalid-body"), ("delete_profile", 422, "invalid-body"))
def test_profile_of_the_command_line_is_protected(tmp_path: Path) -> None:
    with running(tmp_path, arguments=["--profile", "blind"]) as bench:
        client = bench.client
        for method, path, body in [
            ("PATCH", "/v1/profiles/blind", {"name": "seeing"}),
            ("PATCH", "/v1/profiles/tiny", {"default": True}),
            ("DELETE", "/v1/profiles/blind", None),
        ]:
            answer = client.call(method, path, json=body)
            assert answer.status_code == 422
            assert "--profile blind" in answer.json()["detail"]
        assert client.call("PATCH", "/v1/profiles/blind", json={"effort": "low"}).json()["active"] is True


# The file


@drives(("get_config", 200), ("reload_config", 200))
def test_reload_serves_what_a_shell_wrote_and_names_what_waits_for_a_restart(bench: Bench) -> None:
    before = bench.client.call("GET", "/v1/config").json()
    assert before["config_path"] == str(file_of(bench))
    assert (before["config_changed"], before["restart_required"]) == (False, [])
    with edited(
        bench,
        "[permissions]\n",
        '[profiles.byhand]\naccount = "upstream"\nmodel = "m"\n[thinking]\nbudget = 9\n'
        "[permissions]\napprovals = true\n",
    ):
        changed = bench.client.call("GET", "/v1/config").json()
        assert (changed["config_changed"], changed["restart_required"]) == (True, ["permissions"])
        assert changed["config_loaded_at"] == before["config_loaded_at"]
        assert bench.client.call("GET", "/v1/profiles/byhand").status_code == 404
        reloaded = bench.client.call("POST", "/v1/config/reload").json()
        assert reloaded["restart_required"] == ["permissions"]
        assert reloaded["config_loaded_at"] > before["config_loaded_at"]
        assert bench.client.call("GET", "/v1/profiles/byhand").status_code == 200
        assert bench.client.call("GET", "/v1/config").json()["config_changed"] is False


@drives(("reload_config", 422, "invalid-body"), ("create_profile", 422, "invalid-body"))
@pytest.mark.parametrize(
    ("written", "named"),
    [
        ("secret = sk-not-quoted\n", "line"),
        ('[web]\nproxy = "gopher://x"\n', "web.proxy"),
        ('[[mcp.servers]]\nname = "x"\ntransport = "stdio"\n', "'x'"),
        ('[profiles.lost]\naccount = "upstream"\nmodel = "m"\nfallbacks = ["sk-none"]\n', "lost"),
        ('[[serve.tokens]]\ntoken = "${NEVER_SET}"\nscopes = []\n', "NEVER_SET"),
        ("[[accounts.x]]\nsk-value = 1\n", "accounts"),
    ],
)
def test_file_that_cannot_be_served_refuses_every_write(bench: Bench, written: str, named: str) -> None:
    with edited(bench, "[permissions]\n", written + "[permissions]\n"):
        text = file_of(bench).read_text()
        for method, path, body in [
            ("POST", "/v1/config/reload", None),
            ("POST", "/v1/profiles", {"name": "x", **MODEL}),
            ("PATCH", "/v1/profiles/main", {"effort": "low"}),
            ("DELETE", "/v1/profiles/blind", None),
            ("POST", "/v1/accounts", {"name": "x", **KEYED}),
            ("PATCH", "/v1/accounts/absent", {"name": "y"}),
            ("DELETE", "/v1/accounts/absent", None),
            ("POST", "/v1/accounts/absent/login", {"api_key": "k"}),
            ("PUT", "/v1/instructions", {"content": "x"}),
        ]:
            answer = bench.client.call(method, path, json=body)
            assert answer.status_code == 422, path
            assert named in answer.json()["detail"]
            assert "sk-not-quoted" not in answer.text
        assert file_of(bench).read_text() == text
        assert bench.client.turn(bench.client.session()).status_code == 200


@drives(("get_config", 200))
def test_unparsable_file_is_reported_as_changed_without_sections(bench: Bench) -> None:
    with edited(bench, "[permissions]", "[permissions\n"):
        state = bench.client.call("GET", "/v1/config").json()
        assert (state["config_changed"], state["restart_required"]) == (True, [])


# Tokens


def test_removed_token_is_refused_at_once_and_its_streams_end(bench: Bench) -> None:
    client = bench.client_with("without-memory:r")
    session_id = client.session()
    feed = client.call("GET", f"/v1/sessions/{session_id}/stream", stream=True)
    server_feed = client.call("GET", "/v1/stream", stream=True)
    with edited(bench, 'token = "without-memory:r"', 'token = "somebody else"'):
        assert client.call("GET", "/v1/info").status_code == 200
        assert bench.client.call("POST", "/v1/config/reload").status_code == 200
        assert client.call("GET", "/v1/info").status_code == 401
        assert list(read_events(feed)) == []
        assert all(event.name.startswith("session.") for event in read_events(server_feed))
    assert client.call("GET", "/v1/info").status_code == 200


def test_token_that_loses_a_scope_loses_the_streams_that_need_it(bench: Bench) -> None:
    scopes = json.dumps(["sessions:r"])
    client = bench.client_with("without-memory:w")
    session_id = client.session()
    keeping = client.call("GET", f"/v1/sessions/{session_id}/stream", stream=True)
    server_feed = client.call("GET", "/v1/stream", stream=True)
    old = f'token = "without-memory:w"\nscopes = {json.dumps(TOKENS["without-memory:w"])}'
    with edited(bench, old, f'token = "without-memory:w"\nscopes = {scopes}'):
        assert bench.client.call("POST", "/v1/config/reload").status_code == 200
        assert list(read_events(keeping)) == []
        reader = client.call("GET", f"/v1/sessions/{session_id}/stream", stream=True)
        bench.client.call("PATCH", f"/v1/sessions/{session_id}", json={"title": "still read"})
        assert next(read_events(reader)).name == "session.updated"
        updates = (event for event in read_events(server_feed) if event.name == "session.updated")
        assert any(event.data["title"] == "still read" for event in updates)
    reader.close()
    server_feed.close()


# Instructions and projects


@drives(("get_instructions", 200), ("put_instructions", 200), ("put_instructions", 409, "store-read-only"))
def test_instructions_are_written_and_told_with_their_place_to_who_may_know(bench: Bench) -> None:
    file = bench.root / "config" / "instructions.md"
    assert bench.client.call("GET", "/v1/instructions").json()["writable"] is True
    body = {"content": "Answer in verse."}
    written = bench.client.call("PUT", "/v1/instructions", json=body).json()
    assert written == {
        "content": "Answer in verse.", "writable": True, "path": str(file), "source": "instructions.md",
    }  # fmt: skip
    bench.upstream.requests.clear()
    bench.client.turn(bench.client.session())
    assert "Answer in verse." in json.dumps(bench.upstream.requests[-1].body["system"])
    assert bench.client.call("PUT", "/v1/instructions", json={"content": " "}).json().get("content") is None
    assert not file.exists()
    (bench.root / "config" / "instructions").mkdir()
    (bench.root / "config" / "instructions" / "a.md").write_text("Above.")
    refused = bench.client.call("PUT", "/v1/instructions", json=body)
    assert (refused.status_code, slug_of(refused)) == (409, "store-read-only")
    assert "instructions/" in refused.json()["detail"]
    bench.client.call("POST", "/v1/config/reload")
    told = bench.client.call("GET", "/v1/instructions").json()
    assert (told["content"], told["writable"]) == ("Above.", False)
    (bench.root / "config" / "instructions" / "a.md").unlink()
    bench.client.call("POST", "/v1/config/reload")


@drives(
    ("list_projects", 200),
    ("create_project", 201),
    ("create_project", 422, "invalid-body"),
    ("create_session", 201),
    ("create_session", 422, "invalid-body"),
    ("patch_session", 200),
    ("list_sessions", 200),
)
def test_session_is_filed_under_a_project_there_is(bench: Bench) -> None:
    client = bench.client
    refused = client.call("POST", "/v1/sessions", json={"project": "web"})
    assert refused.json()["detail"] == "no project named 'web' (configured: none)"
    for name in ("web", "ops"):
        assert client.call("POST", "/v1/projects", json={"name": name}).json()["name"] == name
    listed = client.call("GET", "/v1/projects").json()["projects"]
    assert [project["name"] for project in listed] == ["web", "ops"]
    for name in ("web", " x", ""):
        assert client.call("POST", "/v1/projects", json={"name": name}).status_code == 422
    refused = client.call("POST", "/v1/sessions", json={"project": "x"})
    assert refused.json()["detail"] == "no project named 'x' (configured: web, ops)"
    session_id = client.session(project="web")
    stored = bench.stored_session()
    assert client.call("PATCH", f"/v1/sessions/{stored}", json={"project": "web"}).json()["project"] == "web"
    page = client.call("GET", "/v1/sessions", params={"project": "web"}).json()["sessions"]
    assert {each["id"] for each in page} == {session_id, stored}
    assert bench.store.read(lambda tx: sessions.get(tx, session_id)) is not None
