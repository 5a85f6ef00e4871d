"""`web_fetch` against a loopback server."""

import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from meka.agent.tools.base import ToolError, ToolOutcome
from meka.agent.tools.web import WebFetchTool
from meka.agent.tools.web_client import build_web_client
from meka.base.errors import ConfigurationError
from meka.config.model import Web
from tests.fakes import make_context
from tests.unit.agent.tools.web_server import Answer, WebServer, gzip_bomb

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000 1f15c489".replace(" ", "")
    + "0000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
)
PAGE = b"""<!doctype html><html><head><title>Title</title><style>p {}</style><script>evil()</script></head>
<body><nav><a href="/home">Home</a></nav><h1>Head&amp;line</h1><p>Some <a href="deep/link">link</a>
<img src="i.png" alt="pic"></p><script>more()</script><footer>The end</footer></body></html>"""
ANSWERS: Mapping[str, Answer] = {
    "/dir/page": Answer(PAGE),
    "/xhtml": Answer(b"<p>x</p>", "application/xhtml+xml"),
    "/untyped": Answer(b"<!DOCTYPE html><p>x</p>", None),
    "/text": Answer(b"<b>as it is</b>", "text/plain"),
    "/json": Answer(b'{"a": 1}', "application/json"),
    "/empty": Answer(b"", "text/plain"),
    "/latin": Answer("größe".encode("latin-1"), "text/plain; charset=ISO-8859-1"),
    "/meta": Answer('<html><meta charset="windows-1251"><p>привет</p></html>'.encode("cp1251")),
    "/bom": Answer("grüße".encode("utf-16"), "application/octet-stream"),
    "/no-charset": Answer("größe €".encode(), "text/plain"),
    "/bad-charset": Answer(b"plain", "text/plain; charset=no-such"),
    "/not-a-charset": Answer(b"706c61696e", "text/plain; charset=hex"),
    "/slow-charset": Answer(b"abc", "text/plain; charset=punycode"),
    "/invalid": Answer(b"a\xffb\x00c", "text/plain; charset=utf-8"),
    "/binary": Answer(b"%PDF\x00\x01", "application/pdf"),
    "/long": Answer(b"x" * 40_000, "text/plain"),
    "/many": Answer(b"a1 b2 c3\nd4", "text/plain"),
    "/backtrack": Answer(b"a" * 40 + b"b", "text/plain"),
    "/image": Answer(PNG, "image/png"),
    "/broken-image": Answer(b"no image", "image/png"),
    "/svg": Answer(b"<svg/>", "image/svg+xml"),
    "/gone": Answer(b"sorry", status=410),
    "/error": Answer(b"sorry", status=500),
    "/hop": Answer(status=302, headers={"Location": "/dir/page"}),
    "/relative": Answer(status=307, headers={"Location": "dir/../text"}),
    "/loop": Answer(status=302, headers={"Location": "/loop"}),
    "/nowhere": Answer(status=302),
    "/to-file": Answer(status=302, headers={"Location": "file:///etc/passwd"}),
    "/bomb": Answer(gzip_bomb(200_000_000), "text/plain", headers={"Content-Encoding": "gzip"}),
    "/bad-gzip": Answer(b"not gzip", "text/plain", headers={"Content-Encoding": "gzip"}),
    "/cut": Answer(b"short", "text/plain", headers={"Content-Length": "500"}, states_length=False),
    "/cookie": Answer(b"x", "text/plain", headers={"Set-Cookie": "a=b"}),
    "/large": Answer(b"<p>one <a href='x'>two</a></p>\n" * 20_000),
}


needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl to make a certificate")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A self-signed certificate for 127.0.0.1 with its key, in one file."""
    path = tmp_path_factory.mktemp("tls") / "server.pem"
    options = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=meka-test"
    alternative = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(path), "-out", str(path) + ".crt"]
    subprocess.run(["openssl", *options.split(), *alternative], check=True, capture_output=True)
    path.write_text(path.read_text() + Path(str(path) + ".crt").read_text())
    return path


def reached(call: Callable[[], ToolOutcome]) -> bool:
    try:
        return call().text == "safe"
    except ToolError as error:
        if "certificate" in str(error).lower():
            return False
        raise


@pytest.fixture(scope="module")
def server() -> Iterator[WebServer]:
    with WebServer(ANSWERS).running() as server:
        yield server


@pytest.fixture
def fetch(server: WebServer, tmp_path: Path) -> Callable[..., ToolOutcome]:
    def call(
        path: str, settings: Mapping[str, Any] | None = None, unlimited: bool = False, **more: Any
    ) -> ToolOutcome:
        client = build_web_client(Web(**{"proxy": "none", **(settings or {})}))
        url = path if "://" in path else server.base + path
        return WebFetchTool(client).run({"url": url, **more}, make_context(tmp_path, unlimited=unlimited))

    return call


def test_web_fetch_turns_a_page_into_markdown(fetch: Callable[..., ToolOutcome], server: WebServer) -> None:
    text = fetch("/dir/page").text
    assert text.split("\n\n") == [
        f"[Home]({server.base}/home)",
        "# Head&line",
        f"Some [link]({server.base}/dir/deep/link) ![pic]({server.base}/dir/i.png)",
        "The end",
    ]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/xhtml", "x"),
        ("/untyped", "x"),
        ("/text", "<b>as it is</b>"),
        ("/json", '{"a": 1}'),
        ("/empty", "(the page is empty)"),
        ("/latin", "größe"),
        ("/meta", "привет"),
        ("/bom", "grüße"),
        ("/no-charset", "größe €"),
        ("/bad-charset", "plain"),
        ("/not-a-charset", "706c61696e"),
        ("/slow-charset", "abc"),
        ("/invalid", "a\ufffdb\ufffdc"),
        ("/svg", "<svg/>"),
        ("/relative", "<b>as it is</b>"),
        ("/cookie", "x"),
    ],
)
def test_web_fetch_reads_text(fetch: Callable[..., ToolOutcome], path: str, text: str) -> None:
    assert fetch(path).text == text


@pytest.mark.parametrize(
    ("path", "settings", "reason"),
    [
        ("/gone", {}, r"HTTP 410 for http://127.0.0.1:\d+/gone"),
        ("/error", {}, "HTTP 500"),
        ("/absent", {}, "HTTP 404"),
        ("/nowhere", {}, "HTTP 302"),
        ("/hop", {"max_redirects": 0}, "HTTP 302"),
        ("/loop", {"max_redirects": 3}, "more than 3 redirects"),
        ("/to-file", {}, "only http and https"),
        ("/binary", {}, r"binary \(application/pdf, 6 bytes\)"),
        ("/endless", {}, "larger than 10 MiB"),
        ("/bomb", {}, "larger than 10 MiB"),
        ("/bad-gzip", {}, "could not fetch"),
        ("/cut", {}, "could not fetch"),
        ("/text", {"https_only": True}, "only https"),
        ("/hang", {"request_timeout": 0.3}, "could not fetch|not read within"),
        ("file:///etc/passwd", {}, "only http and https"),
        ("ftp://127.0.0.1/x", {}, "only http and https"),
        ("http://", {}, "could not fetch"),
        ("http://[::1/", {}, "could not fetch"),
        ("http://127.0.0.1:1/", {}, "could not fetch"),
        ("http://127.0.0.1:99999/", {}, "could not fetch"),
        ("http://a..b/", {}, "could not fetch"),
        ("http://nowhere.invalid/", {}, "could not fetch"),
    ],
)
def test_web_fetch_fails_with_a_reason(
    fetch: Callable[..., ToolOutcome], path: str, settings: Mapping[str, Any], reason: str
) -> None:
    with pytest.raises(ToolError, match=reason):
        fetch(path, settings)


def test_web_fetch_follows_redirects_to_the_page(
    fetch: Callable[..., ToolOutcome], server: WebServer
) -> None:
    assert f"({server.base}/dir/deep/link)" in fetch("/hop").text


@pytest.mark.parametrize("header", ["Bad\nName", "Name"])
def test_web_fetch_refuses_headers_that_are_none(fetch: Callable[..., ToolOutcome], header: str) -> None:
    with pytest.raises(ToolError, match="could not fetch"):
        fetch("/text", headers={header: "v\r\nX: y"})


def test_web_fetch_sends_the_headers_given_and_its_own(
    fetch: Callable[..., ToolOutcome], server: WebServer
) -> None:
    fetch("/text", {"user_agent": "tester/1"}, headers={"X-Given": "yes"})
    _, headers = server.requests[-1]
    assert (headers["User-Agent"], headers["X-Given"]) == ("tester/1", "yes")


def test_web_fetch_keeps_no_cookie_for_the_next_call(
    fetch: Callable[..., ToolOutcome], server: WebServer
) -> None:
    fetch("/cookie")
    fetch("/text")
    assert "Cookie" not in server.requests[-1][1]


def test_web_fetch_drops_secrets_when_redirected_elsewhere(fetch: Callable[..., ToolOutcome]) -> None:
    with WebServer({"/end": Answer(b"x")}).running() as other:
        away = {"/away": Answer(status=302, headers={"Location": f"{other.base}/end"})}
        with WebServer(away).running() as first:
            fetch(f"{first.base}/away", headers={"Authorization": "secret", "X-Plain": "kept"})
            assert first.requests[-1][1]["Authorization"] == "secret"
        _, headers = other.requests[-1]
    assert "Authorization" not in headers
    assert headers["X-Plain"] == "kept"


@pytest.mark.parametrize(
    ("more", "length"),
    [
        ({}, 30_000),
        ({"limit": 7}, 7),
        ({"limit": 0}, None),
        ({"limit": 40_000}, None),
        ({"unlimited": True}, None),
    ],
)
def test_web_fetch_cuts_at_the_limit(
    fetch: Callable[..., ToolOutcome], more: Mapping[str, Any], length: int | None
) -> None:
    text = fetch("/long", **more).text
    if length is None:
        assert text == "x" * 40_000
    else:
        assert text == "x" * length + f"\n\n... (showing first {length} of 40000 characters)"


@pytest.mark.parametrize(
    ("path", "regex", "text"),
    [
        ("/many", r"[a-z]\d", "a1\nb2\nc3\nd4"),
        ("/many", r"zzz", "(no matches)"),
        ("/backtrack", r"(a+)+$", "(no matches)"),
    ],
)
def test_web_fetch_returns_what_a_pattern_matches(
    fetch: Callable[..., ToolOutcome], path: str, regex: str, text: str
) -> None:
    begun = time.perf_counter()
    assert fetch(path, regex=regex).text == text
    assert time.perf_counter() - begun < 5


@pytest.mark.parametrize(
    ("limit", "text"),
    [
        (0, "a1\nb2\nc3\nd4"),
        (11, "a1\nb2\nc3\nd4"),
        (10, "a1\nb2\nc3\nd\n\n... (showing first 10 characters of the matches; there are more)"),
        (2, "a1\n\n... (showing first 2 characters of the matches; there are more)"),
    ],
)
def test_web_fetch_cuts_matches_at_the_limit(
    fetch: Callable[..., ToolOutcome], limit: int, text: str
) -> None:
    assert fetch("/many", regex=r"[a-z]\d", limit=limit).text == text


@pytest.mark.parametrize(
    "content_type",
    ["", ";", "text", "text/plain;charset", "text/plain; charset*=x''%ff", "\xe9/\xfc", "a/b; charset=\xe9"],
)
def test_web_fetch_reads_text_whatever_the_content_type(
    fetch: Callable[..., ToolOutcome], content_type: str
) -> None:
    with WebServer({"/x": Answer(b"words", content_type)}).running() as odd:
        assert fetch(odd.base + "/x").text == "words"


def test_web_fetch_refuses_a_bad_pattern_before_it_fetches(
    fetch: Callable[..., ToolOutcome], server: WebServer
) -> None:
    before = len(server.requests)
    with pytest.raises(ToolError):
        fetch("/text", regex="(")
    assert len(server.requests) == before


def test_web_fetch_leaves_html_as_it_is_when_raw(fetch: Callable[..., ToolOutcome]) -> None:
    assert fetch("/dir/page", raw=True).text == PAGE.decode()


def test_web_fetch_converts_a_large_page(fetch: Callable[..., ToolOutcome], server: WebServer) -> None:
    text = fetch("/large", limit=0).text
    assert text.count(f"one [two]({server.base}/x)") == 20_000


def test_web_fetch_hands_over_an_image(fetch: Callable[..., ToolOutcome], server: WebServer) -> None:
    outcome = fetch("/image")
    assert outcome.text == f"[Image: {server.base}/image]"
    assert [image.media_type for image in outcome.images] == ["image/png"]


def test_web_fetch_refuses_a_broken_image(fetch: Callable[..., ToolOutcome]) -> None:
    with pytest.raises(ToolError):
        fetch("/broken-image")


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"ca_cert_file": "/no/such/file"}, "ca_cert_file"),
        ({"ca_cert_file": __file__}, "ca_cert_file"),
        ({"proxy": "ftp://proxy:1"}, "proxy"),
        ({"proxy": "proxy:8080"}, "proxy"),
        ({"proxy": "http://"}, "proxy"),
        ({"proxy": "http://p:notaport"}, "proxy"),
        ({"min_tls_version": "1.0"}, "min_tls_version"),
        ({"min_tls_version": "1.1"}, "min_tls_version"),
        ({"request_timeout": 0}, "request_timeout"),
        ({"connect_timeout": 0}, "connect_timeout"),
        ({"read_timeout": 0}, "read_timeout"),
        ({"max_redirects": -1}, "max_redirects"),
        ({"user_agent": "a\nb"}, "user_agent"),
    ],
)
def test_web_client_cannot_be_built(settings: Mapping[str, Any], reason: str) -> None:
    with pytest.raises(ConfigurationError, match=reason):
        build_web_client(Web(**settings))


@pytest.mark.parametrize(
    ("settings", "warned"),
    [
        ({}, False),
        ({"min_tls_version": "1.3"}, False),
        ({"min_tls_version": "9"}, True),
        ({"danger_accept_invalid_certs": True}, True),
        ({"danger_accept_invalid_hostnames": True}, True),
        ({"proxy": "socks5h://127.0.0.1:1080"}, False),
    ],
)
def test_web_client_warns_of_what_is_risky(
    settings: Mapping[str, Any], warned: bool, caplog: pytest.LogCaptureFixture
) -> None:
    build_web_client(Web(**settings))
    assert bool(caplog.records) is warned


def test_web_client_asks_the_proxy_for_the_page(fetch: Callable[..., ToolOutcome]) -> None:
    with WebServer({"http://far.invalid/page": Answer(b"by proxy", "text/plain")}).running() as proxy:
        assert fetch("http://far.invalid/page", {"proxy": proxy.base}).text == "by proxy"


@pytest.mark.parametrize(
    ("settings", "reaches"),
    [
        ({}, False),
        ({"ca_cert_file": "{cert}"}, True),
        ({"ca_cert_file": "{cert}", "https_only": True, "min_tls_version": "1.3"}, True),
        ({"danger_accept_invalid_certs": True}, True),
        ({"danger_accept_invalid_hostnames": True}, False),
    ],
)
@needs_openssl
def test_web_client_checks_certificates(
    fetch: Callable[..., ToolOutcome], certificate: Path, settings: Mapping[str, Any], reaches: bool
) -> None:
    given = {
        key: value.format(cert=certificate) if isinstance(value, str) else value
        for key, value in settings.items()
    }
    with WebServer({"/x": Answer(b"safe", "text/plain")}, certificate).running() as secure:
        assert reached(lambda: fetch(secure.base + "/x", given)) is reaches


@needs_openssl
@pytest.mark.parametrize("accepted", [False, True])
def test_web_client_checks_host_names(
    fetch: Callable[..., ToolOutcome], certificate: Path, accepted: bool
) -> None:
    settings = {"ca_cert_file": str(certificate), "danger_accept_invalid_hostnames": accepted}
    with WebServer({"/x": Answer(b"safe", "text/plain")}, certificate).running() as secure:
        other_name = secure.base.replace("127.0.0.1", "localhost") + "/x"
        assert reached(lambda: fetch(other_name, settings)) is accepted


@pytest.mark.parametrize("scheme", ["http", "https", "socks4", "socks5", "socks5h"])
def test_web_client_goes_through_the_proxy(fetch: Callable[..., ToolOutcome], scheme: str) -> None:
    with pytest.raises(ToolError, match="could not fetch"):
        fetch("/text", {"proxy": f"{scheme}://127.0.0.1:1"})


PATCHED = """
from gevent import monkey
monkey.patch_all()
import sys, time
from pathlib import Path
import gevent
from gevent.threadpool import ThreadPool
from meka.agent.cancel import CanceledError
from meka.agent.tools.base import ToolError
from meka.agent.tools.web import WebFetchTool
from meka.agent.tools.web_client import build_web_client
from meka.config.model import Web
from tests.fakes import make_context
from tests.unit.agent.tools.web_server import Answer, WebServer
pool = ThreadPool(2)
evil = ("<p " + " ".join(f"a{i}=1" for i in range(300_000)) + ">x").encode()
answers = {"/evil": Answer(evil), "/large": Answer(b"<p>x <a href=y>z</a></p>" * 200_000)}
def context():
    return make_context(Path(sys.argv[1]), run_blocking=lambda f, *a, **k: pool.apply(f, a, k))
def tool(seconds):
    return WebFetchTool(build_web_client(Web(proxy="none", request_timeout=seconds)))
"""


def run_patched(tmp_path: Path, script: str) -> str:
    """Run `script` in a patched interpreter, as the server is one; what it prints."""
    arguments = [sys.executable, "-c", PATCHED + script, str(tmp_path)]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_web_fetch_ends_at_the_timeout_however_slowly_a_body_comes(tmp_path: Path) -> None:
    printed = run_patched(
        tmp_path,
        """
with WebServer(answers).running() as server:
    try:
        tool(0.5).run({"url": server.base + "/drip"}, context())
    except ToolError as error:
        print(error)
    assert server.dropped.wait(20)
""",
    )
    assert "not read within 0.5 s" in printed


@pytest.mark.parametrize("path", ["/drip", "/evil"])
def test_web_fetch_ends_at_a_cancel(tmp_path: Path, path: str) -> None:
    printed = run_patched(
        tmp_path,
        f"""
with WebServer(answers).running() as server:
    call = context()
    calling = gevent.spawn(tool(60).run, {{"url": server.base + "{path}"}}, call)
    if "{path}" == "/drip":
        assert server.dripping.wait(20)
    else:
        while not server.requests:
            gevent.sleep(0.01)
        gevent.sleep(1)
    begun = time.monotonic()
    call.cancel.request("client")
    calling.join()
    print(type(calling.exception).__name__, time.monotonic() - begun < 5)
    assert "{path}" == "/evil" or server.dropped.wait(20)
""",
    )
    assert printed.split() == ["CanceledError", "True"]


def test_web_fetch_lets_the_hub_run_while_it_converts(tmp_path: Path) -> None:
    printed = run_patched(
        tmp_path,
        """
def beat():
    global worst
    last = time.monotonic()
    while True:
        gevent.sleep(0.001)
        worst = max(worst, time.monotonic() - last)
        last = time.monotonic()
worst = 0
with WebServer(answers).running() as server:
    pulse = gevent.spawn(beat)
    text = tool(60).run({"url": server.base + "/large", "limit": 0}, context()).text
    pulse.kill()
    print(len(text) > 5_000_000, worst)
""",
    )
    whole, worst = printed.split()
    assert whole == "True"
    assert float(worst) < 1
