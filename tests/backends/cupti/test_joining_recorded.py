"""Kernels and launches recorded on an H200 are joined again from the tables alone, and alike.

The fixtures are made small by `tests/gpu/trim_trace.py`: of kernels that nothing here launched they
keep 200, and of `inductor`'s kernels none that was left without a launch for its order; a launch
whose kernel is gone that way cannot be joined, and is left out here as well.
"""

from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from kvtrace.backends.cupti.joining import Joiner
from kvtrace.backends.cupti.records import Kernels, Looks
from kvtrace.figures.causes import NONE, Launches, device_look, places
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import open_trace

FIXTURES = Path(__file__).parents[2] / "fixtures" / "h200"


class Recorded:
    """The tables of a fixture's run, and what the joiner takes."""

    def __init__(self, name):
        trace = open_trace(FIXTURES / name)
        (run,) = trace.runs
        names = ("launches", "gpu_kernels", "calls", "kernels")
        tables = {name: plain_rows(trace.table(name, (run,))) for name in names}
        self.executions = tables["gpu_kernels"]
        seen = {row["launch_seq"] for row in self.executions}
        self.rows = [row for row in tables["launches"] if row["seq"] in seen]
        self.left_out = len(tables["launches"]) - len(self.rows)
        kernels = {row["kernel_id"]: row for row in tables["kernels"]}
        self._calls = {row["call_id"]: (kernels[row["kernel_id"]], row) for row in tables["calls"]}
        self._looks = Looks()
        self.streams = self._stream_numbers()

    def _stream_numbers(self):
        """CUPTI's number of each stream handle; the tables do not hold it, but joins tell it."""
        handles = {row["seq"]: row["stream"] for row in self.rows}
        pairs = {
            (handles[row["launch_seq"]], row["stream"])
            for row in self.executions
            if row["launch_seq"] is not None and row["graph_id"] is None
        }
        assert len(dict(pairs)) == len(pairs)
        return dict(pairs)

    def _look(self, call_id):
        kernel, call = self._calls[call_id]
        grid = (call["grid_x"], call["grid_y"], call["grid_z"])
        return self._looks.number(*device_look(kernel["function"], "", kernel["num_ctas"], grid))

    def launches(self):
        columns = [
            [row["seq"] for row in self.rows],
            [row["call_id"] for row in self.rows],
            [row["enter"] for row in self.rows],
            [row["exit"] for row in self.rows],
            [row["device"] for row in self.rows],
            [self.streams.get(row["stream"], NONE) for row in self.rows],
            [row["graph_id"] or NONE for row in self.rows],
            [self._look(row["call_id"]) for row in self.rows],
        ]
        *times, device, stream, graph, look = (np.asarray(column, np.int64) for column in columns)
        return Launches(*times, places(device, stream), graph, look)

    def kernels(self):
        def column(name):
            return np.asarray([row[name] or 0 for row in self.executions], np.int64)

        grids = [(row["grid_x"], row["grid_y"], row["grid_z"]) for row in self.executions]
        numbers = [
            self._looks.number(row["name"], grid)
            for row, grid in zip(self.executions, grids, strict=True)
        ]
        return Kernels(
            start=column("start"),
            end=column("end"),
            device=column("device"),
            stream=column("stream"),
            correlation=column("correlation_id"),
            graph=column("graph_id"),
            graph_node=column("graph_node_id"),
            grid=np.asarray(grids, np.int64),
            registers=column("registers"),
            shared_bytes=column("shared_bytes"),
            look=np.asarray(numbers, np.int64),
        )

    @property
    def truth(self):
        """Launch and call of each execution, as the recording process joined them."""
        return {
            (row["correlation_id"], row["graph_node_id"] or 0): (
                NONE if row["launch_seq"] is None else row["launch_seq"],
                NONE if row["call_id"] is None else row["call_id"],
            )
            for row in self.executions
        }


def launches_of_executions(parts):
    found = {}
    for part in parts:
        keys = zip(part.kernels.correlation.tolist(), part.kernels.graph_node.tolist(), strict=True)
        pairs = zip(part.seq.tolist(), part.call.tolist(), strict=True)
        found |= dict(zip(keys, pairs, strict=True))
    return found


@pytest.mark.parametrize(("name", "left_out"), [("device", 0), ("inductor", 7)])
def test_all_executions_are_joined_as_in_the_recording(name, left_out):
    recorded = Recorded(name)
    joiner = Joiner()
    launches = recorded.launches()

    joiner.add_launches(launches)
    joiner.add_kernels(recorded.kernels())

    assert recorded.left_out == left_out
    assert launches_of_executions(joiner.take(final=True)) == recorded.truth
    assert joiner.counts.joined == sum(seq != NONE for seq, _ in recorded.truth.values())
    assert joiner.counts.foreign == 200
    assert joiner.counts.ambiguous == 0


@pytest.mark.parametrize("name", ["device", "inductor"])
@pytest.mark.parametrize("rounds", [2, 7, 40])
def test_joining_in_rounds_gives_the_same_result(name, rounds):
    """Kernels come one round after the launches, as the journal gives them."""
    recorded = Recorded(name)
    launches, kernels = recorded.launches(), recorded.kernels()
    first, last = int(launches.enter.min()), int(max(launches.leave.max(), kernels.end.max())) + 1
    borders = [first + (last - first) * number // rounds for number in range(rounds)] + [last]
    joiner, parts, held = Joiner(), [], None

    for begin, end in pairwise(borders):
        joiner.add_launches(launches.chosen((launches.leave >= begin) & (launches.leave < end)))
        if held is not None:
            joiner.add_kernels(held)
        parts += joiner.take()
        held = kernels.chosen((kernels.end >= begin) & (kernels.end < end))
    joiner.add_kernels(held)
    parts += joiner.take(final=True)

    assert launches_of_executions(parts) == recorded.truth


def test_recording_has_two_streams_and_a_graph():
    recorded = Recorded("device")
    phases = Counter(row["phase"] for row in recorded.rows)
    replays = Counter(
        row["launch_seq"] for row in recorded.executions if row["graph_id"] is not None
    )

    assert sorted(recorded.streams.values()) == [7, 13]
    assert phases == {"autotune": 24, "run": 24, "graph_capture": 2}
    captured = [row["seq"] for row in recorded.rows if row["phase"] == "graph_capture"]
    assert replays == dict.fromkeys(captured, 5)


def test_unrecorded_kernel_prevents_joins_but_makes_none_wrong():
    """Given one launch more than kernels, then what is joined is still joined right."""
    recorded = Recorded("device")
    kernels = recorded.kernels()
    lost = next(
        place
        for place, row in enumerate(recorded.executions)
        if row["name"] == "added" and row["graph_id"] is None
    )
    joiner = Joiner()

    joiner.add_launches(recorded.launches())
    joiner.add_kernels(kernels.chosen(np.arange(len(kernels)) != lost))
    found = launches_of_executions(joiner.take(final=True))

    wrong = [key for key, pair in found.items() if pair not in (recorded.truth[key], (NONE, NONE))]
    assert wrong == []
    in_graphs = sum(row["graph_id"] is not None for row in recorded.executions)
    assert joiner.counts.joined >= in_graphs
    assert joiner.counts.ambiguous > 0


@pytest.mark.parametrize("name", ["device", "inductor"])
def test_joined_kernels_ran_on_the_launchs_device_after_it_was_entered(name):
    recorded = Recorded(name)
    launches = {row["seq"]: row for row in recorded.rows}

    for row in recorded.executions:
        if row["launch_seq"] is None or row["graph_id"] is not None:
            continue
        launch = launches[row["launch_seq"]]
        assert row["call_id"] == launch["call_id"]
        assert row["device"] == launch["device"]
        assert launch["enter"] - 5_000 <= row["start"] < row["end"]
