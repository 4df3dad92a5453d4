"""Commands that store results, on a trace that cannot be written to: same text and exit code."""

import re
import shutil
from pathlib import Path

import pytest

from kvtrace.cli import main
from kvtrace.converters.findings import read_findings
from kvtrace.schema.trace import open_trace
from tests.support.small_disk import read_only

__all__ = ["read_only"]

RECORDED = Path(__file__).parents[1] / "fixtures" / "h200" / "planted"
NOTE = "this output alone has the results"
DERIVED = ("findings", "accesses", "ops", "loops")


@pytest.fixture
def traces(tmp_path, monkeypatch):
    """Copies of a trace without derived tables: `writable`, and `mounted`."""
    monkeypatch.chdir(tmp_path)
    for side in ("writable", "mounted"):
        shutil.copytree(RECORDED / "good", tmp_path / side / "good")
        for table in DERIVED:
            shutil.rmtree(tmp_path / side / "good" / table, ignore_errors=True)
    return tmp_path


COMMANDS = [
    "sanitize good",
    "sanitize good --json",
    "replay good",
    "replay good --client profiler --json",
    "diff good good --replay",
    "report good --no-source -o PAGE",
]


@pytest.mark.process
@pytest.mark.parametrize("command", COMMANDS)
def test_results_that_cannot_be_stored_are_printed_and_judged_as_others(
    command, traces, read_only, monkeypatch, capsys
):
    words = [word.replace("PAGE", str(traces / "page.html")) for word in command.split()]
    printed = {}
    read_only(traces / "mounted" / "good")
    for side in ("writable", "mounted"):
        monkeypatch.chdir(traces / side)
        code = main(words)
        output = capsys.readouterr()
        # The page's size differs by the notes on it, and seconds by what else runs.
        lines = re.sub(r" in [\d.]+ s\b", "", output.out).splitlines()
        printed[side] = [
            f"exit code {code}",
            *(line for line in lines if line and "wrote" not in line),
        ]
    expected = printed["writable"]
    assert [line for line in printed["mounted"] if line in expected] == expected
    assert expected[0] in ("exit code 0", "exit code 1")
    assert NOTE in " ".join((output.out + output.err).split())
    assert not read_findings(open_trace("good"), open_trace("good").runs).analyzed
