"""`kvtrace view`: the report or the timeline in a browser."""

import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Final

from kvtrace.cli.options import OutputOption, RunOption, TracePath, say, select, tell
from kvtrace.cli.parsing import Option
from kvtrace.schema.errors import KvtraceError

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
    from kvtrace.cli.serving import PageServer

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
    from kvtrace.cli.handover import Handover

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
