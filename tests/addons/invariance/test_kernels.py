"""Trees of kernels: indices in place of offsets, and expressions that are nested deeply."""

from collections.abc import Callable

import torch
import triton
import triton.language as tl
from hypothesis import given
from hypothesis import strategies as st

from kvtrace.addons.invariance.coordinates import coordinate, indices_of
from kvtrace.addons.invariance.output_results import Invariance
from kvtrace.evaluate.arguments import Storage, TensorArgument
from kvtrace.symbolic.terms import Term
from tests.addons.invariance.inputs import tensor

DEEP = 300


@triton.jit
def deep(x, y, N, COUNT: tl.constexpr):
    row = tl.program_id(0)
    total = tl.load(x + row * N)
    for each in tl.static_range(1, COUNT):
        total = tl.exp(total) * tl.load(x + row * N + each)
    tl.store(y + row, total)


def test_deeply_nested_expression_is_unknown(
    judged: Callable[[Callable[[], object]], Invariance],
) -> None:
    def unroll() -> None:
        for rows in (2, 3):
            deep[(rows,)](tensor(rows, DEEP, seed=1), torch.empty(rows), DEEP, COUNT=DEEP)

    (found,) = judged(unroll).outputs

    assert found.verdict == "unknown"
    assert "nested too deeply" in found.reasons[0].what


@given(
    shape=st.lists(st.integers(2, 900), min_size=1, max_size=3).map(tuple),
    steps=st.lists(st.integers(1, 900), min_size=3, max_size=3),
    size=st.sampled_from((("fp16", 2), ("fp32", 4), ("i8", 1))),
)
def test_indices_are_recovered_from_an_offset(
    shape: tuple[int, ...], steps: list[int], size: tuple[str, int]
) -> None:
    dtype, element = size
    strides = [1]
    for extent in reversed(shape[1:]):
        strides.insert(0, strides[0] * extent)
    given_tensor = TensorArgument("x", Storage(1), 0, dtype, shape, tuple(strides))
    symbols = [coordinate(axis) for axis in range(len(shape))]
    units = [element << (20 + 12 * (len(shape) - 2 - axis)) for axis in range(len(shape) - 1)]
    parts = zip(symbols, steps, [*units, element], strict=False)
    offset = Term({(symbol,): step * unit for symbol, step, unit in parts})

    indices = indices_of(given_tensor, offset)

    assert indices == tuple(
        Term({(symbol,): step}) for symbol, step in zip(symbols, steps, strict=False)
    )
    assert indices_of(given_tensor, offset + 1) == (None if element > 1 else (
        *indices[:-1], indices[-1] + 1
    ))  # fmt: skip
