"""Stores and reads through tables of pointers whose contents and addresses were recorded."""

from pathlib import Path

import pytest

from kvtrace.addons.memory.rules import READ
from tests.addons.memory.recorded import recorded_cases

pytest.importorskip("triton")
pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """The calls by their cases, and the findings."""
    program = Path(__file__).with_name("by_tables.py")
    return recorded_cases(program, "all", tmp_path_factory.mktemp("tables"), KVTRACE_TENSORS="int")


def violations(recorded, case):
    calls, findings = recorded
    return [
        finding["message"]
        for finding in findings
        if finding["rule"] == READ
        and finding["verdict"] == "violation"
        and finding["call_id"] in calls[case]
    ]


@pytest.mark.parametrize("case", ["whole", "read"])
def test_what_is_stored_through_a_table_is_written(recorded, case):
    assert violations(recorded, case) == []


def test_operator_reads_what_a_store_through_a_table_left_out(recorded):
    (found,) = violations(recorded, "short")
    assert (
        "reads element 16 of *table[1], and nobody wrote it: torch.empty at by_tables.py" in found
    )


def test_kernel_reads_through_a_table_what_nobody_wrote(recorded):
    (found,) = violations(recorded, "read_short")
    assert found.startswith("element 4 of *table[0] is read, and nobody wrote it: ")


def test_table_that_a_store_may_change_is_not_followed(recorded):
    assert violations(recorded, "table_moved") == []
    reasons = [f["reason"] for f in recorded[1] if (f["rule"], f["verdict"]) == (READ, "unknown")]
    assert any("the launch itself changes table" in reason for reason in reasons)
