"""Time and memory of commands from one launch to a hundred million, and over a thousand runs.

    python benchmarks/scale.py FOLDER [--launches 1 1000000 …] [--commands sql,info]

Traces are those of scale_trace.py, written into the folder where they are not there yet: 64 ranks,
with as many executions on devices as launches (`device`) and without (`host`), and a thousand runs
of 100,000 launches, each a separate job. A command is a separate process, imports and all:
seconds by the wall clock, the time of processors (which says more where others are at work), and
the most memory that was resident. DuckDB by hand is `duckdb` in a separate process on the same
Parquet files, asked for what the command of the same line has to find out; the ratio is of the time
of processors. A command gets --limit GB of address space more than it starts with, and --timeout
seconds; what does not fit is shown as such. The first line of each trace is the command that stores
its sums (figures/sums_building.py), all later ones read them.
"""

import argparse
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Container
from importlib.metadata import version
from pathlib import Path
from typing import Final

from scale_trace import write_trace

from kvtrace.figures.stored import PASS

PACKAGES: Final = ("numpy", "pyarrow", "duckdb")
TOP: Final = """
    SELECT c.kernel, sum(s.{ns}) AS ns FROM {sums} s JOIN called c USING (run, call_id)
    GROUP BY c.kernel ORDER BY ns DESC LIMIT 10
"""
_READ: Final = "read_parquet('{{trace}}/{table}/*/*.parquet', hive_partitioning = true)"
_BY_HAND: Final = (
    "SELECT k.name, sum(ns) AS ns FROM (SELECT run, call_id, "
    'sum(epoch_ns("{end}") - epoch_ns("{begin}")) AS ns FROM '
    + _READ
    + " GROUP BY run, call_id) s JOIN "
    + _READ.replace("{table}", "calls")
    + " c USING (run, call_id) JOIN "
    + _READ.replace("{table}", "kernels")
    + " k USING (run, kernel_id) GROUP BY k.name ORDER BY ns DESC LIMIT 10"
)
HOST: Final = _BY_HAND.format(begin="enter", end="exit", table="launches")
DEVICE: Final = _BY_HAND.format(begin="start", end="end", table="gpu_kernels")
#: The least that `fleet` has to find out of the executions, if no sums are stored.
MEDIANS: Final = (
    "SELECT sum(ns) FROM (SELECT run, call_id, "
    'median(epoch_ns("end") - epoch_ns("start")) AS ns FROM '
    + _READ.replace("{{trace}}", "{trace}").replace("{table}", "gpu_kernels")
    + " GROUP BY run, call_id)"
)
HOST_TOP: Final = TOP.format(ns="host_ns", sums="phase_sums")
DEVICE_TOP: Final = TOP.format(ns="device_ns", sums="device_sums")
KERNELS: Final = "SELECT * FROM kernel_sums ORDER BY device_ns DESC NULLS LAST LIMIT 10"
RANK: Final = ("--run", "a20260102-030405-0001", "--from", "0", "--to", "1", "-o", "{out}")
#: The first command on a trace, which stores the sums that later ones read.
FIRST: Final = "info, first use"
#: What is run on which kind of trace, and what DuckDB is asked by hand for the same.
COMMANDS: Final[tuple[tuple[str, str, list[str], str | None], ...]] = (
    (FIRST, "host", ["info", "{trace}"], HOST),
    (FIRST, "device", ["info", "{trace}"], DEVICE),
    ("sql, top by host time", "host", ["sql", "{trace}", HOST_TOP], HOST),
    ("sql, top by device time", "device", ["sql", "{trace}", DEVICE_TOP], DEVICE),
    ("sql, all of both", "device", ["sql", "{trace}", KERNELS], None),
    ("info", "host", ["info", "{trace}"], HOST),
    ("info", "device", ["info", "{trace}"], DEVICE),
    ("validate", "host", ["trace", "validate", "{trace}"], None),
    ("profile", "host", ["profile", "{trace}"], HOST),
    ("profile", "device", ["profile", "{trace}"], DEVICE),
    ("diff of two halves", "device", ["diff", "{trace}/a", "{trace}/b", "--no-replay"], None),
    ("diff of two halves", "host", ["diff", "{trace}/a", "{trace}/b", "--no-replay"], None),
    ("perfetto, 1 s of one rank", "device", ["convert", "perfetto", "{trace}", *RANK], None),
    ("report", "host", ["report", "{trace}", "--no-replay", "-o", "{out}"], None),
    ("report", "device", ["report", "{trace}", "--no-replay", "-o", "{out}"], None),
    ("info", "runs", ["info", "{trace}"], None),
    ("profile", "runs", ["profile", "{trace}"], None),
    ("sql, top by host time", "runs", ["sql", "{trace}", HOST_TOP], None),
    ("sql --all, the same", "runs", ["sql", "--all", "{trace}", HOST_TOP], HOST),
    ("fleet", "runs", ["fleet", "{trace}"], MEDIANS),
)  # fmt: skip


def main() -> None:
    """Write missing traces, measure every command, and print one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    sizes = [1, 1_000_000, 10_000_000, 100_000_000]
    parser.add_argument("--launches", type=int, nargs="+", default=sizes)
    parser.add_argument("--commands", help="only those whose name begins so, by commas")
    parser.add_argument("--kinds", default="host,device,runs")
    parser.add_argument("--timeout", type=int, default=300)
    parser.add_argument("--limit", type=float, default=8.0)
    options = parser.parse_args()
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    print(f"{platform.platform()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    print(f"{packages}; load average {os.getloadavg()[0]:.1f}")
    print(
        f"{'command':<26} {'trace':<7} {'launches':>11} {'wall s':>7} {'cpu s':>7} {'GB':>6}"
        f" {'by hand: cpu s':>15} {'GB':>6} {'ratio':>6}"
    )
    for name, kind, command_words, by_hand in COMMANDS:
        if options.commands and not name.startswith(tuple(options.commands.split(","))):
            continue
        if kind not in options.kinds.split(","):
            continue
        for launches in [100_000_000] if kind == "runs" else options.launches:
            trace = written(options.folder, kind, launches)
            if name == FIRST:
                remove_sums(trace)
            places = {"trace": str(trace), "out": str(options.folder / "written")}
            command = [
                sys.executable,
                "-m",
                "kvtrace",
                *(word.format(**places) for word in command_words),
            ]
            row_text = f"{name:<26} {kind:<7} {launches:>11,} "
            row_text += measured(
                command, options.timeout, options.limit, by_hand and by_hand.format(**places)
            )
            print(row_text, flush=True)


def remove_sums(trace: Path) -> None:
    """Remove what a command has stored of the launches of a trace."""
    for part in trace.glob(f"*/*/part-{PASS}-*.parquet"):
        part.unlink()


def written(folder: Path, kind: str, launches: int) -> Path:
    """Return the folder of a trace of this kind and size, which is written if it is missing."""
    trace = folder / f"{kind}-{launches}"
    if not trace.exists():
        runs = {"ranks": 1, "jobs": 1000} if kind == "runs" else {"ranks": min(64, launches)}
        write_trace(trace, launches, **runs, device=kind != "host")
    return trace


def measured(command: list[str], timeout: int, limit: float, by_hand: str | None) -> str:
    """Return the table's cells for a command, and for the same query in DuckDB."""
    figures = process_figures(command, timeout, limit)
    cells = (
        f"{figures[0]:>7.2f} {figures[1]:>7.2f} {figures[2]:>6.2f}"
        if figures
        else f"{'not done':>22}"
    )
    if by_hand is None or figures is None:
        return cells
    duckdb_program = f"import duckdb\nc = duckdb.connect()\nc.execute({by_hand!r}).fetchall()"
    peer = process_figures([sys.executable, "-c", duckdb_program], timeout, limit)
    if peer is None:
        return f"{cells} {'not done':>22}"
    return f"{cells} {peer[1]:>15.2f} {peer[2]:>6.2f} {figures[1] / peer[1]:>6.2f}"


def process_figures(
    command: list[str], timeout: int, limit: float, done: Container[int] = (0, 1)
) -> tuple[float, float, float] | None:
    """Return wall seconds, processor seconds and peak GB of a process; None if it fails.

    `done` has the exit codes of success; a diff that found something exits with 1.
    """

    def bounded() -> None:
        max_address_space = int((limit + 8) * 1e9)
        resource.setrlimit(resource.RLIMIT_AS, (max_address_space, max_address_space))

    began = time.perf_counter()
    process = subprocess.Popen(
        ["timeout", str(timeout), *command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=bounded,
    )
    _, status, resource_usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    if os.waitstatus_to_exitcode(status) not in done:
        return None
    return (
        seconds,
        resource_usage.ru_utime + resource_usage.ru_stime,
        resource_usage.ru_maxrss / 1e6,
    )


if __name__ == "__main__":
    main()
