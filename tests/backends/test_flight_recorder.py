"""Collectives of torch.distributed in a recording, from torch's flight recorder."""

import pytest

import kvtrace
from kvtrace.backends.flight_recorder import last_requests
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import open_trace

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Rows of a recording with two groups, after collectives that it does not cover, and the
    last collectives at its end, by group."""
    out = tmp_path_factory.mktemp("collectives")
    distributed = torch.distributed
    distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
    try:
        group = distributed.new_group([0], group_desc="experts")
        tensor = torch.ones(3, 5, dtype=torch.float16)
        distributed.all_reduce(tensor)
        with kvtrace.capture(out):
            kvtrace.mark("begun")
            distributed.all_reduce(tensor)
            distributed.broadcast(tensor, 0, group=group)
            distributed.barrier()
        last = last_requests()
        newest = {row["group"]: row for row in last}
        before = [row["operation"] for row in last if row["group"] == "default_pg"]
    finally:
        distributed.destroy_process_group()
    return plain_rows(open_trace(out).table("collectives")), newest, before


@pytest.fixture
def rows(recorded):
    return recorded[0]


def test_collectives_of_the_recording_are_written_in_order(rows):
    operations = [(row["record"], row["operation"], row["group"]) for row in rows]
    expected = ["AllReduce", "Broadcast", "Barrier"]
    assert operations == [
        (number, operation, "experts" if operation == "Broadcast" else "default_pg")
        for number, operation in enumerate(expected)
    ]
    assert rows[0]["requested"] < rows[1]["requested"] < rows[2]["requested"]


def test_groups_count_their_collectives_and_sizes_are_known(rows):
    assert rows[2]["sequence"] == rows[0]["sequence"] + 1
    assert rows[0]["communicator"] == rows[2]["communicator"] != rows[1]["communicator"]
    assert [rows[0][column] for column in ("type", "elements", "bytes")] == ["Half", 15, 30]
    assert rows[2]["elements"] is None


def test_newest_collective_of_each_group_is_known_while_the_program_runs(recorded):
    rows, newest, before = recorded
    assert before == ["AllReduce", "AllReduce", "Barrier"]
    assert newest["default_pg"]["operation"] == "Barrier"
    assert newest["default_pg"]["sequence"] == rows[2]["sequence"]
    assert newest["experts"]["operation"] == "Broadcast"
    assert all(row["is_done"] for row in newest.values())
