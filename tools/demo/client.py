"""The part of meka's HTTP API that the demo uses, as any program would use it."""

import json
from collections.abc import Iterator
from typing import Any

import requests

CONNECT_SECONDS = 5.0
SILENCE_SECONDS = 120.0


class DemoError(Exception):
    """Something did not turn out as the demo promises; its text is for the person who watches."""


class Client:
    """One server and the token to talk to it."""

    def __init__(self, base_url: str, token: str) -> None:
        self._base_url = base_url
        self._http = requests.Session()
        self._http.trust_env = False
        self._http.headers["Authorization"] = f"Bearer {token}"

    def close(self) -> None:
        self._http.close()

    def get(self, path: str) -> dict[str, Any]:
        return self._call("GET", path)

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        return self._call("POST", path, body)

    def patch(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        return self._call("PATCH", path, body)

    def stream(self, path: str, body: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
        """POST and yield (event, data) as the server sends them, until it closes the stream."""
        with self._send("POST", path, body, stream=True) as response:
            yield from parse_events(response)

    def _call(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        answer: dict[str, Any] = self._send(method, path, body).json()
        return answer

    def _send(
        self, method: str, path: str, body: dict[str, Any] | None, *, stream: bool = False
    ) -> requests.Response:
        response = self._http.request(
            method,
            self._base_url + path,
            json=body,
            stream=stream,
            timeout=(CONNECT_SECONDS, SILENCE_SECONDS),
        )
        if not response.ok:
            problem = response.text
            response.close()
            raise DemoError(f"{method} {path} answered {response.status_code}: {problem}")
        return response


def parse_events(response: requests.Response) -> Iterator[tuple[str, dict[str, Any]]]:
    """The server-sent events of a response that have data; comments and `retry` are left out."""
    event, data = "message", []
    for line in response.iter_lines(chunk_size=1):
        name, _, value = line.decode().partition(": ")
        if name == "event":
            event = value
        elif name == "data":
            data.append(value)
        elif not line:
            if data:
                yield event, json.loads("\n".join(data))
            event, data = "message", []
