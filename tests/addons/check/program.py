"""Run as a program: launches of real kernels, on the CPU; `finite`: a loop whose step 30 breaks."""

import sys

import torch
import triton

from corpus.kernels import basic, normalization
from tests.addons.check import bad_kernels
from tests.backends.compiled_kernels import check_kernels


def launch_all() -> None:
    torch.manual_seed(1)
    x, y = torch.randn(1000), torch.randn(1000)
    for _ in range(3):
        check_kernels.add[(4,)](x, y, torch.zeros(1000), 1000, BLOCK=256, num_warps=8)
    rows = torch.randn(6, 100)
    basic.softmax[(3,)](torch.zeros(6, 100), rows, 100, 100, 6, 100, BLOCK=128)
    weight, bias, mean, rstd = (torch.randn(n) for n in (100, 100, 6, 6))
    normalization.layer_norm_forward[(6,)](
        rows, torch.zeros(6, 100), weight, bias, mean, rstd, 100, 100, 1e-5, BLOCK=128
    )
    a, b = torch.randn(48, 32).bfloat16(), torch.randn(32, 64).bfloat16()
    basic.matmul[(12,)](
        a, b, torch.zeros(48, 64), 48, 64, 32, 32, 1, 64, 1, 64, 1,
        BM=16, BN=16, BK=16, GROUP=2, ACTIVATION="leaky_relu", PRECISION="tf32",
    )  # fmt: skip
    check_kernels.total[(4,)](x, torch.zeros(1), 1000, BLOCK=256)


def train() -> None:
    """A rate that falls to zero, which step 30 takes the logarithm of."""
    weights, out = torch.full((1000,), 2.0), torch.zeros(1000)
    for step in range(35):
        weights[700] = 3.0 - step / 10
        bad_kernels.log_of_zero[(triton.cdiv(1000, 256),)](weights, out, 1000, BLOCK=256)


if __name__ == "__main__":
    train() if sys.argv[1:] == ["train"] else launch_all()
