"""Pairs of kernels before and after a change: some equal bit for bit, others almost.

Equal pairs compute each output element by the same additions and products in the same order, by
their TTIR. `launch(kernel)` launches a kernel on the same tensors and returns the output.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import triton

from tests.addons.invariance import refactored_kernels as kernels
from tests.addons.invariance.inputs import tensor

ROWS, WIDTH, DEPTH = 16, 200, 96


def rowwise(kernel: Any, rows_a_program: int = 1) -> torch.Tensor:
    """Launch `kernel(x, w, out, M, N)`, a program per row."""
    x, w = tensor(ROWS, WIDTH, seed=1), tensor(WIDTH, seed=2)
    out = torch.zeros_like(x)
    kernel[(triton.cdiv(ROWS, rows_a_program),)](x, w, out, ROWS, WIDTH)
    return out


def product(kernel: Any) -> torch.Tensor:
    """Launch `kernel(x, w, out, M, K)`, which multiplies (16, 96) by (96, 16)."""
    x, w = tensor(16, DEPTH, seed=1), tensor(DEPTH, 16, seed=2)
    out = torch.zeros_like(x[:, :16].contiguous())
    kernel[(1,)](x, w, out, 16, DEPTH)
    return out


def _tiles(kernel: Any) -> torch.Tensor:
    """Launch with four rows a program if the kernel has tiles."""
    return rowwise(kernel, 4 if kernel is kernels.rms_norm_tiles else 1)


def _few(kernel: Any) -> torch.Tensor:
    """Launch with fewer programs than rows if the kernel is persistent."""
    return rowwise(kernel, 3 if kernel is kernels.rms_norm_persistent else 1)


@dataclass(frozen=True)
class Refactored:
    """A kernel before and after a change.

    Attributes:
        equal: whether results are the same bits for all inputs.
        name: the change.
        before: the kernel before the change.
        after: the kernel after the change.
        launch: launches a kernel: `launch(kernel)`.
    """

    equal: bool
    name: str
    before: Any
    after: Any
    launch: Callable[[Any], torch.Tensor] = rowwise


EQUAL: tuple[tuple[Any, ...], ...] = (
    ("names", kernels.rms_norm, kernels.rms_norm_renamed),
    ("masks restated", kernels.rms_norm, kernels.rms_norm_masks),
    ("split into functions", kernels.rms_norm, kernels.rms_norm_functions),
    ("pointers moved to the row", kernels.rms_norm, kernels.rms_norm_pointers),
    ("a select for the mask's other", kernels.rms_norm, kernels.rms_norm_where),
    ("factors and summands commuted", kernels.rms_norm, kernels.rms_norm_commuted),
    ("four rows a program", kernels.rms_norm, kernels.rms_norm_tiles, _tiles),
    ("a persistent loop over rows", kernels.rms_norm, kernels.rms_norm_persistent, _few),
    ("two stores of disjoint lanes", kernels.rms_norm, kernels.rms_norm_two_stores),
    ("wider indices, idle casts", kernels.rms_norm, kernels.rms_norm_wide),
    ("block pointers", kernels.rms_norm, kernels.rms_norm_block_pointers),
    ("last trip peeled", kernels.loop_sum, kernels.loop_sum_peeled),
    ("pointers advance", kernels.loop_sum, kernels.loop_sum_hoisted),
    ("loop unrolled", kernels.loop_sum, kernels.loop_sum_unrolled),
    ("a literal for the argument", kernels.loop_sum, kernels.loop_sum_literal),
    ("while for for", kernels.loop_sum, kernels.loop_sum_while),
    ("early return, operands commuted", kernels.loop_sum, kernels.loop_sum_guarded),
    ("load hoisted and shared", kernels.scaled_sum, kernels.scaled_sum_hoisted),
    ("right factor transposed", kernels.matmul, kernels.matmul_transposed, product),
    ("pointers of both factors advance", kernels.matmul, kernels.matmul_pointers, product),
    ("values loaded again for each use", kernels.softmax, kernels.softmax_parts),
)
DIFFERENT: tuple[tuple[Any, ...], ...] = (
    ("loop reversed", kernels.loop_sum, kernels.loop_sum_reversed),
    ("tiles summed each", kernels.loop_sum, kernels.loop_sum_each),
    ("BLOCK_K halved", kernels.matmul, kernels.matmul_narrow, product),
    ("steeper where negative", kernels.leaky, kernels.leaky_steeper),
    ("a maximum by tiles", kernels.largest, kernels.largest_by_tiles),
    ("a maximum with zero", kernels.largest, kernels.largest_and_zero),
)
"""Others, which are almost equal, are in the corpus."""
REFACTORED = (
    *(Refactored(True, *row) for row in EQUAL),
    *(Refactored(False, *row) for row in DIFFERENT),
)
