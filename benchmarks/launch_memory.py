"""Memory of a process over ten million recorded launches, in both modes.

    python benchmarks/launch_memory.py [--launches 10000000] [--mode launch|timeline|both]

Each mode has a separate process, and the two run side by side: no time is measured. Launches of a
tiny kernel with 3 tensor arguments are made from Python as fast as it can, with another number of
elements each time (64 unique calls), and the process's resident memory is read after each
hundredth of them. It goes up and down with what waits to be written, and jumps once, when the first
million of launches is sealed; so the highest reading of each stretch counts. Ends with 1 if that of
the last half is more than 64 MB above that of the second tenth.

Without a GPU the launch itself does nothing (Triton's Python and everything of kvtrace's is as it
is on one) and there is only mode launch.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

from recorded import check

ROOT = Path(__file__).resolve().parent.parent
#: Ends of the stretches, in hundredths of all launches.
STRETCHES = (10, 20, 50, 100)
ALLOWED_MB = 64


def resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE") / 1e6


def launch_nothing() -> None:
    """Replace the evaluation of launches without a GPU by a function that does nothing."""
    from kvtrace.backends.triton.evaluating_launcher import EvaluatingLauncher

    def nothing(self: Any, *arguments: Any) -> None:
        """Launch nothing."""

    EvaluatingLauncher.__call__ = nothing  # type: ignore[method-assign]


def launcher(device: str) -> Callable[[int], None]:
    """Return a function that makes a given number of launches on the device."""
    import torch
    from launch_kernels import add3

    x, y, out = (torch.rand(4096, device=device) for _ in range(3))

    def make(launches: int) -> None:
        for number in range(launches):
            add3[(4,)](x, y, out, 4000 + (number & 63), BLOCK=1024)

    return make


def follow(mode: str, launches: int) -> int:
    """Make launches in one mode, and print resident memory; return 1 if it grew too much."""
    import torch

    import kvtrace
    from kvtrace.schema.trace import open_trace

    device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cpu":
        launch_nothing()
    readings: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        begin = time.monotonic()
        with kvtrace.capture(Path(folder) / "out", mode=mode) as session:
            make = launcher(device)
            make(10_000)  # what is made once
            session.flush()
            print(f"{mode:9s}before: {resident_mb():.1f} MB", flush=True)
            highest = []
            for begin_launch, end_launch in pairwise((0, *STRETCHES)):
                for _ in range(begin_launch, end_launch):
                    make(launches // 100)
                    readings.append(resident_mb())
                stretch_readings = readings[begin_launch:end_launch]
                highest.append(max(stretch_readings))
                upto = f"{mode:9s}to {end_launch * launches // 100:12,d} launches: "
                spread = f"{min(stretch_readings):.1f} to {max(stretch_readings):.1f} MB"
                print(f"{upto}{readings[-1]:8.1f} MB, {spread}", flush=True)
        seconds = time.monotonic() - begin
        check(Path(folder) / "out", mode="launch")
        trace = open_trace(Path(folder) / "out")
        recorded = trace.table("launches", columns=["seq"]).num_rows
        ran = trace.table("gpu_kernels", columns=["launch_seq"])
        joined = ran.num_rows - ran["launch_seq"].null_count
        dropped = trace.runs[0].dropped_rows
    grown = highest[-1] - highest[1]
    print(
        f"{mode:9s}{grown:+.1f} MB from the second tenth to the last half, {seconds:.0f} s; "
        f"{recorded:,} launches kept, {dropped} dropped; {ran.num_rows:,} kernels on the device, "
        f"{joined:,} joined"
    )
    return 1 if grown > ALLOWED_MB else 0


def main() -> int:
    parser = argparse.ArgumentParser(description="memory over many recorded launches")
    parser.add_argument("--launches", type=int, default=10_000_000)
    parser.add_argument("--mode", choices=("launch", "timeline", "both"), default="both")
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    if options.mode != "both":
        return follow(options.mode, options.launches)
    import torch

    modes = ("launch", "timeline") if torch.cuda.is_available() else ("launch",)
    command = [sys.executable, __file__, "--launches", str(options.launches), "--mode"]
    started = [subprocess.Popen([*command, mode]) for mode in modes]
    return max(process.wait() for process in started)


if __name__ == "__main__":
    sys.exit(main())
