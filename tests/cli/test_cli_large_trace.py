"""A trace of many launches is read in pieces, and not all of it is in memory."""

import subprocess
import sys

import pytest

from benchmarks.scale_trace import write_trace
from tests.support.synthetic_trace import build_synthetic_trace
from tests.support.thorough import in_turn

LAUNCHES = 3_000_000
#: Prints the most that it had in memory, in kB. (`ru_maxrss` begins with what its parent had.)
PROGRAM = """
import pathlib, sys
from kvtrace.cli import main
code = main(sys.argv[1:])
facts = pathlib.Path("/proc/self/status").read_text().split()
print(facts[facts.index("VmHWM:") + 1], file=sys.stderr)
sys.exit(code)
"""


def launches(out):
    build_synthetic_trace(out, runs=1, launches=LAUNCHES, hostile=False, device=False)


def launches_and_executions(out):
    write_trace(out, 1_000_000, 1)


#: Megabytes; about 110 are what Python and its packages take; DuckDB, which
#: sums launches for info and keeps a row of each for medians, takes some more: 310 to 345 in
#: all. Whole columns of these launches took 385, 625 and 740. All columns of a million
#: executions took 425, 326 without those of their captions, and 300 without copies of a device's.
@pytest.mark.process
@pytest.mark.parametrize(
    ("write", "command", "most"),
    in_turn(
        [
            pytest.param(launches, ("info", "--json"), 370, id="info"),
            pytest.param(launches, ("trace", "validate"), 250, id="validate"),
            pytest.param(launches_and_executions, ("convert", "perfetto"), 330, id="perfetto"),
        ],
        3,
    ),
)
def test_commands_on_a_large_trace_use_bounded_memory(write, command, most, tmp_path):
    write(tmp_path / "out")
    written = ("-o", tmp_path / "written") if command[0] == "convert" else ()
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *command, str(tmp_path / "out"), *map(str, written)],
        env={"OPENBLAS_NUM_THREADS": "1"}, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert int(done.stderr.split()[-1]) / 1000 < most
