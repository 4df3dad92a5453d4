"""Progress on a terminal, where a bar is drawn again and erased, and in a pipe, as lines."""

import sys
import threading
from io import StringIO
from types import SimpleNamespace

import pytest

from kvtrace.cli import complain, progress
from kvtrace.cli.progress import progress_on_stderr


class Stream(StringIO):
    """A standard error that says how often it was written to."""

    def __init__(self, *, is_terminal):
        super().__init__()
        self.is_terminal = is_terminal
        self.written = threading.Semaphore(0)

    def isatty(self):
        return self.is_terminal

    def write(self, text):
        count = super().write(text)
        self.written.release()
        return count


@pytest.fixture(params=[True, False], ids=["terminal", "pipe"])
def stream(request, monkeypatch):
    stream = Stream(is_terminal=request.param)
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=stream))
    monkeypatch.setattr(progress, "_BETWEEN", 0.001)
    monkeypatch.setattr(progress, "_LINES", 0.001)
    return stream


def test_the_share_is_shown_again_and_again_without_a_report(stream):
    with progress_on_stderr("judging") as report:
        report(1, 4)
        while stream.getvalue().count(" 25%, ") < 3:
            stream.written.acquire()
    shown = stream.getvalue()
    assert " 25%, " in shown
    if stream.is_terminal:  # what is drawn before the report has no bar
        bars = [line for line in shown.split("\r\x1b[K") if " 25%, " in line]
        assert all(line.startswith("judging ━") for line in bars)
        assert shown.endswith("\r\x1b[K")  # erased
        assert "\n" not in shown
    else:
        assert all(line.startswith("kvtrace: judging: ") for line in shown.splitlines())


@pytest.mark.parametrize("columns", [10, 24, 60])
def test_bar_leaves_the_last_column_of_a_narrow_terminal_free(columns, monkeypatch):
    stream = Stream(is_terminal=True)
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=stream))
    monkeypatch.setenv("COLUMNS", str(columns))

    drawn = progress._Progress("judging calls of a long title", is_bar=True)
    drawn.report(1, 4)
    drawn.show()

    assert len(stream.getvalue().removeprefix("\r\x1b[K")) <= columns - 1


def test_work_without_a_report_is_asked_for_its_percentage(stream):
    with progress_on_stderr("query", lambda: 50.0):
        for _ in range(2):
            stream.written.acquire()
    assert " 50%" in stream.getvalue()


def test_work_of_unknown_size_shows_the_time_so_far(stream):
    with progress_on_stderr("judge"):
        stream.written.acquire()
    assert "judge" in stream.getvalue()
    assert " s so far" in stream.getvalue()


@pytest.mark.parametrize("columns", [24, 40, 80, 200])
def test_a_bar_fits_the_terminal(columns, monkeypatch):
    stream = Stream(is_terminal=True)
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=stream))
    monkeypatch.setenv("COLUMNS", str(columns))
    bar = progress._Progress("replay 20261127-090702-299-47dffff5", is_bar=True)
    bar.report(3, 4)
    bar.show()
    line = stream.getvalue().removeprefix("\r\x1b[K")
    assert len(line) < columns
    assert " 75%" in line


def test_a_line_is_printed_in_the_place_of_the_bar(monkeypatch, capsys):
    stream = Stream(is_terminal=True)
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=stream))
    monkeypatch.setattr(progress, "_BETWEEN", 1e6)
    with progress_on_stderr("judging"):
        progress._shown[0].show()
        complain("one call cannot be judged")
        assert stream.getvalue().endswith("\r\x1b[K")
    assert capsys.readouterr().err == "kvtrace: one call cannot be judged\n"


@pytest.mark.parametrize(("is_terminal", "lines"), [(True, 3), (False, 1)])
def test_complaints_are_wrapped_on_a_terminal_alone(is_terminal, lines, monkeypatch):
    stream = Stream(is_terminal=is_terminal)
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr(sys, "stderr", stream)
    complain("out/ has no launch recorded for checks; record the program with KVTRACE_CHECK=first")
    shown = stream.getvalue().splitlines()
    assert len(shown) == lines
    assert not is_terminal or max(map(len, shown)) <= 40
