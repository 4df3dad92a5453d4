"""mypy knows the columns of rows, and the fields of results."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = """\
import kvtrace

trace = kvtrace.open("out/")
name: str | None = trace.kernels[0]["name"]
seqs: list[int] = [launch["seq"] for launch in trace.launches[2:5]]
shapes = [argument["shape"] for call in trace.calls for argument in call["args"] or ()]
longest: int | None = trace.profile()[0].taken_ns
names: list[str] = [row.name for row in trace.profile()[:3]]
hints: list[str | None] = [finding.hint for finding in trace.sanitize()]
runs: list[str] = [run.run_id for run in trace.info()]
changes: list[str] = [change.kernel for change in kvtrace.diff("a", "b")]
trace.sql("SELECT 1 AS n")[0]["n"]
trace.kernels.df("arrow")
trace.kernels[0]["nome"]
trace.launches[0]["seq"].upper()
trace.profile()[0].device
trace.sanitize()[0].lime
trace.kernels.df("spark")
"""


@pytest.mark.process
def test_mypy_refuses_columns_that_rows_do_not_have():
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-pretty", "-c", SCRIPT],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip

    errors = [line for line in done.stdout.splitlines() if line.startswith("<string>:")]
    assert [int(line.split(":")[1]) for line in errors] == [14, 15, 16, 17, 18], done.stdout
    assert '"KernelsRow" has no key "nome"' in errors[0]
    assert '"TableRow" has no attribute "device"' in errors[2]
