"""An installation brought up over HTTP alone, on a file that held a token: what it says in the end."""

from pathlib import Path

from requests.structures import CaseInsensitiveDict

from tests.loopback_provider import LoopbackProvider
from tests.serving import Client, Server, say

TOKEN = "the-only-token-there-is"
START = f"""\
# The desktop app wrote this.

[serve]
docs = true  # for the generator

# Everything, for the app itself.
[[serve.tokens]]
token = "{TOKEN}"
scopes = ["sessions:r", "sessions:w", "config:r", "config:w"]
"""
FIRST = """\
# The desktop app wrote this.

[accounts.work]
backend = "openai-chat-completions"
base_url = "{base_url}"

[profiles.fast]
account = "work"
model = "small-1"
effort = "low"

[serve]
docs = true  # for the generator

# Everything, for the app itself.
[[serve.tokens]]
token = "the-only-token-there-is"
scopes = ["sessions:r", "sessions:w", "config:r", "config:w"]
"""
LAST = """\
# The desktop app wrote this.

default_profile = "deep"

[accounts.office]
backend = "openai-chat-completions"
base_url = "{base_url}"

# Cheap, and good enough for most.
[profiles.quick]
account = "office"
model = "small-2"
max_output_tokens = 2048

[profiles.deep]
account = "office"
model = "large-1"
fallbacks = ["quick"]

[serve]
docs = true  # for the generator

# Everything, for the app itself.
[[serve.tokens]]
token = "the-only-token-there-is"
scopes = ["sessions:r", "sessions:w", "config:r", "config:w"]
"""


def ask(client: Client, method: str, path: str, status: int, **body: object) -> None:
    answer = client.call(method, path, json=body or None)
    assert answer.status_code == status, answer.text


def test_installation_is_managed_over_http_and_its_file_stays_a_persons(tmp_path: Path) -> None:
    with LoopbackProvider(default=say("hello")) as upstream:
        server = Server(tmp_path, config=START, environ={"MEKA_MOCK_PROVIDER": ""})
        with server:
            file = tmp_path / "config" / "config.toml"
            client = server.client(TOKEN)
            assert client.call("GET", "/v1/health/ready").status_code == 503
            assert client.call("POST", "/v1/sessions", json={}).status_code == 422
            assert file.read_text() == START

            work = {"name": "work", "backend": "openai-chat-completions", "base_url": upstream.base_url}
            ask(client, "POST", "/v1/accounts", 201, **work, api_key="sk-of-the-app")
            fast = {"name": "fast", "account": "work", "model": "small-1", "effort": "low"}
            ask(client, "POST", "/v1/profiles", 201, **fast)
            assert file.read_text() == FIRST.format(base_url=upstream.base_url)
            assert client.call("GET", "/v1/health/ready").status_code == 200
            session_id = client.session()
            assert client.turn(session_id).status_code == 200

            file.write_text(
                file.read_text().replace(
                    "[profiles.fast]", "# Cheap, and good enough for most.\n[profiles.fast]"
                )
            )
            deep = {"name": "deep", "account": "work", "model": "large-1", "fallbacks": [" fast ", ""]}
            ask(client, "POST", "/v1/profiles", 201, **deep)
            changes = {"effort": None, "model": "small-2", "max_output_tokens": 2048}
            ask(client, "PATCH", "/v1/profiles/fast", 200, **changes)
            ask(client, "PATCH", "/v1/profiles/deep", 200, default=True)
            ask(client, "PATCH", "/v1/profiles/fast", 200, name="quick")
            ask(client, "PATCH", "/v1/accounts/work", 200, name="office")
            assert file.read_text() == LAST.format(base_url=upstream.base_url)

            assert client.call("GET", f"/v1/sessions/{session_id}").json()["profile"] == "quick"
            assert client.turn(client.session()).status_code == 200
            assert client.turn(session_id).status_code == 200
            assert [request.body["model"] for request in upstream.requests] == [
                "small-1", "large-1", "small-1",
            ]  # fmt: skip
            presented = {CaseInsensitiveDict(each.headers)["Authorization"] for each in upstream.requests}
            assert presented == {"Bearer sk-of-the-app"}
            client.http.close()
            assert server.stop() == 0
        assert "sk-of-the-app" not in "".join(server.log)
