"""The kernels that sanitizers are compared on. Imports nothing of kvtrace."""

import torch
import triton
import triton.language as tl
from evaluator_kernels import (
    Case,
    attention_case,
    blank,
    layer_norm_case,
    matmul_case,
    random,
    softmax_case,
    vector_add_case,
)


@triton.jit
def gather(x, index, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = lanes < n
    place = tl.load(index + lanes, mask=mask, other=0)
    tl.store(out + lanes, tl.load(x + place, mask=mask), mask=mask)


@triton.jit
def wide_add(x, y, out, n, BLOCK: tl.constexpr):
    """Vector add for any number of programs: offsets of 64 bits."""
    lanes = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = lanes < n
    tl.store(out + lanes, tl.load(x + lanes, mask=mask) + tl.load(y + lanes, mask=mask), mask=mask)


def gather_case() -> Case:
    """Return a case with 100,000 addresses that depend on data, in 98 programs."""
    n = 100_000
    order = torch.randperm(n, generator=torch.Generator().manual_seed(0))
    return Case(
        name="gather 100,000",
        kernel=gather,
        grid=(triton.cdiv(n, 1024),),
        arguments=lambda: {"x": random(n), "index": order.clone(), "out": blank(n), "n": n},
        constexprs={"BLOCK": 1024},
        output="out",
        operator=lambda a: a["x"][a["index"].long()],
        tolerance=0.0,
    )


def cases() -> dict[str, Case]:
    """Return every case by its name, in the order of the tables."""
    all_cases = [
        vector_add_case(),
        softmax_case(),
        matmul_case(torch.float32, "fp32", 5e-3),
        layer_norm_case(torch.float32, "fp32", 1e-5),
        attention_case(torch.float32, "fp32", 5e-3),
        gather_case(),
    ]
    return {case.name: case for case in all_cases}
