"""Planted reads of unwritten memory: each is found, and its right twin has none."""

import inspect
import re
from pathlib import Path

import pytest

from kvtrace.addons.memory.rules import READ, RESULT
from tests.addons.memory.recorded import recorded_cases

pytest.importorskip("triton")
pytestmark = pytest.mark.process

PROGRAM = Path(__file__).with_name("planted.py")
_PLACE = re.compile(r"planted\.py:(\d+) made it")


@pytest.fixture(scope="module", params=["wrong", "right"])
def recorded(request, tmp_path_factory):
    """Yield how the program was run, the calls within its marks, and the findings."""
    calls, findings = recorded_cases(PROGRAM, request.param, tmp_path_factory.mktemp("planted"))
    return request.param, calls, findings


def lines_of(case):
    """The lines of a case's function."""
    from tests.addons.memory import planted

    lines, first = inspect.getsourcelines(getattr(planted, case))
    return range(first, first + len(lines))


def test_each_planted_read_is_found_and_its_twin_is_not(recorded):
    how, calls, findings = recorded
    violations = [f for f in findings if f["verdict"] == "violation" and f["rule"] == READ]
    assert len(calls) == 64
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


def test_operators_of_the_evaluator_are_not_the_programs(recorded):
    """PyTorch multiplies and adds on the buffer itself: recorded, it would be the host's."""
    _, calls, findings = recorded
    reads = [
        finding
        for mark, launched in calls.items()
        if mark.startswith("read_by_the_evaluator")
        for finding in findings
        if finding["rule"] == READ and finding["call_id"] in launched
    ]
    assert reads
    assert not [finding for finding in reads if finding["verdict"] == "unknown"]


def test_few_reads_are_unknown(recorded):
    _, _, findings = recorded
    reads = [finding for finding in findings if finding["rule"] == READ]
    unknown = [finding for finding in reads if finding["verdict"] == "unknown"]
    assert len(unknown) <= 0.08 * len(reads), {finding["reason"] for finding in unknown}
