"""What is written is what is read, through journal and sealing, whatever goes wrong."""

import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kvtrace.schema.errors import SchemaMismatch, TraceWriteError
from kvtrace.schema.features import features_of_run
from kvtrace.schema.layout import journal_folder, part_path, segments
from kvtrace.schema.recovery import recover
from kvtrace.schema.tables import TABLES
from kvtrace.schema.trace import open_trace
from kvtrace.schema.validation import validate
from kvtrace.schema.versions import FORMAT_VERSION
from kvtrace.schema.writer import RunWriter, new_run_id
from tests.schema.rows import in_order, plain, rows_of
from tests.schema.written_runs import ENDLESS, ROOT, add_calls, launches, read_seq, run_child
from tests.support.thorough import usually
from tests.support.tiers import some

CAPTURED = sorted(name for name in TABLES if name != "runs")


@pytest.mark.parametrize("name", some(list(CAPTURED), 3, 1))
@settings(
    max_examples=usually(5, thorough=40),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(data=st.data())
def test_any_rows_survive_in_journal_and_parquet(tmp_path_factory, name, data):
    table = TABLES[name]
    batches = data.draw(st.lists(rows_of(table, max_size=5), max_size=3))
    out = tmp_path_factory.mktemp("trace")
    writer = RunWriter(out, new_run_id())
    for rows in batches:
        writer.append_rows(name, rows)
    writer.flush()
    expected = in_order(table, [row for rows in batches for row in rows])
    if name in ("artifacts", "calls", "kernels", "stacks"):  # each id is given once
        key = table.keys[0]
        expected = list({row[key]: row for row in reversed(expected)}.values())[::-1]

    from_journal = plain(open_trace(out).table(name))
    writer.seal({"ending": "exit"})
    from_parquet = plain(open_trace(out).table(name))

    assert from_journal == expected
    assert from_parquet == expected


@settings(max_examples=usually(8, thorough=20), deadline=None)
@given(rows=rows_of(TABLES["runs"], max_size=1))
def test_any_row_of_runs_survives(tmp_path_factory, rows):
    out = tmp_path_factory.mktemp("trace")
    writer = RunWriter(out, new_run_id())
    row = {**(rows[0] if rows else {}), "run_id": writer.run_id}
    writer.seal(row)

    row["required_features"] = sorted(features_of_run(row))
    read = plain(open_trace(out).table("runs"))[0]

    assert {key: read[key] for key, value in row.items() if value is not None} == {
        key: value for key, value in row.items() if value is not None
    }


def test_running_process_is_listed_with_its_provisional_row(tmp_path):
    writer = RunWriter(tmp_path, new_run_id())
    writer.append_rows("runs", [{"command": "python train.py", "versions": {"python": "3.11"}}])
    writer.append_rows("runs", [{"rank": 3}])
    writer.flush()

    (run,) = open_trace(tmp_path).runs

    assert not run.sealed
    assert run.pid == os.getpid()
    assert run.schema_version == FORMAT_VERSION
    assert abs(run.started - time.time_ns()) < 60e9
    assert (run.command, run.rank, run.versions) == ("python train.py", 3, {"python": "3.11"})
    assert open_trace(tmp_path).table("runs").num_rows == 1


def test_seal_leaves_only_parquet_files(tmp_path):
    writer = RunWriter(tmp_path, new_run_id())
    add_calls(writer)
    writer.append("launches", launches(0, 100))
    writer.seal({"ended": time.time_ns(), "ending": "exit"})
    writer.seal({"ending": "exit"})  # a second time changes nothing

    files = [path for path in tmp_path.rglob("*") if path.is_file()]

    assert {path.suffix for path in files} == {".parquet"}
    assert list((tmp_path / ".journal").iterdir()) == []
    (run,) = open_trace(tmp_path).runs
    assert (run.sealed, run.ending, run.dropped_rows) == (True, "exit", 0)
    with pytest.raises(TraceWriteError, match="is sealed"):
        writer.append("launches", launches(100, 1))


def test_long_run_is_sealed_segment_by_segment(tmp_path):
    writer = RunWriter(tmp_path, new_run_id(), segment_rows=1000)
    add_calls(writer)
    for first in range(0, 3500, 250):
        writer.append("launches", launches(first, 250))
    writer.flush()

    sealed = sorted(path.name for path in tmp_path.glob("launches/*/*.parquet"))
    waiting = segments(tmp_path, writer.run_id)["launches"]

    assert sealed == ["part-00000.parquet", "part-00001.parquet", "part-00002.parquet"]
    assert list(waiting) == [3]
    assert read_seq(tmp_path) == list(range(3500))
    writer.seal({"ending": "exit"})
    assert read_seq(tmp_path) == list(range(3500))
    assert validate(tmp_path) == []


def test_seal_sorts_rows_that_were_appended_out_of_order(tmp_path):
    writer = RunWriter(tmp_path, new_run_id())
    add_calls(writer)
    writer.append("launches", launches(500, 500))
    writer.append("launches", launches(0, 500))
    writer.seal({"ending": "exit"})

    assert read_seq(tmp_path) == list(range(1000))


def test_a_launch_costs_at_most_twenty_bytes(tmp_path):
    random = np.random.default_rng(1)
    count = 1_000_000
    gaps = random.lognormal(np.log(15_000), 1.0, count).astype(np.int64)
    lengths = random.lognormal(np.log(10_000), 0.4, count).astype(np.int64)
    enter = 1_767_323_045_000_000_000 + np.cumsum(gaps + lengths)
    phases = pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, np.int32)), ["run"])
    writer = RunWriter(tmp_path, new_run_id())
    for first in range(0, count, 100_000):
        piece = slice(first, first + 100_000)
        writer.append(
            "launches",
            {
                "seq": np.arange(first, first + 100_000),
                "call_id": random.integers(0, 1000, 100_000),
                "enter": enter[piece],
                "exit": (enter + lengths)[piece],
                "thread": random.choice([101, 102, 103], 100_000),
                "device": random.integers(0, 8, 100_000),
                "stream": random.choice([0, 0x7F0012345670], 100_000),
                "phase": phases[piece],
            },
        )
    writer.seal({"ending": "exit"})

    path = part_path(tmp_path, "launches", writer.run_id, 0)
    size = path.stat().st_size / count
    groups = pq.read_metadata(path)

    print(f"{size:.2f} bytes a launch in {groups.num_row_groups} row groups")
    assert groups.num_rows == count
    assert size <= 20


def test_row_groups_have_statistics_that_let_range_queries_skip(tmp_path):
    writer = RunWriter(tmp_path, new_run_id())
    for first in range(0, 400_000, 50_000):
        writer.append("launches", launches(first, 50_000))
    writer.seal({"ending": "exit"})

    metadata = pq.read_metadata(part_path(tmp_path, "launches", writer.run_id, 0))
    seq = [metadata.row_group(index).column(0) for index in range(metadata.num_row_groups)]

    assert all(65_000 <= metadata.row_group(i).num_rows <= 262_144 for i in range(len(seq) - 1))
    assert [column.statistics.min for column in seq][1:] == [
        column.statistics.max + 1 for column in seq
    ][:-1]
    assert all(column.has_column_index for column in seq)


@pytest.mark.parametrize(
    ("write", "says"),
    [
        (lambda w: w.append("launch", {"seq": [0]}), "no table 'launch'"),
        (lambda w: w.append("launches", {"seq": [0], "call": [0]}), "no column 'call'"),
        (lambda w: w.append_rows("stacks", [{"stack_id": 1, "frame": []}]), "no column 'frame'"),
        (lambda w: w.append_rows("runs", [{"comand": "x"}]), "no column 'comand'"),
        (
            lambda w: w.append_rows("runs", [{"run_id": "other"}]),
            "the row of runs has the id other",
        ),
        (lambda w: w.append("runs", {"run_id": ["x"]}), "append_rows"),
        (lambda w: w.seal({"endng": "exit"}), "no column 'endng'"),
    ],
)
def test_writer_refuses_unknown_columns_and_continues(tmp_path, write, says):
    writer = RunWriter(tmp_path, new_run_id())
    with pytest.raises(SchemaMismatch, match=says):
        write(writer)

    writer.append("launches", launches(0, 3))
    writer.seal({"ending": "exit"})

    assert read_seq(tmp_path) == [0, 1, 2]


def test_run_ids_sort_by_time_and_never_repeat():
    ids = []
    for _ in range(5):
        ids += [new_run_id() for _ in range(100)]
        time.sleep(0.002)

    assert len(set(ids)) == len(ids)
    assert [run_id[:19] for run_id in ids] == sorted(run_id[:19] for run_id in ids)


def test_a_second_writer_of_one_run_is_refused(tmp_path):
    writer = RunWriter(tmp_path, new_run_id())

    with pytest.raises(TraceWriteError, match="cannot be written"):
        RunWriter(tmp_path, writer.run_id)


def test_writer_refuses_a_file_as_directory(tmp_path):
    (tmp_path / "out").write_text("")

    with pytest.raises(TraceWriteError, match="out cannot be written"):
        RunWriter(tmp_path / "out", new_run_id())


@pytest.mark.process
def test_failed_start_of_a_writer_leaves_no_files(tmp_path):
    child = run_child(
        """
        import resource, signal, sys
        from kvtrace.schema.errors import TraceWriteError
        from kvtrace.schema.writer import RunWriter, new_run_id
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        try:
            RunWriter(sys.argv[1], new_run_id())
        except TraceWriteError as error:
            print(error)
        """,
        tmp_path / "out",
    )

    assert "cannot be written on (File too large)" in child.stdout
    assert list((tmp_path / "out" / ".journal").iterdir()) == []


def _write_rank(out: str, rank: int) -> None:
    writer = RunWriter(out, new_run_id(), segment_rows=500)
    writer.append_rows("runs", [{"group_id": "job", "rank": rank, "world_size": 4}])
    add_calls(writer)
    for first in range(0, 2000, 100):
        writer.append("launches", launches(first, 100))
        writer.flush()
    writer.seal({"ending": "exit"})


@pytest.mark.process
def test_ranks_write_into_one_directory_at_once(tmp_path):
    spawn = multiprocessing.get_context("spawn")
    ranks = [spawn.Process(target=_write_rank, args=(str(tmp_path), rank)) for rank in range(4)]
    for rank in ranks:
        rank.start()
    for rank in ranks:
        rank.join(300)

    trace = open_trace(tmp_path)

    assert [rank.exitcode for rank in ranks] == [0] * 4
    assert sorted(run.rank for run in trace.select()) == [0, 1, 2, 3]
    assert trace.table("launches").num_rows == 8000
    assert validate(tmp_path) == []


@pytest.mark.process
def test_a_forked_child_cannot_write_its_parents_rows(tmp_path):
    writer = RunWriter(tmp_path, new_run_id())
    writer.append("launches", launches(0, 10))  # pending at the fork
    child = os.fork()
    if child == 0:
        try:
            writer.append("launches", launches(10, 10))
        except TraceWriteError as error:
            writer.close()
            own = RunWriter(tmp_path, new_run_id())
            own.append_rows("runs", [{"parent_run_id": writer.run_id, "command": str(error)}])
            own.append("launches", launches(100, 5))
            own.seal({"ending": "exit"})
            os._exit(7)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    writer.seal({"ending": "exit"})

    parent, forked = open_trace(tmp_path).runs

    assert forked.parent_run_id == parent.run_id
    assert "a forked process needs a separate run" in forked.command
    assert read_seq(tmp_path) == [*range(10), *range(100, 105)]


@pytest.mark.process
def test_kill_9_loses_no_flushed_row(tmp_path):
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(ENDLESS), str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    flushed = 0
    while flushed < 20_000:
        flushed = int(child.stdout.readline())
    child.send_signal(signal.SIGKILL)
    flushed = int((child.stdout.read().split() or [flushed])[-1])
    child.wait()

    trace = open_trace(tmp_path)
    seq = trace.table("launches").column("seq").to_pylist()

    assert len(seq) >= flushed
    assert seq == list(range(len(seq)))
    assert trace.runs[0].ending is None
    assert not trace.runs[0].sealed


LIMITED = """
    import resource, signal, sys, time
    from kvtrace.schema.errors import TraceWriteError
    from kvtrace.schema.writer import RunWriter, new_run_id
    from tests.schema.written_runs import add_calls, launches
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # then a write fails with EFBIG
    writer = RunWriter(sys.argv[1], new_run_id())
    add_calls(writer)
    writer.flush()
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
    told, given = [], 0
    for first in range(0, 10_000, 100):
        try:
            writer.append("launches", launches(first, 100))
            writer.flush()
        except TraceWriteError as error:
            told.append(str(error))
    print(writer.dropped_rows, len(set(told)), told[0])
    if sys.argv[3] == "again":  # room again
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
    try:
        writer.seal({"ended": time.time_ns(), "ending": "disk-full"})
    except TraceWriteError as error:
        print(error)
"""


@pytest.mark.process
@pytest.mark.parametrize("limit", [20_000, 20_001, 33_333, 100_000])
def test_segment_ends_with_a_whole_batch_if_the_file_cannot_grow(tmp_path, limit):
    child = run_child(LIMITED, tmp_path, limit, "again")
    assert child.stderr == ""
    dropped, errors, *text = child.stdout.split()

    trace = open_trace(tmp_path)
    (run,) = trace.runs
    seq = trace.table("launches").column("seq").to_pylist()

    assert errors == "1"
    assert "cannot be written on (File too large)" in " ".join(text)
    assert run.sealed
    assert run.ending == "disk-full"
    # The batch that failed was still pending, and is kept since there is room again.
    assert len(seq) + run.dropped_rows == 10_000
    assert len(seq) + int(dropped) == 10_000 + 100
    assert seq == list(range(len(seq)))
    assert validate(tmp_path) == []


FULL_DISK = """
    import sys, time
    from kvtrace.schema.errors import TraceWriteError
    from kvtrace.schema.writer import RunWriter, new_run_id
    from tests.schema.written_runs import add_calls, launches
    writer = RunWriter(sys.argv[1], new_run_id(), segment_rows=1 << 30)
    writer.append_rows("runs", [{"command": "python train.py"}])
    add_calls(writer)
    told = set()
    for first in range(0, 400_000, 1000):
        try:
            writer.append("launches", launches(first, 1000))
            writer.flush()
        except TraceWriteError as error:
            told.add(str(error))
    try:
        writer.seal({"ended": time.time_ns(), "ending": "disk-full"})
    except TraceWriteError as error:
        told.add(str(error))
    print(*told, sep="\\n")
"""


def test_sealing_that_takes_too_long_is_left_to_recover(tmp_path):
    # given a run of several tables, which may be another process's
    writer = RunWriter(tmp_path, new_run_id(), of_this_process=False)
    add_calls(writer)
    writer.append("launches", launches(0, 100))

    # when sealing ends after the first table
    answers = iter([True, False])
    assert not writer.seal({"ending": "exit"}, may_go_on=lambda: next(answers))

    # then all rows are there, and recover seals the rest
    assert read_seq(tmp_path) == list(range(100))
    assert len(recover(tmp_path, force=True).sealed) == 1
    (run,) = open_trace(tmp_path).runs
    assert (run.ending, run.sealed) == ("exit", True)
    assert read_seq(tmp_path) == list(range(100))
    assert validate(tmp_path) == []


def written_times() -> int:
    """Return how many writes this process has made (proc(5))."""
    lines = Path("/proc/self/io").read_text().splitlines()
    return int(dict(line.split(": ") for line in lines)["syscw"])


def test_rows_are_written_in_few_large_writes(tmp_path):
    # a network's disk may take 150 ms for each write
    writer = RunWriter(tmp_path, new_run_id())
    add_calls(writer)
    for batch in range(50):
        writer.append("launches", launches(batch * 1000, 1000))
    before = written_times()
    writer.flush()
    flushed = written_times()
    writer.seal({"ending": "exit"})
    assert flushed - before <= 5
    assert written_times() - flushed <= 30
    assert len(read_seq(tmp_path)) == 50_000


@pytest.mark.process
def test_full_disk_stops_the_writer_and_keeps_earlier_rows_readable(small_disk):
    out = small_disk / "out"
    child = run_child(FULL_DISK, out)
    assert child.stderr == ""

    trace = open_trace(out)
    (run,) = trace.runs
    seq = trace.table("launches").column("seq").to_pylist()

    assert len(child.stdout.splitlines()) == 1
    assert "No space left on device" in child.stdout
    assert 40_000 < len(seq) < 400_000
    assert seq == list(range(len(seq)))
    assert trace.notes == []
    assert run.command == "python train.py"
    assert run.ending == "disk-full"
    assert not list(out.glob("*/*/.*"))


@pytest.mark.process
def test_journal_on_a_full_disk_counts_its_dropped_rows(small_disk):
    child = run_child(FULL_DISK, small_disk / "out")
    assert child.stderr == ""

    trace = open_trace(small_disk / "out")

    kept = trace.table("launches").num_rows
    assert kept + trace.runs[0].dropped_rows == 400_000


@pytest.mark.process
def test_operating_system_enforces_the_file_size_limit_of_these_tests(tmp_path):
    """What the test of limited files rests on."""
    child = run_child(
        "import resource, signal, sys\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))\n"
        "file = open(sys.argv[1], 'wb', buffering=0)\n"
        "file.write(b'x' * 100)\n"
        "file.write(b'x' * 100)",
        tmp_path / "file",
    )
    assert "File too large" in child.stderr
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY


def test_journal_of_a_run_has_the_documented_path(tmp_path):
    writer = RunWriter(tmp_path, "20260102-030405-000-00000000")
    writer.append("launches", launches(0, 1))
    writer.flush()

    names = sorted(path.name for path in journal_folder(tmp_path, writer.run_id).iterdir())

    assert names == [".reserve", "launches-00000.arrows", "runs-00000.arrows"]


@pytest.mark.parametrize("name", [b"n\xff", "nü".encode("latin-1"), "nü".encode()])
@pytest.mark.parametrize("read_whole", [0, 1 << 20])
def test_folder_of_any_name_is_sealed_and_read(tmp_path, monkeypatch, name, read_whole):
    monkeypatch.setattr("kvtrace.schema.opened_parts._READ_WHOLE", read_whole)
    out = tmp_path / os.fsdecode(name) / "out"
    writer = RunWriter(out, "20260102-030405-000-00000001")
    add_calls(writer)
    writer.append("launches", launches(0, 20))
    assert writer.seal({"ending": "exit", "directory": str(out)})
    assert read_seq(out) == list(range(20))
    assert validate(out) == []
