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


@dataclass(frozen=True)
class Refactored:
    """A kernel before and after a change.

    Attributes:
        name: the change.
        equal: whether results are the same bits for all inputs.
        before: the kernel before the change.
        after: the kernel after the change.
        launch: launches a kernel: `launch(kernel)`.
    """

    name: str
    equal: bool
    before: Any
    after: Any
    launch: Callable[[Any], torch.Tensor]


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


def halves(kernel: Any) -> torch.Tensor:
    """Launch `kernel(x, w, out, M, N)` on half precision."""
    x, w = tensor(ROWS, WIDTH, seed=1).half(), tensor(WIDTH, seed=2).half()
    out = torch.zeros_like(x)
    kernel[(ROWS,)](x, w, out, ROWS, WIDTH)
    return out


def _tiles(kernel: Any) -> torch.Tensor:
    """Launch with four rows a program if the kernel has tiles."""
    return rowwise(kernel, 4 if kernel is kernels.rms_norm_tiles else 1)


def _few(kernel: Any) -> torch.Tensor:
    """Launch with fewer programs than rows if the kernel is persistent."""
    return rowwise(kernel, 3 if kernel is kernels.rms_norm_persistent else 1)


REFACTORED: tuple[Refactored, ...] = (
    Refactored("names", True, kernels.rms_norm, kernels.rms_norm_renamed, rowwise),
    Refactored("masks restated", True, kernels.rms_norm, kernels.rms_norm_masks, rowwise),
    Refactored("split into functions", True, kernels.rms_norm, kernels.rms_norm_functions, rowwise),
    Refactored(
        "pointers moved to the row", True, kernels.rms_norm, kernels.rms_norm_pointers, rowwise
    ),
    Refactored(
        "a select for the mask's other", True, kernels.rms_norm, kernels.rms_norm_where, rowwise
    ),
    Refactored(
        "factors and summands commuted", True, kernels.rms_norm, kernels.rms_norm_commuted, rowwise
    ),
    Refactored("four rows a program", True, kernels.rms_norm, kernels.rms_norm_tiles, _tiles),
    Refactored(
        "a persistent loop over rows", True, kernels.rms_norm, kernels.rms_norm_persistent, _few
    ),
    Refactored(
        "two stores of disjoint lanes", True, kernels.rms_norm, kernels.rms_norm_two_stores, rowwise
    ),
    Refactored("wider indices, idle casts", True, kernels.rms_norm, kernels.rms_norm_wide, rowwise),
    Refactored("block pointers", True, kernels.rms_norm, kernels.rms_norm_block_pointers, rowwise),
    Refactored("last trip peeled", True, kernels.loop_sum, kernels.loop_sum_peeled, rowwise),
    Refactored("pointers advance", True, kernels.loop_sum, kernels.loop_sum_hoisted, rowwise),
    Refactored("loop unrolled", True, kernels.loop_sum, kernels.loop_sum_unrolled, rowwise),
    Refactored(
        "a literal for the argument", True, kernels.loop_sum, kernels.loop_sum_literal, rowwise
    ),
    Refactored("while for for", True, kernels.loop_sum, kernels.loop_sum_while, rowwise),
    Refactored(
        "early return, operands commuted", True, kernels.loop_sum, kernels.loop_sum_guarded, rowwise
    ),
    Refactored(
        "load hoisted and shared", True, kernels.scaled_sum, kernels.scaled_sum_hoisted, rowwise
    ),
    Refactored("right factor transposed", True, kernels.matmul, kernels.matmul_transposed, product),
    Refactored(
        "pointers of both factors advance", True, kernels.matmul, kernels.matmul_pointers, product
    ),
    Refactored(
        "product reassociated", False, kernels.rms_norm, kernels.rms_norm_reassociated, rowwise
    ),
    Refactored(
        "eps outside the root", False, kernels.rms_norm, kernels.rms_norm_eps_outside, rowwise
    ),
    Refactored("division by the root", False, kernels.rms_norm, kernels.rms_norm_root, rowwise),
    Refactored(
        "terms divided before the sum",
        False,
        kernels.rms_norm,
        kernels.rms_norm_scaled_terms,
        rowwise,
    ),
    Refactored(
        "every third term summed apart",
        False,
        kernels.rms_norm,
        kernels.rms_norm_two_blocks,
        rowwise,
    ),
    Refactored(
        "rounded before the weight",
        False,
        kernels.rms_norm_half,
        kernels.rms_norm_half_early,
        halves,
    ),
    Refactored("tile of the sum doubled", False, kernels.loop_sum, kernels.loop_sum_wider, rowwise),
    Refactored("loop reversed", False, kernels.loop_sum, kernels.loop_sum_reversed, rowwise),
    Refactored("tiles summed each", False, kernels.loop_sum, kernels.loop_sum_each, rowwise),
    Refactored(
        "accumulated in half precision", False, kernels.loop_sum, kernels.loop_sum_half, rowwise
    ),
    Refactored("last column left out", False, kernels.loop_sum, kernels.loop_sum_short, rowwise),
    Refactored(
        "factor moved out of the sum",
        False,
        kernels.scaled_sum,
        kernels.scaled_sum_outside,
        rowwise,
    ),
    Refactored(
        "exponential before the maximum", False, kernels.softmax, kernels.softmax_divided, rowwise
    ),
    Refactored(
        "reciprocal for division", False, kernels.softmax, kernels.softmax_reciprocal, rowwise
    ),
    Refactored("online softmax", False, kernels.softmax, kernels.softmax_online, rowwise),
    Refactored("base two", False, kernels.softmax, kernels.softmax_base_two, rowwise),
    Refactored("padding takes part", False, kernels.softmax, kernels.softmax_padded_zero, rowwise),
    Refactored("variance in one pass", False, kernels.variance, kernels.variance_one_pass, rowwise),
    Refactored("sigmoid by division", False, kernels.silu, kernels.silu_divided, rowwise),
    Refactored("BLOCK_K halved", False, kernels.matmul, kernels.matmul_narrow, product),
    Refactored("products in tf32", False, kernels.matmul, kernels.matmul_tf32, product),
    Refactored("two accumulators", False, kernels.matmul, kernels.matmul_two_sums, product),
    Refactored("steeper where negative", False, kernels.leaky, kernels.leaky_steeper, rowwise),
    Refactored("a maximum by tiles", False, kernels.largest, kernels.largest_by_tiles, rowwise),
    Refactored("a maximum with zero", False, kernels.largest, kernels.largest_and_zero, rowwise),
    Refactored(
        "values loaded again for each use", True, kernels.softmax, kernels.softmax_parts, rowwise
    ),
)
