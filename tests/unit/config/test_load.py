"""config.toml read: what it holds, each refusal with its place, each warning."""

from pathlib import Path

import pytest

from meka.base.errors import ConfigurationError
from meka.base.levels import Level
from meka.config.load import LoadedConfig, load_config, load_text
from meka.config.model import Config, Mcp, Serve, WebhookEvent

FILE = Path("/etc/meka/config.toml")
TOKEN = '[[serve.tokens]]\ntoken = "${T}"\nscopes = ["sessions:r"]\n'
HOOK = '[[serve.webhooks]]\nurl = "https://h.example/x"\nsecret = "${T}"\nevents = ["turn.finished"]\n'
SERVER = '[[mcp.servers]]\nname = "s"\ntransport = "stdio"\ncommand = "run"\n'
HTTP_SERVER = '[[mcp.servers]]\nname = "s"\ntransport = "http"\nurl = "https://m.example"\n'
AUTH = HTTP_SERVER + "[mcp.servers.auth]\n"
ACCOUNT = '[accounts.a]\nbackend = "anthropic-messages"\n'
CHAT = '[accounts.a]\nbackend = "openai-chat-completions"\n'
PROFILE = '[profiles.p]\naccount = "a"\nmodel = "m"\n'
ENVIRON = {"T": "sk-token", "EMPTY": ""}


def load(text: str) -> LoadedConfig:
    """`text` beside a token that works, as the server loads it."""
    return load_text(text + "\n" + TOKEN, FILE, ENVIRON)


def refusal(text: str, *, serving: bool = True) -> str:
    with pytest.raises(ConfigurationError) as caught:
        load_text(text, FILE, ENVIRON, serving=serving)
    return caught.value.detail


def test_missing_file_is_an_empty_configuration(tmp_path: Path) -> None:
    loaded = load_config(tmp_path / "config.toml", {}, serving=False)
    assert loaded.config == Config()
    assert loaded.warnings == ()


def test_defaults_are_the_documented_ones() -> None:
    serve, mcp = Serve(), Mcp()
    assert (serve.bind, serve.max_body_bytes, serve.stream_replay_events) == ("127.0.0.1:8080", 10485760, 256)
    assert (serve.idle_timeout, serve.gc_scan_interval, serve.inbox_retry_ceiling) == (86400, 300, 3600)
    assert (serve.relay_provider_errors, serve.docs, serve.delete_on_idle) == (True, False, False)
    assert (mcp.grace, mcp.connect_timeout, mcp.stdio_concurrency, mcp.http_concurrency) == (3, 30, 3, 20)
    config = Config()
    assert (config.memory.inline_max_bytes, config.session.context_ceiling_percent) == (16384, 85)
    assert config.permissions.default is Level.READ
    assert config.schedule.claim_lease == 3600


def test_every_section_is_read() -> None:
    loaded = load(
        ACCOUNT
        + PROFILE
        + SERVER
        + '[mcp.servers.env]\nK = "v"\n[mcp.servers.tool_permissions]\nt = "read"\n'
        '[permissions]\ndefault = "workspace"\napprovals = true\n[shell]\nsandbox_backend = "landlock"\n'
        '[tools]\ndisabled_tools = ["x"]\n[tools.tool_permissions]\ny = "none"\n[subagents]\n'
        'agent_chosen_profile = true\n[instructions]\nfiles = ["A.md"]\n[skills]\nextra_paths = ["~/s"]\n'
        "[memory]\ninline_max_bytes = 0\n[schedule]\nmax_jobs = 3\n[background]\nenabled = true\n[session]\n"
        'retention = "90d"\nturn_retention = "30d"\n[thinking]\nbudget = 9\n[web]\nproxy = "socks5h://p:1"\n'
        '[display]\nstream = false\nmax_width = 80\n[serve]\nstream_reattach_grace = "0s"\n' + HOOK
    )
    config = loaded.config
    assert config.mcp.servers[0].env == {"K": "v"}
    assert config.mcp.servers[0].tool_permissions == {"t": Level.READ}
    assert config.session.turn_retention == 30 * 86400
    assert config.tools.tool_permissions == {"y": Level.NONE}
    assert config.display.stream is False
    assert config.serve.stream_reattach_grace == 0
    assert loaded.webhooks[0].events == {WebhookEvent.TURN_FINISHED}
    assert loaded.document["thinking"] == {"budget": 9}


REFUSALS = [
    # grammar of the whole file
    ("[serve]\nbindd = 1\n", "line 2, column 1: unknown key 'bindd' in [serve]"),
    ("nonsense = 1\n", "line 1, column 1: unknown key 'nonsense' at the top level"),
    ("[nosuch]\n", "line 1, column 2: unknown key 'nosuch' at the top level"),
    ("[accounts.a]\nbackend = 'local'\nkey = 1\n", "line 3, column 1: unknown key 'key' in [accounts.a]"),
    ("[mcp]\nstrict = true\n", "line 2, column 1: unknown key 'strict'"),
    ("[thinking]\nbudget_tokens = 1\n", "unknown key 'budget_tokens'"),
    ("[session]\ncontext_messages = 1\n", "unknown key 'context_messages'"),
    ("[serve]\nidle_timeout_seconds = 1\n", "unknown key 'idle_timeout_seconds'"),
    ("serve = 3\n", "line 1, column 1: serve must be a table"),
    ("[serve]\nbind = 3\n", "line 2, column 1: serve.bind must be a string"),
    ("[serve]\ndocs = 1\n", "serve.docs must be true or false"),
    ("[serve]\nmax_body_bytes = true\n", "serve.max_body_bytes must be a whole number"),
    ("[serve]\nmax_body_bytes = 1.0\n", "serve.max_body_bytes must be a whole number"),
    ("[serve]\nmax_body_bytes = 9223372036854775808\n", "must fit a signed 64-bit integer"),
    ("[serve]\nidle_timeout = 30\n", 'serve.idle_timeout must be a duration in quotes, such as "30s"'),
    ('[serve]\nidle_timeout = "30"\n', "serve.idle_timeout: a duration needs a unit"),
    (
        '[permissions]\ndefault = "Read"\n',
        "permissions.default must be none, read, workspace or unrestricted",
    ),
    ('[permissions]\nenabled = "read"\n', "permissions.enabled must be an array"),
    ('[shell]\nsandbox_backend = "jail"\n', "shell.sandbox_backend must be landlock, bubblewrap or"),
    ("[accounts.a]\nbase_url = 'x'\n", "[accounts.a] needs the key 'backend'"),
    ("[mcp]\nservers = [1]\n", "line 2, column 12: mcp.servers[0] must be a table"),
    (
        "[tools]\ndisabled_tools = [\n  'a',\n  3,\n]\n",
        "line 4, column 3: tools.disabled_tools[1] must be a string",
    ),
    # accounts and profiles
    (ACCOUNT + '[profiles.p]\naccount = " "\n', "profile 'p' names no account"),
    ('[accounts.a]\nbackend = "opencode-go"\n' + PROFILE, "line 2, column 1: account 'a' names the backend"),
    (ACCOUNT + PROFILE + 'thinking = "Adaptive"\n', "profiles.p.thinking must be adaptive, budgeted or off"),
    (
        ACCOUNT + PROFILE + 'thinking = "budgeted"\nmax_output_tokens = 16000\n',
        "must exceed the thinking budget",
    ),
    (
        ACCOUNT + PROFILE + 'thinking = "budgeted"\nthinking_budget = 10\nmax_output_tokens = 10\n',
        "(10) must exceed",
    ),
    (ACCOUNT + PROFILE + 'fallbacks = ["nope"]\n', "line 6, column 1: profile 'p' falls back to 'nope'"),
    (
        ACCOUNT + PROFILE + 'fallbacks = ["q"]\n[profiles.q]\naccount = "a"\n',
        "profile 'p' cannot fall back to 'q': profile 'q' has no model",
    ),
    (
        ACCOUNT + PROFILE + 'fallbacks = ["q"]\n[profiles.q]\naccount = "gone"\nmodel = "m"\n',
        "profile 'p' cannot fall back to 'q': profile 'q' is on the account 'gone', which is not configured",
    ),
    (ACCOUNT + PROFILE + "context_window = 0\n", "profiles.p.context_window must be at least 1"),
    (ACCOUNT + PROFILE + 'deferred_tools = "x"\n', "profiles.p.deferred_tools must be native"),
    ('default_profile = " "\n', "default_profile names no profile"),
    # MCP servers
    (SERVER.replace('"s"', '"a__b"'), "line 2, column 1: an MCP server's name is letters"),
    (SERVER.replace('"s"', '"a b"'), "an MCP server's name is letters"),
    (SERVER.replace('"s"', '"meka"'), "the MCP server name 'meka' is reserved"),
    (SERVER.replace('"s"', '"mcp_x"'), "the MCP server name 'mcp_x' is reserved"),
    (SERVER + SERVER, "line 6, column 1: two MCP servers are named 's'"),
    (SERVER + 'url = "https://x"\n', "line 5, column 1: MCP server 's': url does not go with stdio"),
    (SERVER + 'headers_helper = "x"\n', "headers_helper does not go with stdio"),
    (HTTP_SERVER + 'command = "x"\n', "command does not go with http"),
    (SERVER.replace('command = "run"\n', ""), "stdio needs command"),
    (HTTP_SERVER.replace('url = "https://m.example"\n', ""), "http needs url"),
    (HTTP_SERVER.replace("https://m.example", "ftp://x"), "url must be an http:// or https:// address"),
    (SERVER.replace("stdio", "sse"), "mcp.servers[0].transport must be stdio or http"),
    (SERVER + 'deferral = "lazy"\n', "mcp.servers[0].deferral must be deferred or eager"),
    (AUTH + 'type = "basic"\n', "mcp.servers[0].auth.type must be oauth, client_credentials or"),
    (AUTH + 'type = "oauth"\nresource = "r"\n', "auth.resource does not go with type oauth"),
    (AUTH + 'type = "client_credentials"\n', "auth of type client_credentials needs client_id"),
    (
        AUTH + 'type = "client_credentials"\nclient_id = "c"\nredirect_port = 1\n',
        "auth.redirect_port does not go",
    ),
    (AUTH + 'type = "client_credentials_jwt"\nclient_id = "c"\n', "needs signing_key_path"),
    (AUTH + 'type = "oauth"\nsigning_algorithm = "RS256"\n', "auth.signing_algorithm does not go"),
    ('[mcp]\nconnect_timeout = "0s"\n', 'mcp.connect_timeout must be longer than "0s"'),
    ("[mcp]\nstdio_concurrency = 0\n", "mcp.stdio_concurrency must be at least 1"),
    ("[mcp]\nhttp_concurrency = 0\n", "mcp.http_concurrency must be at least 1"),
    # zeros and ranges of the single tables
    ('[schedule]\npoll_interval = "0s"\n', "schedule.poll_interval must be longer"),
    ('[schedule]\ngate_timeout = "0s"\n', "schedule.gate_timeout must be longer"),
    ("[schedule]\nmax_jobs = 0\n", "schedule.max_jobs must be at least 1"),
    ("[schedule]\nmax_consecutive_fires = 0\n", "schedule.max_consecutive_fires must be at least 1"),
    ('[schedule]\nclaim_lease = "30s"\n', "schedule.claim_lease must be longer than schedule.gate_timeout"),
    ('[session]\nretention = "0s"\n', "session.retention must be longer"),
    ("[session]\ncontext_ceiling_percent = 0\n", "session.context_ceiling_percent must be between 1 and 100"),
    ("[session]\ncontext_ceiling_percent = 101\n", "must be between 1 and 100"),
    ('[web]\nrequest_timeout = "0s"\n', "web.request_timeout must be longer"),
    ('[web]\nconnect_timeout = "0s"\n', "web.connect_timeout must be longer"),
    ('[web]\nproxy = "ftp://x"\n', "web.proxy must be"),
    ('[web]\nmin_tls_version = "1.1"\n', "web.min_tls_version must be 1.2 or 1.3"),
    ('[web]\nca_cert_file = "/nonexistent.pem"\n', "web.ca_cert_file cannot be read"),
    ("[serve]\nmax_body_bytes = 0\n", "serve.max_body_bytes must be at least 1"),
    ("[serve]\nmax_concurrent_turns = 0\n", "serve.max_concurrent_turns must be at least 1"),
    ('[serve]\ngc_scan_interval = "0s"\n', "serve.gc_scan_interval must be longer"),
    ('[serve]\nbind = "nowhere"\n', 'serve.bind must be "host:port"'),
    ('[serve]\ncors_allowed_origins = ["null"]\n', "serve.cors_allowed_origins takes neither"),
]


@pytest.mark.parametrize(("text", "sentence"), REFUSALS)
def test_file_is_refused(text: str, sentence: str) -> None:
    said = refusal(text, serving=False)
    assert said.startswith("/etc/meka/config.toml, line ")
    assert sentence in said


SERVING_REFUSALS = [
    ("", 'the server needs at least one [[serve.tokens]] entry, with token = "${MEKA_API_TOKEN}" and scopes'),
    ("[[serve.tokens]]\nscopes = []\n", "serve.tokens[0] needs exactly one of token and token_file"),
    (TOKEN + 'token_file = "/x"\n', "serve.tokens[0] needs exactly one of token and token_file"),
    (TOKEN.replace("${T}", ""), "the token of serve.tokens[0] is empty"),
    (TOKEN.replace("${T}", "${EMPTY}"), "the token of serve.tokens[0] is empty"),
    (
        TOKEN.replace("${T}", "${U}"),
        "serve.tokens[0].token needs the environment variable 'U', which is not set",
    ),
    (TOKEN.replace("${T}", "a${T"), "serve.tokens[0].token has a ${ without its }"),
    (
        '[[serve.tokens]]\nscopes = []\ntoken_file = "/nonexistent"\n',
        "serve.tokens[0].token_file cannot be read: No such file or directory",
    ),
    (
        '[[serve.tokens]]\nscopes = []\ntoken_file = "~/nonexistent"\n',
        f"No such file or directory; it is looked for in {Path.cwd()}, and ~ is not expanded",
    ),
    ('[[serve.tokens]]\ntoken = "x"\n', "[serve.tokens[0]] needs the key 'scopes'"),
    (
        TOKEN + HOOK.replace("https://h", "ftp://h"),
        "serve.webhooks[0].url must be an http:// or https:// address",
    ),
    (TOKEN + HOOK.replace("https://h.example/x", "${U}"), "needs the environment variable 'U'"),
    (TOKEN + HOOK + 'secret_file = "/x"\n', "serve.webhooks[0] takes secret or secret_file, not both"),
    (
        TOKEN + HOOK.replace('secret = "${T}"', 'secret = "${EMPTY}"'),
        "the secret of serve.webhooks[0] is empty",
    ),
    (TOKEN + HOOK.replace('"turn.finished"', ""), "serve.webhooks[0].events must name at least one event"),
    (
        TOKEN + HOOK.replace("turn.finished", "turn.begun"),
        "serve.webhooks[0].events[0] must be turn.finished,",
    ),
    (TOKEN + HOOK + 'timeout = "0s"\n', "serve.webhooks[0].timeout must be longer"),
    (TOKEN + '[[serve.webhooks]]\nurl = "https://h"\n', "[serve.webhooks[0]] needs the key 'events'"),
]


@pytest.mark.parametrize(("text", "sentence"), SERVING_REFUSALS)
def test_server_is_refused(text: str, sentence: str) -> None:
    assert sentence in refusal(text)


def test_tokens_stay_unresolved_when_nothing_is_served() -> None:
    loaded = load_text(TOKEN.replace("${T}", "${U}"), FILE, {}, serving=False)
    assert loaded.tokens == ()


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("[serve]\nx = sk-secret\n", "at line 2"),
        ('[serve]\nx = "sk-secret\n', "at line 2"),
        ("sk-secret\n", "at line 1"),
        ("x = { sk-secret = 1, sk-secret = 2 }\n", "at line 1"),
        ("[sk-secret]\n[sk-secret]\n", "at line 2"),
        ("a.sk-secret = 1\n[a.sk-secret]\n", "at line 2"),
        ("x = {sk-secret = {}}\n[x.sk-secret]\n", "at line 2"),
        ("x = 'sk-secret\x00'\n", "at line 1"),
    ],
)
def test_parse_error_names_the_line_and_never_its_content(text: str, place: str) -> None:
    said = refusal(text)
    assert said.startswith("/etc/meka/config.toml does not parse: ")
    assert place in said
    assert "secret" not in said


def test_refused_value_is_never_repeated() -> None:
    for text in ("[serve]\nbind = ['sk-secret']\n", "[permissions]\ndefault = 'sk-secret'\n",
                 "[serve]\nidle_timeout = 'sk-secret'\n", "[web]\nproxy = 'ftp://sk-secret'\n",
                 TOKEN + HOOK.replace("https://h.example/x", "ftp://sk-secret")):  # fmt: skip
        assert "secret" not in refusal(text)


@pytest.mark.parametrize("text", ["x = " + "9" * 5000, "x = " + "[" * 5000 + "]" * 5000])
def test_hostile_file_is_refused_without_a_traceback(text: str) -> None:
    assert "does not parse" in refusal(text)


def test_file_that_is_not_utf8_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(b"# one\nx = '\xff'\n")
    with pytest.raises(ConfigurationError, match="line 2: the file is not UTF-8"):
        load_config(path, {})


def test_file_that_is_a_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read"):
        load_config(tmp_path, {})


WARNINGS = [
    (CHAT + "interleaved_thinking = true\n", "account 'a' sets interleaved_thinking, which its backend"),
    (
        CHAT + PROFILE + 'thinking = "off"\n',
        "profile 'p' sets thinking, which the backend openai-chat-completions",
    ),
    (ACCOUNT + PROFILE + 'thinking_display = "updates"\n', "profile 'p' sets thinking_display, which"),
    (
        '[accounts.a]\nbackend = "local"\nbase_url = "http://x"\n',
        "account 'a' sets base_url, which its backend local",
    ),
    (PROFILE, "profile 'p' is on the account 'a', which is not configured; no session can run on it"),
    (ACCOUNT + '[profiles.p]\naccount = "a"\n', "profile 'p' has no model; no session can run on it"),
    ('default_profile = "x"\n' + ACCOUNT + PROFILE, "default_profile: no profile named 'x' (configured: p)"),
    (ACCOUNT.replace(".a", '."a/b"'), "account name holds a /"),
    (SERVER, "[mcp.servers] is set, but this version has no such feature"),
    ("[schedule]\nmax_jobs = 1\n", "[schedule] is set, but this version has no such feature"),
    ("[memory]\nenabled = true\n", "[memory] is set, but"),
    ("[skills]\nenabled = true\n", "[skills] is set, but"),
    ("[subagents]\ndisabled_tools = []\n", "[subagents] is set, but"),
    ('[permissions]\nenabled = ["none"]\n', "permissions.default is not enabled; 'none' is used"),
    ("[permissions]\nenabled = []\n", "permissions.enabled is empty; read alone is enabled"),
    ('[web]\nmin_tls_version = "1.4"\n', "web.min_tls_version is none of 1.2 and 1.3 and is ignored"),
    ("[web]\ndanger_accept_invalid_certs = true\n", "web.danger_accept_invalid_certs is on"),
    ("[web]\ndanger_accept_invalid_hostnames = true\n", "web.danger_accept_invalid_hostnames is on"),
    (TOKEN.replace("sessions:r", "sessions:write"), "serve.tokens[0] has the unknown scope 'sessions:write'"),
    (TOKEN.replace("${T}", "inline"), "serve.tokens[0] holds its token in the file"),
    (HOOK.replace('secret = "${T}"\n', ""), "serve.webhooks[0] has no secret, so its calls are unsigned"),
    (HOOK.replace("https:", "http:"), "serve.webhooks[0] is called over plain http"),
]


@pytest.mark.parametrize(("text", "sentence"), WARNINGS)
def test_file_loads_with_a_warning(text: str, sentence: str) -> None:
    warnings = load(text).warnings
    assert len([warning for warning in warnings if sentence in warning]) == 1, warnings


def test_plain_file_loads_without_warnings() -> None:
    assert load(ACCOUNT + PROFILE + HOOK).warnings == ()


def test_unknown_backend_is_no_matter_until_a_profile_is_on_it() -> None:
    assert load('[accounts.a]\nbackend = "tomorrow"\n').config.accounts["a"].backend == "tomorrow"


def test_token_file_that_others_can_read_is_warned_of(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(" sk-file \n")
    file.chmod(0o640)
    text = f'[[serve.tokens]]\ntoken_file = "{file}"\nscopes = []\n'
    loaded = load_text(text, FILE, {})
    assert loaded.tokens[0].secret == "sk-file"
    assert any("others may read" in warning for warning in loaded.warnings)
    file.chmod(0o600)
    assert load_text(text, FILE, {}).warnings == ()


def test_secrets_never_show_in_a_repr(tmp_path: Path) -> None:
    loaded = load(HOOK.replace("${T}", "sk-inline"))
    shown = repr((loaded.config, loaded.tokens, loaded.webhooks))
    assert "sk-" not in shown
    assert "h.example" not in shown


def test_dollar_signs_are_escaped_by_doubling() -> None:
    loaded = load_text(TOKEN.replace("${T}", "a$$b$c${ T }$${T}"), FILE, ENVIRON)
    assert loaded.tokens[0].secret == "a$b$csk-token${T}"


def test_unknown_scope_is_not_granted() -> None:
    loaded = load_text(TOKEN.replace('"sessions:r"', '"sessions:r", "sessions:write"'), FILE, ENVIRON)
    assert loaded.tokens[0].scopes == {"sessions:r"}


def test_webhook_retries_are_capped() -> None:
    assert load(HOOK + "max_retries = 99\n").webhooks[0].max_retries == 10


def test_default_that_is_not_enabled_becomes_the_lowest_enabled_level() -> None:
    permissions = load('[permissions]\nenabled = ["unrestricted", "workspace"]\n').config.permissions
    assert permissions.default is Level.WORKSPACE


def test_origins_are_normalized() -> None:
    loaded = load('[serve]\ncors_allowed_origins = [" HTTPS://Bücher.example:443/ "]\n')
    assert loaded.config.serve.cors_allowed_origins == ("https://xn--bcher-kva.example",)
