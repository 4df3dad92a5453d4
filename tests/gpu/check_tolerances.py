"""Do results of a GPU stay within derived bounds? A softmax and products, by seeds.

    PYTHONPATH=. python tests/gpu/check_tolerances.py --seeds 100

It wants a GPU that Triton has a driver for. It ends with 1 if a right kernel leaves its bounds.
tests/gpu/check_public_tolerances.py does it for kernels of public libraries.
"""

import argparse
import sys

import torch
import triton
import triton.language as tl

import kvtrace.testing


@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    mask = lanes < columns
    given = tl.load(x + row * columns + lanes, mask=mask, other=-float("inf")).to(tl.float32)
    powers = tl.exp(given - tl.max(given, axis=0))
    tl.store(out + row * columns + lanes, powers / tl.sum(powers, axis=0), mask=mask)


@triton.jit
def matmul(left, right, out, inner, PRECISION: tl.constexpr, B: tl.constexpr):
    row, column = tl.arange(0, B)[:, None], tl.arange(0, B)[None, :]
    total = tl.zeros((B, B), dtype=tl.float32)
    for start in range(0, inner, B):
        a = tl.load(left + row * inner + start + column)
        b = tl.load(right + (start + row) * B + column)
        total = tl.dot(a, b, total, input_precision=PRECISION)
    tl.store(out + row * B + column, total)


def launch(name: str, dtype: torch.dtype) -> None:
    """Launch one kernel on new inputs, and compare.

    Raises:
        NotClose: a result is beyond its bound.
    """
    device = "cuda"
    if name == "softmax":
        x = torch.randn(16, 1000, device=device).to(dtype)
        checked = kvtrace.testing.against(lambda x: torch.softmax(x, -1))(softmax)
        checked[(16,)](x, torch.zeros_like(x), 1000, BLOCK=1024)
        return
    left = torch.randn(64, 2048, device=device)
    right = torch.randn(2048, 64, device=device)
    if name == "positive":  # what is cut is all of one sign
        left, right = left.abs(), right.abs()
    left, right = left.to(dtype), right.to(dtype)
    of_bytes = dtype.itemsize == 1
    out = torch.zeros(64, 64, device=device, dtype=torch.float32 if of_bytes else dtype)
    checked = kvtrace.testing.against(lambda left, right: left @ right)(matmul)
    checked[(1,)](left, right, out, 2048, PRECISION="tf32" if of_bytes else name, B=64)


def main() -> int:
    """Run all; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    seeds = parser.parse_args().seeds
    if not torch.cuda.is_available():
        print("there is no GPU here", file=sys.stderr)
        return 1
    failed = 0
    types = (torch.float32, torch.float16, torch.bfloat16)
    cases = [(name, dtype) for name in ("softmax", "ieee", "tf32") for dtype in types]
    if torch.cuda.get_device_capability() >= (8, 9):
        bytes_ = (torch.float8_e4m3fn, torch.float8_e5m2)
        cases += [(name, dtype) for name in ("normal", "positive") for dtype in bytes_]
    for name, dtype in cases:
        beyond = 0
        for seed in range(seeds):
            torch.manual_seed(seed)
            try:
                launch(name, dtype)
            except kvtrace.testing.NotClose as error:
                beyond += 1
                print(error)
        print(f"{name:8} {dtype!s:20}: {beyond} of {seeds} seeds beyond their bounds")
        failed += beyond
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
