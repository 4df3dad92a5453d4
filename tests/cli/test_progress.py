"""Progress on a terminal: a line that is written over, and is gone at the end."""

import time
from io import StringIO
from types import SimpleNamespace

import pytest

from kvtrace.cli import progress


class Terminal(StringIO):
    def isatty(self):
        return True


@pytest.fixture
def fake_terminal_output(monkeypatch):
    fake_terminal = Terminal()
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=fake_terminal))
    monkeypatch.setattr(progress, "_BETWEEN", 0.0)
    return fake_terminal


def test_calls_are_counted_on_one_line_that_is_erased(fake_terminal_output):
    with progress.calls_progress("judging") as advance:
        advance(1, 4)
        advance(4, 4)
    shown = fake_terminal_output.getvalue().split("\r")
    assert shown[0] == ""
    assert shown[1].startswith("\x1b[Kjudging ━")
    assert " 25%" in shown[1]
    assert "100%" in shown[2]
    assert shown[3] == "\x1b[K"
    assert "\n" not in "".join(shown)


def test_a_query_shows_its_progress(fake_terminal_output):
    with progress.query_progress(lambda: 50.0):
        time.sleep(0.05)
    assert "query" in fake_terminal_output.getvalue()


def test_no_progress_is_shown_without_a_terminal(capsys):
    with progress.calls_progress("judging") as advance:
        assert advance is None
    with progress.query_progress(lambda: 50.0):
        pass
    assert capsys.readouterr().err == ""
