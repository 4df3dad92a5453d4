"""Recordings of programs that leave nothing for a first write: no descriptors, no imports."""

import subprocess
import sys
from pathlib import Path

import pytest

from kvtrace.schema.recovery import recover
from kvtrace.schema.trace import open_trace
from kvtrace.schema.validation import validate

ROOT = Path(__file__).parents[2]

BEGIN = """
import resource, sys, time
import kvtrace
from tests.capture.killed_program import launch_new_kernels

if "few" in sys.argv:
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
session = kvtrace.start(sys.argv[1])
before = set(sys.modules)
"""
LAUNCHES = """
call_of = launch_new_kernels(session)
def launches(count):
    for number in range(count):
        now = time.time_ns()
        session.add_launch(call_of(number % 3), now, now + 1)
launches(3)
"""
USED_UP = """
files = []
try:
    while True:
        files.append(open("/dev/null"))
except OSError:
    launches(600)
"""
LOWERED = "\nresource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))\n"
NONE_LEFT = "\nresource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))\n"
OTHER_THREAD = """
import threading
def use_up():
    while True:
        files = []
        try:
            while True:
                files.append(open("/dev/null"))
        except OSError:
            time.sleep(1e-4)
threading.Thread(target=use_up, daemon=True).start()
for part in range(20):
    time.sleep(0.02)
    launches(30)
    session.flush()
"""
IN_CHILD = """
import os
process = os.fork()
launches(300)
if process:
    assert os.waitpid(process, 0)[1] == 0
"""
REFUSED = """
class Refusal:
    def find_spec(self, name, path=None, target=None):
        raise ImportError(f"the program refuses {name}")

sys.meta_path.insert(0, Refusal())
"""


def run(code: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=ROOT, capture_output=True, text=True, timeout=300,
    )  # fmt: skip


@pytest.mark.process
@pytest.mark.parametrize(
    ("code", "arguments"),
    [
        (BEGIN + LAUNCHES + USED_UP, ()),
        (BEGIN + LAUNCHES + USED_UP, ("few",)),
        (BEGIN + LAUNCHES + LOWERED + USED_UP, ()),
        (BEGIN + LAUNCHES + LOWERED + USED_UP.replace("launches(600)", "pass") + IN_CHILD, ()),
        (BEGIN + LOWERED + LAUNCHES + USED_UP, ()),
        (BEGIN + LAUNCHES + REFUSED + "launches(600)", ()),
        (BEGIN + REFUSED + LAUNCHES + "launches(600)", ()),
    ],
    ids=[
        "descriptors", "few-descriptors", "lowered-limit", "lowered-limit-and-fork",
        "lowered-limit-before-the-first-launch", "imports", "imports-before-the-first-launch",
    ],
)  # fmt: skip
def test_all_launches_are_recorded_where_a_late_first_write_would_fail(tmp_path, code, arguments):
    out = tmp_path / "out"
    done = run(code, out, *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    assert open_trace(out).table("launches").num_rows == 603
    assert validate(out) == []


@pytest.mark.process
@pytest.mark.parametrize(
    ("code", "may_seal"),
    [(NONE_LEFT + "launches(600)", False), (LOWERED + OTHER_THREAD, True)],
    ids=["limit-0", "other-thread"],
)
def test_launches_stay_in_the_journal_where_no_descriptor_is_left(tmp_path, code, may_seal):
    out = tmp_path / "out"
    done = run(BEGIN + LAUNCHES + code, out)
    assert done.returncode == 0
    message = (
        f"kvtrace: no file descriptor is left to seal the trace in {out}: its records stay in the "
        "journal, which commands read\n"
    )
    assert done.stderr == message or (may_seal and done.stderr == "")
    assert open_trace(out).table("launches").num_rows == 603
    assert bool(recover(out).sealed) == (done.stderr == message)
    assert open_trace(out).table("launches").num_rows == 603
    assert validate(out) == []


@pytest.mark.process
def test_program_that_has_no_descriptor_from_the_first_launch_on_is_told(tmp_path):
    done = run(BEGIN + NONE_LEFT + LAUNCHES, tmp_path / "out")
    assert done.returncode == 0
    assert done.stderr == (
        "kvtrace: recording has ended: the program uses up all file descriptors; raise their "
        "number with ulimit -n\n"
    )


@pytest.mark.process
def test_no_module_is_imported_after_the_start(tmp_path):
    ends = "\nkvtrace.stop()\nprint(sorted(set(sys.modules) - before - {'mmap'}))"
    done = run(BEGIN + LAUNCHES + ends, tmp_path / "out")
    lists = "kvtrace.addons"  # of settings, which nothing else is imported for
    imported = [name for name in eval(done.stdout) if not name.startswith((lists, "_"))]
    assert imported == [], done.stderr


@pytest.mark.process
def test_files_that_no_row_came_to_are_gone_after_the_end_and_harmless_after_a_kill(tmp_path):
    code = BEGIN + 'kvtrace.mark("only")\nsession.flush()\n'
    done = run(code + "import os, signal; os.kill(os.getpid(), signal.SIGKILL)", tmp_path / "out")
    assert done.returncode == -9
    trace = open_trace(tmp_path / "out")
    assert (trace.table("marks").num_rows, trace.table("launches").num_rows) == (1, 0)
    assert run(code, tmp_path / "sealed").returncode == 0
    assert validate(tmp_path / "sealed") == []
    assert not (tmp_path / "sealed" / "calls").exists()
