"""Sub-interpreters, and threads that still launch while the interpreter ends."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from kvtrace.schema.trace import open_trace

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[2]
MODULE = "_interpreters" if find_spec("_interpreters") else "_xxsubinterpreters"

#: The autostart line, which every interpreter runs, and what a program may call.
INSIDE = """
import sys
sys.path.insert(0, {root!r})
import kvtrace._boot
import kvtrace
with kvtrace.mark("inside"):
    pass
kvtrace.start("inside")
kvtrace.mark("inside")
with kvtrace.capture("inside"):
    kvtrace.mark("inside")
kvtrace.stop()
assert "hashlib" not in sys.modules  # to have it here ends CPython 3.12 with SIGABRT
"""

PROGRAM = f"""
import {MODULE} as interpreters
import kvtrace._boot
import kvtrace
other = interpreters.create()
interpreters.run_string(other, {INSIDE.format(root=str(ROOT))!r})
interpreters.destroy(other)
kvtrace.mark("outside")
print("to the end")
"""


@pytest.mark.parametrize("variable", [{"KVTRACE": "out"}, {}])
def test_a_sub_interpreter_records_nothing_and_does_no_harm(variable, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=tmp_path, env={"PYTHONPATH": str(ROOT)} | variable,
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "to the end\n", "")
    assert not (tmp_path / "inside").exists()
    if variable:
        marks = open_trace(tmp_path / "out").table("marks")
        assert marks.column("name").to_pylist() == ["outside"]


#: Modules whose C keeps state of the process.
NATIVE = (
    "kvtrace.capture._hot",
    "kvtrace.backends.cupti._buffers",
    "kvtrace.backends.cupti._requests",
    "kvtrace.addons.memory.recording._operators",
)

REFUSED = """
from importlib import import_module
try:
    import_module({name!r})
except ImportError as error:
    assert "main interpreter" in str(error), error
else:
    raise AssertionError("it was imported")
"""

ELSEWHERE_FIRST = f"""
import gc
import {MODULE} as interpreters
from importlib import import_module
for name in {NATIVE}:
    other = interpreters.create()
    interpreters.run_string(other, {REFUSED!r}.format(name=name))
    interpreters.destroy(other)
    import_module(name)
hot = import_module("kvtrace.capture._hot")
hot.find_collector(gc)
hot.begin_uncounted()
hot.end_uncounted()
print("to the end")
"""


def test_modules_in_c_are_of_the_main_interpreter():
    pytest.importorskip(NATIVE[0])
    done = subprocess.run(
        [sys.executable, "-c", ELSEWHERE_FIRST], cwd=ROOT, capture_output=True, text=True,
        timeout=300,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "to the end\n", "")


DAEMONS = """
import sys, threading, time
import kvtrace
from tests.capture.killed_program import arguments, kernel, stack

session = kvtrace.start(sys.argv[1])

def go_on(first):
    number = first
    while True:
        number += 4
        made = session.add_kernel(lambda: kernel(number))
        call = session.add_call(made, (1, 1, 1), arguments(number), stack(number))
        now = time.time_ns()
        session.add_launch(call, now, now + 1)
        with kvtrace.mark("step"):
            time.sleep(1e-4)

for first in range(4):
    threading.Thread(target=go_on, args=(first,), daemon=True).start()
time.sleep(float(sys.argv[2]))
"""


LONGER = pytest.mark.night("a program that runs longer before it ends; two short ones stay")


@pytest.mark.parametrize(
    "seconds",
    ["0", "0.05", *(pytest.param(more, marks=LONGER) for more in ("0.4", "1"))],
)
def test_daemon_threads_that_record_at_the_end_print_nothing(seconds, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", DAEMONS, tmp_path / "out", seconds], cwd=ROOT,
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    # A machine may be so busy that sealing takes long, which is said.
    printed = [line for line in done.stderr.splitlines() if "is being sealed" not in line]
    assert (done.returncode, done.stdout, printed) == (0, "", [])
    assert open_trace(tmp_path / "out").runs[0].sealed
