"""A program on a driver that does nothing, as it is: to record it takes no evaluator.

`python small_program.py STEPS`: each step launches two kernels, one of which gathers, and the first
one tunes itself before; a forked child launches, too.
"""

import os
import sys

import torch
import triton
import triton.language as tl
from idle_driver import IdleDriver  # beside this file
from triton.runtime.driver import driver

import kvtrace

BLOCK = 64


@triton.jit
def gathered(source, index, result, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = lanes < n
    places = tl.load(index + lanes, mask=inside)
    tl.store(result + lanes, tl.load(source + places, mask=inside), mask=inside)


@triton.autotune([triton.Config({"BLOCK": size}) for size in (32, 64)], key=["n"])
@triton.jit
def scaled(x, n, factor, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + lanes, tl.load(x + lanes, mask=lanes < n) * factor, mask=lanes < n)


def step(number: int) -> None:
    """Launch each kernel once; sizes and indices differ between some steps."""
    n = 100 + number % 3
    index = torch.arange(n, dtype=torch.int32).flip(0)
    index[0] = number % 2
    with kvtrace.mark("step", number=number):
        gathered[(triton.cdiv(n, BLOCK),)](torch.ones(n), index, torch.zeros(n), n, BLOCK=BLOCK)
        scaled[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](torch.ones(n), n, 0.5)


def main(steps: int) -> None:
    """Launch in this process, then in a forked one."""
    driver._active = IdleDriver()
    for number in range(steps):
        step(number)
    child = os.fork()
    if child == 0:
        step(0)
        sys.exit(0)
    assert os.waitpid(child, 0)[1] == 0
    loaded = {"numpy", "duckdb", "z3", "pandas", "pyarrow.compute"} & sys.modules.keys()
    print("launched", *sorted(loaded))


main(int(sys.argv[1]))
