"""Serves one page on this machine's loopback address, for a browser elsewhere by way of SSH.

The page has an address that cannot be guessed, and nothing else is served. Requests that name
another host are refused: a foreign name may point to this machine.
"""

import secrets
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

from kvtrace.schema.errors import BadSetting

LOOPBACK: Final = "127.0.0.1"


class PageServer(ThreadingHTTPServer):
    """A server of one page, at `address`; `serve_forever` serves until it is ended.

    Raises:
        BadSetting: the port cannot be had.

    """

    daemon_threads = True

    def __init__(self, page: bytes, port: int = 0) -> None:
        self.page = page
        self.path = f"/{secrets.token_urlsafe(18)}/"
        try:
            super().__init__((LOOPBACK, port), _Answers)
        except OSError as problem:
            raise BadSetting(f"cannot listen on port {port}: {problem.strerror}.") from problem

    @property
    def address(self) -> str:
        """Where the page is."""
        return f"http://{LOOPBACK}:{self.server_port}{self.path}"


class _Answers(BaseHTTPRequestHandler):
    """Answers for the page, and for nothing else."""

    server: PageServer
    server_version = "kvtrace"
    sys_version = ""
    timeout = 30

    def do_GET(self) -> None:
        """Send the page."""
        if self._head():
            self.wfile.write(self.server.page)

    def do_HEAD(self) -> None:
        """Send the page's headers."""
        self._head()

    def _head(self) -> bool:
        server = self.server
        hosts = {f"{name}:{server.server_port}" for name in (LOOPBACK, "localhost")}
        found = self.path == server.path and self.headers.get("Host") in hosts
        self.send_response(HTTPStatus.OK if found else HTTPStatus.NOT_FOUND)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(server.page) if found else 0))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.end_headers()
        return found

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        """Say nothing: the terminal belongs to the command."""
