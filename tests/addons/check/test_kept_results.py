"""Kept results of changed kernels, compared within bounds: real kernels on the CPU, both versions.

They sort what they read, so that their IR alone does not decide whether they mean the same.
"""

from __future__ import annotations

import json
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest

pytestmark = pytest.mark.skipif(find_spec("triton") is None, reason="nothing here can launch")

torch = pytest.importorskip("torch")
import triton  # noqa: E402
import triton.language as tl  # noqa: E402

import kvtrace  # noqa: E402
from kvtrace.addons.check.kept_results import kept_meanings  # noqa: E402
from kvtrace.cli import main  # noqa: E402
from kvtrace.converters.diff import compare  # noqa: E402
from kvtrace.schema.trace import resolve  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kvtrace.converters.diff.model import Difference, KernelMeaning

    Launches = Callable[[Any], None]

N = 64


def both(first: Callable[..., None], second: Callable[..., None]) -> tuple[Any, Any]:
    """Make two functions versions of one kernel."""
    for function in (first, second):
        function.__name__ = function.__qualname__ = "changed"
    return triton.jit(first), triton.jit(second)


@pytest.fixture
def sides(tmp_path: Path) -> Callable[..., tuple[Path, Path]]:
    """Record launches of both versions: given by one function, or by one for each."""

    def record(
        pair: tuple[Any, Any], *launches: Launches, check: str = "kernel:changed"
    ) -> tuple[Path, Path]:
        number = len(list(tmp_path.iterdir()))
        folders = tmp_path / f"before{number}", tmp_path / f"after{number}"
        for kernel, folder, launch in zip(pair, folders, launches * 2, strict=False):
            with kvtrace.capture(folder, check=check):
                launch(kernel)
        return folders

    return record


def difference(folders: tuple[Path, Path]) -> Difference:
    return compare(*map(resolve, folders))


def only(found: Difference) -> KernelMeaning:
    assert found.meanings is not None
    (meaning,) = found.meanings
    return meaning


def numbers(*shape: int, seed: int = 0) -> Any:
    return torch.rand(*shape or (N,), generator=torch.Generator().manual_seed(seed)) + 0.5


def launch_on(*values: float, out: float = -1.0, dtype: Any = torch.float32) -> Launches:
    """Return what launches a kernel on 64 numbers, of which the first are given."""

    def launch(kernel: Any) -> None:
        x = numbers()
        x[: len(values)] = torch.tensor(values)
        kernel[(1,)](x.to(dtype), torch.full((N,), out).to(dtype), BLOCK=N)

    return launch


def scaled() -> Any:
    def changed(x, out, BLOCK: tl.constexpr):
        at = tl.arange(0, BLOCK)
        value = tl.sort(tl.load(x + at))
        tl.store(out + at, value * 0.3 + value * 0.4)

    return changed


def factored() -> Any:
    def changed(x, out, BLOCK: tl.constexpr):
        at = tl.arange(0, BLOCK)
        value = tl.sort(tl.load(x + at))
        tl.store(out + at, value * 0.7)

    return changed


def special() -> Any:
    """The same except for 1234.5, which no input has that the evaluator draws."""

    def changed(x, out, BLOCK: tl.constexpr):
        at = tl.arange(0, BLOCK)
        value = tl.sort(tl.load(x + at))
        tl.store(out + at, value * 0.7 + tl.where(value == 1234.5, 0.01, 0.0))

    return changed


@pytest.mark.costly("3 to 5 s of drawn inputs; 19 lighter pairs stay")
def test_a_factored_scale_is_not_known_from_ir_alone(sides):
    found = difference(sides(both(scaled(), factored()), launch_on(), check=""))

    assert only(found).same == "not known"
    assert found.answers[1].word == "not known"
    assert "KVTRACE_CHECK=kernel:GLOB" in found.answers[1].settle


@pytest.mark.costly("2 s of drawn inputs")
@pytest.mark.smoke
def test_recorded_results_within_the_bound_make_the_answer_yes(sides):
    found = difference(sides(both(scaled(), factored()), launch_on()))

    evidence = "64 elements of 1 kept launch are within the derived bound (recorded inputs alone)"
    assert only(found).evidence == evidence
    assert only(found).answer == "close"
    assert (found.answers[1].word, found.answers[1].evidence) == (
        "yes",
        f"changed, out: {evidence}",
    )


@pytest.mark.costly("3 to 5 s of drawn inputs; 19 lighter pairs stay")
def test_element_beyond_both_bounds_makes_the_answer_no(sides, capsys):
    folders = sides(both(scaled(), special()), launch_on(1234.5))
    meaning = only(difference(folders))

    assert meaning.same == "no"
    assert meaning.evidence.startswith("element [63] is ")
    assert meaning.evidence.endswith(", in kept results (launch 0)")
    assert main(["diff", *map(str, folders), "--no-replay", "--json", "--exit-code"]) == 1
    (listed,) = json.loads(capsys.readouterr().out)["meanings"]
    assert (listed["same"], listed["by_data"]) == ("no", True)


# -- pairs that are easily confused, without what IR says ------------------------------------------


@triton.jit
def _scaled(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at) * 0.7)


@triton.jit
def _scaled_in_parts(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(x + at)
    tl.store(out + at, value * 0.3 + value * 0.4)


@triton.jit
def _scaled_by_more(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at) * 0.71)


@triton.jit
def _large_unscaled(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(x + at)
    tl.store(out + at, tl.where(value > 100.0, value, value * 0.7))


@triton.jit
def _with_nan(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.where(at == 5, float("nan"), tl.load(x + at) * 0.7))


@triton.jit
def _without_last(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at) * 0.7, mask=at < BLOCK - 1)


@triton.jit
def _large_alone(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(x + at)
    tl.store(out + at, value * 0.7, mask=value > 100.0)


@triton.jit
def _next(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at) + 1)


@triton.jit
def _next_but_one(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at) + tl.where(at == 9, 2, 1))


@triton.jit
def _variance(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(x + at)
    mean = tl.sum(value) / BLOCK
    tl.store(out + at, tl.sum(value * value) / BLOCK - mean * mean + at * 0)


@triton.jit
def _zero(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at) * 0.0)


@triton.jit
def _sum(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.sum(tl.load(x + at)) + at * 0)


@triton.jit
def _sum_in_16_bits(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    total = tl.sum(tl.load(x + at).to(tl.float16)).to(tl.float32)
    tl.store(out + at, total + at * 0)


@triton.jit
def _bits(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store((out + at).to(tl.pointer_type(tl.int32)), tl.where(at == 2, 0, at + 1))


@triton.jit
def _sign_bit(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store((out + at).to(tl.pointer_type(tl.int32)), tl.where(at == 2, -2147483648, at + 1))


BEFORE = torch.full((N,), -1.0)
WITH_NAN = numbers()
WITH_NAN[3] = float("nan")
LARGE = torch.arange(N) + 2**60


def once(x: Any, out: Any = BEFORE) -> Launches:
    return lambda kernel: kernel[(1,)](x.clone(), out.clone(), BLOCK=x.numel())


def in_place(kernel: Any) -> None:
    x = numbers()
    kernel[(1,)](x, x, BLOCK=N)


def overlapping(kernel: Any) -> None:
    memory = torch.cat([numbers(), BEFORE])
    kernel[(1,)](memory[:N], memory[1 : N + 1], BLOCK=N)


def twice(kernel: Any) -> None:
    once(numbers())(kernel)
    once(numbers() * 300)(kernel)


def two_shapes(kernel: Any) -> None:
    once(numbers())(kernel)
    once(numbers().view(8, 8), BEFORE.view(8, 8))(kernel)


NOT_KNOWN = "not known"
CASES = {
    "NaN on both sides": (_scaled, _scaled_in_parts, once(WITH_NAN), "yes"),
    "NaN where a number was": (_scaled, _with_nan, once(numbers()), "no"),
    "a number where NaN was": (_with_nan, _scaled, once(numbers()), NOT_KNOWN),
    "bfloat16": (_scaled, _scaled_by_more, once(numbers().bfloat16(), BEFORE.bfloat16()), "no"),
    "large integers": (_next, _next_but_one, once(LARGE, LARGE * 0), "no"),
    "the same in place": (_scaled, _scaled_in_parts, in_place, "yes"),
    "another result in place": (_scaled, _scaled_by_more, in_place, "no"),
    "the same in overlapping memory": (_scaled, _scaled_in_parts, overlapping, "yes"),
    "another result in overlapping memory": (_scaled, _scaled_by_more, overlapping, "no"),
    "the second of two launches": (_scaled, _large_unscaled, twice, "no"),
    "nothing is written": (_large_alone, _without_last, once(numbers()[:1], BEFORE[:1]), NOT_KNOWN),
    "BEFORE writes nothing": (_large_alone, _scaled, once(numbers()), "no"),
    "cancellation": (_variance, _zero, once(numbers() + 10000), NOT_KNOWN),
    "a sum in 16 bits": (_sum, _sum_in_16_bits, once(numbers()), NOT_KNOWN),
    "integers stored as floats": (_bits, _sign_bit, once(numbers()), NOT_KNOWN),
}


def named(pair: tuple[Any, Any]) -> tuple[Any, Any]:
    """Give two kernels the same name."""
    for kernel in pair:
        kernel._fn_name = "changed"
        for each in (kernel, kernel.fn):
            each.__name__ = each.__qualname__ = "changed"
    return pair


def answer(folders: tuple[Path, Path], seconds: float = 30.0) -> KernelMeaning:
    names = {"changed": "changed"}
    (meaning,) = kept_meanings(*map(resolve, folders), names, {"changed": None}, seconds)
    return meaning


@pytest.mark.parametrize("case", CASES)
def test_similar_kernels_get_the_right_answer(sides, case):
    first, second, launch, same = CASES[case]

    assert answer(sides(named((first, second)), launch, check="kernel:*")).same == same


def test_write_only_memory_may_differ_before_compared_launches(sides):
    launches = once(numbers()), once(numbers(), BEFORE * 3)

    assert (
        answer(sides(named((_without_last, _without_last)), *launches, check="first")).same == "yes"
    )
    again = sides(named((_scaled, _without_last)), *launches, check="first")
    assert "element [63] is -3, was" in answer(again).evidence


def test_other_inputs_are_not_compared(sides):
    launches = once(numbers()), once(numbers() + 1)
    meaning = answer(sides(named((_scaled, _scaled_in_parts)), *launches, check="first"))

    assert (meaning.same, meaning.output) == (NOT_KNOWN, None)
    assert "has the same inputs on both sides" in meaning.evidence


def test_unrecorded_calls_turn_the_answer_yes_into_not_known(sides):
    pair = named((_scaled, _scaled_in_parts))
    meaning = answer(sides(pair, two_shapes, check="first"))

    assert meaning.same == NOT_KNOWN
    assert "1 of 2 calls have no kept launch" in meaning.evidence


def test_the_time_limit_is_respected(sides):
    folders = sides(named((_scaled, _scaled_in_parts)), once(numbers()), check="first")

    assert "--meaning" in answer(folders, seconds=-1.0).evidence


@pytest.mark.costly("3 to 5 s of drawn inputs; 19 lighter pairs stay")
def test_output_with_an_unrecorded_launch_is_not_known(sides):
    def launch(kernel):
        for value in (1.0, 1234.5):
            launch_on(value)(kernel)

    found = difference(sides(both(scaled(), special()), launch, check="first"))

    assert only(found).same == "not known"
    assert only(found).evidence.endswith("1 of 2 launches were kept on both sides")


def summed() -> Any:
    def changed(x, out, BLOCK: tl.constexpr):
        at = tl.arange(0, BLOCK)
        value = tl.sort(tl.load(x + at))
        tl.store(out + at, tl.sum(value[:, None] * value[None, :], 1))

    return changed


def summed_too_large() -> Any:
    def changed(x, out, BLOCK: tl.constexpr):
        at = tl.arange(0, BLOCK)
        value = tl.sort(tl.load(x + at))
        tl.store(out + at, tl.sum(value[:, None] * value[None, :], 1) * 1.000002)

    return changed


@pytest.mark.costly("3 to 5 s of drawn inputs; 19 lighter pairs stay")
def test_sums_that_are_all_too_large_are_not_explained_by_rounding(sides):
    found = difference(sides(both(summed(), summed_too_large()), launch_on()))

    assert only(found).same == "not known"
    assert "all differing elements moved away from zero" in only(found).evidence
