"""A run is followed while it is written: each row once, whatever is cut, sealed or killed when."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtrace.schema.columns import batch_of_columns
from kvtrace.schema.errors import BadSetting
from kvtrace.schema.following import Follower
from kvtrace.schema.journal import SegmentReader, SegmentWriter
from kvtrace.schema.layout import journal_folder, segment_path
from kvtrace.schema.tables import TABLES
from kvtrace.schema.versions import captured_facts
from kvtrace.schema.writer import RunWriter

ROOT = Path(__file__).parents[2]
RUN = "20260102-030405-000-0000abcd"
LAUNCHES = TABLES["launches"]
COLUMNS = {"launches": ("seq", "call_id"), "calls": ("call_id", "kernel_id")}


def launches(first, count):
    return {"seq": np.arange(first, first + count), "call_id": np.zeros(count, np.int64)}


def seqs(news):
    """The numbers of the launches that are new."""
    pieces = [piece for each in news for table, piece in each.pieces if table == "launches"]
    return [number for piece in pieces for number in piece["seq"].to_pylist()]


class Recording:
    """A run whose segments are sealed every 50 rows, and who follows it."""

    def __init__(self, out):
        self.out = out
        self.writer = RunWriter(out, RUN, segment_rows=50)
        self.written = 0
        self.follower = Follower(out, COLUMNS)
        self.seen = []

    def write(self, count):
        self.writer.append("launches", launches(self.written, count))
        self.writer.flush()
        self.written += count

    def look(self):
        news = self.follower.look()
        self.seen += seqs(news)
        return news

    @property
    def segment(self):
        return segment_path(self.out, RUN, "launches", self.written // 50)


@pytest.fixture
def recording(tmp_path):
    return Recording(tmp_path / "out")


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    """A segment of four batches: its bytes, and of each batch where it ends and the rows so far."""
    path = tmp_path_factory.mktemp("segment") / "whole"
    writer = SegmentWriter(path, LAUNCHES, captured_facts("launches", RUN))
    ends, rows = [], 0
    for count in (3, 1, 7, 2):
        writer.append(batch_of_columns(LAUNCHES, launches(rows, count)))
        writer.flush()
        rows += count
        ends.append((path.stat().st_size, rows))
    writer.close()
    return path.read_bytes(), ends


def followed(content, ends, path, lengths):
    """Let a file grow to these lengths, and look each time: whole batches, each once, are seen."""
    path.write_bytes(b"")
    seen = []
    with SegmentReader(path) as reader, path.open("ab") as file:
        for length in lengths:
            file.write(content[file.tell() : length])
            file.flush()
            seen += [n for batch in reader.more() for n in batch["seq"].to_pylist()]
            assert seen == list(range(max((n for end, n in ends if end <= length), default=0)))


@pytest.mark.sweep
def test_follower_of_a_cut_segment_yields_whole_batches_then_the_rest(content, tmp_path):
    whole, ends = content

    for cut in range(len(whole)):
        followed(whole, ends, tmp_path / "segment", [cut, len(whole)])


@given(st.lists(st.integers(0, 4_000), max_size=12))
@settings(deadline=None)
def test_follower_of_a_growing_segment_yields_each_batch_once(content, tmp_path_factory, cuts):
    whole, ends = content
    lengths = [*sorted(min(cut, len(whole)) for cut in cuts), len(whole)]

    followed(whole, ends, tmp_path_factory.mktemp("grows") / "segment", lengths)


def test_follower_skips_damaged_batches(recording):
    recording.write(3)
    begin = recording.segment.stat().st_size
    recording.write(4)
    recording.write(5)
    with recording.segment.open("r+b") as file:
        file.seek(begin + 100)
        file.write(b"damaged")

    recording.look()
    recording.write(2)
    recording.look()

    assert recording.seen == [0, 1, 2, *range(7, 14)]


def test_follower_sees_each_launch_once_across_sealing(recording):
    # given looks of which some see one segment grow, and some miss several that came and went
    chance = np.random.default_rng(3)
    recording.look()
    for _ in range(60):
        recording.write(int(chance.integers(1, 30)))
        if chance.random() < 0.3:
            for _ in range(5):
                recording.write(40)
        recording.look()
        assert recording.seen == list(range(recording.written))

    recording.write(5)
    recording.writer.seal({"ended": 5, "ending": "exit"})
    (end,) = recording.look()

    assert recording.seen == list(range(recording.written))
    assert (end.live, end.whole, end.run.sealed, end.run.ending) == (False, True, True, "exit")
    assert recording.look() == []


def test_follower_reads_segments_that_were_sealed_between_two_looks(recording):
    recording.write(10)
    recording.look()
    for _ in range(5):
        recording.write(45)
    recording.writer.append("calls", {"call_id": [0], "kernel_id": [4]})
    recording.writer.seal({"ending": "exit"})

    (end,) = recording.look()

    assert recording.seen == list(range(recording.written))
    assert [piece.to_pylist() for table, piece in end.pieces if table == "calls"] == [
        [{"call_id": 0, "kernel_id": 4}]
    ]


def test_follower_does_not_read_a_part_beside_its_segment_twice(recording, monkeypatch):
    """As the writer leaves it between renaming a part and removing its segment."""
    monkeypatch.setattr(Path, "unlink", lambda self, missing_ok=False: None)
    recording.write(20)
    recording.look()
    recording.write(40)
    recording.look()
    recording.write(10)
    recording.look()

    assert recording.seen == list(range(70))


def test_follower_says_that_rows_sealed_before_its_first_look_are_missing(recording):
    recording.write(60)
    recording.write(7)

    (news,) = recording.look()

    assert recording.seen == list(range(60, 67))
    assert not news.whole


def test_follower_reads_sealed_rows_of_tables_from_start(recording):
    recording.writer.append("calls", {"call_id": np.arange(60), "kernel_id": np.zeros(60)})
    recording.writer.append("calls", {"call_id": [60], "kernel_id": [1]})
    recording.write(3)

    (news,) = Follower(recording.out, COLUMNS, {"calls"}).look()

    pieces = [piece for table, piece in news.pieces if table == "calls"]
    assert [number for piece in pieces for number in piece["call_id"].to_pylist()] == [*range(61)]
    assert news.whole


def test_second_look_reads_only_added_rows(recording, monkeypatch):
    read = []
    original = SegmentReader._read_into

    def counted(self, room, position):
        read.append(original(self, room, position))
        return read[-1]

    monkeypatch.setattr(SegmentReader, "_read_into", counted)
    recording.writer = RunWriter(recording.out, RUN + "1", segment_rows=10**9)
    recording.write(100_000)
    recording.look()
    first = sum(read)
    read.clear()
    recording.look()

    assert first > 800_000
    assert sum(read) < 50_000  # its row of runs, and the first bytes of each segment


@pytest.mark.process
def test_news_of_a_killed_process_is_not_live(tmp_path):
    program = (
        "import os, sys, signal; from kvtrace.schema.writer import RunWriter;"
        f"writer = RunWriter(sys.argv[1], {RUN!r});"
        "writer.append('launches', {'seq': [0], 'call_id': [0]}); writer.flush();"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", program, tmp_path / "out"], cwd=ROOT, timeout=300)

    (news,) = Follower(tmp_path / "out", COLUMNS).look()

    assert seqs([news]) == [0]
    assert not news.live
    assert not news.run.sealed


def test_follower_survives_removal_of_the_journal(recording):
    recording.write(3)
    recording.look()
    for path in journal_folder(recording.out, RUN).iterdir():
        path.unlink()
    journal_folder(recording.out, RUN).rmdir()

    (news,) = recording.look()

    assert not news.live
    assert news.run.run_id == RUN


def test_follower_is_refused_on_windows(tmp_path, monkeypatch):
    monkeypatch.setattr("kvtrace.schema.following.os.name", "nt")

    with pytest.raises(BadSetting, match="follow it on Linux or macOS"):
        Follower(tmp_path, COLUMNS)
