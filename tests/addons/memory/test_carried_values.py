"""Copies of what nobody wrote or lies beyond a tensor: which bytes get them, and who uses them."""

from pathlib import Path

import pytest

from kvtrace.addons.memory.rules import READ, RESULT
from tests.addons.memory.recorded import recorded_cases

pytest.importorskip("triton")
pytestmark = pytest.mark.process

MADE = "made by copied of what it reads beyond source"
UNUSED = "nothing in this run uses what it reads beyond source and stores in target"


@pytest.fixture(scope="module")
def findings(tmp_path_factory):
    """The findings by the name of the case whose calls they are at."""
    folder = tmp_path_factory.mktemp("foreign")
    calls, found = recorded_cases(Path(__file__).with_name("carried.py"), "all", folder)
    return {
        mark: [finding for finding in found if finding["call_id"] in launched]
        for mark, launched in calls.items()
    }


def sentences(findings, rule, verdict):
    return [f["message"] for f in findings if (f["rule"], f["verdict"]) == (rule, verdict)]


@pytest.mark.parametrize(
    ("case", "elements"),
    [
        ("kernel_reads_all", "elements 32 to 63 of source are read, and they were"),
        ("operator_reads_all", "reads elements 32 to 63 of target, and they were"),
        ("written_over_but_one", "reads element 63 of target, and it was"),
    ],
)
def test_use_of_foreign_values_is_found(findings, case, elements):
    (found,) = sentences(findings[case], READ, "violation")
    assert f"{elements} {MADE}: torch.empty at carried.py:" in found
    assert UNUSED not in sentences(findings[case], READ, "proven")


@pytest.mark.parametrize("case", ["kernel_reads_the_right_half", "written_over", "nobody_reads"])
def test_foreign_values_that_nothing_uses_are_said_to_be_unused(findings, case):
    assert not sentences(findings[case], READ, "violation")
    assert UNUSED in sentences(findings[case], READ, "proven")


def test_result_with_foreign_values_is_a_note(findings):
    (found,) = sentences(findings["nobody_reads"], RESULT, "violation")
    assert found.startswith(f"elements 32 to 63 of target were {MADE}, and not read in this run: ")


def test_foreign_values_that_an_operator_moves_on_are_not_said_to_be_unused(findings):
    assert UNUSED not in sentences(findings["moved_on"], READ, "proven")


def test_values_within_the_storage_are_not_foreign(findings):
    assert not [f for f in findings["in_a_larger_storage"] if f["verdict"] == "violation"]
    assert UNUSED not in sentences(findings["in_a_larger_storage"], READ, "proven")


def test_sum_of_foreign_values_is_in_doubt(findings):
    of_case = findings["through_a_sum"]
    assert not sentences(of_case, READ, "violation")
    assert UNUSED not in sentences(of_case, READ, "proven")


@pytest.mark.parametrize(
    "case",
    ["written_rows", "replaced_rows", "written_halves", "first_of_scan", "dropped_and_swapped"],
)
def test_what_is_dropped_replaced_or_copied_and_not_used_is_no_finding(findings, case):
    assert not [f for f in findings[case] if (f["rule"], f["verdict"]) != (READ, "proven")]


@pytest.mark.parametrize(
    ("case", "sentence"),
    [
        ("unwritten_rows", "4 elements (elements 10, 26, 42, …) of target, and they were copied by "
         "moved from what nobody wrote of source: torch.empty at carried.py:"),
        ("unwritten_halves", "elements 0 to 31 of source are read, and nobody wrote them"),
        ("drop_and_use", "elements 16 to 23 of source are read, and nobody wrote them"),
        ("second_of_scan", "element 1 of a is read, and nobody wrote it"),
        ("read_by_table", "reads elements 60 to 63 of target, and they were made by by_table of "
         "what it reads beyond source"),
    ],
)  # fmt: skip
def test_what_nobody_wrote_is_found_where_it_is_used(findings, case, sentence):
    (found,) = sentences(findings[case], READ, "violation")
    assert sentence in found
