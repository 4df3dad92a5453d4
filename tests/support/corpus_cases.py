"""Kernels that cover the language: what the IR parser and the backends are tried on.

`CORPUS` maps a name to a compiler of that kernel; kernels use only what Triton 3.5 to 3.9 share.
"""

from collections.abc import Callable
from typing import Any, Final

import triton
import triton.language as tl

from tests.support.compile_ttir import compile_ttir


@triton.jit
def vector_add(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    total = tl.load(x + offsets, mask=mask) + tl.load(y + offsets, mask=mask)
    tl.store(out + offsets, total, mask=mask)


@triton.jit
def softmax(x, out, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    mask = lanes < columns
    values = tl.load(x + row * stride + lanes, mask=mask, other=-float("inf"))
    shifted = values - tl.max(values, axis=0)
    numerator = tl.exp(shifted)
    tl.store(out + row * stride + lanes, numerator / tl.sum(numerator, axis=0), mask=mask)


@triton.jit
def matmul(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, k, BK):
        left = tl.load(
            a + rows[:, None] * k + start + inner[None, :],
            mask=(rows[:, None] < m) & (start + inner[None, :] < k),
            other=0.0,
        )
        right = tl.load(
            b + (start + inner[:, None]) * n + columns[None, :],
            mask=(start + inner[:, None] < k) & (columns[None, :] < n),
            other=0.0,
        )
        total = tl.dot(left, right, total)
    mask = (rows[:, None] < m) & (columns[None, :] < n)
    tl.store(c + rows[:, None] * n + columns[None, :], total.to(tl.float16), mask=mask)


@triton.jit
def _larger(a, b):
    return tl.maximum(a, b)


@triton.jit
def _first_of(a, i, b, j):
    keep = (a > b) | ((a == b) & (i < j))
    return tl.where(keep, a, b), tl.where(keep, i, j)


@triton.jit
def reductions(x, out, index, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + lanes)
    tl.store(out + lanes, tl.associative_scan(values, 0, _larger))
    largest, where = tl.reduce((values, lanes), 0, _first_of)
    tl.store(out + BLOCK, largest)
    tl.store(index, where)


@triton.jit
def atomics(x, counts, lock, n, BLOCK: tl.constexpr):
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    bins = tl.load(x + lanes, mask=lanes < n, other=0)
    tl.atomic_add(counts + bins, 1, mask=lanes < n)
    tl.atomic_max(counts + bins, bins, mask=lanes < n)
    tl.atomic_xchg(lock, 0)


@triton.jit
def early_return(x, out, n, BLOCK: tl.constexpr):
    if tl.program_id(0) * BLOCK >= n:
        return
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + lanes, mask=lanes < n)
    if n > 10:  # noqa: SIM108 - a branch is what is wanted here
        value = value * 2
    else:
        value = value - 1
    tl.store(out + lanes, value, mask=lanes < n)


@triton.jit(noinline=True)
def _scaled(value, factor):
    return value * factor


@triton.jit
def calls(x, out, factor, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    first = tl.load(x)
    tl.store(out + lanes, tl.load(x + lanes) + _scaled(first, factor))


@triton.jit
def shapes(x, out, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + lanes)
    pairs = tl.join(values, values * 2)
    left, right = tl.split(pairs)
    square = tl.trans(tl.reshape(tl.cat(left, right, can_reorder=True), (2, BLOCK)))
    flat = tl.reshape(square, (2 * BLOCK,))
    tl.store(out + tl.arange(0, 2 * BLOCK), flat.to(tl.bfloat16).to(tl.float32, bitcast=False))


@triton.jit
def messages(x, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + lanes)
    tl.device_assert(values < n, 'a "quoted" \\ message, naïve')
    tl.device_print("values", values)


@triton.jit
def literals(out, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    base = tl.full((BLOCK,), float("nan"), tl.float32)
    base = tl.where(lanes > 3, base, float("-inf"))
    base = tl.where(lanes > 7, base, 0.1)
    base = tl.where(lanes > 9, base, 1e-45)
    wide = tl.full((BLOCK,), 0.1, tl.float64) + tl.full((BLOCK,), 1e300, tl.float64)
    half = tl.full((BLOCK,), 65504.0, tl.float16)
    brain = tl.full((BLOCK,), 3.140625, tl.bfloat16)
    tl.store(out + lanes, base + wide.to(tl.float32) + half + brain)


@triton.jit
def descriptors(x, out, m, n, BLOCK: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [m, n], [n, 1], [BLOCK, BLOCK])
    target = tl.make_tensor_descriptor(out, [m, n], [n, 1], [BLOCK, BLOCK])
    row = tl.program_id(0) * BLOCK
    target.store([row, 0], source.load([row, 0]))


@triton.jit
def assembly(x, out, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    value = tl.load(x + lanes)
    shifted = tl.inline_asm_elementwise(
        "shl.b32 $0, $1, 3;", "=r,r", [value], dtype=tl.int32, is_pure=True, pack=1
    )
    tl.store(out + lanes, shifted)


_F32, _I32, _C = "*fp32", "i32", "constexpr"

CORPUS: Final[dict[str, Callable[..., str]]] = {}


def _add(function: Any, signature: dict[str, str], **constexprs: Any) -> None:
    def compiled(**settings: Any) -> str:
        return compile_ttir(function, signature, constexprs, **settings)

    CORPUS[function.__name__] = compiled


_add(vector_add, {"x": _F32, "y": _F32, "out": _F32, "n": _I32, "BLOCK": _C}, BLOCK=1024)
_add(softmax, {"x": _F32, "out": _F32, "stride": _I32, "columns": _I32, "BLOCK": _C}, BLOCK=256)
_add(
    matmul,
    {"a": "*fp16", "b": "*fp16", "c": "*fp16", "m": _I32, "n": _I32, "k": _I32}
    | {"BM": _C, "BN": _C, "BK": _C},
    BM=64,
    BN=32,
    BK=16,
)
_add(reductions, {"x": _F32, "out": _F32, "index": "*i32", "BLOCK": _C}, BLOCK=64)
_add(atomics, {"x": "*i32", "counts": "*i32", "lock": "*i32", "n": _I32, "BLOCK": _C}, BLOCK=64)
_add(early_return, {"x": _F32, "out": _F32, "n": _I32, "BLOCK": _C}, BLOCK=64)
_add(calls, {"x": _F32, "out": _F32, "factor": "fp32", "BLOCK": _C}, BLOCK=64)
_add(shapes, {"x": _F32, "out": _F32, "BLOCK": _C}, BLOCK=64)
_add(messages, {"x": "*i32", "n": _I32, "BLOCK": _C}, BLOCK=64)
_add(literals, {"out": _F32, "BLOCK": _C}, BLOCK=16)
_add(descriptors, {"x": "*fp16", "out": "*fp16", "m": _I32, "n": _I32, "BLOCK": _C}, BLOCK=32)
_add(assembly, {"x": "*i32", "out": "*i32", "BLOCK": _C}, BLOCK=64)
