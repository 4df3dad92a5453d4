"""To be run by hand on a machine with an NVIDIA GPU of Hopper: the stage of a real fault.

    python tests/gpu/check_stage.py

A tile goes into a product, and registers look at it, too. Where Triton pipelines that with a buffer
too few, results are wrong, other ones in each launch: every launch that differs has to be put down
to the passes up to TTGIR, and none may differ without pipelining. Where launches differ,
`pipeline-order` has to find it, too; without pipelining it has to prove that there is nothing. Says
so where this Triton makes no such mistake. Ends with 1 if anything is not as it should be.
"""

import sys
import tempfile
from collections import Counter
from pathlib import Path

import torch
import triton
import triton.language as tl

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import kvtrace  # noqa: E402

LAUNCHES, BM, BN, BK, K = 12, 64, 256, 64, 1024


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


def main() -> int:
    torch.manual_seed(0)
    a, b = torch.randn(BM, K, device="cuda").half(), torch.randn(K, BN, device="cuda").half()
    wanted = a.double() @ b.double() + b.double().max()
    problems = differing = 0
    for stages in (1, 2, 3, 4):
        wrong = 0
        with tempfile.TemporaryDirectory() as folder:
            with kvtrace.capture(folder, check="kernel:product_and_largest"):
                for _ in range(LAUNCHES):
                    out = torch.zeros(BM, BN, device="cuda")
                    product_and_largest[(1,)](
                        a, b, out, K, BM=BM, BN=BN, BK=BK, num_warps=4, num_stages=stages
                    )
                    wrong += bool(((out.double() - wanted).abs() > 1).any())
            rows = kvtrace.open(folder).check()
            judged = kvtrace.open(folder).sanitize("pipeline-order", proven=True)
            order = {row["verdict"] for row in judged}
        found = Counter((row["answer"], row["stage"]) for row in rows)
        told = sum(count for (answer, _), count in found.items() if answer == "differs")
        right = told == wrong == found["differs", "ttgir"] and (stages > 1 or not wrong)
        right &= order == {"violation" if wrong else "proven"} or (not wrong and stages > 1)
        problems += not right
        differing += wrong
        reason = next((row["stage_reason"] for row in rows if row["stage"]), "")
        head = f"{'ok   ' if right else 'WRONG'} {stages} stages"
        print(
            f"{head}: {wrong} of {LAUNCHES} launches are wrong; {dict(found)} {reason}; "
            f"pipeline-order: {', '.join(order)}",
            flush=True,
        )
    if not differing:
        print(f"Triton {triton.__version__} makes no such mistake here")
    print(f"{torch.cuda.get_device_name()}: {problems} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
