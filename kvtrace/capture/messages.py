"""Messages of kvtrace about a run: a row when new, and a count of repetitions at the end."""

import os
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from kvtrace.capture.records import capped
from kvtrace.surroundings import print_error

if TYPE_CHECKING:
    from kvtrace.capture.journal import Journal

#: Most distinct messages that are kept of a run.
_MESSAGES: Final = 1000
_MOST_LINKS: Final = 100
#: Codes of warnings on launches that are not recorded.
_NO_LAUNCH: Final = frozenset({
    "triton-too-old", "backend-failed", "capture-failure", "recording-unavailable", "window-empty",
    "nothing-launched",
})  # fmt: skip
#: Level, code and text of messages that a journal adds once.
GRAPH_MESSAGE: Final = (
    "info",
    "graph-replays",
    "launches were captured into graphs; replays of a graph do not pass through Python, so "
    "their launches are not recorded again",
)
CLOCK_MESSAGE: Final = (
    "warning",
    "clock-stepped-back",
    "the system's clock was set back during this run: times before and after it "
    "overlap, and a launch that seemed to end before it began has a duration of 0",
)


class Messages:
    """The messages of one run. `submit` queues a function that writes a row to the journal."""

    def __init__(self, submit: "Callable[[Callable[[Journal], None]], None]") -> None:
        self._submit = submit
        self._repeated: dict[tuple[str, str, str], int] = {}

    def say(
        self, level: str, code: str, text: str, times: int = 1, *, is_printed: bool = False
    ) -> None:
        """Write a new message, or add `times` to its count.

        A new one is printed, too, if it is a "warning" or `is_printed`.
        """
        key = (level, code, text)
        if key not in self._repeated and len(self._repeated) >= _MESSAGES:
            level, code = "info", "messages-left-out"
            text = f"more than {_MESSAGES} different messages; the others are only counted"
            key = (level, code, text)
        if key in self._repeated:
            self._repeated[key] += times
            return
        self._repeated[key] = 0
        if is_printed or level == "warning":
            print_error(text)
        self._write(level, code, text, times)

    @property
    def explain_no_launch(self) -> bool:
        """True if a printed warning gave the reason that no launch is recorded."""
        return any(code in _NO_LAUNCH for level, code, _ in self._repeated if level == "warning")

    def end(self) -> None:
        """Write a row with the count of each repeated message."""
        for key, count in list(self._repeated.items()):
            if count:
                self._write(*key, count)

    def _write(self, level: str, code: str, text: str, count: int) -> None:
        row = message_row(level, code, text, count)
        self._submit(lambda journal: journal.add("messages", row))


def message_row(level: str, code: str, text: str, count: int = 1) -> dict[str, Any]:
    """Return a row of `messages` with the current time."""
    return {
        "time": time.time_ns(), "level": level, "code": code, "text": capped(text), "count": count
    }  # fmt: skip


def text_of(value: Any) -> str:
    """Return a user's value as text; a note instead of the text if `str` fails."""
    try:
        text = value if type(value) is str else str(value)
    except Exception as error:  # noqa: BLE001 - a user's own __str__
        text = f"<{type(value).__name__} whose text failed: {type(error).__name__}>"
    return capped(text)


def chain_of(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception and those that it came from, `_MOST_LINKS` or a few more."""
    chain: list[BaseException | None] = [error]
    for link in chain:
        if link is None:
            continue
        yield link
        if len(chain) < _MOST_LINKS:
            chain += (link.__cause__, link.__context__, *getattr(link, "exceptions", ()))


def place_of(error: Exception) -> str:
    """Return " (file:line)" of the innermost frame of an error."""
    trace = error.__traceback__
    if trace is None:
        return ""
    while trace.tb_next is not None:
        trace = trace.tb_next
    code = trace.tb_frame.f_code
    return f" ({os.path.basename(code.co_filename)}:{trace.tb_lineno})"  # noqa: PTH119
