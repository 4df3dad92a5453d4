"""Progress of long work on standard error: a bar on a terminal, a line every 10 s elsewhere."""

import os
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from kvtrace.progress import Percent, RemainingTime, Report

_CELLS: Final = 40
_LEAST_CELLS: Final = 4
_ERASE: Final = "\r\x1b[K"
#: Seconds between two drawings of a bar, and between two lines.
_BETWEEN: Final = 0.25
_LINES: Final = 10.0

#: The progress that is shown now.
_shown: "list[_Progress]" = []


@contextmanager
def progress_on_stderr(title: str, percent: Percent | None = None) -> Iterator[Report]:
    """Show the progress of work on standard error, as `kvtrace.progress.progress` asks for it.

    A bar is erased when the context ends. A thread moves bar and line while a part of the work
    takes long.
    """
    shown = _Progress(title, is_bar=sys.stderr.isatty())
    ended = threading.Event()

    def follow() -> None:
        while not ended.wait(shown.between):
            if percent is not None:
                shown.report(max(0.0, percent()), 100.0)
            shown.show()

    follower = threading.Thread(target=follow, daemon=True)
    follower.start()
    _shown.append(shown)
    try:
        yield shown.report
    finally:
        ended.set()
        follower.join()
        erase_progress()
        _shown.remove(shown)


def erase_progress() -> None:
    """Erase the bar that is drawn, if there is one, so that a line can be printed in its place."""
    for shown in _shown:
        shown.erase()


class _Progress:
    """The progress of some work: a bar in one line of a terminal, or lines of text."""

    def __init__(self, title: str, *, is_bar: bool) -> None:
        self._title = title
        self._is_bar = is_bar
        self._is_drawn = False
        self._began = time.monotonic()
        self._place = (0.0, 0.0)  # done, total
        self._remaining = RemainingTime()
        #: Seconds between two calls of `show`.
        self.between = _BETWEEN if is_bar else _LINES

    def report(self, done: float, total: float) -> None:
        """Note that `done` of `total` is finished."""
        self._remaining.add(done)
        self._place = (done, total)

    def show(self) -> None:
        """Draw the bar again, or print a further line."""
        if not self._is_bar:
            _write(f"kvtrace: {self._title}: {self._text()}\n")
            return
        columns = shutil.get_terminal_size().columns
        text = self._text()
        title = self._title[: max(columns - len(text) - 2, 0)]
        cells = min(_CELLS, columns - len(title) - len(text) - 3)
        done, total = self._place
        bar = ""
        if total and cells >= _LEAST_CELLS:
            bar = f"{'━' * round(cells * min(1.0, done / total)):<{cells}} "
        self._is_drawn = True
        _write(_ERASE + f"{title} {bar}{text}"[: columns - 1])

    def erase(self) -> None:
        if self._is_drawn:
            self._is_drawn = False
            _write(_ERASE)

    def _text(self) -> str:
        """Return the finished share, and the seconds that remain or, if unknown, that passed."""
        done, total = self._place
        seconds = self._remaining.seconds(total) if total else None
        if seconds is None:
            time_text = f"{time.monotonic() - self._began:,.0f} s so far"
        else:
            time_text = f"about {seconds:,.0f} s left"
        return f"{min(1.0, done / total):4.0%}, {time_text}" if total else time_text


def _write(text: str) -> None:
    """Write on standard error at once, without Python's lock: commands fork while this waits."""
    stream = sys.stderr
    try:
        os.write(stream.fileno(), text.encode(stream.encoding or "utf-8", "replace"))
    except (OSError, ValueError, AttributeError):  # closed, or no file
        try:
            stream.write(text)
        except (OSError, ValueError, AttributeError):
            return
