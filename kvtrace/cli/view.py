"""`kvtrace view`: the report or the timeline in a browser, from a server on this machine."""

import json
import re
import secrets
import shutil
import sys
import threading
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any, Final, Self
from urllib.parse import quote, urlsplit

from kvtrace.cli.options import OutputOption, RunOption, TracePath, say, select, tell
from kvtrace.cli.parsing import Option
from kvtrace.schema.errors import BadSetting, KvtraceError

# A server of one page on this machine's loopback address, reachable from elsewhere by SSH.
#
# The page has an address that cannot be guessed, and nothing else is served. Requests for another
# host name are refused: a foreign name may point to this machine.

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
            super().__init__((LOOPBACK, port), _FileAnswers)
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


class _FileAnswers(LoopbackAnswers):
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


PERFETTO_UI: Final = "https://ui.perfetto.dev"
#: Commands for the UI after it has opened a timeline: expand the devices, which come first.
_STARTUP_COMMANDS: Final = ({"id": "dev.perfetto.ExpandTracksByRegex", "args": ["^GPU "]},)

_PAGE: Final = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>kvtrace: opening Perfetto</title>
<style nonce="{nonce}">
  body {{ font: 16px/1.5 system-ui, sans-serif; margin: 4rem auto; max-width: 32rem; }}
  button {{ font: inherit; padding: .5rem 1rem; }}
</style>
<h1>Timeline</h1>
<p><button id="open">Open in Perfetto</button></p>
<p id="status" role="status">The timeline stays on this machine: this page passes it to the
Perfetto UI inside your browser.</p>
<script nonce="{nonce}">
const settings = {settings};
const button = document.getElementById('open');
const say = (text) => {{ document.getElementById('status').textContent = text; }};
const content = fetch('trace').then((answer) => {{
  if (!answer.ok) throw new Error('the server answered ' + answer.status);
  return answer.arrayBuffer();
}});
content.catch((problem) => say('The timeline could not be read: ' + problem.message));
let posted = false;

function handOver() {{
  const ui = window.open(settings.address);
  if (!ui) return; // blocked as long as nobody has clicked
  button.disabled = true;
  say('Waiting for the Perfetto UI …');
  const calling = setInterval(() => {{
    if (!ui.closed) return ui.postMessage('PING', settings.origin);
    clearInterval(calling);
    button.disabled = false;
    say('The Perfetto UI was closed before it had the timeline.');
  }}, 100);
  window.addEventListener('message', async (event) => {{
    if (event.source !== ui || event.origin !== settings.origin) return;
    if (event.data !== 'PONG' || posted) return;
    posted = true;
    clearInterval(calling);
    const buffer = await content;
    ui.postMessage({{perfetto: {{buffer, title: settings.title, fileName: settings.file}}}},
                   settings.origin);
    await fetch('done', {{method: 'POST'}});
    say('Done. This page can be closed.');
  }});
}}

button.addEventListener('click', handOver);
handOver();
</script>
</html>
"""
_DEFAULT_WAIT_S: Final = 600.0


class NotOpened(KvtraceError):
    """Raised when no browser loaded the timeline before the end of --wait."""

    slug = "not-opened"


def command(
    trace: TracePath,
    perfetto: Annotated[
        bool,
        Option("--perfetto/--report", help="The timeline in the Perfetto UI, or the report"),
    ] = False,
    browser: Annotated[
        bool, Option("--browser/--no-browser", help="Open a browser, or print the address")
    ] = True,
    serve: Annotated[
        bool, Option("--serve", help="Serve the report on this machine until Ctrl-C")
    ] = False,
    port: Annotated[
        int, Option(metavar="PORT", min=0, max=65535, help="Port of --serve; 0: any")
    ] = 0,
    output: OutputOption = None,
    run: RunOption = None,
    ui: Annotated[
        str, Option(metavar="URL", help="The Perfetto UI to use, such as a self-hosted one")
    ] = "https://ui.perfetto.dev",
    wait: Annotated[
        float, Option(metavar="SECONDS", min=1, help="How long to offer the timeline")
    ] = _DEFAULT_WAIT_S,
) -> None:
    """Open the report of a trace in a browser, or its timeline in the Perfetto UI.

    The timeline is passed to the UI inside your browser; it is not uploaded. For a browser on
    another machine, use --serve and connect with `ssh -L PORT:localhost:PORT`.

    Example:
        kvtrace view out/
        kvtrace view out/ --perfetto
        kvtrace view out/ --serve --port 8000

    """
    from tempfile import TemporaryDirectory

    from kvtrace.converters.registry import load_converter

    converter = load_converter("perfetto" if perfetto else "report")
    selection = select(trace, run)
    if not perfetto:
        report = output or _lasting_folder() / converter.default_output
        converter.convert(selection, report, {})
        if serve:
            _serve(report, port, browser=browser)
            return
        _open(report.resolve().as_uri(), browser=browser)
        return
    with TemporaryDirectory(prefix="kvtrace-") as folder:
        file = output or Path(folder) / converter.default_output
        converter.convert(selection, file, {})
        _hand_over(file, str(trace), ui, wait, browser=browser)


def _serve(report: Path, port: int, *, browser: bool) -> None:

    with PageServer(report.read_bytes(), port) as server:
        _open(server.address, browser=browser)
        tell("serving the report; Ctrl-C ends it")
        sys.stdout.flush()  # a reader of a pipe needs the address while the server runs
        with suppress(KeyboardInterrupt):
            server.serve_forever(poll_interval=0.05)


def _lasting_folder() -> Path:
    """Return a folder that stays when this command ends, since the browser reads it later."""
    from tempfile import mkdtemp

    return Path(mkdtemp(prefix="kvtrace-report-"))


def _hand_over(file: Path, title: str, ui: str, wait: float, *, browser: bool) -> None:

    with Handover(file, title, ui) as handover:
        _open(handover.address, browser=browser)
        tell(f"offering the timeline for {wait:g} s; Ctrl-C ends it")
        sys.stdout.flush()  # a reader of a pipe needs the address while the server runs
        if not handover.wait(wait):
            raise NotOpened(
                f"no browser opened the timeline within {wait:g} s; give a longer time by --wait."
            )
    tell("the Perfetto UI has the timeline")


def _open(address: str, *, browser: bool) -> None:
    import webbrowser

    opened = browser and webbrowser.open(address)
    say(address if opened else f"open {address}")


# Transfer of one timeline file to the Perfetto UI through the browser, and to nobody else.
#
# ui.perfetto.dev cannot read local files, but accepts a buffer from a page that opened the UI
# (https://perfetto.dev/docs/visualization/deep-linking-to-perfetto-ui): that page sends PING until
# the UI answers PONG, then posts the buffer. So a server on this machine's loopback address serves
# such a page and the file, at an address that cannot be guessed, until the page reports that the UI
# has the file. No other site can read from the server: responses have no permission for other
# origins, and requests for another host name are refused.


class Handover:
    """A context in which a server of this machine serves one file; `address` is the page to open.

    Raises BadSetting if the UI's address is not a http(s) URL, or no port is free.
    """

    def __init__(self, file: Path, title: str, ui: str = PERFETTO_UI) -> None:
        self.file = file
        self.handed_over = threading.Event()
        self.root = f"/{secrets.token_urlsafe(18)}/"
        self.nonce = secrets.token_urlsafe(12)
        origin = _origin(ui)
        settings = {
            "address": with_startup_commands(ui),
            "origin": origin,
            "title": title,
            "file": file.name,
        }
        quoted = json.dumps(settings).replace("<", "\\u003c")  # no text may end the script
        self.page = _PAGE.format(nonce=self.nonce, settings=quoted).encode()
        try:
            self._server = _Server(self)
        except OSError as problem:
            raise BadSetting(
                f"no server can be started on {LOOPBACK}: {problem.strerror}."
            ) from problem
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        )

    @property
    def port(self) -> int:
        """The port, chosen by the system."""
        return self._server.server_port

    @property
    def address(self) -> str:
        """The page that opens the UI and passes the file to it."""
        return f"http://{LOOPBACK}:{self.port}{self.root}"

    def wait(self, seconds: float) -> bool:
        """Wait until the UI has the file, at most so many seconds; return whether it has."""
        return self.handed_over.wait(seconds)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Finish the responses in progress and stop the server."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(LoopbackServer):
    daemon_threads = False  # server_close waits for answers in flight
    block_on_close = True

    def __init__(self, handover: Handover) -> None:
        self.handover = handover
        super().__init__((LOOPBACK, 0), _Answers)


class _Answers(LoopbackAnswers):
    """Responses to requests for the page and the file, and to the report that the UI has it."""

    server: _Server

    def do_GET(self) -> None:
        """Send the page or the file."""
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        """Send the headers of the page or the file."""
        self._answer(with_body=False)

    def do_POST(self) -> None:
        """Accept the page's report that the UI has the file."""
        handover = self.server.handover
        if self.is_refused() or self.path != handover.root + "done":
            self._head(HTTPStatus.NOT_FOUND, "text/plain", 0)
            return
        self._head(HTTPStatus.NO_CONTENT, "text/plain", 0)
        handover.handed_over.set()

    def _answer(self, *, with_body: bool) -> None:
        handover = self.server.handover
        if self.is_refused():
            self._head(HTTPStatus.NOT_FOUND, "text/plain", 0)
        elif self.path == handover.root:
            self._head(HTTPStatus.OK, "text/html; charset=utf-8", len(handover.page))
            if with_body:
                self.wfile.write(handover.page)
        elif self.path == handover.root + "trace":
            self._send_file(handover.file, with_body=with_body)
        else:
            self._head(HTTPStatus.NOT_FOUND, "text/plain", 0)

    def _send_file(self, path: Path, *, with_body: bool) -> None:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(0)
            self._head(HTTPStatus.OK, "application/octet-stream", size)
            if with_body:
                shutil.copyfileobj(file, self.wfile, 1 << 20)

    def _head(self, status: HTTPStatus, kind: str, size: int) -> None:
        nonce = self.server.handover.nonce
        policy = (
            f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; "
            "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )
        self.head(status, kind, size, policy)


def with_startup_commands(ui: str) -> str:
    """Return the address of Perfetto's UI with `startupCommands`, which arrange the timeline.

    https://perfetto.dev/docs/visualization/deep-linking-to-perfetto-ui has the format; a UI that
    does not know a command ignores it.
    """
    page, _, route = ui.partition("#")
    route = route or "!/"
    joint = "&" if "?" in route else "?"
    return f"{page}#{route}{joint}startupCommands={quote(json.dumps(_STARTUP_COMMANDS))}"


def _origin(ui: str) -> str:
    parts = urlsplit(ui)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise BadSetting(
            f"{ui!r} is not an address of a Perfetto UI; give one such as {PERFETTO_UI}."
        )
    return f"{parts.scheme}://{parts.netloc}"
