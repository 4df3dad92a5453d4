"""Runs that tests write, here and in processes that end as they like."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np

from kvtrace.schema.trace import open_trace
from kvtrace.schema.writer import RunWriter
from tests.support.warm_python import warm_python

ROOT = Path(__file__).resolve().parent.parent.parent


def launches(first: int, count: int) -> dict[str, object]:
    seq = np.arange(first, first + count)
    enter = 1_767_323_045_000_000_000 + seq * 20_000
    return {"seq": seq, "call_id": seq % 7, "enter": enter, "exit": enter + 9_000}


def add_calls(writer: RunWriter, count: int = 7) -> None:
    writer.append_rows("kernels", [{"kernel_id": 0, "name": "scale"}])
    writer.append_rows("calls", [{"call_id": i, "kernel_id": 0} for i in range(count)])


def read_seq(out: Path) -> list[int]:
    return open_trace(out).table("launches", columns=["seq"]).column("seq").to_pylist()


def run_child(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """A real process that writes; it finds the checkout on its path."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = ["-c", textwrap.dedent(code), *map(str, arguments)]
    if sys.platform == "linux":
        warm = warm_python(modules=("pyarrow.parquet", "pytest", "hypothesis"))
        return warm.run(*command, folder=ROOT, environment=environment, timeout=300)
    return subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, env=environment, timeout=300
    )


ENDLESS = """
    import sys, time
    from pathlib import Path
    from kvtrace.schema.writer import RunWriter, new_run_id
    from tests.schema.written_runs import add_calls, launches
    writer = RunWriter(sys.argv[1], new_run_id(), segment_rows=3000)
    add_calls(writer)
    first = 0
    while True:
        writer.append("launches", launches(first, 100))
        writer.flush()
        first += 100
        print(first, flush=True)
"""


def flip(path, byte, bit=0):
    with path.open("r+b") as file:  # in place: some file systems wait where a file is cut first
        file.seek(byte)
        (old,) = file.read(1)
        file.seek(byte)
        file.write(bytes([old ^ 1 << bit]))
