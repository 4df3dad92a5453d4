"""Kernels that need layouts: copies, transposes, products; and targets without a GPU."""

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget

from tests.support.compile_ttir import compile_stages

TARGETS = {
    "sm_80": (GPUTarget("cuda", 80, 32), "ptx"),
    "sm_90": (GPUTarget("cuda", 90, 32), "ptx"),
    "gfx942": (GPUTarget("hip", "gfx942", 64), "amdgcn"),
}


@triton.jit
def copy(x, out, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + lanes)
    tl.store(out + lanes, values)


@triton.jit
def transpose(x, out, rows, columns, M: tl.constexpr, N: tl.constexpr):
    row = tl.program_id(0) * M + tl.arange(0, M)
    column = tl.program_id(1) * N + tl.arange(0, N)
    values = tl.load(x + row[:, None] * columns + column[None, :])
    tl.store(out + column[:, None] * rows + row[None, :], tl.trans(values))


@triton.jit
def product(a, b, out, inner, columns, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    row, column, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    total = tl.zeros((M, N), tl.float32)
    for first in range(0, inner, K):
        left = tl.load(a + row[:, None] * inner + first + k[None, :])
        right = tl.load(b + (first + k)[:, None] * columns + column[None, :])
        total = tl.dot(left, right, total)
    tl.store(out + row[:, None] * columns + column[None, :], total)


_KERNELS = {kernel.__name__: kernel for kernel in (copy, transpose, product)}


def compiled(name, arch, dtype, *, last=None, aligned=True, **constants):
    """The stages of a kernel up to assembly or `last`, with pointers of `dtype`, else int32."""
    kernel, (target, assembly) = _KERNELS[name], TARGETS[arch]
    signature = {}
    for argument in kernel.arg_names:
        is_pointer = argument in ("x", "a", "b", "out")
        kind = "*fp32" if (name, argument) == ("product", "out") else f"*{dtype}"
        signature[argument] = kind if is_pointer else "i32"
    signature |= dict.fromkeys(constants, "constexpr")
    aligned_names = tuple(signature.keys() - constants.keys()) if aligned else ()
    return compile_stages(
        kernel, signature, constants, divisible_by_16=aligned_names, target=target,
        last=last or assembly,
    )  # fmt: skip
