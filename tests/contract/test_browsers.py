"""A page of another origin, as a browser lets it call: preflight, grant, and the errors it can read."""

from pathlib import Path

import requests

from tests.contract.bench import running

PAGE = "https://ui.example"


def test_page_of_an_allowed_origin_reads_answers_errors_and_streams(tmp_path: Path) -> None:
    with running(tmp_path, serve=f'cors_allowed_origins = ["{PAGE}/"]') as bench:
        url = bench.server.base_url
        asked = {"Origin": PAGE, "Access-Control-Request-Method": "POST"}
        preflight = requests.options(url + "/v1/sessions", headers=asked, timeout=10)
        assert preflight.status_code == 204
        assert "Authorization" in preflight.headers["Access-Control-Allow-Headers"]
        assert "Content-Type" not in preflight.headers
        origin = {"Origin": PAGE}
        refused = requests.post(url + "/v1/sessions", headers=origin, json={}, timeout=10)
        assert (refused.status_code, refused.headers["Access-Control-Allow-Origin"]) == (401, PAGE)
        too_large = bench.client.call("POST", "/v1/sessions", headers=origin, data=b" " * 65537)
        assert (too_large.status_code, too_large.headers["Access-Control-Allow-Origin"]) == (413, PAGE)
        unknown = bench.client.call("GET", "/v1/nowhere", headers=origin)
        assert (unknown.status_code, unknown.headers["Access-Control-Allow-Origin"]) == (404, PAGE)
        huge = requests.get(url + "/v1/info", headers={"Last-Event-ID": "1" * 40000} | origin, timeout=10)
        assert (huge.status_code, huge.headers["Access-Control-Allow-Origin"]) == (431, PAGE)
        assert (huge.headers["Vary"], huge.headers["Content-Type"]) == ("Origin", "application/problem+json")
        with bench.client.call("GET", "/v1/stream", headers=origin, stream=True) as feed:
            assert feed.headers["Access-Control-Allow-Origin"] == PAGE
        elsewhere = bench.client.call("GET", "/v1/info", headers={"Origin": "https://evil.example"})
        assert elsewhere.status_code == 200
        assert "Access-Control-Allow-Origin" not in elsewhere.headers


def test_options_is_not_allowed_where_no_origin_is_set(tmp_path: Path) -> None:
    with running(tmp_path) as bench:
        asked = {"Origin": PAGE, "Access-Control-Request-Method": "GET"}
        assert (
            requests.options(bench.server.base_url + "/v1/info", headers=asked, timeout=10).status_code == 405
        )
