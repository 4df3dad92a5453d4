"""Kernels with contracts in their source: one keeps its contract, the others do not."""

from typing import Any

import triton
import triton.language as tl

from tests.addons.invariance.inputs import tensor


@triton.jit
def kept(x, y, M, N, BLOCK: tl.constexpr):
    # kvtrace: invariant over M
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    mask = (at < N) & (row < M)
    values = tl.load(x + row * N + at, mask=mask, other=0.0)
    tl.store(y + row * N + at, values / tl.sum(values), mask=mask)


@triton.jit
def broken(x, y, M, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    mask = (at < N) & (row < M)
    values = tl.load(x + row * N + at, mask=mask, other=0.0)
    tl.store(y + row * N + at, values / M, mask=mask)  # kvtrace: invariant over M


@triton.jit
def misnamed(x, y, M, N, BLOCK: tl.constexpr):
    # kvtrace: invariant over BATCH
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    mask = (at < N) & (row < M)
    tl.store(y + row * N + at, tl.load(x + row * N + at, mask=mask, other=0.0), mask=mask)


@triton.jit
def unasked(x, y, M, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    mask = (at < N) & (row < M)
    text: tl.constexpr = "# kvtrace: invariant over M"  # noqa: F841 - a text is no comment
    tl.store(y + row * N + at, tl.load(x + row * N + at, mask=mask, other=0.0) / M, mask=mask)


@triton.jit
# kvtrace: invariant over M
def above_def(x, y, M, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    mask = (at < N) & (row < M)
    tl.store(y + row * N + at, tl.load(x + row * N + at, mask=mask, other=0.0) * 3, mask=mask)


# It is asked for here, too.
# kvtrace: invariant over M
@triton.autotune([triton.Config({"BLOCK": 32})], key=[])
@triton.jit
def above_decorators(x, y, M, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    mask = (at < N) & (row < M)
    tl.store(y + row * N + at, tl.load(x + row * N + at, mask=mask, other=0.0) / M, mask=mask)


# kvtrace: invariant over M


@triton.jit
def apart(x, y, M, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    mask = (at < N) & (row < M)
    tl.store(y + row * N + at, tl.load(x + row * N + at, mask=mask, other=0.0) / M, mask=mask)


def launch(kernel: Any, *sizes: int) -> None:
    """Launch a kernel on batches with the given numbers of rows, of 20 columns."""
    for rows in sizes:
        x = tensor(rows, 20, seed=rows)
        block = {} if kernel is above_decorators else {"BLOCK": 32}
        kernel[(rows,)](x, x.clone(), rows, 20, **block)
