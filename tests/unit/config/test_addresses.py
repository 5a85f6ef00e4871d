"""Bind addresses and web origins."""

import pytest

from meka.config.addresses import AddressError, normalize_origin, normalize_origins, split_bind


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [("127.0.0.1:8080", "127.0.0.1", 8080), ("localhost:0", "localhost", 0), ("[::1]:80", "::1", 80)],
)
def test_bind_is_split(text: str, host: str, port: int) -> None:
    assert split_bind(text) == (host, port)


@pytest.mark.parametrize("text", ["", "80", ":80", "host", "host:", "host:x", "host:65536", "::1:80", "h:-1"])
def test_bind_is_refused(text: str) -> None:
    with pytest.raises(AddressError):
        split_bind(text)


@pytest.mark.parametrize(
    ("entry", "origin"),
    [
        ("https://app.example", "https://app.example"),
        (" HTTPS://App.Example/ ", "https://app.example"),
        ("https://app.example:443", "https://app.example"),
        ("http://app.example:80", "http://app.example"),
        ("http://app.example:443", "http://app.example:443"),
        ("http://localhost:5173", "http://localhost:5173"),
        ("http://[2001:DB8:0:0:0:0:0:1]:8080", "http://[2001:db8::1]:8080"),
        ("https://Bücher.example", "https://xn--bcher-kva.example"),
        ("http://my_host", "http://my_host"),
        ("*", "*"),
    ],
)
def test_origin_is_normalized(entry: str, origin: str) -> None:
    assert normalize_origin(entry) == origin


@pytest.mark.parametrize(
    "entry",
    [
        "",
        " ",
        "null",
        "NULL",
        "app.example",
        "ftp://x",
        "file:///x",
        "https://x/path",
        "https://x?",
        "https://x#",
        "https://x?q=1",
        "https://u:p@x",
        "https://@x",
        "https://*.x",
        "https://",
        "https://x:99999",
        "https://[::1",
        "https://[zz]",
        "https://a b",
        "https://\u2488.example",
    ],
)
def test_origin_is_refused(entry: str) -> None:
    with pytest.raises(AddressError):
        normalize_origin(entry)


def test_origins_are_deduplicated_in_order() -> None:
    assert normalize_origins(["https://b", "https://a", "https://B:443/"]) == ("https://b", "https://a")


def test_any_origin_stands_alone() -> None:
    assert normalize_origins(["*"]) == ("*",)
    with pytest.raises(AddressError):
        normalize_origins(["*", "https://a"])
