"""To be run by hand on a machine with an NVIDIA GPU: a window of a device timeline.

    python tests/gpu/check_windows.py

A loop of steps, each with launches of one kernel, products of a library and a copy, runs far ahead
of the device. Of the steps in the window all executions are to be recorded, each with its launch,
and of the others none. Ends with 1 if anything is not as it should be.
"""

import sys
import tempfile
from pathlib import Path

import torch
import triton
import triton.language as tl

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import kvtrace  # noqa: E402
from kvtrace.schema.runs import plain_rows  # noqa: E402
from kvtrace.schema.trace import open_trace  # noqa: E402
from kvtrace.schema.validation import validate  # noqa: E402

STEPS, FIRST, LAST, LAUNCHES, PRODUCTS, SIZE = 300, 100, 149, 20, 3, 1 << 22


@triton.jit
def doubled(x, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + lanes, tl.load(x + lanes, mask=lanes < n) * 2, mask=lanes < n)


def counts(window: str) -> tuple[dict[str, int], list[str]]:
    """Return what a recording holds, and its problems and messages."""
    x = torch.zeros(SIZE, device="cuda")
    square = torch.zeros(512, 512, device="cuda")
    torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        with kvtrace.capture(folder, mode="timeline", window=window):
            for _ in range(STEPS):
                with kvtrace.mark("step"):
                    for _ in range(LAUNCHES):
                        doubled[(SIZE // 1024,)](x, SIZE, BLOCK=1024)
                    for _ in range(PRODUCTS):
                        torch.mm(square, square)
                    square.copy_(square.T.contiguous())
            torch.cuda.synchronize()
        trace = open_trace(folder)
        executions = plain_rows(trace.table("gpu_kernels"))
        texts = [f"{row['code']} {row['text']}" for row in plain_rows(trace.table("messages"))]
        found = {
            "launches": trace.table("launches").num_rows,
            "marks": trace.table("marks").num_rows,
            "executions with a launch": sum(row["call_id"] is not None for row in executions),
            "executions": sum(row["name"] == "doubled" for row in executions),
            "executions of the library": sum("gemm" in str(row["name"]) for row in executions),
        }
        return found, [*map(str, validate(folder)), *texts]


def main() -> int:
    whole, _ = counts("")
    part, texts = counts(f"steps:{FIRST}-{LAST}")
    print(*texts, sep="\n")
    are_right = True
    for name, count in part.items():
        expected = whole[name] * (LAST - FIRST + 1) // STEPS
        is_right = count == expected > 0
        are_right = are_right and is_right
        print(f"{'as it should be' if is_right else 'WRONG'}: {count} of {whole[name]} {name}")
    return int(not are_right)


if __name__ == "__main__":
    sys.exit(main())
