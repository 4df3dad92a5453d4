"""`kvtrace diff`: what it says of changed kernels."""

import json
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import triton
import triton.language as tl

import kvtrace
from kvtrace.addons.invariance.differences import _answer, kernel_meanings
from kvtrace.addons.invariance.versions import InputsDifference, OutputMeaning
from kvtrace.addons.invariance.witness import Witness
from kvtrace.cli import main
from kvtrace.recorded_calls.reading import calls_of
from kvtrace.recorded_calls.recorded import Call
from kvtrace.schema.trace import Selection, open_trace
from tests.addons.invariance.edited_kernels import (
    accumulated,
    added,
    finite,
    floored,
    last_row,
    normed,
    overwritten,
    softmax,
)
from tests.addons.invariance.inputs import tensor
from tests.support.planting import without_stages


def _first() -> Any:
    @triton.jit
    def changed(x, y, N, BLOCK: tl.constexpr):
        at = tl.arange(0, BLOCK)
        values = tl.load(x + tl.program_id(0) * N + at, mask=at < N, other=0.0)
        tl.store(y + tl.program_id(0) * N + at, values * 2.0, mask=at < N)

    return changed


def _refactored() -> Any:
    @triton.jit
    def changed(x, y, N, BLOCK: tl.constexpr):
        base = tl.program_id(0) * N
        at = base + tl.arange(0, BLOCK)
        inside = tl.arange(0, BLOCK) < N
        tl.store(y + at, tl.load(x + at, mask=inside, other=0.0) * 2.0, mask=inside)

    return changed


def _different() -> Any:
    @triton.jit
    def changed(x, y, N, BLOCK: tl.constexpr):
        at = tl.arange(0, BLOCK)
        values = tl.load(x + tl.program_id(0) * N + at, mask=at < N, other=0.0)
        tl.store(y + tl.program_id(0) * N + at, values * 3.0, mask=at < N)

    return changed


Make = Callable[..., str]


@pytest.fixture
def trace_of(tmp_path: Path, free_driver: object) -> Make:
    """Record a launch of four programs: x and y of four rows, further arguments, and options."""

    numbers = count()

    def make(kernel: Any, *more: Any, **options: Any) -> str:
        folder = tmp_path / str(next(numbers))
        columns = more[-1]
        x = tensor(4, columns, seed=1)
        with kvtrace.capture(folder, check="digest"):
            kernel[(4,)](x, x.clone(), *more, **({"BLOCK": 64} | options))
        return str(folder)

    return make


def selected(folder: Path | str) -> Selection:
    trace = open_trace(Path(folder))
    return Selection(trace, trace.runs)


def told_of(before: str, after: str, capsys: pytest.CaptureFixture[str], *more: str) -> str:
    main(["diff", before, after, "--no-replay", *more])
    return " ".join(capsys.readouterr().out.split())


@pytest.mark.costly("records and compares two traces; formulas stay by day")
def test_refactored_kernel_has_the_same_results_in_the_diff(
    trace_of: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    told = told_of(trace_of(_first(), 20), trace_of(_refactored(), 20), capsys)

    assert "changed, y: the same bits, at the recorded sizes (by their IR)" in told


@pytest.mark.parametrize("is_removed", [False, True])
def test_a_kernel_of_which_a_call_is_missing_alone_has_not_changed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], is_removed: bool
) -> None:
    for side, widths in (("ab"[not is_removed], (20, 24)), ("ab"[is_removed], (20,))):
        with kvtrace.capture(tmp_path / side):
            for columns in widths:
                x = tensor(4, columns, seed=1)
                normed[(4,)](x, x.clone(), columns, EDIT="none", BLOCK=32)

    told = told_of(str(tmp_path / "a"), str(tmp_path / "b"), capsys)

    side = "AFTER" if is_removed else "BEFORE"
    assert f"same results? not known normed: 1 call not compared: {side} has no " in told
    assert "normed: the same code, launched with the same arguments" in told


def test_a_kernel_on_another_grid_has_the_same_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for side, extent in (("a", (4,)), ("b", (4, 1, 2))):  # the same rows twice
        with kvtrace.capture(tmp_path / side, check="digest"):
            x = tensor(4, 20, seed=1)
            normed[extent](x, x.clone(), 20, EDIT="none", BLOCK=32)

    told = told_of(str(tmp_path / "a"), str(tmp_path / "b"), capsys)

    assert "same results? yes results of 1 kernel (the same code, other calls) are equal" in told


@pytest.mark.costly("3 s; eight lighter diffs stay")
def test_diff_shows_an_element_with_another_value(
    trace_of: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    sides = trace_of(_first(), 20), trace_of(_different(), 20)

    assert "by the evaluator" in told_of(*sides, capsys)
    (meaning,) = json.loads(told_of(*sides, capsys, "--json"))["meanings"]
    assert (meaning["kernel"], meaning["output"], meaning["answer"]) == (
        "changed",
        "y",
        "violation",
    )
    assert "Meaning" in told_of(*sides, capsys, "--markdown", "-")


def test_diff_gives_the_reason_why_kernels_are_not_compared(
    trace_of: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    told = told_of(trace_of(_first(), 20), trace_of(_different(), 30), capsys)

    assert "BEFORE has no such call of this kernel" in told
    assert "same results? not known" in told
    assert "merge? not known" in told


@pytest.mark.costly("3 s; eight lighter diffs stay")
def test_diff_without_time_has_no_comparison_and_no_approval(
    trace_of: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    sides = trace_of(_first(), 20), trace_of(_refactored(), 20)

    told = told_of(*sides, capsys, "--meaning", "0")

    assert "same results? not known 1 changed kernel not compared" in told
    assert main(["diff", *sides, "--no-replay", "--meaning", "0"]) == 0
    assert main(["diff", *sides, "--no-replay", "--meaning", "0", "--strict"]) == 1


@triton.jit
def _shifted(x, y, eps, N, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < N, other=0.0) + eps, mask=at < N)


def test_changed_float_argument_is_named_as_the_reason(
    trace_of: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    sides = trace_of(_shifted, 0.5, 20), trace_of(_shifted, 0.25, 20)

    told = told_of(*sides, capsys)

    assert "same results? no" in told
    assert "(eps is 0.25, was 0.5)" in told
    assert "merge? no results differ" in told


@triton.jit
def _doubled(source, result, N, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    inside = at < N
    values = tl.load(source + tl.program_id(0) * N + at, mask=inside, other=0.0)
    tl.store(result + tl.program_id(0) * N + at, values + values, mask=inside)


def test_kernel_with_renamed_arguments_is_compared(trace_of: Make) -> None:
    sides = selected(trace_of(_first(), 20)), selected(trace_of(_doubled, 20))

    (meaning,) = kernel_meanings(*sides, {"_doubled": "changed"}, 30.0)

    assert (meaning.kernel, meaning.same) == ("_doubled", "yes")


def test_call_without_ir_is_reported_as_not_compared(tmp_path: Path, free_driver: object) -> None:
    for side, kernel in (("before", _first()), ("after", _refactored())):
        x = tensor(4, 20, seed=1)
        with kvtrace.capture(tmp_path / side):
            for block in (32, 64):
                kernel[(4,)](x, x.clone(), 20, BLOCK=block)
    sides = tmp_path / "before", tmp_path / "after"
    without_stages(sides[1], lambda row: row["kernel_id"] == 1)

    known, unknown = kernel_meanings(*map(selected, sides), {"changed": "changed"}, 30.0)

    assert known.same == "yes"
    assert unknown.same == "not known"
    assert "1 call not compared: the call in AFTER cannot be evaluated" in unknown.evidence


@pytest.mark.parametrize(
    ("kernel", "edit", "word", "evidence"),
    [
        (normed, "none", "yes", "the same code, launched with the same arguments"),
        (normed, "divided", "yes", "equal in exact arithmetic"),
        (normed, "rounded", "no", "on random numbers"),
        (normed, "outside", "no", "on small numbers"),
        (softmax, "other", "no", "element ["),
        (softmax, "no maximum", "no", "is nan, was"),
    ],
)
def test_diff_says_whether_results_are_the_same(
    trace_of: Make, kernel: Any, edit: str, word: str, evidence: str
) -> None:
    before, after = (selected(trace_of(kernel, 20, EDIT=name, BLOCK=32)) for name in ("none", edit))
    name = kernel.fn.__name__

    (meaning,) = kernel_meanings(before, after, {name: name}, 30.0)

    assert meaning.same == word, meaning
    assert evidence in meaning.evidence


@pytest.mark.parametrize(
    ("stores", "answer"),
    [
        ("all", "not known there is a race in last_row"),
        ("last", "yes results of 1 changed kernel are equal bit for bit"),
    ],
)
def test_results_of_kernels_with_a_race_are_not_the_same(
    trace_of: Make, capsys: pytest.CaptureFixture[str], stores: str, answer: str
) -> None:
    sides = [trace_of(last_row, 20, STORES=stores, FORM=form) for form in ("row", "offset")]
    for side in sides:
        main(["sanitize", side, "--rule", "race"])
    capsys.readouterr()

    assert f"same results? {answer}" in told_of(*sides, capsys)


@triton.jit
def _product(a, b, c, PRECISION: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]
    product = tl.dot(tl.load(a + at), tl.load(b + at), input_precision=PRECISION)
    tl.store(c + at, product)


@pytest.mark.parametrize("precision", ["tf32", "tf32x3"])
def test_other_input_precision_of_a_product_is_named(
    tmp_path: Path, free_driver: object, precision: str
) -> None:
    sides = [tmp_path / name for name in (precision, "ieee")]
    a, b, c = (tensor(16, 16, seed=seed) for seed in range(3))
    for side in sides:
        with kvtrace.capture(side):
            _product[(1,)](a, b, c, side.name, BLOCK=16)

    (meaning,) = kernel_meanings(*map(selected, sides), {"_product": "_product"}, 30.0)

    text = f"; the input precision of its products is ieee, was {precision}"
    assert meaning.same == "not known"
    assert meaning.evidence.endswith(text)


def test_distance_without_units_shows_the_element(trace_of: Make) -> None:
    selection = selected(trace_of(_first(), 20))
    (call,) = calls_of(selection.trace, selection.runs[0])
    witness = Witness(21, "before", "after", ("inf", "2.5"), float("inf"))
    apart = (InputsDifference("small numbers", witness),)
    meaning = OutputMeaning("changed", "y", "reassociated", apart=apart)

    assert isinstance(call, Call)
    word, evidence = _answer(call, call, meaning)

    assert word == "not known"
    assert evidence.endswith(", but element [1, 1] is 2.5, was inf, on small numbers")


def test_comparison_that_runs_out_of_time_counts_remaining_calls(
    trace_of: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    sides = trace_of(_first(), 20), trace_of(_refactored(), 20)

    told = told_of(*sides, capsys, "--meaning", "0.000001")

    assert "1 call not compared: the limit of 1e-06 s was reached (--meaning)" in told


@triton.jit
def _with_eps(x, y, N, BLOCK: tl.constexpr, LARGER: tl.constexpr):
    at = tl.arange(0, BLOCK)
    values = tl.load(x + at, mask=at < N, other=0.0)
    squares = tl.sum(values * values, 0)
    squares = tl.maximum(squares, 1e-6) if LARGER else squares + 1e-6
    tl.store(y + at, values / tl.sqrt(squares), mask=at < N)


@triton.jit
def _largest(x, y, N, BLOCK: tl.constexpr, LARGER: tl.constexpr):
    at = tl.arange(0, BLOCK)
    values = tl.load(x + at, mask=at < N, other=0.0 if LARGER else float("-inf"))
    tl.store(y + at, tl.max(values, 0) + values, mask=at < N)


@triton.jit
def _logarithm(x, y, N, BLOCK: tl.constexpr, LARGER: tl.constexpr):
    at = tl.arange(0, BLOCK)
    values = tl.load(x + at, mask=at < N, other=1.0)
    tl.store(y + at, tl.log(values + 1e-8 if LARGER else values), mask=at < N)


@pytest.mark.parametrize("kernel", [_with_eps, _largest, _logarithm])
def test_inputs_include_numbers_that_show_a_mistake(trace_of: Make, kernel: Any) -> None:
    sides = [selected(trace_of(kernel, 20, LARGER=larger)) for larger in (False, True)]

    (meaning,) = kernel_meanings(*sides, {kernel.__name__: kernel.__name__}, 30.0)

    assert meaning.same == "no"


@triton.jit
def _truth(x, y, N, BLOCK: tl.constexpr, LARGER: tl.constexpr):
    at = tl.arange(0, BLOCK)
    values = tl.load(x + at, mask=at < N, other=0.0)
    tl.store(y + at, (values > 0) | (at == 3) if LARGER else values > 0, mask=at < N)


def test_boolean_outputs_are_compared(tmp_path: Path, free_driver: object) -> None:
    for larger in (False, True):
        with kvtrace.capture(tmp_path / str(larger)):
            truths = tensor(20, seed=1) > 0
            _truth[(1,)](tensor(20, seed=1), truths, 20, BLOCK=32, LARGER=larger)

    sides = [selected(tmp_path / str(larger)) for larger in (False, True)]
    (meaning,) = kernel_meanings(*sides, {"_truth": "_truth"}, 30.0)

    assert meaning.same == "no"


@pytest.mark.parametrize(
    ("form", "floor"), [("softmax", -1e4), ("logarithm", -300.0), ("guarded", -1e4)]
)
def test_maximum_that_begins_at_a_number_is_not_the_same(
    trace_of: Make, form: str, floor: float
) -> None:
    before, after = (
        selected(trace_of(floored, 20, FORM=form, FLOOR=begin, BLOCK=32))
        for begin in (float("-inf"), floor)
    )

    (meaning,) = kernel_meanings(before, after, {"floored": "floored"}, 30.0)

    assert meaning.same != "yes", meaning


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("subtracted first", "added first", False),
        ("added first", "subtracted first", False),
        ("factored", "expanded", False),
        ("expanded", "factored", True),
        ("multiplied", "fused", True),
    ],
)
def test_operands_that_cancel_are_compared(
    tmp_path: Path, free_driver: object, one: str, other: str, same: bool
) -> None:
    for side, form in (("before", one), ("after", other)):
        a, b, c = (tensor(20, seed=seed) for seed in (1, 2, 3))
        with kvtrace.capture(tmp_path / side):
            added[(1,)](a, b, c, a.clone(), 20, FORM=form, BLOCK=32)

    sides = (selected(tmp_path / side) for side in ("before", "after"))
    (meaning,) = kernel_meanings(*sides, {"added": "added"}, 30.0)

    assert (meaning.same == "yes") == same, meaning


def test_bound_of_equal_formulas_is_printed_with_its_range(trace_of: Make) -> None:
    before, after = (
        selected(trace_of(normed, 20, EDIT=edit, BLOCK=32)) for edit in ("none", "divided")
    )

    (meaning,) = kernel_meanings(before, after, {"normed": "normed"}, 30.0)

    assert "for all inputs that are 0 or of magnitudes from 2^-" in meaning.evidence


def _launched_from(folder: Path, form: str, begins: list[int]) -> str:
    x = tensor(64, seed=1)
    y = x.clone()
    with kvtrace.capture(folder):
        for begin in begins:
            accumulated[(1,)](x, y, begin, 64, FORM=form, BLOCK=32)
    return str(folder)


@pytest.mark.parametrize(
    ("before", "after", "answer"),
    [
        ([0, 0], [0], "not known accumulated is launched 1 time, was 2"),
        ([0, 32], [0], "not known accumulated: 1 call not compared: AFTER has no such call"),
        ([0, 0, 32], [0, 32, 32], "not known accumulated has other numbers of launches"),
        ([0, 0, 32], [0, 0, 32], "not known what its launches are given is not known"),
    ],
)
def test_removed_launches_are_not_the_same(
    tmp_path: Path, free_driver: object, capsys: pytest.CaptureFixture[str],
    before: list[int], after: list[int], answer: str,
) -> None:  # fmt: skip
    sides = [
        _launched_from(tmp_path / form, form, begins)
        for form, begins in (("plain", before), ("swapped", after))
    ]

    assert f"same results? {answer}" in told_of(*sides, capsys)


@pytest.mark.parametrize(
    ("form", "word"), [("twice", "yes"), ("exchanged", "no"), ("turned", "no")]
)
def test_store_that_is_overwritten_counts_no_more(trace_of: Make, form: str, word: str) -> None:
    before, after = (
        selected(trace_of(overwritten, 20, FORM=side, BLOCK=32)) for side in ("once", form)
    )

    (meaning,) = kernel_meanings(before, after, {"overwritten": "overwritten"}, 30.0)

    assert meaning.same == word, meaning


@pytest.mark.parametrize(
    "forms", [("choice", "product"), ("infinity", "number"), ("variance", "moments")]
)
def test_number_that_becomes_nan_or_is_lost_differs(trace_of: Make, forms: tuple[str, str]) -> None:
    before, after = (selected(trace_of(finite, 20, FORM=form, BLOCK=32)) for form in forms)

    (meaning,) = kernel_meanings(before, after, {"finite": "finite"}, 30.0)

    assert meaning.same == "no", meaning


@triton.jit
def _added_to(x, y, N, FORM: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, BLOCK)
    inside = tl.arange(0, BLOCK) < N
    values = tl.load(x + at, mask=inside, other=0.0)
    if FORM == "atomic_add":
        tl.atomic_add(y + at, values, mask=inside)
    elif FORM == "atomic_max":
        tl.atomic_max(y + at, values, mask=inside)
    elif FORM == "load":
        tl.store(y + at, tl.load(y + at, mask=inside, other=0.0) + values, mask=inside)
    else:
        tl.store(y + at, values * 2.0 if FORM == "doubled" else values, mask=inside)


@pytest.mark.parametrize(
    ("form", "word"),
    [
        ("atomic_add", "not known"), ("atomic_max", "not known"), ("load", "not known"),
        ("doubled", "no"),
    ],
)  # fmt: skip
def test_output_that_one_version_reads_may_be_set_by_the_program(
    trace_of: Make, form: str, word: str
) -> None:
    before, after = (
        selected(trace_of(_added_to, 20, FORM=side, BLOCK=32)) for side in ("store", form)
    )

    (meaning,) = kernel_meanings(before, after, {"_added_to": "_added_to"}, 30.0)

    assert meaning.same == word, meaning
