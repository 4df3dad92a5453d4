"""`kvtrace top`: the activity of programs while they are recorded."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from kvtrace.cli.options import JsonOption, print_lines
from kvtrace.cli.parsing import Argument, Option
from kvtrace.text import json_text

if TYPE_CHECKING:
    from kvtrace.converters.info.live import Live
    from kvtrace.schema.following import Follower


def command(
    trace: Annotated[Path, Argument(metavar="TRACE", help="Trace directory")],
    once: Annotated[
        bool, Option("--once", help="Print one page and end; the default without a terminal")
    ] = False,
    interval: Annotated[
        float, Option(metavar="SECONDS", min=0.1, help="Time between updates")
    ] = 1.0,
    whole: Annotated[
        bool, Option("--whole", help="Kernels since the beginning, not of the last minute")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Show what is being recorded now: launches, kernels, variants, findings.

    Reads the journal, without disturbing the programs that write it. q or Ctrl-C ends the display.
    With --json one page is printed.

    Example:
        kvtrace top out/
        kvtrace top out/ --once

    """
    import sys
    import time
    from dataclasses import asdict

    from kvtrace.converters.info.live import COLUMNS, FROM_START, Live
    from kvtrace.converters.info.live_text import page_lines
    from kvtrace.schema.following import Follower
    from kvtrace.schema.trace import open_trace
    from kvtrace.text import terminal_width

    opened = open_trace(trace)
    ended = sum(run.sealed for run in opened.runs)
    follower, live = Follower(opened.path, COLUMNS, FROM_START), Live()
    try:
        if not (once or as_json) and sys.stdout.isatty():
            with suppress(KeyboardInterrupt):
                _watch(follower, live, str(trace), interval, ended, whole=whole)
            return
        now = time.time_ns()
        live.add(follower.look(), now)
        page = live.page(now, whole=whole)
        if as_json:
            print(json_text("top", asdict(page)))
            return
        print_lines(page_lines(page, str(trace), now, terminal_width(), 40, ended))
    finally:
        follower.close()


def _watch(
    follower: "Follower", live: "Live", trace: str, interval: float, ended: int, *, whole: bool
) -> None:
    """Show a page every `interval` seconds until q is pressed; `ended` as in `page_lines`."""
    import shutil
    import time

    from kvtrace.converters.info.live_text import page_lines
    from kvtrace.text import printable, shorten

    with _keys() as pressed, _screen() as show:
        while True:
            now = time.time_ns()
            live.add(follower.look(), now)
            page = live.page(now, whole=whole)
            width, height = shutil.get_terminal_size()
            lines = page_lines(page, trace, now, width, height, ended)
            show([shorten(printable(line), width) for line in lines[: height - 1]])
            if pressed(interval) in ("q", "Q"):
                return


@contextmanager
def _screen() -> Iterator[Callable[[Sequence[str]], None]]:
    """Yield a function that shows lines on the terminal's alternate screen.

    When the context ends, the terminal shows its earlier content again.

    The escape sequences are those of xterm (ctlseqs), which every common terminal supports.
    """
    import sys

    def show(lines: Sequence[str]) -> None:
        shown = "".join(f"{line}\x1b[K\r\n" for line in lines)
        sys.stdout.write(f"\x1b[H{shown}q ends\x1b[J")
        sys.stdout.flush()

    sys.stdout.write("\x1b[?1049h\x1b[?25l")
    try:
        yield show
    finally:
        sys.stdout.write("\x1b[?25h\x1b[?1049l")
        sys.stdout.flush()


@contextmanager
def _keys() -> Iterator[Callable[[float], str | None]]:
    """Yield a function that waits up to some seconds for a key, and returns the key or None.

    Keys are not echoed. Without a terminal as standard input, the function only sleeps.
    """
    import select
    import sys
    import time

    if not sys.stdin.isatty():
        yield lambda seconds: time.sleep(seconds)
        return
    import termios
    import tty

    terminal_attributes = termios.tcgetattr(sys.stdin)

    def pressed(seconds: float) -> str | None:
        ready, _, _ = select.select([sys.stdin], [], [], seconds)
        return sys.stdin.read(1) if ready else None

    try:
        tty.setcbreak(sys.stdin)
        yield pressed
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, terminal_attributes)
