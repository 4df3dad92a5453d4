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
def _no_hurry(monkeypatch):
    """What takes long is no matter of how busy this machine is."""
    monkeypatch.setattr(missing_passes, "MOST_SECONDS", 1e6)


@pytest.fixture
def recorded(tmp_path):
    """A trace of 13 unique calls that no pass has analyzed."""
    derived = shutil.ignore_patterns("part-[a-z]*")  # if somebody looked at the fixture itself
    return Path(shutil.copytree(FIXTURE, tmp_path / "out", ignore=derived))


def test_missing_passes_run_once_and_are_reported(recorded, capsys):
    report(recorded)

    stdout = capsys.readouterr().out
    assert "analyzed 13 unique calls in " in stdout
    assert passes(recorded) == {"tracer", "profiler", "sanitizer", "order"}

    report(recorded)

    assert "analyzed" not in capsys.readouterr().out


def test_only_the_pass_that_is_missing_is_run(recorded, capsys):
    assert main(["replay", str(recorded)]) == 0
    capsys.readouterr()

    report(recorded)

    assert " s (sanitizer), skip with --no-replay" in capsys.readouterr().out


def test_missing_judgments_use_the_rules_of_the_environment(recorded, monkeypatch):
    monkeypatch.setenv("KVTRACE_RULES", "race")

    report(recorded)

    assert set(open_trace(recorded).table("findings")["rule"].to_pylist()) == {"race"}


def test_missing_passes_are_not_run_with_no_replay(recorded, capsys):
    report(recorded, "--no-replay")

    assert passes(recorded) == set()
    assert "analyzed" not in capsys.readouterr().out


def test_many_unique_calls_are_analyzed_only_on_request(recorded, capsys, monkeypatch):
    monkeypatch.setattr(missing_passes, "MOST_CALLS", 5)

    report(recorded)

    stdout = capsys.readouterr().out
    assert "13 unique calls are too many to analyze without --replay" in stdout
    assert f"kvtrace replay {recorded}" in stdout
    assert passes(recorded) == set()

    report(recorded, "--replay")

    assert passes(recorded) == {"tracer", "profiler", "sanitizer", "order"}


def test_a_slow_pass_is_stopped_and_writes_nothing(recorded, capsys, monkeypatch):
    monkeypatch.setattr(missing_passes, "MOST_SECONDS", 0.0)

    report(recorded)

    assert "analyzing 13 unique calls would take about" in capsys.readouterr().out
    assert passes(recorded) == set()


def test_a_trace_without_ir_is_skipped(tmp_path, capsys):
    from tests.converters.written_trace import Kernel, write_trace

    write_trace(tmp_path / "out", [Kernel()])

    report(tmp_path / "out")

    assert "analyzed" not in capsys.readouterr().out
    assert passes(tmp_path / "out") == set()
