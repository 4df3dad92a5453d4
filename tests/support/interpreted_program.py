"""Run as a script with `TRITON_INTERPRET=1` under any Triton: captures interpreted launches.

python tests/support/interpreted_program.py OUT
"""

import sys

import torch
import triton
import triton.language as tl

import kvtrace


@triton.jit
def positive_sum(values):
    return tl.where(values > 0, values, 0.0).sum(0)


@triton.jit
def shifted(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + lanes, mask=lanes < n)
    tl.store(out + lanes, values - tl.max(values, 0) + positive_sum(values), mask=lanes < n)


def main() -> None:
    x, out = torch.ones(1000), torch.zeros(1000)
    with kvtrace.capture(sys.argv[1]):
        for _ in range(3):
            shifted[lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)](x, out, 1000, BLOCK=256)
        shifted[(8,)](x, out, n=1000, BLOCK=128, num_warps=8)
    assert torch.equal(out[:896], torch.full((896,), 128.0))


if __name__ == "__main__":
    main()
