"""The examiner: findings of launches that the given inputs do not ask for are not errors."""

import pytest

import kvtrace
from kvtrace.addons.judge.examining import _judge_by_rules, _LaunchOfCase
from kvtrace.addons.judge.problems import ExaminerResult
from kvtrace.analysis.traces import open as open_trace
from kvtrace.inputs.cases import BEYOND, Case

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")

tl = triton.language
GIVEN, IGNORED = Case("given", "given", ()), Case("some integers are -100", BEYOND, ())
OTHER = Case("inputs that require gradients", BEYOND, ())
ROWS, COLUMNS = 8, 16


@triton.jit
def picked(x, labels, out, columns):
    row = tl.program_id(0)
    tl.store(out + row, tl.load(x + row * columns + tl.load(labels + row)))


@triton.jit
def counted(labels, counts):
    tl.atomic_add(counts + tl.load(labels + tl.program_id(0)), 1)


@triton.jit
def shifted(x, labels, out):
    row = tl.program_id(0)
    tl.store(out + row, tl.load(x + row + 1) + tl.load(labels + row))


def pick(labels):
    picked[(ROWS,)](torch.zeros(ROWS, COLUMNS), labels, torch.zeros(ROWS), COLUMNS)


def count(labels):
    counted[(ROWS,)](labels, torch.zeros(COLUMNS, dtype=torch.int32))


def shift(labels):
    shifted[(ROWS,)](torch.zeros(ROWS), labels, torch.zeros(ROWS))


def problems_of(folder, launch, cases):
    """Return rule and label of each error of a candidate that launches once for each case.

    All launches are of one unique call; labels are -100 in part where the case says so.
    """
    with kvtrace.capture(folder):
        for _, label in cases:
            labels = torch.arange(ROWS)
            labels[2] = label
            launch(labels)
    trace = open_trace(folder)
    columns = ["seq", "call_id"]
    rows = trace.selection.table("launches", columns).sort_by("seq").to_pylist()
    assert len({row["call_id"] for row in rows}) == 1
    launches = [
        _LaunchOfCase(row["seq"], row["call_id"], case)
        for row, (case, _) in zip(rows, cases, strict=True)
    ]
    result = ExaminerResult()
    _judge_by_rules(trace.selection, launches, result)
    return {
        (problem.rule, problem.case if problem.severity == "unjudged" else None)
        for problem in result.problems
        if problem.severity in ("error", "unjudged")
    }


@pytest.mark.parametrize("launch", [pick, count])
def test_a_finding_of_contents_beyond_the_given_ones_names_their_case(tmp_path, launch):
    cases = [(GIVEN, 1), (OTHER, 1), (IGNORED, -100), (GIVEN, 3)]

    assert problems_of(tmp_path / "t", launch, cases) == {("beyond-given", IGNORED.label)}


@pytest.mark.parametrize(
    ("launch", "cases"),
    [
        (pick, [(GIVEN, -100), (IGNORED, -100), (GIVEN, 3)]),
        (pick, [(GIVEN, 1), (IGNORED, -100), (None, -100)]),
        (shift, [(GIVEN, 1), (IGNORED, -100)]),
    ],
    ids=["given-labels", "unknown-case", "no-contents"],
)
def test_a_finding_of_a_given_launch_is_an_error(tmp_path, launch, cases):
    assert problems_of(tmp_path / "t", launch, cases) == {("out-of-bounds", None)}
