"""Recordings of programs that use up all file descriptors."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kvtrace.capture.descriptors import Descriptors
from kvtrace.schema.trace import open_trace
from kvtrace.schema.validation import validate

ROOT = Path(__file__).parents[2]

PROGRAM = """
import resource, sys, time
import kvtrace
from tests.capture.killed_program import arguments, kernel, stack

resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
session = kvtrace.start(sys.argv[1])
files = []
try:
    while True:
        files.append(open("/dev/null"))
except OSError:
    assert len(files) >= 36  # the program has most of them
calls = [
    session.add_call(session.add_kernel(kernel(n)), (1, 1, 1), arguments(n), stack(n))
    for n in range(5)
]
for number in range(2000):
    now = time.time_ns()
    session.add_launch(calls[number % 5], now, now + 1)
"""


def open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


@pytest.mark.process
def test_program_that_uses_up_all_descriptors_is_recorded(tmp_path):
    out = tmp_path / "out"
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, out], cwd=ROOT, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert open_trace(out).table("launches").num_rows == 2000
    assert validate(out) == []


DAEMON = """
import os, sys, time
import kvtrace
from tests.capture.killed_program import launch_new_kernels

def launches(count):
    for number in range(count):
        now = time.time_ns()
        session.add_launch(call_of(number % 3), now, now + 1)
        time.sleep(1e-4)

session = kvtrace.start(sys.argv[1])
call_of = launch_new_kernels(session)
launches(300)
session.flush()
os.closerange(3, 2000)
files = [os.open(f"{sys.argv[2]}/{number}", os.O_RDWR | os.O_CREAT) for number in range(40)]
for file in files:
    os.write(file, b"the program's")
launches(3000)
session.flush()
process = os.fork()
launches(300)
if process:
    assert os.waitpid(process, 0)[1] == 0
for file in files:
    assert os.pread(file, 99, 0) == b"the program's", file
"""


@pytest.mark.process
def test_files_of_a_program_that_closed_all_descriptors_are_not_written_to(tmp_path):
    out, files = tmp_path / "out", tmp_path / "files"
    files.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", DAEMON, out, files], cwd=ROOT, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert {path.read_bytes() for path in files.iterdir()} == {b"the program's"}
    assert open_trace(out).table("launches").num_rows == 3900
    assert validate(out) == []


def test_number_that_the_program_took_over_is_not_closed(tmp_path):
    descriptors = Descriptors()
    number = descriptors._held[-1].number
    with (tmp_path / "file").open("w") as file:
        os.dup2(file.fileno(), number)
        descriptors.release()
        os.write(number, b"the program's")
        os.close(number)
    assert (tmp_path / "file").read_text() == "the program's"


def test_released_descriptors_are_held_again():
    before = open_files()
    descriptors = Descriptors()
    held = open_files() - before
    descriptors.release()
    assert held > 4
    assert open_files() == before
    descriptors.hold()
    assert open_files() == before + 6
    descriptors.release()
