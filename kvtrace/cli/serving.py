"""Serves one page on this machine's loopback address, for a browser elsewhere by way of SSH.

The page has an address that cannot be guessed, and nothing else is served. Requests that name
another host are refused: a foreign name may point to this machine.
"""

import re
import secrets
import sys
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from kvtrace.schema.errors import BadSetting

LOOPBACK: Final = "127.0.0.1"
#: Where a page says what it may load.
_POLICY: Final = re.compile(rb'<meta http-equiv="Content-Security-Policy" content="([^"]*)"')


class LoopbackServer(ThreadingHTTPServer):
    """A server for this machine alone; a browser that goes away in the middle is not an error."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a connection that the browser closed; print all else, as the base does."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class PageServer(LoopbackServer):
    """A server of one page, at `address`; `serve_forever` serves until it is ended.

    The page's policy for its contents is sent as a header, too, with what no page can say of
    itself: that no other page may frame it.

    Raises:
        BadSetting: the port cannot be had.

    """

    def __init__(self, page: bytes, port: int = 0) -> None:
        self.page = page
        found = _POLICY.search(page)
        own = found[1].decode() if found else "default-src 'none'"
        self.policy = f"{own.rstrip('; ')}; frame-ancestors 'none'"
        self.path = f"/{secrets.token_urlsafe(18)}/"
        try:
            super().__init__((LOOPBACK, port), _Answers)
        except OSError as problem:
            raise BadSetting(f"cannot listen on port {port}: {problem.strerror}.") from problem

    @property
    def address(self) -> str:
        """Where the page is."""
        return f"http://{LOOPBACK}:{self.server_port}{self.path}"


class LoopbackAnswers(BaseHTTPRequestHandler):
    """Answers that only this machine's user gets, who knows the address; says nothing of them."""

    server: ThreadingHTTPServer
    server_version = "kvtrace"
    sys_version = ""
    timeout = 30

    def is_refused(self) -> bool:
        """Tell whether a request names another host: a foreign name that points to this machine."""
        port = self.server.server_port
        return self.headers.get("Host") not in (f"{LOOPBACK}:{port}", f"localhost:{port}")

    def head(self, status: HTTPStatus, kind: str, size: int, policy: str | None = None) -> None:
        """Send the status and the headers; `policy` is what the page may load."""
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
        """Say nothing: the terminal belongs to the command."""


class _Answers(LoopbackAnswers):
    """Answers for the page, and for nothing else."""

    server: PageServer

    def do_GET(self) -> None:
        """Send the page."""
        if self._found():
            self.wfile.write(self.server.page)

    def do_HEAD(self) -> None:
        """Send the page's headers."""
        self._found()

    def _found(self) -> bool:
        found = self.path == self.server.path and not self.is_refused()
        status = HTTPStatus.OK if found else HTTPStatus.NOT_FOUND
        size = len(self.server.page) if found else 0
        self.head(status, "text/html; charset=utf-8", size, self.server.policy)
        return found
