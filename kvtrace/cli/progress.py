"""Progress bars of passes and queries on standard error, shown only on a terminal."""

import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from kvtrace.analysis.progress import RemainingTime
from kvtrace.cli import is_quiet

_CELLS: Final = 40
_BETWEEN: Final = 0.1
_ERASE: Final = "\r\x1b[K"


@contextmanager
def calls_progress(title: str) -> Iterator[Callable[[int, int], None] | None]:
    """Yield a function that shows progress, given (done, total), or None without a terminal.

    The bar is drawn on standard error, and erased when the context ends.
    """
    if is_quiet() or not sys.stderr.isatty():
        yield None
        return
    bar = _Bar(title)
    try:
        yield bar.show
    finally:
        bar.erase()


@contextmanager
def query_progress(percent: Callable[[], float]) -> Iterator[None]:
    """Show a query's progress while the context is open; `percent` is called again and again.

    It returns the progress in percent, below 0 if unknown. Nothing is shown without a terminal.
    """
    if is_quiet() or not sys.stderr.isatty():
        yield
        return
    ended = threading.Event()
    bar = _Bar("query")

    def follow() -> None:
        while not ended.wait(2 * _BETWEEN):
            bar.show(max(0, int(percent())), 100)

    follower = threading.Thread(target=follow, daemon=True)
    follower.start()
    try:
        yield
    finally:
        ended.set()
        follower.join()
        bar.erase()


class _Bar:
    """A progress bar in one line of a terminal, which each update overwrites."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._shown = time.monotonic()
        self._remaining = RemainingTime()

    def show(self, done: int, total: int) -> None:
        """Draw the bar for `done` of `total`, unless it was drawn less than 0.1 s ago."""
        self._remaining.add(done)
        now = time.monotonic()
        if now - self._shown < _BETWEEN:
            return
        self._shown = now
        share = min(1.0, done / total) if total else 0.0
        bar = "━" * round(_CELLS * share)
        seconds = self._remaining.seconds(total)
        remaining = "" if seconds is None else f", {seconds:,.0f} s left"
        line = f"{self._title} {bar:<{_CELLS}} {share:4.0%}{remaining}"
        width = shutil.get_terminal_size().columns
        print(_ERASE + line[: width - 1], end="", file=sys.stderr, flush=True)

    def erase(self) -> None:
        print(_ERASE, end="", file=sys.stderr, flush=True)
