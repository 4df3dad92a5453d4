"""`kvtrace report` runs the passes that a trace lacks, where that is quick, and says so."""

import shutil
from pathlib import Path

import pytest

from kvtrace.analysis import missing_passes
from kvtrace.cli import main
from kvtrace.schema.trace import open_trace
from tests.analysis.reported import passes, report

FIXTURE = Path(__file__).parents[1] / "fixtures" / "h200" / "device"


@pytest.fixture(autouse=True)
def _no_time_limit(monkeypatch):
    """What takes long is no matter of how busy this machine is."""
    monkeypatch.setattr(missing_passes, "MOST_SECONDS", 1e6)


@pytest.fixture
def unanalyzed_trace(tmp_path):
    """A trace of 13 unique calls that no pass has analyzed."""
    derived = shutil.ignore_patterns("part-[a-z]*")  # if somebody looked at the fixture itself
    return Path(shutil.copytree(FIXTURE, tmp_path / "out", ignore=derived))


def test_missing_passes_run_once_and_are_reported(unanalyzed_trace, capsys):
    report(unanalyzed_trace)

    stdout = capsys.readouterr().out
    assert "analyzed 13 unique calls in " in stdout
    assert passes(unanalyzed_trace) == {"tracer", "profiler", "sanitizer", "order"}

    report(unanalyzed_trace)

    assert "analyzed" not in capsys.readouterr().out


def test_only_the_pass_that_is_missing_is_run(unanalyzed_trace, capsys):
    assert main(["replay", str(unanalyzed_trace)]) == 0
    capsys.readouterr()

    report(unanalyzed_trace)

    assert " s (sanitizer), skip with --no-replay" in capsys.readouterr().out


def test_missing_judgments_use_the_rules_of_the_environment(unanalyzed_trace, monkeypatch):
    monkeypatch.setenv("KVTRACE_RULES", "race")

    report(unanalyzed_trace)

    assert set(open_trace(unanalyzed_trace).table("findings")["rule"].to_pylist()) == {"race"}


def test_missing_passes_are_not_run_with_no_replay(unanalyzed_trace, capsys):
    report(unanalyzed_trace, "--no-replay")

    assert passes(unanalyzed_trace) == set()
    assert "analyzed" not in capsys.readouterr().out


def test_many_unique_calls_are_analyzed_only_on_request(unanalyzed_trace, capsys, monkeypatch):
    monkeypatch.setattr(missing_passes, "MOST_CALLS", 5)

    report(unanalyzed_trace)

    stdout = capsys.readouterr().out
    assert "13 unique calls are too many to analyze without --replay" in stdout
    assert f"kvtrace replay {unanalyzed_trace}" in stdout
    assert passes(unanalyzed_trace) == set()

    report(unanalyzed_trace, "--replay")

    assert passes(unanalyzed_trace) == {"tracer", "profiler", "sanitizer", "order"}


def test_a_slow_pass_is_stopped_and_writes_nothing(unanalyzed_trace, capsys, monkeypatch):
    monkeypatch.setattr(missing_passes, "MOST_SECONDS", 0.0)

    report(unanalyzed_trace)

    assert "analyzing 13 unique calls would take about" in capsys.readouterr().out
    assert passes(unanalyzed_trace) == set()


def test_a_trace_without_ir_is_skipped(tmp_path, capsys):
    from tests.converters.written_trace import Kernel, write_trace

    write_trace(tmp_path / "out", [Kernel()])

    report(tmp_path / "out")

    assert "analyzed" not in capsys.readouterr().out
    assert passes(tmp_path / "out") == set()
