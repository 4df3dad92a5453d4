"""Kernels that read memory which they write, too."""

from collections.abc import Callable

import pytest
import triton
import triton.language as tl

from tests.addons.invariance.inputs import tensor
from tests.addons.invariance.judging import Judged


@triton.jit
def _in_place(x, scale, width, BLOCK: tl.constexpr, SHIFT: tl.constexpr, STEP: tl.constexpr):
    row = tl.program_id(0)
    if tl.load(scale + row) == 0.0:
        return
    largest = float("-inf")
    for first in range(0, width, BLOCK):
        at = first + tl.arange(0, BLOCK)
        largest = tl.maximum(largest, tl.max(tl.load(x + row * width + at, at < width)))
    for first in range(0, width, STEP):
        at = first + tl.arange(0, BLOCK)
        inside = (at >= SHIFT) & (at < width)
        value = tl.load(x + row * width + at - SHIFT, inside, other=0.0)
        tl.store(x + row * width + at, value - largest, inside)


def launched(shift: int, step: int) -> Callable[[], None]:
    def launch() -> None:
        for rows in (3, 9):
            x = tensor(rows, 100, seed=rows)
            _in_place[(rows,)](x, x[:, 0].clone(), 100, 32, shift, step)

    return launch


def test_load_of_an_element_that_only_its_own_trip_stores_is_proven(judged: Judged) -> None:
    (output,) = judged(launched(0, 32)).outputs

    assert output.verdict == "proven"


@pytest.mark.parametrize(("shift", "step"), [(1, 32), (0, 16)])
def test_load_of_an_element_that_an_earlier_trip_stored_is_unknown(
    judged: Judged, shift: int, step: int
) -> None:
    (output,) = judged(launched(shift, step)).outputs

    assert output.verdict == "unknown"
    assert any("x, which the kernel writes, too" in why.what for why in output.reasons)
