"""Rebuilt public reports: a violation without the fix, and none with it."""

from collections import defaultdict

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton")

from kvtrace.addons.memory.judged import findings_of
from kvtrace.addons.memory.rules import READ, RESULT
from kvtrace.schema.trace import open_trace
from tests.addons.memory import public_reports
from tests.support.tiers import needs
from tests.support.triton_versions import INSTALLED, run_with

CASES = [case.__name__ for case in public_reports.CASES]


def violations(when, folder):
    """Record the program; return the rules that the calls of each case violate."""
    out = folder / when
    run_with(
        INSTALLED, [public_reports.__file__, when], folder / "cache", fresh=True,
        KVTRACE=str(out), KVTRACE_MEMORY="on", KVTRACE_DEVICE="cpu",
    )  # fmt: skip
    trace = open_trace(out)
    (run,) = trace.runs
    marks = trace.table("marks", (run,), ["name", "begin", "end"]).to_pylist()
    cases = defaultdict(set)
    for launch in trace.table("launches", (run,), ["call_id", "enter"]).to_pylist():
        cases[launch["call_id"]] |= {
            mark["name"] for mark in marks if mark["begin"] <= launch["enter"] <= mark["end"]
        }
    assert {len(names) for names in cases.values()} == {1}  # no two cases make the same call
    tables = findings_of(trace, run, named=False)
    assert tables is not None, "what happened to memory was not recorded"
    rules = {mark["name"]: set() for mark in marks}
    for finding in tables["findings"].to_pylist():
        if finding["verdict"] == "violation":
            (case,) = cases[finding["call_id"]]
            rules[case].add(finding["rule"])
    return rules


@pytest.fixture(scope="module")
@needs("process")
def before(tmp_path_factory):
    return violations("before", tmp_path_factory.mktemp("reports"))


@pytest.fixture(scope="module")
@needs("process")
def after(tmp_path_factory):
    return violations("after", tmp_path_factory.mktemp("reports"))


@pytest.mark.process
@pytest.mark.parametrize("case", CASES)
def test_a_report_is_found_before_its_fix(before, case):
    assert READ in before[case]


@pytest.mark.process
@pytest.mark.parametrize("case", CASES)
def test_nothing_is_found_after_the_fix(after, case):
    assert not after[case] & {READ, RESULT}
