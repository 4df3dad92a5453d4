"""Candidates judged on recorded calls of Liger and FLA: honest ones, and 16 that are not."""

import re
from pathlib import Path

import pytest

from kvtrace.addons.suite.errors import CannotJudgeCall
from kvtrace.addons.suite.judging import (
    CallJudgment,
    entries_for,
    exit_code,
    judge_suite,
    judgment_lines,
    read_candidate,
)
from kvtrace.addons.suite.model import read_index
from tests.support.thorough import in_turn

SUITE = Path(__file__).parents[2] / "fixtures" / "suite"
CANDIDATES = Path(__file__).with_name("candidates")
CALLS = {"rms_norm": "002-*", "cross_entropy": "001-*", "chunk_output": "003-*"}
#: File and function, and the rule that a wrong one breaks; no rule: it is right.
JUDGED = [
    ("rms_norm:one_block", ""),
    ("rms_norm:in_blocks", ""),
    ("cross_entropy:in_two_passes", ""),
    ("chunk_output:chunk_fwd_kernel_o", ""),
    ("rms_norm:last_row_missing", "wrong-result"),
    ("rms_norm:without_mask", "out-of-bounds"),
    ("rms_norm:narrow_sum", "wrong-result"),
    ("rms_norm:without_weight", "wrong-result"),
    ("rms_norm:without_epsilon", "other-meaning"),
    ("rms_norm:input_overwritten", "input-modified"),
    ("rms_norm:first_results_kept", "not-launched"),
    ("rms_norm:by_torch", "computed-on-host"),
    ("rms_norm:inputs_drawn_again", "wrong-result"),
    ("cross_entropy:without_maximum", "wrong-result"),
    ("cross_entropy:label_forgotten", "wrong-result"),
    ("cross_entropy:nothing_ignored", "wrong-result"),
    ("cross_entropy:programs_race", "race"),
    ("chunk_output:strictly_before", "wrong-result"),
    ("chunk_output:without_gate", "wrong-result"),
    ("chunk_output:half_products", "wrong-result"),
]
#: Judged at pushes in turn: a right one, and one by each of two analyses.
PUSHED = ("rms_norm:in_blocks", "rms_norm:without_epsilon", "cross_entropy:programs_race")
AT_THIS_PUSH = in_turn(PUSHED, len(PUSHED))
NIGHT = pytest.mark.night(
    "8 to 24 s each; one of three stays, and tests/addons/judge has all rules"
)


def judged(name):
    file, _, function = name.partition(":")
    place = f"{CANDIDATES / file}.py:{function}"
    return list(judge_suite(SUITE, place, [CALLS[file]]))


@pytest.mark.process
@pytest.mark.sweep
@pytest.mark.parametrize(
    ("name", "rule"),
    [pytest.param(*case, marks=[NIGHT] * (case[0] not in AT_THIS_PUSH)) for case in JUDGED],
)
def test_a_candidate_is_right_or_wrong_for_its_reason(name, rule):
    (judgment,) = judged(name)

    rules = [finding["rule"] for finding in judgment.judgment["findings"]]
    assert judgment.verdict == ("wrong" if rule else "right"), judgment.reasons
    assert not rule or rule in rules, judgment.reasons
    if not rule:
        results = [r for case in judgment.judgment["cases"] for r in case["results"]]
        assert {result["tolerance"] for result in results} == {"derived"}
        assert re.fullmatch(r"the first [\d,]+ of [\d,]+ programs", judgment.judged)


@pytest.mark.process
@pytest.mark.night("10 s; test_confining.py has reads of surroundings at each push")
def test_a_candidate_that_looks_for_the_recorder_is_not_right():
    (judgment,) = judged("rms_norm:right_while_recorded")

    assert judgment.verdict == "unjudged"
    assert any("surroundings" in reason for reason in judgment.reasons)
    assert exit_code([judgment]) == 2


def test_a_candidate_has_to_take_what_the_kernel_writes():
    (judgment,) = judged("rms_norm:rstd_not_taken")

    assert judgment.verdict == "unjudged"
    assert judgment.reasons == (
        "rstd_not_taken does not take RSTD_ptr, which _rms_norm_forward_kernel_0 reads or writes",
    )


def test_a_candidate_without_a_kernels_name_needs_names_of_calls():
    suite = read_index(SUITE)
    candidate = read_candidate(f"{CANDIDATES / 'rms_norm.py'}:one_block")

    with pytest.raises(CannotJudgeCall, match="say with --calls"):
        entries_for(suite, candidate, [])
    with pytest.raises(CannotJudgeCall, match="no call is named 9"):
        entries_for(suite, candidate, ["9*"])
    named = read_candidate(f"{CANDIDATES / 'chunk_output.py'}:chunk_fwd_kernel_o")
    assert [entry.name for entry in entries_for(suite, named, [])] == ["003-chunk_fwd_kernel_o"]
    assert named.is_kernel
    assert not candidate.is_kernel


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("nothing", "is not FILE:FUNCTION"),
        ("missing.py:f", "cannot be read"),
        (f"{CANDIDATES / 'rms_norm.py'}:absent", "has no function 'absent'"),
    ],
)
def test_a_candidate_that_is_not_there_is_one_sentence(place, message):
    with pytest.raises(CannotJudgeCall, match=message):
        read_candidate(place)


def test_a_wrong_candidate_of_a_call_that_was_cut_is_told_so():
    cut = CallJudgment(
        "001-scale", "scale", "wrong", ("off by one",), "the first 7 of 132 programs"
    )
    assert "judged at a smaller size" in judgment_lines(cut)[-1]
    whole = CallJudgment("001-scale", "scale", "wrong", ("off by one",))
    assert judgment_lines(whole) == ["001-scale: wrong", "  off by one"]
