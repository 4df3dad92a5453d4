"""What killed processes leave is sealed; what lives is left alone."""

import os
import platform
import shutil
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pyarrow as pa
import pytest

from kvtrace.schema.columns import batch_of_rows
from kvtrace.schema.errors import EmptyTrace, TraceNotFound
from kvtrace.schema.journal import SegmentReader, SegmentWriter
from kvtrace.schema.layout import journal_folder, part_path, segment_path, segments_aside
from kvtrace.schema.recovery import Recovery, is_running, recover
from kvtrace.schema.table_types import Column
from kvtrace.schema.tables import TABLES
from kvtrace.schema.trace import open_trace
from kvtrace.schema.validation import validate
from kvtrace.schema.versions import FileFacts, captured_facts
from kvtrace.schema.writer import RunWriter, new_run_id
from tests.schema.rows import plain
from tests.schema.written_runs import ENDLESS, add_calls, flip, launches, read_seq, run_child
from tests.support.replacing import replace

ROOT = Path(__file__).resolve().parent.parent.parent

KILLED = """
    import os, sys
    from kvtrace.schema.writer import RunWriter, new_run_id
    from tests.schema.written_runs import add_calls, launches
    writer = RunWriter(sys.argv[1], new_run_id(), segment_rows=400)
    writer.append_rows("runs", [{"command": "python train.py", "rank": 1}])
    add_calls(writer)
    for first in range(0, 600, 100):
        writer.append("launches", launches(first, 100))
    writer.flush()
    os._exit(9)
"""


def start(code, *arguments, **options):
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        **options,
    )


@pytest.fixture
def killed(tmp_path):
    """A directory with one run whose real process ended without sealing."""
    assert run_child(KILLED, tmp_path).returncode == 9
    return tmp_path


@pytest.mark.process
def test_recover_seals_a_dead_process_with_ending_killed(killed):
    before = plain(open_trace(killed).table("launches"))

    done = recover(killed)

    (run,) = open_trace(killed).runs
    assert done == Recovery(sealed=(run.run_id,))
    assert (run.sealed, run.ended, run.ending) == (True, None, "killed")
    assert (run.command, run.rank) == ("python train.py", 1)
    assert plain(open_trace(killed).table("launches")) == before
    assert not journal_folder(killed, run.run_id).exists()
    assert validate(killed) == []


@pytest.mark.process
def test_second_recover_changes_nothing(killed):
    recover(killed)
    files = {p: p.stat().st_mtime_ns for p in killed.rglob("*") if p.is_file()}

    assert recover(killed) == Recovery()

    assert {p: p.stat().st_mtime_ns for p in killed.rglob("*") if p.is_file()} == files


@pytest.mark.process
def test_recover_drops_and_reports_an_incomplete_last_batch(killed):
    (run_id,) = open_trace(killed).run_ids
    path = segment_path(killed, run_id, "launches", 1)
    path.write_bytes(path.read_bytes()[:-5])

    done = recover(killed)

    trace = open_trace(killed)
    (message,) = plain(trace.table("messages"))
    assert "bytes of launches were lost" in done.notes[0]
    assert (message["code"], message["level"]) == ("torn-journal", "warning")
    assert message["text"] in done.notes[0]
    assert read_seq(killed) == list(range(500))
    assert trace.notes == []


DAMAGED = """
    import os, sys
    from kvtrace.schema.writer import RunWriter, new_run_id
    from tests.schema.written_runs import add_calls, launches
    writer = RunWriter(sys.argv[1], new_run_id())
    add_calls(writer)
    for first in range(0, 50_000, 1000):
        writer.append("launches", launches(first, 1000))
        writer.flush()
    os._exit(9)
"""


@pytest.fixture
def long(tmp_path):
    """A directory with a killed run of 50 batches of 1,000 launches, and its run id."""
    assert run_child(DAMAGED, tmp_path).returncode == 9
    return tmp_path, open_trace(tmp_path).run_ids[0]


@pytest.mark.process
def test_recover_loses_one_batch_by_a_flipped_bit_and_keeps_the_segment_aside(long):
    out, run_id = long
    path = segment_path(out, run_id, "launches", 0)
    flip(path, path.stat().st_size // 12)
    content = path.read_bytes()
    (found,) = (each for each in validate(out) if each.unreadable)
    assert found.where == str(path)

    done = recover(out)

    (aside,) = segments_aside(out)
    (message,) = plain(open_trace(out).table("messages"))
    seq = read_seq(out)
    (first,) = set(range(0, 50_000, 1000)) - set(seq)
    batch = first // 1000 + 1
    assert aside.read_bytes() == content
    assert seq == [*range(first), *range(first + 1000, 50_000)]
    assert message["code"] == "damaged-journal"
    assert f"batch {batch} at byte" in message["text"]
    assert "(1,000 rows) could not be read" in message["text"]
    assert f"kept as {aside.relative_to(out)}" in message["text"]
    assert message["text"] in done.notes[0]
    assert open_trace(out).runs[0].dropped_rows == 1000
    assert [problem.where for problem in validate(out)] == [str(aside)]
    assert recover(out) == Recovery()
    assert segments_aside(out) == (aside,)


@pytest.mark.process
def test_recover_keeps_no_segment_aside_if_damage_costs_no_row(long):
    out, run_id = long
    flip(segment_path(out, run_id, "launches", 0), 60)  # in the schema, which is there twice
    assert any("is damaged" in problem.text for problem in validate(out))

    done = recover(out)

    assert done.notes == ()
    assert read_seq(out) == list(range(50_000))
    assert validate(out) == []


@pytest.mark.process
def test_second_recover_after_a_kill_keeps_the_damaged_segment(long, monkeypatch):
    out, run_id = long
    path = segment_path(out, run_id, "launches", 0)
    flip(path, path.stat().st_size // 2)
    monkeypatch.setattr("kvtrace.schema.recovery.Loss.retire", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        recover(out)
    monkeypatch.undo()

    recover(out)

    assert len(segments_aside(out)) == 1
    assert len(read_seq(out)) == 49_000


@pytest.mark.process
@pytest.mark.parametrize("place", [0.01, 0.3, 0.6, 0.99])
def test_flipped_bit_in_the_segment_of_runs_stops_no_command(killed, place):
    other = RunWriter(killed, new_run_id())
    other.append("launches", launches(0, 3))
    other.seal({"ending": "exit"})
    (run_id,) = set(open_trace(killed).run_ids) - {other.run_id}
    path = segment_path(killed, run_id, "runs", 0)
    flip(path, int(path.stat().st_size * place))

    trace = open_trace(killed)

    assert [run.sealed for run in trace.runs] == [False, True]
    assert trace.select(other.run_id)[0].ending == "exit"
    assert trace.table("launches").num_rows == 603
    assert any(problem.where == str(path) for problem in validate(killed))
    assert recover(killed).sealed == (run_id,)
    run = open_trace(killed).runs[0]
    assert run.pid is not None
    # The last of its rows is the one that says it.
    assert run.command == ("python train.py" if place < 0.9 else None)
    assert run.dropped_rows is None


def test_recover_skips_a_live_run_with_a_damaged_row(tmp_path):
    writer = RunWriter(tmp_path, new_run_id())
    writer.append("launches", launches(0, 3))
    writer.flush()
    path = segment_path(tmp_path, writer.run_id, "runs", 0)
    content = bytearray(path.read_bytes())
    path.write_bytes(b"\0" * len(content))
    old = time.time() - 120
    os.utime(journal_folder(tmp_path, writer.run_id), (old, old))

    assert recover(tmp_path).sealed == ()

    for each in journal_folder(tmp_path, writer.run_id).iterdir():
        os.utime(each, (old, old))
    assert recover(tmp_path).sealed == (writer.run_id,)


def test_recover_seals_a_journal_of_an_older_minor_version(tmp_path):
    """Its columns are fewer, and its segments are plain Arrow streams."""
    golden = Path(__file__).parents[2] / "kvtrace" / "schema" / "golden" / "v1.0" / "trace"
    shutil.copytree(golden, tmp_path / "out")
    before = {name: plain(open_trace(golden).table(name)) for name in TABLES if name != "runs"}

    done = recover(tmp_path / "out", force=True)

    assert done.left == {}
    assert len(done.sealed) == 1
    for name, rows in before.items():
        assert plain(open_trace(tmp_path / "out").table(name)) == rows
    assert validate(tmp_path / "out") == []


@pytest.mark.process
def test_recover_keeps_a_damaged_segment_of_an_older_version_aside(killed):
    (run_id,) = open_trace(killed).run_ids
    path = segment_path(killed, run_id, "launches", 1)
    with SegmentReader(path) as reader:
        batches = list(reader)
    path.unlink()
    schema = TABLES["launches"].schema.with_metadata(captured_facts("launches", run_id).metadata())
    with pa.OSFile(str(path), "wb") as file:
        stream = pa.ipc.new_stream(file, schema)
        ends = [stream.write_batch(batch) or file.tell() for batch in batches]
    content = bytearray(path.read_bytes())
    content[ends[0] : ends[0] + 8] = b"\0" * 8
    path.write_bytes(content)

    recover(killed)

    (aside,) = segments_aside(killed)
    assert aside.read_bytes() == bytes(content)
    assert read_seq(killed) == list(range(500))


@pytest.mark.process
def test_recover_skips_a_journal_with_columns_of_a_newer_version(killed):
    (run_id,) = open_trace(killed).run_ids
    table = replace(
        TABLES["marks"], columns=(*TABLES["marks"].columns, Column("new", pa.int64(), ""))
    )
    for name in ("marks", "novelties"):
        path = segment_path(killed, run_id, name, 0)
        segment = SegmentWriter(path, table, captured_facts(name, run_id))
        segment.append(batch_of_rows(table, [{"mark_id": 1, "new": 2}]))
        segment.flush()
        segment.close()

        done = recover(killed)

        assert done.sealed == ()
        assert "newer kvtrace" in done.left[run_id]
        assert path.exists()
        path.unlink()
    assert recover(killed).sealed == (run_id,)


def test_writer_keeps_a_damaged_segment_aside_when_it_seals(tmp_path):
    writer = RunWriter(tmp_path, new_run_id())
    add_calls(writer)
    for first in range(0, 300, 100):
        writer.append("launches", launches(first, 100))
        writer.flush()
    path = segment_path(tmp_path, writer.run_id, "launches", 0)
    flip(path, path.stat().st_size - 100)

    writer.seal({"ending": "exit"})

    trace = open_trace(tmp_path)
    (aside,) = segments_aside(tmp_path)
    (message,) = plain(trace.table("messages"))
    assert read_seq(tmp_path) == list(range(200))
    assert trace.runs[0].dropped_rows == 100
    assert message["code"] == "damaged-journal"
    assert [problem.where for problem in validate(tmp_path)] == [str(aside)]
    assert not journal_folder(tmp_path, writer.run_id).exists()


@pytest.mark.process
def test_recover_keeps_the_ending_in_the_journal(tmp_path):
    code = KILLED.replace('"rank": 1', '"ended": 2**62 - 1, "ending": "disk-full"')
    assert run_child(code, tmp_path).returncode == 9

    recover(tmp_path)

    (run,) = open_trace(tmp_path).runs
    assert (run.ended, run.ending) == (2**62 - 1, "disk-full")


@pytest.mark.process
def test_recover_skips_a_live_process_whose_rows_are_readable(tmp_path):
    # a segment is sealed every 40 ms: far more often than in earnest, and not faster than reading
    code = ENDLESS.replace("3000", "400").replace("first += 100", "first += 100; time.sleep(0.01)")
    child = start(code, tmp_path, stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 300
        while not list(tmp_path.glob("launches/*/part-00002.parquet")):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        sizes = []
        for _ in range(40):  # while segments are sealed under the reader's eyes
            seq = read_seq(tmp_path)
            assert seq == list(range(len(seq)))
            sizes.append(len(seq))
        done = recover(tmp_path)
    finally:
        child.kill()
        child.wait()

    (run_id,) = open_trace(tmp_path).run_ids
    assert sizes == sorted(sizes)
    assert sizes[-1] > sizes[0]
    assert done.sealed == ()
    assert f"process {child.pid} is still running" in done.left[run_id]
    assert recover(tmp_path).sealed == (run_id,)


@pytest.mark.process
def test_recover_skips_a_journal_of_another_host_unless_forced(killed):
    (run_id,) = open_trace(killed).run_ids
    other = RunWriter(killed, new_run_id())
    other.append_rows("runs", [{"host": "another-host", "pid": 1}])
    other.flush()
    other.close()

    done = recover(killed)

    assert done.sealed == (run_id,)
    assert "it is recorded on another-host" in done.left[other.run_id]
    assert recover(killed, force=True).sealed == (other.run_id,)
    assert len(open_trace(killed).runs) == 2


def test_process_with_a_reused_id_is_not_the_recording(tmp_path):
    writer = RunWriter(tmp_path, new_run_id())
    hour_before_boot = int((time.time() - time.monotonic() - 3600) * 1e9)
    writer.append_rows("runs", [{"host": platform.node(), "started": hour_before_boot}])
    writer.flush()
    writer.close()

    assert recover(tmp_path).sealed == (writer.run_id,)


def test_recording_of_this_process_is_left_alone(tmp_path):
    writer = RunWriter(tmp_path, new_run_id())
    writer.append_rows("runs", [{"host": platform.node(), "started": time.time_ns()}])
    writer.flush()
    writer.close()

    assert recover(tmp_path).sealed == ()


@pytest.mark.process
def test_zombie_process_counts_as_dead():
    child = start("pass")
    deadline = time.monotonic() + 300
    while is_running(child.pid):
        assert time.monotonic() < deadline
        time.sleep(0.01)

    assert child.wait() == 0
    assert is_running(os.getpid())


@pytest.mark.process
def test_recover_completes_a_run_killed_between_sealing_and_removing(killed):
    (run_id,) = open_trace(killed).run_ids
    journal = journal_folder(killed, run_id)
    saved = {path.name: path.read_bytes() for path in journal.iterdir()}
    recover(killed)
    rows = read_seq(killed)
    for part in ("runs", None):  # after the row of runs, and one step before
        journal.mkdir()
        for name, content in saved.items():
            (journal / name).write_bytes(content)
        if part is None:
            part_path(killed, "runs", run_id, 0).unlink()
        assert read_seq(killed) == rows

        assert recover(killed).sealed == (run_id,)

        assert read_seq(killed) == rows
        assert validate(killed) == []


@pytest.mark.process
def test_recover_removes_temporary_files_of_dead_processes(killed):
    (run_id,) = open_trace(killed).run_ids
    dead = start("pass")
    dead.wait()
    folder = part_path(killed, "launches", run_id, 0).parent
    left = folder / f".part-00001.parquet.abcdef12-{dead.pid}.tmp"
    busy = folder / f".part-00001.parquet.abcdef12-{os.getpid()}.tmp"
    left.write_bytes(b"PAR1")
    busy.write_bytes(b"PAR1")
    assert any(problem.where == str(left) for problem in validate(killed))

    recover(killed)

    assert not left.exists()
    assert busy.exists()
    assert read_seq(killed) == list(range(600))


def test_recover_skips_a_journal_without_row_for_a_minute(tmp_path):
    journal = journal_folder(tmp_path, new_run_id())
    journal.mkdir(parents=True)

    assert "has just started" in recover(tmp_path).left[journal.name[4:]]

    old = time.time() - 120
    os.utime(journal, (old, old))
    assert recover(tmp_path).sealed == (journal.name[4:],)
    assert open_trace(tmp_path).runs[0].ending == "killed"


@pytest.mark.process
def test_recover_skips_a_journal_of_a_newer_major_version(killed):
    (run_id,) = open_trace(killed).run_ids
    path = segment_path(killed, run_id, "launches", 2)
    segment = SegmentWriter(path, TABLES["launches"], FileFacts("2.0", "launches", run_id))
    segment.flush()
    segment.close()

    done = recover(killed)

    assert done.sealed == ()
    assert "format version 2.0" in done.left[run_id]
    assert path.exists()


def test_recover_command_reports_bad_input_in_one_sentence(tmp_path):
    with pytest.raises(EmptyTrace):
        recover(tmp_path)
    with pytest.raises(TraceNotFound):
        recover(tmp_path / "gone")


@pytest.mark.process
def test_recover_seals_all_rows_of_killed_ranks(tmp_path):
    ranks = [start(KILLED, tmp_path) for _ in range(3)]
    assert [rank.wait(300) for rank in ranks] == [9, 9, 9]

    done = recover(tmp_path)

    assert len(done.sealed) == 3
    assert open_trace(tmp_path).table("launches").num_rows == 1800
    assert validate(tmp_path) == []


@pytest.mark.process
def test_two_recovers_at_once_seal_a_journal_once(tmp_path):
    writer = RunWriter(tmp_path, new_run_id())
    add_calls(writer)
    writer.append("launches", launches(0, 50_000))
    writer.append_rows("runs", [{"host": "gone"}])
    writer.flush()
    writer.close()
    code = (
        "import sys; from kvtrace.schema.recovery import recover; recover(sys.argv[1], force=True)"
    )

    both = [start(code, tmp_path) for _ in range(2)]

    assert [each.wait(300) for each in both] == [0, 0]
    assert recover(tmp_path, force=True).left == {}
    assert read_seq(tmp_path) == list(range(50_000))
    assert validate(tmp_path) == []
