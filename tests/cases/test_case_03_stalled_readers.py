"""Case 3: twenty readers that never read while 500 turns run."""

import json
import socket
import time
from pathlib import Path

from tests.cases.support import Feed, resident_bytes
from tests.serving import TOKEN, Server

READERS = 20
TURNS = 500
WORDS = "w" * 5000
GROWTH_BYTES = 120 * 1024 * 1024


def stalled_reader(base_url: str, session: str) -> socket.socket:
    host, _, port = base_url.removeprefix("http://").partition(":")
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.settimeout(20)
    connection.connect((host, int(port)))
    target = f"/v1/sessions/{session}/stream"
    connection.sendall(f"GET {target} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode())
    return connection


def read_until(connection: socket.socket, wanted: bytes, gathered: bytes = b"") -> bytes:
    while wanted not in gathered:
        piece = connection.recv(1 << 20)
        assert piece, "the reader was dropped: " + gathered[-300:].decode(errors="replace")
        gathered = gathered[-200:] + piece
    return gathered


def test_stalled_readers_cost_neither_memory_nor_the_reader_that_reads(tmp_path: Path) -> None:
    answer = [{"type": "text", "text": WORDS}] * 6
    # The conversation outgrows the window, and a compaction would be a turn of its own.
    more = "[session]\nauto_compact = false\n"
    with Server(tmp_path, [answer] * (TURNS + 1), more=more) as server:
        client = server.client()
        session = client.session()
        stalled = [stalled_reader(server.base_url, session) for _ in range(READERS)]
        with Feed(client, session) as feed:
            before = resident_bytes(server.process.pid)
            started = time.monotonic()
            for _ in range(TURNS):
                assert client.turn(session).status_code == 200
            took = time.monotonic() - started
            grown = resident_bytes(server.process.pid) - before
            feed.wait_for("turn.finished", TURNS)
            names = feed.names()
            assert names.count("turn.started") == names.count("turn.finished") == TURNS
            assert names.count("assistant_text.delta") == TURNS * 6
            assert "feed.gap" not in names
            print(f"{TURNS} turns in {took:.1f} s, {grown / 2**20:.0f} MiB more")
            assert grown < GROWTH_BYTES
            for connection in stalled:
                rest = read_until(connection, b"event: feed.gap")
                gap = json.loads(
                    read_until(connection, b"\n\n", rest.partition(b"event: feed.gap")[2])
                    .partition(b"data: ")[2]
                    .partition(b"\n")[0]
                )
                assert gap["dropped"] > 0
            last = client.turn(session, "the last").json()["turn_id"]
            for connection in stalled:
                read_until(connection, last.encode())
                connection.close()
