"""Recordings with a limit: they end, or keep their newest, and the program never notices."""

import random
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from kvtrace.capture.session import Session
from kvtrace.converters.info.info import read_overview
from kvtrace.converters.query.query import connect, query
from kvtrace.figures.times import host_times
from kvtrace.schema.recovery import recover
from kvtrace.schema.trace import open_trace
from kvtrace.schema.validation import validate
from kvtrace.settings import settings_from_arguments
from tests.capture.killed_program import arguments, kernel

ROOT = Path(__file__).parents[2]
EPOCH = 1_767_323_045_000_000_000


def recorded_seqs(out):
    return open_trace(out).table("launches", columns=["seq"])["seq"].to_pylist()


def has_dropped_a_part(out):
    parts = sorted(out.glob("launches/*/part-*.parquet"))
    return bool(parts) and not parts[0].stem.endswith("-00000")


class Program:
    """Launches one call as often as it is told, in batches that each reach the files."""

    def __init__(self, out, **settings):
        self.session = Session(str(out), settings_from_arguments(**settings))
        variant = self.session.add_kernel(kernel(0))
        self.call = self.session.add_call(variant, (1, 1, 1), arguments(0), ())

    def launch(self, times):
        for _ in range(times):
            now = time.time_ns()
            self.session.add_launch(self.call, now, now + 1)
        self.session.flush()

    def await_end(self):
        late = time.monotonic() + 300
        while self.session.recording:
            assert time.monotonic() < late
            time.sleep(0.01)


def test_ending_is_limit_also_if_the_program_ended_before_the_next_round(tmp_path):
    program = Program(tmp_path / "out", limit="100 launches")
    for _ in range(150):
        program.session.add_launch(program.call, 1, 2)
    program.session.stop("exit")
    assert len(recorded_seqs(tmp_path / "out")) == 100
    assert open_trace(tmp_path / "out").runs[0].ending == "limit"


def test_exactly_the_first_launches_up_to_the_limit_are_recorded(tmp_path, capfd):
    program = Program(tmp_path / "out", limit="100 launches")
    program.launch(70)
    assert program.session.recording
    program.launch(70)
    program.await_end()
    program.launch(70)  # does nothing, and fails in nothing
    assert program.session.recorder.drain() == b""  # and takes no memory
    program.session.stop("exit")

    assert recorded_seqs(tmp_path / "out") == list(range(100))
    (run,) = open_trace(tmp_path / "out").runs
    assert (run.sealed, run.ending, run.dropped_rows) == (True, "limit", 0)
    assert run.settings["limit"] == "100 launches"
    assert validate(tmp_path / "out") == []
    assert capfd.readouterr().err == (
        "kvtrace: recording has ended: 100 launches were made (KVTRACE_LIMIT=100 launches); the "
        "program continues, and the recorded launches are kept\n"
    )
    trace = open_trace(tmp_path / "out")
    assert trace.runs
    assert trace.notes == [
        f"run {run.run_id} ended at KVTRACE_LIMIT=100 launches: later launches of the program are "
        "not recorded"
    ]


def test_a_run_below_its_limit_is_recorded_completely(tmp_path, capfd):
    program = Program(tmp_path / "out", limit="2GB, 1d, 1G launches, ring:1GB")
    program.launch(50)
    program.session.stop("exit")
    assert len(recorded_seqs(tmp_path / "out")) == 50
    assert open_trace(tmp_path / "out").runs[0].ending == "exit"
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("limit", ["1s", "100kB"])
def test_recording_ends_by_time_or_by_size(tmp_path, limit):
    program = Program(tmp_path / "out", limit=limit)
    begun = time.monotonic()
    while program.session.recording:
        program.launch(500)
        if limit == "1s":
            time.sleep(0.01)
    took = time.monotonic() - begun
    program.session.stop("exit")
    assert open_trace(tmp_path / "out").runs[0].ending == "limit"
    assert validate(tmp_path / "out") == []
    size = sum(path.stat().st_size for path in (tmp_path / "out").rglob("*") if path.is_file())
    # A quick machine launches a hundred thousand times in the half second between two looks.
    assert took >= 1 if limit == "1s" else size < 500_000


def test_stop_waits_while_another_thread_ends_the_recording(tmp_path):
    program = Program(tmp_path / "out", limit="10 launches")
    sealing = threading.Event()
    program.session.at_end.append(lambda: (sealing.set(), time.sleep(0.5)))
    program.launch(20)
    assert sealing.wait(300)
    program.session.stop("exit")
    assert open_trace(tmp_path / "out").runs[0].sealed


@pytest.mark.costly("records many launches; other limits stay by day")
@pytest.mark.parametrize(
    ("limit", "least", "most"), [("ring:1k launches", 1000, 1500), ("ring:60kB", 200, 10_000)]
)
def test_ring_limit_keeps_the_newest_launches(tmp_path, limit, least, most):
    program = Program(tmp_path / "out", limit=limit)
    largest = 0
    for _ in range(100):
        program.launch(200)
        files = (path for path in (tmp_path / "out").rglob("*.*") if path.is_file())
        largest = max(largest, sum(path.stat().st_size for path in files))
    program.session.stop("exit")

    kept = recorded_seqs(tmp_path / "out")
    assert kept == list(range(20_000 - len(kept), 20_000))
    assert least <= len(kept) <= most  # of bytes, rows on rounds have a share, more under load
    assert validate(tmp_path / "out") == []
    (run,) = open_trace(tmp_path / "out").runs
    assert (run.sealed, run.ending, run.dropped_rows) == (True, "exit", 0)
    if limit == "ring:60kB":
        assert largest < 100_000  # the room for the last row of `runs`, and one round, are beside


def test_sums_limit_keeps_what_all_launches_add_up_to(tmp_path, capfd):
    out = tmp_path / "out"
    program = Program(out, limit="sums:1k launches")
    another = program.session.add_call(
        program.session.add_kernel(kernel(1)), (1, 1, 1), arguments(1), ()
    )
    for number in range(8_000):
        call = another if number % 4 == 0 else program.call
        program.session.add_launch(call, EPOCH + number, EPOCH + number + number % 100)
        if number % 200 == 199:
            program.session.flush()
    program.session.stop("exit")

    assert validate(out) == []
    kept = recorded_seqs(out)
    assert 1000 <= len(kept) <= 1500
    trace = open_trace(out)
    (run,) = trace.runs
    assert "what older ones add up to (KVTRACE_LIMIT=sums:1k launches)" in trace.notes[0]
    assert "partial" in run.required_features
    rows = host_times(trace, [run]).calls.sort_by("call_id").to_pylist()
    assert [(row["launches"], row["host_ns"]) for row in rows] == [
        (6_000, sum(number % 100 for number in range(8_000) if number % 4)),
        (2_000, sum(number % 100 for number in range(0, 8_000, 4))),
    ]
    assert [row["host_median_ns"] for row in rows] == [50, 48]
    with connect(trace, [run], "SELECT 1 FROM call_sums, phase_sums") as database:
        text = "SELECT launches, host_ns FROM call_sums ORDER BY call_id"
        assert query(database, text)[1] == [(row["launches"], row["host_ns"]) for row in rows]
        assert query(database, "SELECT sum(launches) FROM phase_sums")[1] == [(8_000,)]
    assert read_overview(trace, [run]).runs[0].launches == 8_000
    assert len(list((out / "older_launch_sums").rglob("*.parquet"))) <= 8
    assert capfd.readouterr().err == ""


@pytest.mark.costly("records thousands of launches; sums of all launches stay by day")
@pytest.mark.parametrize("limit", ["sums:100 launches", "sums:1k launches"])
def test_sums_of_sampled_launches_are_of_all_launches(tmp_path, limit):
    program = Program(tmp_path / "out", limit=limit, sample="1/10")
    for _ in range(50):
        program.launch(200)
    program.session.stop("exit")
    trace = open_trace(tmp_path / "out")
    assert host_times(trace, trace.runs).calls["launches"].to_pylist() == [10_000]
    assert validate(tmp_path / "out") == []


def test_ring_limit_keeps_the_last_seconds(tmp_path):
    program = Program(tmp_path / "out", limit="ring:1s")
    made, slowest = 0, 0
    while not made or recorded_seqs(tmp_path / "out")[0] < made // 2:
        for _ in range(20):
            began = time.time_ns()
            program.launch(20)
            slowest, made = max(slowest, time.time_ns() - began), made + 20
            time.sleep(0.02)
    program.session.stop("exit")
    enter = open_trace(tmp_path / "out").table("launches", columns=["enter"])["enter"]
    times = enter.cast("int64").to_pylist()
    # more than half are gone, and what began in the second before a part was dropped is there
    assert max(times) - min(times) > 0.9e9 - slowest
    assert recorded_seqs(tmp_path / "out")[0] >= made // 2
    assert validate(tmp_path / "out") == []


def test_contents_of_tensors_stay_when_their_launch_is_deleted(tmp_path):
    program = Program(tmp_path / "out", limit="RING:200 launches")

    def add(journal, seq):
        digest = journal.add_artifact("tensor", b"1234")
        row = {"seq": seq, "call_id": program.call, "arg": 0, "artifact": digest}
        journal.add("contents", row | {"offset_bytes": 0})

    program.session._submit(lambda journal: add(journal, 0))
    for _ in range(10):
        program.launch(200)
    # a launch that is neither there nor dropped is missed all the same
    program.session._submit(lambda journal: add(journal, 9999))
    program.session.stop("exit")
    assert recorded_seqs(tmp_path / "out")[0] > 0
    assert open_trace(tmp_path / "out").table("contents").num_rows == 2
    (problem,) = validate(tmp_path / "out")
    assert "seq refers to 1 rows that launches does not have, as 9999" in problem.text


def test_rows_that_are_never_deleted_may_fill_the_ring_and_end_the_recording(tmp_path, capfd):
    program = Program(tmp_path / "out", limit="ring:30kB")
    for number in range(1, 400):
        program.session.add_kernel(kernel(number))
    program.launch(10)
    program.await_end()
    program.session.stop("exit")
    message = capfd.readouterr().err
    assert "contents of tensors, which are never deleted, take " in message
    assert open_trace(tmp_path / "out").runs[0].ending == "limit"
    assert validate(tmp_path / "out") == []


def test_flush_writes_weights_of_all_launches_and_sampling_continues(tmp_path):
    program = Program(tmp_path / "out", sample="1/1000")
    program.launch(5)
    assert open_trace(tmp_path / "out").table("launches", columns=["weight"])[
        "weight"
    ].to_pylist() == [1, 4]
    program.launch(7)
    program.session.stop("exit")
    rows = open_trace(tmp_path / "out").table("launches", columns=["seq", "weight"])
    assert rows["weight"].to_pylist() == [1, 4, 7]
    assert rows["seq"].to_pylist() == [0, 4, 11]
    assert validate(tmp_path / "out") == []


@pytest.mark.process
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("limit", ["ring:200 launches", "sums:200 launches"])
def test_program_killed_while_parts_are_deleted_leaves_a_valid_trace(tmp_path, seed, limit):
    """Parts of a few rows are dropped all the time, so that it is killed while it does."""
    out, progress = tmp_path / "out", tmp_path / "progress"
    progress.write_bytes(bytes(8))
    command = [sys.executable, "-m", "tests.capture.killed_program", "launches", out, progress]
    process = subprocess.Popen([*command, "50", limit], cwd=ROOT)
    try:
        made = 0
        while made < 2000 or not has_dropped_a_part(out):
            made = int.from_bytes(progress.read_bytes(), "little")
            time.sleep(0.005)
        time.sleep(random.Random(seed).uniform(0, 0.6))
    finally:
        process.kill()
        process.wait()
    made = int.from_bytes(progress.read_bytes(), "little")
    live = recorded_seqs(out)
    recover(out, force=True)
    assert validate(out) == []
    kept = recorded_seqs(out)
    assert kept == list(range(kept[0], kept[-1] + 1))
    assert sorted(live) == kept[: len(live)]  # the spool has launches besides
    assert kept[0] > 0
    assert len(kept) >= 200
    assert kept[-1] <= made  # the last may have been added, and not yet counted
    if limit.startswith("sums"):
        trace = open_trace(out)
        rows = host_times(trace, trace.runs).calls
        assert sum(rows["launches"].to_pylist()) == kept[-1] + 1
