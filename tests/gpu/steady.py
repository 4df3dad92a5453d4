"""To be run by hand on a machine with an NVIDIA GPU: three kernels, timed again and again.

    KVTRACE=OUT KVTRACE_MODE=timeline python tests/gpu/steady.py [ROUNDS]

`smooth` takes as long as its ROUNDS (200) say: a second run with 220 is 10 % slower in that kernel,
which a diff must find; two runs with the same number must not differ.
"""

import sys

import torch
import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.load(x + lanes, mask=lanes < n) + tl.load(y + lanes, mask=lanes < n)
    tl.store(out + lanes, total, mask=lanes < n)


@triton.jit
def smooth(x, out, n, rounds, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + lanes, mask=lanes < n)
    for _ in range(rounds):
        value = tl.sin(value) * 0.5 + value * 0.25
    tl.store(out + lanes, value, mask=lanes < n)


@triton.jit
def row_sums(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, columns, BLOCK):
        lanes = start + tl.arange(0, BLOCK)
        total += tl.load(x + row * columns + lanes, mask=lanes < columns, other=0.0)
    tl.store(out + row, tl.sum(total))


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    torch.manual_seed(0)
    n = 1 << 22
    x, y, out = (torch.rand(n, device="cuda") for _ in range(3))
    sums = torch.empty(1024, device="cuda")
    for _ in range(300):
        add[(n // 1024,)](x, y, out, n, BLOCK=1024)
        smooth[(n // 1024,)](x, out, n, rounds, BLOCK=1024)
        row_sums[(1024,)](x, sums, n // 1024, BLOCK=1024)
    torch.cuda.synchronize()


if __name__ == "__main__":
    main()
