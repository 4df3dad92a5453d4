"""A journal that ends anywhere is read up to its last whole batch."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtrace.schema.columns import batch_of_rows
from kvtrace.schema.errors import NewerFormat
from kvtrace.schema.journal import SegmentReader, SegmentWriter
from kvtrace.schema.tables import TABLES
from kvtrace.schema.versions import FileFacts, captured_facts

CALLS = TABLES["calls"]


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
    """Where the schema ends in the file, and where each batch does."""
    facts = captured_facts(table.name, "run")
    segment = SegmentWriter(path, table, facts)
    ends = [table.schema.with_metadata(facts.metadata()).serialize().size]
    for rows in pieces:
        segment.append(batch_of_rows(table, rows))
        segment.flush()
        ends.append(path.stat().st_size)
    segment.close()
    return ends


def read(path):
    with SegmentReader(path) as reader:
        rows = sum(batch.num_rows for batch in reader)
        return rows, reader.torn_bytes


@pytest.mark.parametrize(("table", "make"), [("messages", message_rows), ("stacks", stack_rows)])
def test_a_segment_that_is_cut_at_any_byte_is_read_up_to_its_last_whole_batch(
    tmp_path, table, make
):
    path = tmp_path / "whole.arrows"
    ends = write(path, TABLES[table], [make(0, 3), make(3, 3)])
    whole = path.read_bytes()
    cut = tmp_path / "cut.arrows"

    for length in [*range(0, ends[1], 37), *range(ends[1] - 9, len(whole) + 1)]:
        cut.write_bytes(whole[:length])
        rows, torn = read(cut)
        last = max((end for end in ends if end <= length), default=0)
        assert rows == 3 * max(0, sum(end <= length for end in ends) - 1), length
        assert torn == length - last, length


@pytest.mark.parametrize("tail", [b"\0" * 5000, b"\xff" * 64, b"\xff\xff\xff\xff\0\0\0\0 more"])
def test_garbage_after_the_last_batch_is_left_out(tmp_path, tail):
    path = tmp_path / "calls.arrows"
    write(path, CALLS, [call_rows(0, 5)])
    with path.open("ab") as file:
        file.write(tail)

    rows, torn = read(path)

    assert rows == 5
    assert 0 < torn <= len(tail)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_flipped_bits_never_give_more_rows_than_were_written(tmp_path_factory, seed):
    path = tmp_path_factory.mktemp("journal") / "kernels.arrows"
    ends = write(path, TABLES["kernels"], [kernel_rows(0, 4), kernel_rows(4, 4)])
    damaged = bytearray(path.read_bytes())
    chance = random.Random(seed)
    damaged[chance.randrange(ends[1], len(damaged))] ^= 1 << chance.randrange(8)
    path.write_bytes(damaged)

    rows, torn = read(path)

    assert rows in (4, 8)  # bits may also flip inside a value, which no format without sums sees
    assert (torn > 0) == (rows == 4)


def test_a_segment_of_a_newer_major_version_is_refused(tmp_path):
    path = tmp_path / "calls.arrows"
    segment = SegmentWriter(path, CALLS, FileFacts("2.0", "calls", "run"))
    segment.append(batch_of_rows(CALLS, call_rows(0, 1)))
    segment.flush()
    segment.close()

    with pytest.raises(NewerFormat, match=r"calls\.arrows has format version 2\.0"):
        read(path)


def test_pending_rows_are_not_written_when_the_writer_goes(tmp_path):
    path = tmp_path / "calls.arrows"
    segment = SegmentWriter(path, CALLS, captured_facts("calls", "run"))
    segment.append(batch_of_rows(CALLS, call_rows(0, 1)))
    assert (segment.pending_rows, segment.rows) == (1, 0)
    assert segment.pending_bytes > 0

    segment.close()
    del segment

    assert path.stat().st_size == 0
    assert read(path) == (0, 0)
