"""`kvtrace fault --now` on programs that hang; where there is no GPU, one plays the driver."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

import kvtrace.addons.fault.asking as asking
from kvtrace.cli import main
from kvtrace.schema.trace import open_trace
from tests.addons.fault.recorded import FAULTS

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[3]
(DUMP,) = (FAULTS / "deadlock_eager" / "faults").iterdir()


@contextmanager
def hanging(out, *ways, **variables):
    """Run programs that hang, as ranks of one job; they are killed at the end."""
    environment = os.environ | {
        "KVTRACE": str(out), "KVTRACE_FAULTS": "on", "DUMP": str(DUMP), "PYTHONPATH": str(ROOT)
    }  # fmt: skip
    command = [sys.executable, "-m", "tests.addons.fault.hanging_program"]
    programs = [
        subprocess.Popen(
            [*command, how],
            env=environment | {"RANK": str(rank), "WORLD_SIZE": str(len(ways))} | variables,
            stdout=subprocess.PIPE, text=True, start_new_session=True,
        )
        for rank, how in enumerate(ways)
    ]  # fmt: skip
    try:
        for program in programs:
            assert program.stdout.readline()
        yield programs
    finally:
        for program in programs:
            os.killpg(program.pid, signal.SIGKILL)
            program.communicate()


def stop(program):
    """Stop a program, and wait until all its threads are."""
    program.send_signal(signal.SIGSTOP)
    status = Path(f"/proc/{program.pid}/stat")
    while status.read_text().rpartition(")")[2].split()[0] != "T":
        time.sleep(0.01)


def asked(out, capsys, *options):
    assert main(["fault", str(out), "--now", *options]) == 0
    return capsys.readouterr().out


def test_threads_of_a_program_without_a_gpu_are_shown(tmp_path, capsys):
    out = tmp_path / "out"
    with hanging(out, "wait") as (program,):
        (found,) = json.loads(asked(out, capsys, "--json"))["faults"]
        text = asked(out, capsys)
    assert found["kernel"] is None
    assert found["process"].endswith(f".{program.pid}")
    first, second = found["python"]
    assert (first["is_main"], second["thread"]) == (True, "loader")
    functions = [frame["function"] for frame in first["frames"]]
    assert functions[0] == "Condition.wait"
    assert functions[-3:] == ["step", "main", "<module>"]
    line = next(frame["line"] for frame in first["frames"] if frame["function"] == "step")
    source = (Path(__file__).parent / "hanging_program.py").read_text().split("\n")
    assert source[line - 1].strip() == "threading.Event().wait()"
    assert f"python    step, {first['frames'][2]['file'].removeprefix(f'{Path.cwd()}/')}" in text
    assert "in Condition.wait, threading.py" in text
    assert "thread loader: load_batches, " in text
    assert "no pipe by which" in text
    assert "kvtrace" not in [thread["thread"] for thread in found["python"]]


def test_program_goes_on_after_it_was_asked(tmp_path, capsys):
    out = tmp_path / "out"
    with hanging(out, "wait") as (program,):
        for _ in range(3):
            asked(out, capsys)
        assert program.poll() is None
    assert open_trace(out).table("messages", columns=["code"]).to_pylist().count(
        {"code": "no-stacks"}
    ) == 0  # fmt: skip


def test_forked_child_that_launches_is_asked_too(tmp_path, capsys):
    out = tmp_path / "out"
    with hanging(out, "fork") as (program,):
        found = json.loads(asked(out, capsys, "--json"))["faults"]
        (alone,) = json.loads(asked(program.pid, capsys, "--json"))["faults"]
    assert alone["process"].endswith(f".{program.pid}")
    assert len({one["process"] for one in found}) == 2
    parent = next(one for one in found if one["process"].endswith(f".{program.pid}"))
    main_thread = next(one for one in parent["python"] if one["is_main"])
    assert main_thread["frames"][0]["function"] == "main"  # in os.wait


def test_process_that_holds_the_lock_gets_a_sentence(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(asking, "_STACK_PATIENCE", 1.0)
    out = tmp_path / "out"
    with hanging(out, "wait", "lock") as (free, held):
        time.sleep(1)  # the second one says that it is there before it takes the lock
        text = asked(out, capsys)
    of_free, of_held = text.split("\n\n")[1:]
    assert f".{free.pid}" in of_free
    assert "python    step" in of_free
    assert f".{held.pid}" in of_held
    assert "no Python stacks came within 1 s" in of_held
    assert "interpreter's lock" in of_held


def test_stopped_process_is_not_waited_for_forever(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(asking, "_STACK_PATIENCE", 0.5)
    out = tmp_path / "out"
    with hanging(out, "wait") as (program,):
        stop(program)
        begin = time.monotonic()
        assert "the process is stopped" in asked(out, capsys)
        assert time.monotonic() - begin < 10


def test_ranks_are_in_a_table_with_kernel_and_stack(tmp_path, capsys):
    out = tmp_path / "out"
    with hanging(out, "driver", "wait", WORLD_SIZE="4") as programs:
        text = asked(out, capsys)
    known, said, of_dumps = text.partition("Now CUDA's driver is asked for 1 dump of")
    assert said
    for part in (known, of_dumps.partition("\n\n")[2]):
        head, row, *_ = part.split("\n")
        assert head.split() == ["rank", "process", "on", "the", "GPU", "waits", "for", "Python"]
        assert row.split()[:2] == ["0", str(programs[0].pid)]
    assert "Ranks 0 and 1 are in Python at step, " in known
    assert "deadlocked" not in known
    table = part.partition("\n\n")[0]
    assert "deadlocked" in table
    assert "Rank 0 is in kernel deadlocked; rank 1 is in Python at step, " in table
    assert "Ranks 2 and 3 of 4 did not answer" in table
    assert "rank 0, process" in text
    assert "in kernel deadlocked\n" in text


def test_what_needs_no_device_is_in_a_pipe_before_the_driver_has_answered(tmp_path):
    out = tmp_path / "out"
    command = [sys.executable, "-m", "kvtrace", "fault", str(out), "--now"]
    with (
        hanging(out, "silent"),
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as asking_process,
    ):
        lines = []
        while "CUDA's driver is asked" not in (lines or [""])[-1]:
            lines.append(asking_process.stdout.readline())
            assert lines[-1], lines
        assert asking_process.poll() is None  # it waits for the dump
        asking_process.kill()
    assert any("python    step" in line for line in lines)


def test_driver_that_misses_a_request_is_asked_again(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(asking, "_AGAIN", 0.3)
    out = tmp_path / "out"
    with hanging(out, "late"):
        (found,) = json.loads(asked(out, capsys, "--json"))["faults"]
    assert (found["kernel"], found["notes"]) == ("deadlocked", [])


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ("silent", "CUDA's driver has read the request, and wrote no dump in"),
        ("stopped", "CUDA's driver has not read the request for a dump in"),
    ],
)
def test_missing_dump_is_explained(how, sentence, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(asking, "_PATIENCE", 1.0)
    monkeypatch.setattr(asking, "_STACK_PATIENCE", 1.0)
    out = tmp_path / "out"
    with hanging(out, "silent") as (program,):
        if how == "stopped":
            stop(program)
        assert sentence in asked(out, capsys)


def test_dump_from_before_is_not_taken_for_the_answer(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(asking, "_PATIENCE", 1.0)
    out = tmp_path / "out"
    with hanging(out, "silent") as (program,):
        shutil.copy(DUMP, out / "faults" / f"{os.uname().nodename}.{program.pid}.nvcudmp")
        text = asked(out, capsys)
    assert "wrote no dump" in text
    assert "deadlocked" not in text


def test_dump_that_ends_in_between_is_said(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(asking, "_PATIENCE", 1.0)
    out = tmp_path / "out"
    part = tmp_path / "part"
    part.write_bytes(DUMP.read_bytes()[:5000])
    with hanging(out, "driver", DUMP=str(part)):
        text = asked(out, capsys)
    assert "CUDA's driver began a dump, which has 5,000 bytes and no end" in text
    assert "python    step" in text


def test_process_that_ends_in_between_is_said(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(asking, "_AGAIN", 0.3)
    out = tmp_path / "out"
    with hanging(out, "silent") as (program,):
        killing = threading.Timer(2, os.killpg, (program.pid, signal.SIGKILL))
        killing.start()
        text = asked(out, capsys)
        killing.join()
    assert "the process ended before CUDA's driver wrote a dump" in text


def test_asking_and_a_dump_exclude_each_other(capsys):
    assert main(["fault", str(FAULTS / "deadlock_eager"), "--now", "--dump", str(DUMP)]) == 2
    assert "leave --dump out" in capsys.readouterr().err


def test_nobody_to_ask_is_one_sentence(tmp_path, capsys):
    out = tmp_path / "out"
    with hanging(out, "wait"):
        pass  # killed: its pipe stays, and nobody reads it
    assert list((out / "faults").glob("*.ask"))
    for trace in (out, FAULTS / "deadlock_eager"):
        assert main(["fault", str(trace), "--now"]) == 2
        error = capsys.readouterr().err
        assert error.count("\n") == 1
        assert "listens for requests" in error


@pytest.mark.parametrize(
    ("pid", "sentence"),
    [
        (os.getpid(), "does not listen for requests: start the program with KVTRACE=out/ and"),
        (2**22 + 1, "neither a trace nor a process 4194305 here"),  # above the kernel's limit
    ],
    ids=["unrecorded", "absent"],  # workers collect the same names
)
def test_process_that_cannot_be_asked_is_named(pid, sentence, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["fault", str(pid), "--now"]) == 2
    assert sentence in capsys.readouterr().err
