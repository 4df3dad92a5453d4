"""Rebuilt public reports: a violation without the fix, and none with it."""

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton")

from kvtrace.addons.memory.rules import READ, RESULT
from tests.addons.memory import public_reports
from tests.addons.memory.recorded import recorded_cases
from tests.support.tiers import needs

CASES = [case.__name__ for case in public_reports.CASES]


def violations(when, folder):
    """Record the program; return the rules that the calls of each case violate."""
    calls, findings = recorded_cases(public_reports.__file__, when, folder)
    assert sum(map(len, calls.values())) == len(set().union(*calls.values()))  # no call is shared
    return {
        case: {
            finding["rule"]
            for finding in findings
            if finding["verdict"] == "violation" and finding["call_id"] in of_case
        }
        for case, of_case in calls.items()
    }


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
