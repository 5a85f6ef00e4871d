"""One connection: its requests read strictly, one by one, and answered through pywsgi's response half.

What stock pywsgi lacks, each of it measured as needed: bounds on the head, the body and every wait, one
unambiguous reading of the framing, a watch on the client, head and first chunk in one send.
"""

import logging
import socket
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import gevent
from gevent.pywsgi import WSGIHandler, format_date_time

from meka.base.errors import INTERNAL_DETAIL
from meka.server.body import RequestBody
from meka.server.connection import WatchedConnection
from meka.server.environ import build_environ
from meka.server.fairness import FairShare
from meka.server.head import RequestHead, read_head
from meka.server.lines import ConnectionEndedError, Field, HeadLines, joined_value
from meka.server.refusals import ProtocolError, refusal

logger = logging.getLogger(__name__)
access_logger = logging.getLogger("meka.access")

_SEND_BYTES = 131072
_JOIN_BYTES = 65536
_LINGER_READ_BYTES = 65536
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class ClientGoneError(Exception):
    """A send failed: the client left, or stopped reading for too long."""


class RequestHandler(WSGIHandler):  # type: ignore[misc]
    """Serves one connection until either side is done with it; `server` is the `Listener`."""

    idle = False
    result: Any
    response_headers: list[tuple[bytes, bytes]]
    environ: dict[str, Any] | None
    head: RequestHead
    body: RequestBody
    share: FairShare

    def handle(self) -> None:
        """Serve the connection's requests; never raises for what a client does."""
        self.server.connections.add(self)
        self.share = FairShare()
        try:
            wait_seconds = self.server.settings.head_timeout_seconds
            while self._await_request(wait_seconds) and self._handle_request():
                wait_seconds = self.server.settings.idle_timeout_seconds
        finally:
            self.server.connections.discard(self)
            self._close()

    def _close(self) -> None:
        try:
            # Closing on bytes that wait would reset the connection, and the answer might be lost with it.
            self.socket._sock.recv(_LINGER_READ_BYTES, socket.MSG_DONTWAIT)
        except OSError:
            pass
        finally:
            self.rfile.close()
            self.socket.close()

    def hang_up(self) -> None:
        """End the connection from outside: reads see the end, sends fail, the client is reported gone."""
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            logger.debug("the connection had ended already")

    def _await_request(self, seconds: float) -> bool:
        if self.server.draining:
            return False
        self.socket.settimeout(seconds)
        self.idle = True
        try:
            return bool(self.rfile.peek(1))
        except OSError:
            return False
        finally:
            self.idle = False
            self.socket.settimeout(self.server.settings.io_timeout_seconds)

    def _handle_request(self) -> bool:
        """Read and answer one request; whether the connection can carry another."""
        late = ProtocolError(408, "the request's head did not arrive in time")
        lines = HeadLines(self.rfile)
        self.share.take_request()
        try:
            with gevent.Timeout(self.server.settings.head_timeout_seconds, late):
                self.head = read_head(lines)
        except ProtocolError as error:
            if error is not late:
                self._look_for_origin(lines)
            return self._refuse(error, lines.fields)
        except (ConnectionEndedError, OSError):
            return False
        with self.server.open_request():
            self._respond()
        return self._finish()

    def _look_for_origin(self, lines: HeadLines) -> None:
        if self.server.grant is not None:
            with gevent.Timeout(self.server.settings.linger_seconds, False), suppress(OSError):
                lines.skim()

    def _granted(self, fields: Sequence[Field]) -> Sequence[Field]:
        grant = self.server.grant
        return () if grant is None else grant(joined_value(fields, "origin"))

    def _refuse(self, error: ProtocolError, fields: Sequence[Field]) -> bool:
        logger.info("refused a request from %s: %d %s", self.client_address[0], error.status, error.detail)
        try:
            self.socket.sendall(refusal(error, grant=self._granted(fields)))
        except OSError:
            return False
        self._linger()
        return False

    def _respond(self) -> None:
        started = time.monotonic()
        self._reset()
        connection = WatchedConnection(self.socket)
        self.environ = build_environ(
            self.head, self.body, connection, self.server.bound_address, self.client_address[:2]
        )
        self.application = self.server.application
        try:
            self.run_application()
        except ClientGoneError as error:
            logger.debug("the answer could not be sent: %s", error.__cause__)
            self.code, self.client_gone = 499, True
        except Exception:
            logger.exception("the application failed")
            self._fail()
        finally:
            connection.release()
            # An idle connection must not keep its last request alive.
            self.environ = None
            self._log_access(time.monotonic() - started)

    def _reset(self) -> None:
        self.command, self.request_version = self.head.method, self.head.version
        self.close_connection = not self.head.keep_alive
        self.client_gone = False
        self.status, self.code, self.result = None, 0, None
        self.headers_sent = self.response_use_chunked = False
        self.response_length = 0
        self.body = RequestBody(
            self.rfile,
            self.head,
            self.server.settings.max_body_bytes,
            lambda: self.socket.sendall(_CONTINUE),
            self.share.take_read,
        )

    def _fail(self) -> None:
        self.close_connection = True
        if self.headers_sent:
            return
        self.code, self.headers_sent = 500, True
        failure = ProtocolError(500, INTERNAL_DETAIL)
        try:
            self._sendall(refusal(failure, self.command != "HEAD", self._granted(self.head.fields)))
        except ClientGoneError:
            self.client_gone = True

    def _finish(self) -> bool:
        if self.client_gone:
            return False
        self.socket.settimeout(self.server.settings.linger_seconds)
        if not self.close_connection and self.body.drain():
            return True
        if not self.body.ended:
            self._linger()
        return False

    def _linger(self) -> None:
        """Read on for a moment: closing on unread bytes would reset the connection under the answer."""
        with gevent.Timeout(self.server.settings.linger_seconds, False):
            try:
                self.socket.shutdown(socket.SHUT_WR)
                while self.socket.recv(_LINGER_READ_BYTES):
                    gevent.sleep(0.001)
            except OSError:
                return

    def _log_access(self, seconds: float) -> None:
        access_logger.info(
            "%s %s %s %d bytes %.1f ms",
            self.head.method,
            self.head.path,
            self.code,
            self.response_length,
            seconds * 1000,
        )

    # What follows takes the place of pywsgi's response half where that falls short.

    def _has_no_body(self) -> bool:
        return self.command == "HEAD" or self.code in (204, 304)

    def process_result(self) -> None:
        """Send what the application returned."""
        if self.command != "HEAD":
            for data in self.result:
                if data:
                    self.share.take_write(len(data))
                    self.write(data)
        if not self.headers_sent:
            self.write(b"")
        if self.response_use_chunked:
            self._sendall(b"0\r\n\r\n")

    def finalize_headers(self) -> None:
        """Complete the head: the date, the body's framing, what becomes of the connection."""
        headers = [pair for pair in self.response_headers if pair[0].lower() != b"connection"]
        if self.provided_date is None:
            headers.append((b"Date", format_date_time(time.time())))
        if self.provided_content_length is None and not self._has_no_body():
            headers.extend(self._framing_headers())
        if self.server.draining or not self.body.reusable:
            self.close_connection = True
        if self.close_connection:
            headers.append((b"Connection", b"close"))
        elif self.request_version == "HTTP/1.0":
            headers.append((b"Connection", b"keep-alive"))
        self.response_headers = headers

    def _framing_headers(self) -> list[tuple[bytes, bytes]]:
        if hasattr(self.result, "__len__"):
            return [(b"Content-Length", b"%d" % sum(len(chunk) for chunk in self.result))]
        if self.request_version == "HTTP/1.0":
            self.close_connection = True
            return []
        self.response_use_chunked = True
        return [(b"Transfer-Encoding", b"chunked")]

    def _write_with_headers(self, data: bytes) -> None:
        self.headers_sent = True
        self.finalize_headers()
        head = bytearray(b"HTTP/1.1 %s\r\n" % self.status)
        for name, value in self.response_headers:
            head += b"%s: %s\r\n" % (name, value)
        head += b"\r\n"
        if len(data) > _JOIN_BYTES:
            self._sendall(head)
            self._write(data)
        elif self.response_use_chunked and data:
            self._sendall(head + b"%x\r\n%s\r\n" % (len(data), data))
        else:
            self._sendall(head + data)

    def _sendall(self, data: bytes | bytearray) -> None:
        # In slices, because the socket's timeout bounds one call: a slow reader may still make progress.
        view: Any = memoryview(data)
        try:
            # Nearly always the socket takes a whole event at once; `sendall` costs twice as much to say so.
            view = view[self.socket.send(view[:_SEND_BYTES]) :]
            for start in range(0, len(view), _SEND_BYTES):
                self.socket.sendall(view[start : start + _SEND_BYTES])
        except OSError as error:
            raise ClientGoneError from error
        self.response_length += len(data)
