"""Kept results of changed kernels, compared within bounds: real kernels on the CPU, both versions.

The trip count of these kernels is read from memory, which their IR alone does not decide.
"""

from __future__ import annotations

import json
import math
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest

pytestmark = pytest.mark.skipif(find_spec("triton") is None, reason="nothing here can launch")

torch = pytest.importorskip("torch")
import triton  # noqa: E402
import triton.language as tl  # noqa: E402

import kvtrace  # noqa: E402
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
        folders = tmp_path / "before", tmp_path / "after"
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


def launch_on(*values: float, out: Any = None, trips: int = 3) -> Launches:
    """Return what launches a kernel on 64 numbers, of which the first are given."""

    def launch(kernel: Any) -> None:
        x = numbers()
        x[: len(values)] = torch.tensor(values)
        target = torch.full((N,), -1.0) if out is None else out.clone()
        kernel[(1,)](x, torch.tensor([trips]), target, BLOCK=N)

    return launch


def summed() -> Any:
    def changed(x, trips, out, BLOCK: tl.constexpr):
        at = tl.arange(0, BLOCK)
        total = tl.zeros([BLOCK], tl.float32)
        for step in range(tl.load(trips).to(tl.int32)):
            total += tl.load(x + (at + step) % BLOCK) * 0.7
        tl.store(out + at, total)

    return changed


def factored() -> Any:
    def changed(x, trips, out, BLOCK: tl.constexpr):
        at = tl.arange(0, BLOCK)
        total = tl.zeros([BLOCK], tl.float32)
        for step in range(tl.load(trips).to(tl.int32)):
            total += tl.load(x + (at + step) % BLOCK)
        tl.store(out + at, total * 0.7)

    return changed


def other() -> Any:
    def changed(x, trips, out, BLOCK: tl.constexpr):
        at = tl.arange(0, BLOCK)
        total = tl.zeros([BLOCK], tl.float32)
        for step in range(tl.load(trips).to(tl.int32)):
            total += tl.load(x + (at + step) % BLOCK)
        tl.store(out + at, total * 0.7 + tl.where(at == 7, 0.001, 0.0))

    return changed


def test_ir_alone_does_not_decide_these(sides):
    found = difference(sides(both(summed(), factored()), launch_on(), check=""))

    assert only(found).same == "not known"
    assert found.answers[1].word == "not known"
    assert "KVTRACE_CHECK=kernel:changed" in found.answers[1].settle


def test_results_within_the_bound_are_the_same_by_data(sides):
    found = difference(sides(both(summed(), factored()), launch_on()))

    evidence = "64 elements of 1 kept launch are within the derived bound (recorded inputs alone)"
    assert only(found).evidence == evidence
    assert only(found).answer == "close"
    assert (found.answers[1].word, found.answers[1].evidence) == ("yes", f"changed, out: {evidence}")


def test_an_element_beyond_both_bounds_is_another_result(sides, capsys):
    folders = sides(both(summed(), other()), launch_on())
    meaning = only(difference(folders))

    assert meaning.same == "no"
    assert meaning.evidence.startswith("element [7] is ")
    assert meaning.evidence.endswith(", in kept results (launch 0)")
    assert main(["diff", *map(str, folders), "--no-replay", "--json", "-", "--exit-code"]) == 1
    (listed,) = json.loads(capsys.readouterr().out)["meanings"]
    assert (listed["same"], listed["by_data"]) == ("no", True)
