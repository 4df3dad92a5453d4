"""Progress on a terminal: a line that is written over, and is gone at the end."""

import time

import pytest

from kvtrace.cli import progress


@pytest.fixture
def terminal(monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr(progress, "_BETWEEN", 0.0)


def test_calls_are_counted_on_one_line_that_is_erased(terminal, capsys):
    with progress.calls_progress("judging") as advance:
        advance(1, 4)
        advance(4, 4)
    shown = capsys.readouterr().err.split("\r")
    assert shown[0] == ""
    assert shown[1].startswith("\x1b[Kjudging ━")
    assert " 25%" in shown[1]
    assert "100%" in shown[2]
    assert shown[3] == "\x1b[K"
    assert "\n" not in "".join(shown)


def test_a_query_shows_how_far_it_is(terminal, capsys):
    with progress.query_progress(lambda: 50.0):
        time.sleep(0.05)
    assert "query" in capsys.readouterr().err


def test_nothing_is_shown_where_nobody_looks(capsys):
    with progress.calls_progress("judging") as advance:
        assert advance is None
    with progress.query_progress(lambda: 50.0):
        pass
    assert capsys.readouterr().err == ""
