"""To be run by hand on a machine with an NVIDIA GPU of Hopper: the stage of a real fault.

    python tests/gpu/check_stage.py

A tile goes into a product, and registers look at it, too (the second kernel is the one of Triton's
issue 6691, in other words). Where Triton pipelines that with a buffer too few, results are wrong,
other ones in each launch: every launch that differs has to be put down to the passes up to TTGIR,
and none may differ without pipelining. Where launches differ, `pipeline-order` has to find it, too;
without pipelining it has to prove that there is nothing. Ends with 1 if anything is not as it
should be.
"""

import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import torch
import triton
import triton.language as tl

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import kvtrace  # noqa: E402

LAUNCHES, STAGES = 12, (1, 2, 3, 4)
BM, BN, BK, D, K = 64, 256, 64, 128, 1024


@triton.jit
def product_and_largest(a, b, out, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows, columns, inner = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    total, largest = tl.zeros((BM, BN), tl.float32), -1e30
    for start in range(0, k, BK):
        left = tl.load(a + rows[:, None] * k + (start + inner)[None, :])
        right = tl.load(b + (start + inner)[:, None] * BN + columns[None, :])
        largest = tl.maximum(largest, tl.max(tl.max(right.to(tl.float32), 1), 0))
        total = tl.dot(left, right, total)
    tl.store(out + rows[:, None] * BN + columns[None, :], total + largest)


@triton.jit
def product_and_sums(a, b, sums, out, k, D: tl.constexpr, BK: tl.constexpr):
    columns = tl.arange(0, D)
    total, product = tl.zeros((D,), tl.float32), tl.zeros((D, D), tl.float32)
    for start in range(0, k, BK):
        at = (start + tl.arange(0, BK))[:, None] * D + columns[None, :]
        left, right = tl.load(a + at), tl.load(b + at)
        total += tl.sum(left.to(tl.float32), 0)
        product += tl.dot(tl.trans(left), right)
    tl.store(sums + columns, total)
    tl.store(out + columns[:, None] * D + columns[None, :], product)


def largest(stages: int) -> bool:
    """Launch the first kernel; tell whether its result is wrong."""
    a, b = torch.randn(BM, K, device="cuda").half(), torch.randn(K, BN, device="cuda").half()
    out = torch.zeros(BM, BN, device="cuda")
    product_and_largest[(1,)](a, b, out, K, BM=BM, BN=BN, BK=BK, num_warps=4, num_stages=stages)
    return bool(((out.double() - a.double() @ b.double() - b.double().max()).abs() > 1).any())


def sums(stages: int) -> bool:
    """Launch the second kernel; tell whether its result is wrong."""
    a, b = (torch.randn(4 * K, D, device="cuda").half() for _ in range(2))
    added, out = torch.zeros(D, device="cuda"), torch.zeros(D, D, device="cuda")
    product_and_sums[(1,)](a, b, added, out, 4 * K, D=D, BK=BK, num_warps=4, num_stages=stages)
    return bool(((out.double() - a.double().T @ b.double()).abs() > 1).any())


def main() -> int:
    torch.manual_seed(0)
    problems = sum(not as_it_should_be(launch, n) for launch in (largest, sums) for n in STAGES)
    print(f"{torch.cuda.get_device_name()}: {problems} problems")
    return 1 if problems else 0


def as_it_should_be(launch: Callable[[int], bool], stages: int) -> bool:
    """Launch a kernel with so many stages, and compare what is said of it with its results."""
    with tempfile.TemporaryDirectory() as folder:
        with kvtrace.capture(folder, check="kernel:product_*"):
            wrong = sum(launch(stages) for _ in range(LAUNCHES))
        rows = kvtrace.open(folder).check()
        judged = kvtrace.open(folder).sanitize("pipeline-order", proven=True)
        order = {finding.verdict for finding in judged}
    differing = {row.seq: row for row in rows if row.answer == "differs"}
    by_stage = Counter(row.stage for row in differing.values())
    right = len(differing) == wrong == by_stage["ttgir"] and (stages > 1 or not wrong)
    right &= order == {"violation" if wrong else "proven"} or (not wrong and stages > 1)
    head = "ok   " if right else "WRONG"
    reason = next((row.stage_reason for row in differing.values()), "")
    print(
        f"{head} {launch.__name__}, {stages} stages: {wrong} of {LAUNCHES} "
        f"launches are wrong; {dict(by_stage)} {reason}; pipeline-order: {', '.join(order)}",
        flush=True,
    )
    return right


if __name__ == "__main__":
    sys.exit(main())
