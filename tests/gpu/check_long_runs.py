"""To be run by hand on a machine with an NVIDIA GPU: sampled timelines, and recordings with limits.

    python tests/gpu/check_long_runs.py

One loop of launches of two kernels, one of them in a replayed graph as well, is recorded whole and
sampled, in timeline mode: the sampled one's counts of launches and executions are to be exact, its
device times near the whole one's, and its rows few. Rings keep the newest launches and no
executions of others, and a limit ends the recording and not the program. Ends with 1 if anything
is not as it should be.
"""

import sys
import tempfile
import time
from pathlib import Path

import torch
import triton
import triton.language as tl

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import kvtrace  # noqa: E402
from kvtrace.converters.profile.profile import read_profile  # noqa: E402
from kvtrace.figures.requested_part import WHOLE  # noqa: E402
from kvtrace.schema.runs import plain_rows  # noqa: E402
from kvtrace.schema.trace import Trace, open_trace  # noqa: E402
from kvtrace.schema.validation import validate  # noqa: E402
from tests.gpu.check_checks import doubled  # noqa: E402
from tests.gpu.expectations import expect, problems  # noqa: E402

LAUNCHES, REPLAYS, BURSTS, SIZE = 20_000, 500, 12, 1 << 20


@triton.jit
def halved(x, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + lanes, tl.load(x + lanes, mask=lanes < n) / 2, mask=lanes < n)


def program(launches: int = LAUNCHES, replays: int = REPLAYS) -> None:
    x, grid = torch.ones(SIZE, device="cuda"), (SIZE // 1024,)
    for _ in range(launches // 2):
        doubled[grid](x, SIZE, BLOCK=1024)
        halved[grid](x, SIZE, BLOCK=1024)
    expect(bool((x == 1).all()), "results")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        doubled[grid](x, SIZE, BLOCK=1024)
        halved[grid](x, SIZE, BLOCK=1024)
    for _ in range(replays):
        graph.replay()
    torch.cuda.synchronize()


def recorded(folder: Path, **settings: str) -> Trace:
    with kvtrace.capture(folder, mode="timeline", **settings):
        program()
    found = validate(folder)
    expect(not found, f"{folder.name}: {found[:2]}")
    return open_trace(folder)


def figures(trace: Trace) -> dict[str, tuple[int, int, float]]:
    rows = read_profile(trace, trace.runs, part=WHOLE).kernels
    return {
        row.name: (row.launches, row.measured.device_executions, row.measured.device_ns or 0)
        for row in rows
    }


def main() -> int:
    program(100)
    with tempfile.TemporaryDirectory() as place:
        whole = recorded(Path(place) / "whole")
        sampled = recorded(Path(place) / "sampled", sample="1/50")
        known, found = figures(whole), figures(sampled)
        print(known, found)
        for name, (launches, executions, taken) in known.items():
            expect(found[name][:2] == (launches, executions), f"{name}: counts of a sampled run")
            ratio = found[name][2] / taken
            expect(0.9 < ratio < 1.1, f"{name}: device time {ratio:.3f} of the whole run's")
        sizes = [trace.table(t).num_rows for trace in (whole, sampled)
                 for t in ("launches", "gpu_kernels")]  # fmt: skip
        expect(sizes[2] < sizes[0] / 30 and sizes[3] < sizes[1] / 30, f"rows: {sizes}")

        with kvtrace.capture(Path(place) / "ring", mode="timeline", limit="ring:4000 launches"):
            for _ in range(BURSTS):
                program(1000, replays=0)
                time.sleep(0.6)
        ring = open_trace(Path(place) / "ring")
        seqs = [row["seq"] for row in plain_rows(ring.table("launches"))]
        expect(4000 <= len(seqs) <= 6500, f"{len(seqs)} launches in a ring of 4,000")
        expect(max(seqs) == BURSTS * 1002 - 1, "they are the newest")
        executed = {row["launch_seq"] for row in plain_rows(ring.table("gpu_kernels"))} - {None}
        both = len(executed & set(seqs))
        expect(both > 3900, f"{both} of them have executions")
        expect(len(executed) < 9000, f"{len(executed)} executions are kept")

        few = recorded(Path(place) / "few", limit="5000 launches")
        expect(few.table("launches").num_rows == 5000, "a limit of 5,000 launches")
        expect(few.runs[0].ending == "limit", "it ended the recording")
    print(f"{torch.cuda.get_device_name()}: {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
