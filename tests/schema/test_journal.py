"""A journal that ends anywhere is read up to its last whole batch."""

import random

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtrace.schema import journal
from kvtrace.schema.columns import batch_of_rows
from kvtrace.schema.errors import NewerFormat
from kvtrace.schema.journal import SegmentReader, SegmentWriter
from kvtrace.schema.tables import TABLES
from kvtrace.schema.versions import FileFacts, captured_facts
from tests.schema.written_runs import flip
from tests.support.thorough import usually

CALLS = TABLES["calls"]
MARKS = TABLES["marks"]


def call_rows(first: int, count: int) -> list[dict[str, object]]:
    return [
        {
            "call_id": call_id,
            "kernel_id": 0,
            "args": [{"name": f"x{call_id}", "shape": [call_id, 2]}],
        }
        for call_id in range(first, first + count)
    ]


def message_rows(first: int, count: int) -> list[dict[str, object]]:
    return [
        {"time": i, "level": "info", "code": f"code {i}", "text": f"text {i}"}
        for i in range(first, first + count)
    ]


def stack_rows(first: int, count: int) -> list[dict[str, object]]:
    return [
        {"stack_id": i, "frames": [{"file": f"{i}.py", "line": i}]}
        for i in range(first, first + count)
    ]


def kernel_rows(first: int, count: int) -> list[dict[str, object]]:
    return [
        {"kernel_id": i, "name": f"kernel {i}", "options": {"debug": str(i)}}
        for i in range(first, first + count)
    ]


def write(path, table, pieces):
    """Where each frame ends in the file: the schema, the schema again, and each batch."""
    segment = SegmentWriter(path, table, captured_facts(table.name, "run"))
    schema = segment.pending_bytes // 2
    ends = [schema, 2 * schema]
    for rows in pieces:
        segment.append(batch_of_rows(table, rows))
        segment.flush()
        ends.append(path.stat().st_size)
    segment.close()
    return ends


def write_stream(path, table, pieces):
    """Write a segment as older versions did, an Arrow IPC stream; where each batch ends."""
    schema = table.schema.with_metadata(captured_facts(table.name, "run").metadata())
    ends = []
    with pa.OSFile(str(path), "wb") as file:
        stream = pa.ipc.new_stream(file, schema)
        for rows in pieces:
            stream.write_batch(batch_of_rows(table, rows))
            ends.append(file.tell())
    return ends


def read(path):
    """Rows, torn bytes and damage."""
    with SegmentReader(path) as reader:
        rows = sum(batch.num_rows for batch in reader)
        return rows, reader.torn_bytes, reader.damage


@pytest.mark.parametrize(("table", "make"), [("messages", message_rows), ("stacks", stack_rows)])
def test_a_segment_that_is_cut_at_any_byte_is_read_up_to_its_last_whole_batch(
    tmp_path, table, make
):
    path = tmp_path / "whole.arrows"
    ends = write(path, TABLES[table], [make(0, 3), make(3, 3)])
    whole = path.read_bytes()
    cut = tmp_path / "cut.arrows"

    for length in [*range(0, ends[2], 37), *range(ends[2] - 9, len(whole) + 1)]:
        cut.write_bytes(whole[:length])
        last = max((end for end in ends if end <= length), default=0)
        rows = 3 * max(0, sum(end <= length for end in ends) - 2)
        assert read(cut) == (rows, length - last, []), length


@pytest.mark.parametrize("tail", [b"\0" * 5000, b"\xff" * 64, b"\xff\xff\xff\xff\0\0\0\0 more"])
@pytest.mark.parametrize("write", [write, write_stream])
def test_garbage_after_the_last_batch_is_skipped_and_reported(tmp_path, write, tail):
    path = tmp_path / "calls.arrows"
    write(path, CALLS, [call_rows(0, 5)])
    whole = path.stat().st_size
    with path.open("ab") as file:
        file.write(tail)

    rows, _, (damage,) = read(path)

    assert rows == 5
    assert (damage.byte, damage.size_bytes, damage.rows) == (whole, len(tail), None)


@pytest.mark.sweep
def test_flipped_bit_in_a_segment_costs_only_its_batch(tmp_path):
    path = tmp_path / "kernels.arrows"
    _, both, *ends = write(path, TABLES["kernels"], [kernel_rows(i, 4) for i in (0, 4, 8)])
    chance = random.Random(14)
    places = [*range(both + 60), *chance.sample(range(path.stat().st_size), 400)]

    for byte in places:
        bit = chance.randrange(8)
        flip(path, byte, bit)
        rows, torn, damage = read(path)
        flip(path, byte, bit)

        assert damage, byte
        assert torn == 0
        assert rows == (12 if byte < both else 8), byte
        if byte < ends[-2]:
            assert sum(each.rows for each in damage) == 12 - rows


def test_damage_in_both_schemas_of_a_segment_is_reported_with_lost_rows(tmp_path):
    path = tmp_path / "kernels.arrows"
    schema, _, *_ = write(path, TABLES["kernels"], [kernel_rows(0, 4), kernel_rows(4, 4)])
    flip(path, schema - 1)
    flip(path, 2 * schema - 1)

    rows, _, damage = read(path)

    assert rows == 0
    assert [(each.batch, each.rows) for each in damage] == [(None, 0), (None, 0), (1, 4), (2, 4)]


@pytest.mark.parametrize("payload", [b"", b"no schema at all", MARKS.schema.serialize()])
def test_payloads_that_contradict_valid_heads_raise_no_error(tmp_path, payload):
    path = tmp_path / "kernels.arrows"
    segment = SegmentWriter(path, TABLES["kernels"], captured_facts("kernels", "run"))
    segment.append(batch_of_rows(TABLES["kernels"], kernel_rows(0, 4)))
    segment._queue_frame(0, 0, pa.py_buffer(payload))
    segment.append(batch_of_rows(TABLES["kernels"], kernel_rows(4, 4)))
    segment._queue_frame(3, 7, pa.py_buffer(payload))
    segment.flush()
    segment.close()

    rows, _, damage = read(path)

    assert rows == 8
    assert [(each.batch, each.rows) for each in damage] == [(3, 7)]


def test_reader_finds_the_next_frame_across_read_chunks(tmp_path, monkeypatch):
    path = tmp_path / "calls.arrows"
    ends = write(path, CALLS, [call_rows(i, 4) for i in range(0, 12, 4)])
    flip(path, ends[1])  # the head of the first batch
    for size in range(9, 40):
        monkeypatch.setattr(journal, "_PIECE_BYTES", size)

        rows, _, (damage,) = read(path)

        assert (rows, damage.byte, damage.rows) == (8, ends[1], 4)


def test_a_segment_of_an_older_version_is_read_up_to_its_first_damage(tmp_path):
    path = tmp_path / "kernels.arrows"
    ends = write_stream(path, TABLES["kernels"], [kernel_rows(i, 4) for i in (0, 4, 8)])
    assert read(path) == (12, 0, [])
    content = bytearray(path.read_bytes())
    content[ends[0] : ends[0] + 64] = b"\xff" * 64
    path.write_bytes(content)

    rows, torn, (damage,) = read(path)

    assert (rows, torn) == (4, 0)
    assert (damage.byte, damage.size_bytes) == (ends[0], ends[2] - ends[0])


@pytest.mark.parametrize("ends_in_a_hole", [False, True])
def test_holes_of_a_terabyte_are_skipped(tmp_path, ends_in_a_hole):
    path = tmp_path / "kernels.arrows"
    write(path, TABLES["kernels"], [kernel_rows(0, 4)])
    content = path.read_bytes()
    with path.open("r+b") as file:
        file.truncate(1 << 40)
        if not ends_in_a_hole:
            file.seek(1 << 40)
            file.write(content)

    rows, _, (damage,) = read(path)

    assert rows == (4 if ends_in_a_hole else 8)
    assert damage.size_bytes == (1 << 40) - len(content)


@settings(max_examples=usually(15, thorough=60), deadline=None)
@given(content=st.binary(max_size=300), seed=st.integers(0, 2**32))
def test_segment_of_arbitrary_bytes_is_read_without_error(tmp_path_factory, content, seed):
    path = tmp_path_factory.mktemp("journal") / "kernels.arrows"
    write(path, TABLES["kernels"], [kernel_rows(0, 4)])
    good = path.read_bytes()
    at = random.Random(seed).randrange(len(good))
    path.write_bytes(good[:at] + content + good[at:])

    rows, _, _ = read(path)

    assert rows in (0, 4)


def test_a_segment_of_a_newer_major_version_is_refused(tmp_path):
    path = tmp_path / "calls.arrows"
    segment = SegmentWriter(path, CALLS, FileFacts("2.0", "calls", "run"))
    segment.append(batch_of_rows(CALLS, call_rows(0, 1)))
    segment.flush()
    segment.close()

    with pytest.raises(NewerFormat, match=r"calls\.arrows has format version 2\.0"):
        read(path)


def test_closing_a_segment_writer_does_not_write_pending_rows(tmp_path):
    path = tmp_path / "calls.arrows"
    segment = SegmentWriter(path, CALLS, captured_facts("calls", "run"))
    segment.append(batch_of_rows(CALLS, call_rows(0, 1)))
    assert (segment.pending_rows, segment.rows) == (1, 0)
    assert segment.pending_bytes > 0

    segment.close()
    del segment

    assert path.stat().st_size == 0
    assert read(path) == (0, 0, [])


@pytest.mark.parametrize("codec", ["zstd", "lz4"])
def test_compressed_batch_counts_as_damage(tmp_path, monkeypatch, codec):
    """They come from elsewhere; a batch that holds 100 MB would be read from 10 kB."""
    plain = pa.ipc.new_stream
    options = pa.ipc.IpcWriteOptions(compression=codec)
    monkeypatch.setattr(
        journal.pa.ipc, "new_stream", lambda sink, schema: plain(sink, schema, options=options)
    )
    path = tmp_path / "segment"
    segment = SegmentWriter(path, CALLS, captured_facts("calls", "run"))
    segment.append(batch_of_rows(CALLS, call_rows(0, 1000)))
    segment.flush()
    reader = SegmentReader(path)
    assert list(reader) == []
    assert [damage.rows for damage in reader.lost] == [1000]


def test_compressed_dictionary_batch_is_detected():
    batch = pa.record_batch({"a": pa.array(["a" * 100] * 50).dictionary_encode()})
    for codec in (None, "zstd"):
        sink = pa.BufferOutputStream()
        options = pa.ipc.IpcWriteOptions(compression=codec)
        with pa.ipc.new_stream(sink, batch.schema, options=options) as stream:
            stream.write_batch(batch)
        messages = list(pa.ipc.MessageReader.open_stream(sink.getvalue()))
        kinds = {message.type: journal._has_compressed_buffers(message) for message in messages}
        compressed = codec is not None
        assert kinds == {"schema": False, "dictionary": compressed, "record batch": compressed}
