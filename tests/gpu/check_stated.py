"""To be run by hand on a machine with an NVIDIA GPU: what authors state of launches, under graphs.

    python tests/gpu/check_stated.py FOLDER

The author's function adds up a tensor on the device, as Proton lets it, which would become part of
a graph that is captured. Prints how often it was called and what is recorded, in the program alone
and, in another process, beside Proton; ends with 1 if a captured graph has more than its two nodes,
if the function ran in a capture, or if a recorded call lacks what is stated.

CUPTI has one subscriber a process: beside Proton, which is the first, launches have no timeline.
"""

import subprocess
import sys
from pathlib import Path
from typing import Any

import torch
import triton
import triton.language as tl
from triton import profiler as proton

import kvtrace
from kvtrace.schema.trace import open_trace

calls: list[bool] = []


def stated(grid: Any, metadata: Any, args: dict[str, Any]) -> dict[str, Any]:
    calls.append(torch.cuda.is_current_stream_capturing())
    total, n = int(args["x"].sum()), args["n"]
    return {"name": f"{metadata.name} {grid[0]} {total}", "flops32": n, "bytes": 8 * n}


@triton.jit(launch_metadata=stated)
def doubled(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.load(x + lanes, mask=lanes < n) * 2, mask=lanes < n)


def program() -> bool:
    """Launch, and capture a known and a new call; return whether results are right."""
    x = torch.ones(1000, device="cuda")
    out = torch.empty_like(x)
    for _ in range(3):
        doubled[(4,)](x, out, 1000, BLOCK=256)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        doubled[(4,)](x, out, 1000, BLOCK=256)
        doubled[(4,)](x, out, 999, BLOCK=256)
    out.zero_()
    graph.replay()
    torch.cuda.synchronize()
    return torch.equal(out, x * 2)


def beside_proton(folder: Path) -> None:
    """Record one launch while Proton profiles it."""
    session = proton.start(str(folder / "proton"), hook="triton")
    with kvtrace.capture(folder / "beside", mode="timeline"):
        x = torch.ones(1000, device="cuda")
        doubled[(4,)](x, torch.empty_like(x), 1000, BLOCK=256)
    proton.finalize(session)


def main() -> int:
    """Record the program alone, then beside Proton."""
    folder = Path(sys.argv[1])
    if sys.argv[2:] == ["beside"]:
        beside_proton(folder)
        return 0
    right = []
    with kvtrace.capture(folder / "alone", mode="timeline"):
        right.append(program())
    print(f"alone: {len(calls)} calls of the author's function, {sum(calls)} in a capture")
    in_capture = sum(calls)
    beside = subprocess.run([sys.executable, __file__, str(folder), "beside"], check=False)
    right.append(beside.returncode == 0)
    for name, most in (("alone", 1), ("beside", 1)):
        trace = open_trace(folder / name)
        rows = trace.table("calls", trace.runs, ["stated"]).to_pylist()
        print(name, [row["stated"] and row["stated"]["name"] for row in rows])
        right.append(sum(row["stated"] is not None for row in rows) == most)
        replayed = trace.table("gpu_kernels", trace.runs, ["graph_id"])["graph_id"]
        print(name, f"{len(replayed) - replayed.null_count} executions in graphs")
        right.append(len(replayed) - replayed.null_count == (2 if name == "alone" else 0))
    return int(in_capture > 0 or not all(right))


if __name__ == "__main__":
    sys.exit(main())
