"""Planted reads of unwritten memory: each is found, and its right twin has none."""

import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kvtrace.addons.memory.judged import findings_of
from kvtrace.addons.memory.rules import READ, RESULT
from kvtrace.schema.trace import open_trace

pytest.importorskip("triton")
pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[3]
PROGRAM = Path(__file__).with_name("planted.py")
_PLACE = re.compile(r"planted\.py:(\d+) made it")


@pytest.fixture(scope="module", params=["wrong", "right"])
def recorded(request, tmp_path_factory):
    """Yield how the program was run, its marks with their launches' calls, and the findings."""
    out = tmp_path_factory.mktemp(request.param) / "out"
    environment = os.environ | {
        "KVTRACE": str(out), "KVTRACE_MEMORY": "on", "KVTRACE_DEVICE": "cpu",
        "PYTHONPATH": str(ROOT),
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, PROGRAM, request.param], env=environment, capture_output=True, text=True,
        timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    trace = open_trace(out)
    (run,) = trace.runs
    marks = trace.table("marks", (run,), ["name", "begin", "end"]).to_pylist()
    launches = trace.table("launches", (run,), ["call_id", "enter"]).to_pylist()
    calls = {
        mark["name"]: {
            launch["call_id"]
            for launch in launches
            if mark["begin"] <= launch["enter"] <= mark["end"]
        }
        for mark in marks
    }
    return request.param, calls, findings_of(trace, run, named=False)["findings"].to_pylist()


def lines_of(case):
    """The lines of a case's function."""
    from tests.addons.memory import planted

    lines, first = inspect.getsourcelines(getattr(planted, case))
    return range(first, first + len(lines))


def test_each_planted_read_is_found_and_its_twin_is_not(recorded):
    how, calls, findings = recorded
    violations = [f for f in findings if f["verdict"] == "violation" and f["rule"] == READ]
    assert len(calls) == 60
    if how == "right":
        assert not violations
        assert not [f for f in findings if f["rule"] == RESULT]
        return
    missed = []
    for mark, launched in calls.items():
        lines = lines_of(mark.split()[0])
        found = any(
            finding["call_id"] in launched and int(_PLACE.search(finding["message"])[1]) in lines
            for finding in violations
        )
        if not found:
            missed.append(mark)
    assert not missed


def test_few_reads_are_unknown(recorded):
    _, _, findings = recorded
    reads = [finding for finding in findings if finding["rule"] == READ]
    unknown = [finding for finding in reads if finding["verdict"] == "unknown"]
    assert len(unknown) <= 0.08 * len(reads), {finding["reason"] for finding in unknown}
