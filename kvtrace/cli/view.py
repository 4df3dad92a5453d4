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
from typing import Annotated, Any, Final, Self
from urllib.parse import quote, urlsplit

from kvtrace.cli.options import OutputOption, RunOption, TracePath, say, select, tell
from kvtrace.cli.parsing import Option
from kvtrace.schema.errors import BadSetting, KvtraceError

LOOPBACK: Final = "127.0.0.1"
#: The element with a page's policy on what it may load.
_POLICY: Final = re.compile(rb'<meta http-equiv="Content-Security-Policy" content="([^"]*)"')


class _Answers(BaseHTTPRequestHandler):
    """Answers to requests for the page and the files below it, and to no others.

    Requests for another host name are refused: a foreign name may point to this machine.
    """

    server: "PageServer"
    server_version = "kvtrace"
    sys_version = ""
    timeout = 30

    def do_GET(self) -> None:
        """Send the page or a file."""
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        """Send the headers of the page or a file."""
        self._answer(with_body=False)

    def name(self) -> str | None:
        """Return what the request names below the page's address; None: it is refused."""
        port, root = self.server.server_port, self.server.path
        is_ours = self.headers.get("Host") in (f"{LOOPBACK}:{port}", f"localhost:{port}")
        return self.path[len(root) :] if is_ours and self.path.startswith(root) else None

    def head(self, status: HTTPStatus, size: int = 0, kind: str = "text/plain") -> None:
        """Send the status and the headers."""
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(size))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.send_header("Content-Security-Policy", self.server.policy)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        """Log nothing, since the command prints to the terminal."""

    def _answer(self, *, with_body: bool) -> None:
        name, page, files = self.name(), self.server.page, self.server.files
        if name == "":
            self.head(HTTPStatus.OK, len(page), "text/html; charset=utf-8")
            if with_body:
                self.wfile.write(page)
        elif name in files:
            with files[name].open("rb") as file:
                size = file.seek(0, 2)
                file.seek(0)
                self.head(HTTPStatus.OK, size, "application/octet-stream")
                if with_body:
                    shutil.copyfileobj(file, self.wfile, 1 << 20)
        else:
            self.head(HTTPStatus.NOT_FOUND)


class PageServer(ThreadingHTTPServer):
    """A server of one page at `address`, and of files by name below it, on the loopback address.

    The address cannot be guessed; from another machine it is reached by SSH. `serve_forever` serves
    until interrupted. The page's content security policy is also sent as a header, with a directive
    that a page cannot set for itself: no other page may frame it.

    Raises:
        BadSetting: The port cannot be used.

    """

    daemon_threads = True
    answers: type[_Answers] = _Answers

    def __init__(self, page: bytes, port: int = 0, **files: Path) -> None:
        self.page, self.files = page, files
        match = _POLICY.search(page)
        page_policy = " ".join(match[1].decode().split()) if match else "default-src 'none'"
        self.policy = f"{page_policy.rstrip('; ')}; frame-ancestors 'none'"
        self.path = f"/{secrets.token_urlsafe(18)}/"
        try:
            super().__init__((LOOPBACK, port), self.answers)
        except OSError as problem:
            raise BadSetting(
                f"no server can be started on port {port}: {problem.strerror}."
            ) from problem

    @property
    def address(self) -> str:
        """The page's address."""
        return f"http://{LOOPBACK}:{self.server_port}{self.path}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore connections that the browser closed; print other errors as the base does."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


PERFETTO_UI: Final = "https://ui.perfetto.dev"
#: Commands for the UI after it has opened a timeline: expand the devices, which come first.
_STARTUP_COMMANDS: Final = ({"id": "dev.perfetto.ExpandTracksByRegex", "args": ["^GPU "]},)

_PAGE: Final = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none';
  script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'; base-uri 'none';
  form-action 'none'">
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
    from tempfile import TemporaryDirectory, mkdtemp

    from kvtrace.converters.registry import load_converter

    converter = load_converter("perfetto" if perfetto else "report")
    selection = select(trace, run)
    if not perfetto:
        folder = "" if output else mkdtemp(prefix="kvtrace-report-")  # the browser reads it later
        report = output or Path(folder) / converter.default_output
        # A page that is kept or served may be read elsewhere, where links to files lead nowhere.
        is_here = output is None and not serve
        converter.convert(selection, report, {"here": "yes"} if is_here else {})
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


def _hand_over(file: Path, title: str, ui: str, wait: float, *, browser: bool) -> None:
    with Handover(file, title, ui) as handover:
        _open(handover.address, browser=browser)
        tell(f"offering the timeline for {wait:g} s; Ctrl-C ends it")
        sys.stdout.flush()  # a reader of a pipe needs the address while the server runs
        if not handover.handed_over.wait(wait):
            raise NotOpened(
                f"no browser opened the timeline within {wait:g} s; give a longer time by --wait."
            )
    tell("the Perfetto UI has the timeline")


def _open(address: str, *, browser: bool) -> None:
    import webbrowser

    opened = browser and webbrowser.open(address)
    say(address if opened else f"open {address}")


class _HandoverAnswers(_Answers):
    """Answers also to the page's report that the UI has the file."""

    server: "Handover"

    def do_POST(self) -> None:
        """Accept the page's report."""
        if self.name() == "done":
            self.head(HTTPStatus.NO_CONTENT)
            self.server.handed_over.set()
        else:
            self.head(HTTPStatus.NOT_FOUND)


class Handover(PageServer):
    """A context in which a file is passed to the Perfetto UI in the browser, and to nobody else.

    ui.perfetto.dev cannot read local files, but accepts a buffer from a page that opened the UI
    (https://perfetto.dev/docs/visualization/deep-linking-to-perfetto-ui): that page sends PING
    until the UI answers PONG, then posts the buffer, and reports this here: `handed_over` is set.
    No other site can read from the server, whose answers have no permission for other origins.

    Raises BadSetting if the UI's address is not a http(s) URL, or no port is free.
    """

    daemon_threads = False  # server_close waits for answers in flight
    answers = _HandoverAnswers

    def __init__(self, file: Path, title: str, ui: str = PERFETTO_UI) -> None:
        self.handed_over = threading.Event()
        settings = {
            "address": with_startup_commands(ui),
            "origin": _origin(ui),
            "title": title,
            "file": file.name,
        }
        quoted = json.dumps(settings).replace("<", "\\u003c")  # no text may end the script
        page = _PAGE.format(nonce=secrets.token_urlsafe(12), settings=quoted)
        super().__init__(page.encode(), trace=file)
        self._thread = threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *problem: object) -> None:
        """Finish the answers in progress and stop the server."""
        self.shutdown()
        self.server_close()
        self._thread.join()


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
