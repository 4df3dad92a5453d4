"""Trees of kernels: indices in place of offsets, and expressions that are nested deeply."""

from collections.abc import Callable

import torch
import triton
import triton.language as tl

from kvtrace.addons.invariance.output_results import Invariance
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
