"""`kvtrace diff`: what it says of changed kernels."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import triton
import triton.language as tl
from triton.language.extra import libdevice

import kvtrace
from kvtrace.addons.invariance.differences import kernel_meanings
from kvtrace.cli import main
from kvtrace.schema.trace import Selection, open_trace
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

    def make(kernel: Any, *more: Any, **options: Any) -> str:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        columns = more[-1]
        x = tensor(4, columns, seed=1)
        with kvtrace.capture(folder):
            kernel[(4,)](x, x.clone(), *more, **({"BLOCK": 64} | options))
        return str(folder)

    return make


def selected(folder: Path | str) -> Selection:
    trace = open_trace(Path(folder))
    return Selection(trace, trace.runs)


def told_of(before: str, after: str, capsys: pytest.CaptureFixture[str], *more: str) -> str:
    main(["diff", before, after, "--no-replay", *more])
    return " ".join(capsys.readouterr().out.split())


def test_refactored_kernel_has_the_same_results_in_the_diff(
    trace_of: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    told = told_of(trace_of(_first(), 20), trace_of(_refactored(), 20), capsys)

    assert "changed, y: the same bits, at the recorded sizes (by TTIR)" in told


@pytest.mark.parametrize("is_removed", [False, True])
def test_a_kernel_of_which_a_call_is_missing_alone_has_not_changed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], is_removed: bool
) -> None:
    for side, widths in (("ab"[not is_removed], (20, 24)), ("ab"[is_removed], (20,))):
        with kvtrace.capture(tmp_path / side):
            for columns in widths:
                x = tensor(4, columns, seed=1)
                _normed[(4,)](x, x.clone(), columns, EDIT="none", BLOCK=32)

    told = told_of(str(tmp_path / "a"), str(tmp_path / "b"), capsys)

    side = "AFTER" if is_removed else "BEFORE"
    assert f"same results? not known _normed: 1 call not compared: {side} has no " in told
    assert "_normed: the same code, launched with the same arguments" in told


def test_a_kernel_on_another_grid_has_the_same_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for side, extent in (("a", (4,)), ("b", (4, 1, 2))):  # the same rows twice
        with kvtrace.capture(tmp_path / side):
            x = tensor(4, 20, seed=1)
            _normed[extent](x, x.clone(), 20, EDIT="none", BLOCK=32)

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

    assert "BEFORE has no call of this kernel with the same tensors" in told
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


@triton.jit
def _normed(x, y, N, EDIT: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = x + tl.program_id(0) * N + at
    if EDIT == "rounded":
        values = tl.load(row, mask=at < N, other=0.0).to(tl.float16).to(tl.float32)
    else:
        values = tl.load(row, mask=at < N, other=0.0)
    square = tl.sum(values * values, 0) / N + 1e-6
    if EDIT == "divided":
        normed = values / tl.sqrt(square)
    elif EDIT == "outside":
        normed = values * (libdevice.rsqrt(square - 1e-6) + 1e-6)
    else:
        normed = values * libdevice.rsqrt(square)
    tl.store(y + tl.program_id(0) * N + at, normed, mask=at < N)


@triton.jit
def _softmax(x, y, N, EDIT: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    other = 0.0 if EDIT == "other" else float("-inf")
    values = tl.load(x + tl.program_id(0) * N + at, mask=at < N, other=other)
    if EDIT != "no maximum":
        values -= tl.max(values, 0)
    numerator = tl.exp(values)
    tl.store(y + tl.program_id(0) * N + at, numerator / tl.sum(numerator, 0), mask=at < N)


@pytest.mark.parametrize(
    ("kernel", "edit", "word", "evidence"),
    [
        (_normed, "none", "yes", "the same code, launched with the same arguments"),
        (_normed, "divided", "yes", "equal in exact arithmetic"),
        (_normed, "rounded", "no", "on random numbers"),
        (_normed, "outside", "no", "on small numbers"),
        (_softmax, "other", "no", "element ["),
        (_softmax, "no maximum", "no", "is nan, was"),
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


@triton.jit
def _last_row(x, y, N, STORES: tl.constexpr, FORM: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    if FORM == "row":
        values = tl.load(x + row * N + at, mask=at < N, other=0.0)
    else:
        values = tl.load(x + (at + row * N), mask=at < N, other=0.0)
    is_stored = (at < N) & (row == tl.num_programs(0) - 1) if STORES == "last" else at < N
    tl.store(y + at, values, mask=is_stored)


@pytest.mark.parametrize(
    ("stores", "answer"),
    [
        ("all", "not known there is a race in _last_row"),
        ("last", "yes results of 1 changed kernel are equal bit for bit"),
    ],
)
def test_results_of_kernels_with_a_race_are_not_the_same(
    trace_of: Make, capsys: pytest.CaptureFixture[str], stores: str, answer: str
) -> None:
    sides = [trace_of(_last_row, 20, STORES=stores, FORM=form) for form in ("row", "offset")]
    for side in sides:
        main(["sanitize", side, "--rule", "race"])
    capsys.readouterr()

    assert f"same results? {answer}" in told_of(*sides, capsys)


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


@triton.jit
def _floored(x, y, N, FLOOR: tl.constexpr, FORM: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    values = tl.load(x + tl.program_id(0) * N + at, mask=at < N, other=FLOOR)
    largest = tl.max(values, 0)
    powers = tl.where(at < N, tl.exp(values - largest), 0.0)
    if FORM == "softmax":
        result = powers / tl.sum(powers, 0)
    elif FORM == "logarithm":
        result = tl.log(tl.sum(powers, 0)) + largest
    else:
        result = powers / tl.maximum(tl.sum(powers, 0), 1e-30)
    tl.store(y + tl.program_id(0) * N + at, result, mask=at < N)


@pytest.mark.parametrize(
    ("form", "floor"), [("softmax", -1e4), ("logarithm", -300.0), ("guarded", -1e4)]
)
def test_maximum_that_begins_at_a_number_is_not_the_same(
    trace_of: Make, form: str, floor: float
) -> None:
    before, after = (
        selected(trace_of(_floored, 20, FORM=form, FLOOR=begin, BLOCK=32))
        for begin in (float("-inf"), floor)
    )

    (meaning,) = kernel_meanings(before, after, {"_floored": "_floored"}, 30.0)

    assert meaning.same != "yes", meaning


@triton.jit
def _added(a, b, c, y, N, FORM: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    p = tl.load(a + at, mask=at < N)
    q = tl.load(b + at, mask=at < N)
    r = tl.load(c + at, mask=at < N)
    if FORM == "subtracted first":
        result = (p - r) + q
    elif FORM == "added first":
        result = (p + q) - r
    elif FORM == "factored":
        result = q * (p - r)
    elif FORM == "expanded":
        result = q * p - q * r
    tl.store(y + at, result, mask=at < N)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("subtracted first", "added first", False),
        ("added first", "subtracted first", False),
        ("factored", "expanded", False),
        ("factored", "factored", True),
    ],
)
def test_operands_that_cancel_are_compared(
    tmp_path: Path, free_driver: object, one: str, other: str, same: bool
) -> None:
    for side, form in (("before", one), ("after", other)):
        a, b, c = (tensor(20, seed=seed) for seed in (1, 2, 3))
        with kvtrace.capture(tmp_path / side):
            _added[(1,)](a, b, c, a.clone(), 20, FORM=form, BLOCK=32)

    sides = (selected(tmp_path / side) for side in ("before", "after"))
    (meaning,) = kernel_meanings(*sides, {"_added": "_added"}, 30.0)

    assert (meaning.same == "yes") == same, meaning


def test_bound_of_equal_formulas_is_printed_with_its_range(trace_of: Make) -> None:
    before, after = (
        selected(trace_of(_normed, 20, EDIT=edit, BLOCK=32)) for edit in ("none", "divided")
    )

    (meaning,) = kernel_meanings(before, after, {"_normed": "_normed"}, 30.0)

    assert "for all inputs that are 0 or of magnitudes from 2^-" in meaning.evidence


@triton.jit
def _accumulated(x, y, begin, N, FORM: tl.constexpr, BLOCK: tl.constexpr):
    at = begin + tl.arange(0, BLOCK)
    values = tl.load(x + at, mask=at < N, other=0.0)
    before = tl.load(y + at, mask=at < N, other=0.0)
    tl.store(y + at, values + before if FORM == "swapped" else before + values, mask=at < N)


def _launched_from(folder: Path, form: str, begins: list[int]) -> str:
    x = tensor(64, seed=1)
    y = x.clone()
    with kvtrace.capture(folder):
        for begin in begins:
            _accumulated[(1,)](x, y, begin, 64, FORM=form, BLOCK=32)
    return str(folder)


@pytest.mark.parametrize(
    ("before", "after", "answer"),
    [
        ([0, 0], [0], "not known _accumulated is launched 1 time, was 2"),
        ([0, 32], [0], "not known _accumulated: 1 call not compared: AFTER has no such call"),
        ([0, 0, 32], [0, 32, 32], "not known _accumulated has other numbers of launches"),
        ([0, 0, 32], [0, 0, 32], "yes"),
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


@triton.jit
def _overwritten(x, y, N, FORM: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, BLOCK)
    inside = tl.arange(0, BLOCK) < N
    values = tl.load(x + at, mask=inside, other=0.0)
    first, second = (values * values, values) if FORM == "exchanged" else (values, values * values)
    if FORM != "once":
        tl.store(y + at, first, mask=inside)
    tl.store(y + (tl.num_programs(0) * N - 1 - at if FORM == "turned" else at), second, mask=inside)


@pytest.mark.parametrize(
    ("form", "word"), [("twice", "yes"), ("exchanged", "no"), ("turned", "no")]
)
def test_store_that_is_overwritten_counts_no_more(trace_of: Make, form: str, word: str) -> None:
    before, after = (
        selected(trace_of(_overwritten, 20, FORM=side, BLOCK=32)) for side in ("once", form)
    )

    (meaning,) = kernel_meanings(before, after, {"_overwritten": "_overwritten"}, 30.0)

    assert meaning.same == word, meaning


@triton.jit
def _finite(x, y, N, FORM: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, BLOCK)
    inside = tl.arange(0, BLOCK) < N
    values = tl.load(x + at, mask=inside, other=0.0)
    if FORM == "product":
        result = values * (values > 0).to(tl.float32)
    elif FORM == "moments":
        mean = tl.sum(values, 0) / N
        result = tl.sum(values * values, 0) / N - mean * mean + values * 0
    elif FORM == "variance":
        distance = tl.where(inside, values - tl.sum(values, 0) / N, 0.0)
        result = tl.sum(distance * distance, 0) / N + values * 0
    elif FORM == "choice":
        result = tl.where(values > 0, values, 0.0)
    else:
        moved = tl.load(x + at, mask=inside, other=-1e30 if FORM == "number" else float("-inf"))
        result = values * 0.0 + 1 / tl.sum(tl.exp(moved - tl.max(moved, 0)), 0)
    tl.store(y + at, result, mask=inside)


@pytest.mark.parametrize(
    "forms", [("choice", "product"), ("infinity", "number"), ("variance", "moments")]
)
def test_number_that_becomes_nan_or_is_lost_differs(trace_of: Make, forms: tuple[str, str]) -> None:
    before, after = (selected(trace_of(_finite, 20, FORM=form, BLOCK=32)) for form in forms)

    (meaning,) = kernel_meanings(before, after, {"_finite": "_finite"}, 30.0)

    assert meaning.same == "no", meaning
