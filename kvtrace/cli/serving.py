"""A server of one page on this machine's loopback address, reachable from elsewhere by SSH.

The page has an address that cannot be guessed, and nothing else is served. Requests for another
host name are refused: a foreign name may point to this machine.
"""

import re
import secrets
import sys
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from kvtrace.schema.errors import BadSetting

LOOPBACK: Final = "127.0.0.1"
#: The element with a page's policy on what it may load.
_POLICY: Final = re.compile(rb'<meta http-equiv="Content-Security-Policy" content="([^"]*)"')


class LoopbackServer(ThreadingHTTPServer):
    """A server on the loopback address; connections that the browser closes are not reported."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore connections that the browser closed; print other errors as the base does."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class PageServer(LoopbackServer):
    """A server of one page, at `address`; `serve_forever` serves until interrupted.

    The page's content security policy is also sent as a header, with a directive that a page cannot
    set for itself: no other page may frame it.

    Raises:
        BadSetting: The port cannot be used.

    """

    def __init__(self, page: bytes, port: int = 0) -> None:
        self.page = page
        match = _POLICY.search(page)
        page_policy = match[1].decode() if match else "default-src 'none'"
        self.policy = f"{page_policy.rstrip('; ')}; frame-ancestors 'none'"
        self.path = f"/{secrets.token_urlsafe(18)}/"
        try:
            super().__init__((LOOPBACK, port), _Answers)
        except OSError as problem:
            raise BadSetting(
                f"no server can be started on port {port}: {problem.strerror}."
            ) from problem

    @property
    def address(self) -> str:
        """The page's address."""
        return f"http://{LOOPBACK}:{self.server_port}{self.path}"


class LoopbackAnswers(BaseHTTPRequestHandler):
    """Base class of request handlers on the loopback address; requests are not logged."""

    server: ThreadingHTTPServer
    server_version = "kvtrace"
    sys_version = ""
    timeout = 30

    def is_refused(self) -> bool:
        """Return whether the request's Host header is not this machine's loopback name."""
        port = self.server.server_port
        return self.headers.get("Host") not in (f"{LOOPBACK}:{port}", f"localhost:{port}")

    def head(self, status: HTTPStatus, kind: str, size: int, policy: str | None = None) -> None:
        """Send the status and the headers; `policy` limits what the page may load."""
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(size))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        if policy is not None:
            self.send_header("Content-Security-Policy", policy)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        """Log nothing, since the command prints to the terminal."""


class _Answers(LoopbackAnswers):
    """Request handler that serves the page at its address, and nothing else."""

    server: PageServer

    def do_GET(self) -> None:
        """Send the page."""
        if self._send_head():
            self.wfile.write(self.server.page)

    def do_HEAD(self) -> None:
        """Send the page's headers."""
        self._send_head()

    def _send_head(self) -> bool:
        is_page = self.path == self.server.path and not self.is_refused()
        status = HTTPStatus.OK if is_page else HTTPStatus.NOT_FOUND
        size = len(self.server.page) if is_page else 0
        self.head(status, "text/html; charset=utf-8", size, self.server.policy)
        return is_page
