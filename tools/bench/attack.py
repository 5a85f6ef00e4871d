"""Hostile clients at work: a few that send as fast as they can, or many that send hardly anything."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

ATTACKERS, DRIPPERS = 4, 200
_WAIT_SECONDS = 30.0
_PIECE_BYTES = 1 << 20
_DRIP_SECONDS = 0.05
_KEPT_BYTES = 32768

Answers = list[bytes]


@contextmanager
def under_attack(port: int, raw: bytes, *, drips: bool = False) -> Iterator[Answers]:
    """Have `raw` sent by many clients, again and again, all through the block; the answers to it, after it.

    Each of them has its first answer before the attack ends.
    """
    ended, answers = threading.Event(), Answers()
    attackers = [
        threading.Thread(target=_drip if drips else _flood, args=(port, raw, ended, answers))
        for _ in range(1 if drips else ATTACKERS)
    ]
    for each in attackers:
        each.start()
    try:
        yield answers
    finally:
        ended.set()
        for each in attackers:
            each.join(2 * _WAIT_SECONDS)


def ask(port: int, raw: bytes) -> bytes:
    """What one connection is answered with, its first 32 KiB; as much of `raw` is sent as is taken."""
    with socket.create_connection(("127.0.0.1", port), timeout=_WAIT_SECONDS) as connection:
        try:
            connection.sendall(raw)
            connection.shutdown(socket.SHUT_WR)
        except OSError:
            """Refused before all of it was sent; the answer may have arrived."""
        return _read(connection)


def status_of(answer: bytes) -> int | None:
    """The status of a raw answer; None where there was none."""
    return int(answer[9:12]) if answer.startswith(b"HTTP/1.1 ") else None


def _flood(port: int, raw: bytes, ended: threading.Event, answers: Answers) -> None:
    while True:
        answers.append(ask(port, raw))
        if ended.is_set():
            return


def _read(connection: socket.socket) -> bytes:
    held = bytearray()
    try:
        while piece := connection.recv(_PIECE_BYTES):
            held += piece[: max(0, _KEPT_BYTES - len(held))]
    except OSError:
        """Reset: it was answered before all was sent, or not at all."""
    return bytes(held)


def _drip(port: int, raw: bytes, ended: threading.Event, answers: Answers) -> None:
    held = [socket.create_connection(("127.0.0.1", port), timeout=_WAIT_SECONDS) for _ in range(DRIPPERS)]
    for position in range(len(raw)):
        if ended.wait(_DRIP_SECONDS):
            break
        for each in held:
            each.send(raw[position : position + 1])
    for each in held:
        each.shutdown(socket.SHUT_WR)
        answers.append(_read(each))
        each.close()
