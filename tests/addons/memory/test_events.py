"""Events of a run's tables, in the order of time, whatever the order of rows is."""

from unittest.mock import patch

import numpy as np
import pytest

from kvtrace.addons.memory import events
from kvtrace.addons.memory.events import (
    Allocated,
    Freed,
    Launched,
    Operated,
    event_parts,
)
from kvtrace.schema.trace import open_trace
from kvtrace.schema.writer import RunWriter, new_run_id

ROWS = 120


@pytest.fixture(params=[0, 1, 2])
def rows(request):
    """Rows of tables, nearly in the order of time, and some far from it."""
    random = np.random.default_rng(request.param)
    times = np.arange(ROWS) * 2 + random.integers(0, 8, ROWS)
    times[random.integers(0, ROWS, 3)] = random.integers(1, 2 * ROWS, 3)
    tables = {"launches": [], "operations": [], "allocations": []}
    for number, time in enumerate(times.tolist()):
        addresses = random.integers(1, 4, random.integers(0, 3)).tolist()
        match random.integers(4):
            case 0:
                tables["launches"].append(
                    {
                        "seq": number, "call_id": number % 3, "enter": time, "exit": time,
                        "addresses": None if number % 5 == 0 else addresses,
                    }
                )  # fmt: skip
            case 1 | 2:
                tables["operations"].append(
                    {
                        "record": number, "operator_id": number % 2, "begin": time - 1,
                        "end": time, "thread": 1, "addresses": addresses,
                    }
                )  # fmt: skip
            case _:
                tables["allocations"].append(
                    {
                        "record": number, "address": 64 * (number % 2), "bytes": 64,
                        "begin": time, "end": None if number % 3 else time + 5, "thread": 1,
                        "device": None if number % 4 == 0 else 0, "stack_id": number % 2 or None,
                    }
                )  # fmt: skip
    return tables


def in_order(tables):
    """Return the events of rows; of equal times, launches come first, then operators."""
    first = {}
    for row in tables["allocations"]:
        first.setdefault((row["stack_id"], row["device"]), row["record"])
    listed = [
        *(
            Launched(row["enter"], row["seq"], row["call_id"], row["addresses"])
            for row in tables["launches"]
            if row["addresses"] is not None
        ),
        *(
            Operated(row["end"], row["begin"], row["operator_id"], row["addresses"])
            for row in tables["operations"]
        ),
        *(
            Allocated(
                row["begin"], first[row["stack_id"], row["device"]], row["address"], row["bytes"],
                row["stack_id"] is None, row["device"] is None,
            )
            for row in tables["allocations"]
        ),
        *(
            Freed(row["end"], row["address"])
            for row in tables["allocations"]
            if row["end"] is not None
        ),
    ]  # fmt: skip
    return sorted(listed, key=lambda event: event.time)


@pytest.fixture
def trace(rows, tmp_path):
    """A trace with the rows in several parts."""
    writer = RunWriter(tmp_path / "out", new_run_id())
    for name, listed in rows.items():
        for begin in range(0, len(listed), 7):
            writer.append_rows(name, listed[begin : begin + 7])
            writer.rotate(name)
    writer.seal({"run_id": writer.run_id})
    return open_trace(tmp_path / "out")


@pytest.mark.parametrize(("at_once", "most_unique"), [(1, 1), (16, 8), (1 << 20, 1 << 19)])
def test_events_come_in_the_order_of_time(rows, trace, at_once, most_unique):
    with (
        patch.object(events, "_AT_ONCE", at_once),
        patch.object(events, "_MOST_UNIQUE", most_unique),
    ):
        parts = event_parts(trace, trace.runs[0])
        assert [event for part in parts for event in part] == in_order(rows)


def test_parts_are_small_and_share_their_unique_events(trace, rows):
    with patch.object(events, "_AT_ONCE", 16):
        parts = list(event_parts(trace, trace.runs[0]))
    assert len(parts) > 3
    assert max(map(len, parts)) < ROWS / 2
    launches = {(row["call_id"], *(row["addresses"] or ())) for row in rows["launches"]}
    unique = [event for event in parts[0].unique.values() if isinstance(event, Launched)]
    assert len(unique) <= len(launches)


def test_a_run_without_recorded_memory_has_no_events(tmp_path):
    writer = RunWriter(tmp_path / "out", new_run_id())
    writer.seal({"run_id": writer.run_id})
    trace = open_trace(tmp_path / "out")
    assert list(event_parts(trace, trace.runs[0])) == []
