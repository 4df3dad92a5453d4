"""Spools: what a process that was killed had not brought to its journal is taken in, once."""

import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kvtrace.schema.errors import EmptyTrace, KvtraceError
from kvtrace.schema.layout import spooled_runs
from kvtrace.schema.recovery import recover
from kvtrace.schema.spool import memory_path, spool_folder
from kvtrace.schema.spooled import read_spool
from kvtrace.schema.trace import open_trace
from kvtrace.schema.validation import validate

pytestmark = pytest.mark.process
pytest.importorskip("kvtrace.capture._hot", reason="without it there is no spool")

ROOT = Path(__file__).parents[2]

#: Ends by a signal while the journal's thread could not run since its first launch.
PROGRAM = """
import os, signal, sys, time
import kvtrace
from kvtrace.capture.journal import Journal
from kvtrace.capture.records import CallFacts, StatedWork
from tests.capture.killed_program import arguments, kernel, stack

FACTS = CallFacts(StatedWork("k", bytes=8))
Journal._work = lambda journal: journal._ended.wait()
session = kvtrace.start(sys.argv[1])

def launch(count):
    kernel_id = session.add_kernel(lambda: kernel(0), kernel(0))
    call = session.add_call(kernel_id, (1, 2, 3), arguments(0), stack(0), FACTS)
    for _ in range(count):
        now = time.time_ns()
        session.add_launch(call, now, now + 1, 0, 7)

def let_files_be_written():
    end = time.monotonic() + 0.1
    while time.monotonic() < end:
        pass

def die():
    os.kill(os.getpid(), signal.SIGKILL)

launch(5000)
"""


def run(out, then="let_files_be_written(); die()", program=PROGRAM):
    return subprocess.run(
        [sys.executable, "-c", f"{program}{then}", out], cwd=ROOT, capture_output=True, text=True,
        timeout=300,
    )  # fmt: skip


@pytest.fixture(scope="module")
def left(tmp_path_factory):
    """What a killed program left, which had no journal yet."""
    out = tmp_path_factory.mktemp("spooled") / "out"
    assert run(out).returncode == -signal.SIGKILL
    return out


@pytest.fixture
def copy(left, tmp_path):
    return shutil.copytree(left, tmp_path / "copy")


def test_recover_adds_spooled_launches_calls_stacks_and_kernels_with_their_ir(copy):
    (row,) = open_trace(copy).runs
    assert (row.sealed, open_trace(copy).table("launches").num_rows) == (False, 0)

    done = recover(copy)
    trace = open_trace(copy)

    assert len(done.sealed) == 1
    assert "5,000 launches" in done.notes[0]
    assert "only the name was recorded" not in done.notes[0]
    columns = ["seq", "device", "stream", "phase"]
    launches = trace.table("launches", columns=columns).to_pylist()
    assert [row["seq"] for row in launches] == list(range(5000))
    assert {(row["device"], row["stream"], row["phase"]) for row in launches} == {(0, 7, "run")}
    (call,) = trace.table("calls").to_pylist()
    assert (call["grid_x"], call["grid_y"], call["grid_z"]) == (1, 2, 3)
    assert [each["name"] for each in call["args"]] == ["x", "y", "size"]
    assert (call["stated"]["name"], call["stated"]["bytes"]) == ("k", 8.0)
    assert trace.table("stacks").num_rows == 1
    (row,) = trace.table("kernels").to_pylist()
    assert (row["name"], [stage["stage"] for stage in row["stages"]]) == ("kernel_0", ["ttir"])
    (row,) = trace.runs
    assert (row.ending, row.sealed) == ("killed", True)
    assert validate(copy) == []
    assert spooled_runs(copy) == ()
    assert recover(copy).sealed == ()


def test_recover_adds_no_spooled_row_that_the_journal_has(tmp_path):
    out = tmp_path / "out"
    done = run(out, "session.flush(); launch(9); session.flush(); launch(16000); die()")
    assert done.returncode == -signal.SIGKILL
    (run_id,) = spooled_runs(out)
    assert memory_path(run_id).exists()

    recover(out)
    assert not memory_path(run_id).exists()

    numbers = open_trace(out).table("launches", columns=["seq"]).column("seq").to_pylist()
    assert numbers == list(range(21009))
    assert open_trace(out).table("kernels").num_rows == 3
    assert validate(out) == []


#: Moments of a round of the journal: before or after a method of one of its parts.
MOMENTS = [
    ("journal.spool", "switch"),
    ("journal", "_take_launches"),
    ("journal._writer", "append"),
    ("journal._writer", "flush"),
    ("journal.spool", "empty"),
]


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(("part", "method"), MOMENTS)
def test_recover_yields_each_launch_once_whenever_a_journal_write_was_killed(
    part, method, when, tmp_path
):
    then = f"""
session.flush()
launch(300)
journal = session._journal
done = {part}.{method}

def dies(*given):
    if {when!r} == "after":
        done(*given)
    launch(20)
    die()

{part}.{method} = dies
session.flush()
"""
    done = run(tmp_path / "out", then)
    assert done.returncode == -signal.SIGKILL, done.stderr

    recover(tmp_path / "out")

    trace = open_trace(tmp_path / "out")
    numbers = trace.table("launches", columns=["seq"]).column("seq").to_pylist()
    assert numbers == list(range(5320))
    assert validate(tmp_path / "out") == []


@pytest.mark.parametrize("first", ["submit", "spool.add", "spool.switch"])
def test_journal_write_while_a_call_is_added_keeps_the_call(first, tmp_path):
    then = f"""
session.flush()
journal = session._journal
place = {"journal.spool" if "." in first else "journal"}
method, flush = place.{first.rpartition(".")[2]}, session.flush
done = []

def late(*given):
    if not done:
        done.append(1)
        {"launch(40)" if first == "spool.switch" else "flush()"}
    method(*given)

place.{first.rpartition(".")[2]} = late
{"flush()" if first == "spool.switch" else "launch(40)"}
die()
"""
    done = run(tmp_path / "out", then)
    assert done.returncode == -signal.SIGKILL, done.stderr

    recover(tmp_path / "out")

    trace = open_trace(tmp_path / "out")
    assert trace.table("launches").num_rows == 5040
    assert trace.table("calls").num_rows == 2
    assert validate(tmp_path / "out") == []


def test_first_record_of_a_spool_is_the_row_of_its_run(tmp_path):
    then = """
from kvtrace.capture.spool import Spool
Spool.add = lambda *_: None
die()
"""
    program = PROGRAM.replace("launch(5000)\n", "")
    run(tmp_path / "out", then, program)
    assert not (tmp_path / "out").exists()  # nothing was launched

    then = then.replace("die()", "launch(5000)\nlet_files_be_written(); die()")
    run(tmp_path / "out", then, program)

    (run_id,) = spooled_runs(tmp_path / "out")
    assert read_spool(tmp_path / "out", run_id).run["run_id"] == run_id
    assert len(recover(tmp_path / "out").sealed) == 1


def test_second_recover_completes_a_killed_recover_of_a_spool(copy, monkeypatch):
    monkeypatch.setattr("kvtrace.schema.recovery._seal_segments", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        recover(copy)  # after the spool was taken in, and before anything was sealed
    monkeypatch.undo()

    recover(copy)

    assert open_trace(copy).table("launches").num_rows == 5000
    assert validate(copy) == []


@pytest.mark.parametrize("seed", range(20))
def test_damaged_spool_costs_only_the_damaged_records(seed, copy):
    chance = random.Random(seed)
    (run_id,) = spooled_runs(copy)
    for path in spool_folder(copy, run_id).iterdir():
        content = bytearray(path.read_bytes())
        for _ in range(chance.randrange(1, 4) if content else 0):
            content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        path.write_bytes(content[: chance.randrange(len(content) + 1) if seed % 2 else None])

    try:
        recover(copy, force=True)
        assert validate(copy) == []
    except KvtraceError as error:
        assert isinstance(error, EmptyTrace)  # noqa: PT017 - nothing of it is left


def test_ended_run_leaves_no_spool(tmp_path):
    assert run(tmp_path / "out", "kvtrace.stop()").returncode == 0
    assert not any((tmp_path / "out" / ".journal").iterdir())
    assert open_trace(tmp_path / "out").table("launches").num_rows == 5000


def test_forked_child_spools_into_a_separate_run(tmp_path):
    out = tmp_path / "out"
    then = """
child = os.fork()
if child == 0:
    launch(70)
    die()
os.waitpid(child, 0)
die()
"""
    assert run(out, then).returncode == -signal.SIGKILL

    assert len(recover(out).sealed) == 2

    trace = open_trace(out)
    counts = [trace.table("launches", [one]).num_rows for one in trace.runs]
    assert counts == [5000, 70]
    assert validate(out) == []


def test_spool_is_not_written_through_a_link(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out" / ".journal").symlink_to(tmp_path / "elsewhere")

    done = run(tmp_path / "out", "time.sleep(0.1); kvtrace.stop()")

    assert done.returncode == 0
    assert not any((tmp_path / "elsewhere").iterdir())
