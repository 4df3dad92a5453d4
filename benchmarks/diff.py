"""Time and memory of `kvtrace diff` for two traces of a million launches.

    python benchmarks/diff.py [--launches 1000000] [--rounds 5] [--json FILE]

Method: two traces of one run each, with 12 kernels and 24 unique calls of four arguments, are
written with kvtrace's own writer into a temporary folder. A
round is `python -m kvtrace diff` of both, imports and all, in a separate process, by the wall
clock, and the time of processors, which says more where others are at work; memory is the most that
the process had resident. Without passes, since nothing was judged.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.support.synthetic_trace import build_synthetic_trace

PACKAGES = ("numpy", "pyarrow", "duckdb")


def main() -> None:
    """Measure, print a table, and write the figures as JSON if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--launches", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kvtrace-benchmark-") as folder:
        figures = measure(Path(folder), options.launches, options.rounds)
    print_table(figures)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n")


def measure(folder: Path, launches: int, rounds: int) -> dict[str, Any]:
    """Return seconds and peak memory of each round, with machine, versions and sizes."""
    sides = []
    for name in ("before", "after"):
        build_synthetic_trace(folder / name, runs=1, launches=launches, hostile=False)
        sides.append(folder / name)
    measured = [diff_once(*sides) for _ in range(rounds)]
    return {
        "machine": platform.platform(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "packages": {name: version(name) for name in PACKAGES},
        "launches": launches,
        "seconds": [seconds for seconds, _, _ in measured],
        "processor": [processor for _, processor, _ in measured],
        "peak_mib": [peak for _, _, peak in measured],
    }


def diff_once(before: Path, after: Path) -> tuple[float, float, float]:
    """Return wall seconds, processor seconds and peak MiB of one `kvtrace diff`."""
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "kvtrace", "diff", str(before), str(after), "--no-replay"],
        stdout=subprocess.DEVNULL,
    )
    _, status, resource_usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    if status:
        raise SystemExit(f"kvtrace diff ended with {os.waitstatus_to_exitcode(status)}")
    return (
        seconds,
        resource_usage.ru_utime + resource_usage.ru_stime,
        resource_usage.ru_maxrss / 1024,
    )


def print_table(figures: dict[str, Any]) -> None:
    """Print the machine, the versions and the medians."""
    packages = ", ".join(f"{name} {version}" for name, version in figures["packages"].items())
    print(f"{figures['machine']}, {figures['cores']} cores, Python {figures['python']}, {packages}")
    launches = figures["launches"]
    print(
        f"kvtrace diff of {launches:,} launches and {launches:,}, {len(figures['seconds'])} rounds"
    )
    for name, unit in (("seconds", "s"), ("processor", "s"), ("peak_mib", "MiB")):
        values = figures[name]
        print(
            f"  {name:<10} median {statistics.median(values):8.2f} {unit}   "
            f"{min(values):.2f} to {max(values):.2f}"
        )


if __name__ == "__main__":
    main()
