"""A kernel of torchao; needs the package `torchao`."""

from typing import Any, Final

import torch

from corpus.questions.edits import Results, Source, bits, blocks, broken


def _scaled(ops: Any, hard: bool) -> Results:
    m, n, k = 48, 40, 50
    largest = 127 if hard else 20
    a = torch.randint(-largest, largest, (m, k), dtype=torch.int8)
    b = torch.randint(-largest, largest, (k, n), dtype=torch.int8)
    scale, c = torch.rand(m), torch.zeros(m, n)
    ops.scaled_matmul_kernel_with_block_pointers[(blocks(m, 32) * blocks(n, 32),)](
        a, b, c, scale, m, n, k, *a.stride(), *b.stride(), *c.stride(), 1, 0,
        BLOCK_M=32, BLOCK_N=32, BLOCK_K=32, GROUP_M=2, EVEN_K=False,
    )  # fmt: skip
    return (c,), ((a.int() @ b.int()).float() * scale[:, None],)


SOURCES: Final = (Source("scaled integers", "torchao/kernel/intmm_triton.py", _scaled),)

CASES: Final = (
    bits("scaled integers", "the product adds", r"acc \+= tl.dot\(a, b\)  #",
         "acc = tl.dot(a, b, acc, out_dtype=tl.int32)  #"),
    broken("scaled integers", "the sum in 16 bits", r"acc \* tmp0",
           "acc.to(tl.float16) * tmp0"),
    broken("scaled integers", "a column's scale", r"tl.broadcast_to\(idx_m, mask.shape\)",
           "tl.broadcast_to(idx_n, mask.shape)"),
)  # fmt: skip
