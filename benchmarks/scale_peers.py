"""`kvtrace profile` beside HTA's kernel breakdown, on the same executions of one rank.

    python benchmarks/scale_peers.py FOLDER --python HTA/bin/python [--launches 100000 1000000]

Traces are those of scale_trace.py: one rank with as many executions as launches. HTA reads what
`kvtrace convert kineto` writes of them, and needs an environment of its own (HolisticTraceAnalysis,
pandas below 3). A row is a separate process, imports and all, measured as in scale.py; the file for
HTA and the trace are there already. The first use of `profile` adds up the trace's launches and
stores the sums, later ones read them.
"""

import argparse
import os
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Final

from scale import process_figures, remove_sums
from scale_trace import write_trace

HTA: Final = """
import sys
from hta.trace_analysis import TraceAnalysis
TraceAnalysis(trace_files={0: sys.argv[1]}).get_gpu_kernel_breakdown(visualize=False)
"""
VERSIONS: Final = """
from importlib.metadata import version
print(", ".join(f"{n} {version(n)}" for n in ("HolisticTraceAnalysis", "pandas", "numpy")))
"""


def main() -> None:
    """Write missing traces and files, and print a line for each command and size."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--python", required=True, help="interpreter that has HTA")
    parser.add_argument("--launches", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--timeout", type=int, default=600)
    parser.add_argument("--limit", type=float, default=8.0, help="GB of memory, as in scale.py")
    options = parser.parse_args()
    peers = subprocess.run([options.python, "-c", VERSIONS], capture_output=True, text=True)
    print(f"{platform.platform()}, {os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}")
    print(f"duckdb {version('duckdb')}, pyarrow {version('pyarrow')}; {peers.stdout.strip()}")
    print(f"{'command':<20} {'executions':>11} {'wall s':>7} {'cpu s':>7} {'GB':>6}")
    ours = [sys.executable, "-m", "kvtrace"]
    for launches in options.launches:
        trace = options.folder / f"rank-{launches}"
        file = trace.with_suffix(".json.gz")
        if not trace.exists():
            write_trace(trace, launches, ranks=1)
        if not file.exists():
            subprocess.run([*ours, "convert", "kineto", trace, "-o", file], check=True)
        remove_sums(trace)
        profile = [*ours, "profile", str(trace)]
        for name, command in (
            ("HTA", [options.python, "-c", HTA, str(file)]),
            ("profile, first use", profile),
            ("profile", profile),
        ):
            figures = process_figures(command, options.timeout, options.limit, done=(0,))
            cells = "not done" if figures is None else "{:>7.2f} {:>7.2f} {:>6.2f}".format(*figures)
            print(f"{name:<20} {launches:>11,} {cells}", flush=True)


if __name__ == "__main__":
    main()
