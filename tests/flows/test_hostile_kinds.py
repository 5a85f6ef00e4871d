"""Each kind of hostility is answered as documented, and the others are answered meanwhile."""

import json
import time
from collections.abc import Iterator

import pytest

from tests.serving import TOKEN, Server, say
from tests.watching import check_median, port_of
from tools.bench.attack import status_of, under_attack
from tools.bench.hostility import Kind, kinds
from tools.bench.rig import TOKEN as BENCH_TOKEN
from tools.bench.watcher import others_watched

SHORT_SECONDS, LONG_SECONDS = 0.2, 4.0
SELDOM = frozenset({
    "10 MB of nulls", "10 MB of numbers", "10 MB of fractions", "10 MB of empty objects", "a body of 100 MB",
    "one field given a million times", "a number of 10 MB", "10 MB of spaces", "10 MB of one text",
    "chunks with extensions", "10 MB that are no image", "a header field of megabytes",
})  # fmt: skip
"""Near kin of another kind: measured in the long form alone."""

Spans = dict[str, tuple[float, float]]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("kinds"), [say("ok")] * 3) as started:
        yield started


def check_answer(kind: Kind, answer: bytes) -> None:
    status = status_of(answer)
    assert status in kind.statuses, (kind.name, answer[:300])
    if status is not None and status >= 400:
        head, _, body = answer.partition(b"\r\n\r\n")
        assert b"application/problem+json" in head, kind.name
        problem = json.loads(body)
        assert (problem["status"], bool(problem["detail"])) == (status, True), kind.name


def attack_with(server: Server, seldom: frozenset[str], seconds: float) -> Spans:
    """When each kind was at work: until its clients have been answered, too."""
    client = server.client()
    port, session, spans = port_of(client), client.session(), {}
    for kind in kinds():
        if kind.name in seldom:
            continue
        raw = kind.make(session).replace(BENCH_TOKEN.encode(), TOKEN.encode())
        begun = time.monotonic()
        with under_attack(port, raw, drips=kind.drips) as answers:
            time.sleep(seconds)
        spans[kind.name] = (begun, time.monotonic())
        assert answers
        for answer in answers:
            check_answer(kind, answer)
    return spans


def check_every_kind(server: Server, seldom: frozenset[str], seconds: float) -> None:
    client = server.client()
    with others_watched(port_of(client), TOKEN) as watched:
        spans = attack_with(server, seldom, seconds)
    medians = {name: watched.median_ms_between(*span) for name, span in spans.items()}
    for name, found in medians.items():
        print(f"{name}: median {found:.1f} ms")
    check_median(client, max(medians.values()))
    assert not any("Traceback" in line for line in server.log), "".join(server.log)[-3000:]


def test_hostile_clients_are_refused_and_the_others_answered(server: Server) -> None:
    check_every_kind(server, SELDOM, SHORT_SECONDS)


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_hostile_clients_of_every_kind_are_refused_and_the_others_answered(server: Server) -> None:
    check_every_kind(server, frozenset(), LONG_SECONDS)
