"""Launches of one call on views of one storage: nothing is proven by the first one's offset."""

import pytest

import kvtrace
from kvtrace.recorded_calls.recorded import calls_of
from kvtrace.schema.trace import open_trace
from kvtrace.verdicts.all_launches import judge_launches

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")
tl = triton.language


@triton.jit
def scatter(values, index, out):
    program = tl.program_id(0)
    tl.store(out + tl.load(index + program), tl.load(values + program))


def race_verdicts(folder, parts):
    """Return the verdicts on races of a kernel that was launched once for each index tensor."""
    values, out = torch.arange(8.0), torch.zeros(32)
    with kvtrace.capture(folder / "out"):
        for part in parts:
            scatter[(8,)](values, part, out)
    trace = open_trace(folder / "out")
    (run,) = trace.runs
    return {
        verdict.verdict
        for call in calls_of(trace, run)
        for verdict in judge_launches(call, ["race"])
        if verdict.access == "store"
    }


def test_slices_of_which_a_later_one_has_a_race_are_not_proven(tmp_path):
    index = torch.arange(32)
    index[25] = index[24]  # programs 0 and 1 of the last launch
    assert race_verdicts(tmp_path, index.split(8)) == {"unknown"}


def test_a_race_in_the_first_slice_is_a_violation(tmp_path):
    index = torch.arange(32)
    index[1] = index[0]
    assert race_verdicts(tmp_path, index.split(8)) == {"violation"}


def test_copies_of_slices_are_each_judged(tmp_path):
    index = torch.arange(32)
    assert race_verdicts(tmp_path, [part.clone() for part in index.split(8)]) == {"proven"}


def test_one_launch_of_a_slice_and_launches_of_whole_tensors_are_proven(tmp_path):
    index = torch.arange(32)
    assert race_verdicts(tmp_path / "one", [index[8:16]]) == {"proven"}
    assert race_verdicts(tmp_path / "whole", [torch.arange(8)] * 3) == {"proven"}
