"""Requests of executions whose ids are not unique."""

import json

import numpy as np
import pytest

from kvtrace.converters.importers.importing import import_files
from kvtrace.converters.importers.requests import REQUESTS, joined_requests
from kvtrace.converters.importers.rows import NONE
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import open_trace

#: id, process, begin, end, thread
ONE = [(0, 1, 10, 12, 1), (0, 1, 110, 112, 1), (0, 1, 210, 212, 1)]
RANKS = [(1, 1, 10, 12, 1), (2, 1, 20, 22, 1), (1, 2, 11, 13, 2), (2, 2, 21, 23, 2)]


@pytest.mark.parametrize(
    ("requests", "executions", "rows", "uncertain"),
    [
        # 0 everywhere: the nearest before each, if each has another
        (ONE, [(0, 50, 0), (0, 150, 0), (0, 250, 0)], [0, 1, 2], 0),
        # all queued before the first began: any may be of any
        (ONE, [(0, 250, 0), (0, 260, 0), (0, 270, 0)], [-1, -1, -1], 3),
        # before all requests
        (ONE, [(0, 5, 0)], [-1], 1),
        # two ranks that count from 1: either may have asked
        (RANKS, [(1, 30, 0), (1, 31, 1)], [-1, -1], 2),
        # an id that only one rank has tells its device
        ([*RANKS, (3, 2, 24, 25, 2)], [(1, 30, 0), (1, 31, 1), (3, 40, 1)], [-1, 2, 4], 1),
        # a counter that starts again
        ([(7, 1, 10, 11, 1), (7, 1, 90, 91, 1)], [(7, 20, 0), (7, 95, 0)], [0, 1], 0),
        # a request that begins with its execution is before it
        ([(7, 1, 10, 11, 1), (7, 1, 90, 91, 1)], [(7, 90, 0)], [1], 0),
        # two threads of one process
        ([(7, 1, 10, 11, 1), (7, 1, 15, 16, 2)], [(7, 20, 0)], [-1], 1),
        # a call of the driver within that of the runtime is one request
        ([(7, 1, 11, 13, 1), (7, 1, 10, 15, 1), (7, 1, 14, 15, 1)], [(7, 20, 0)], [1], 0),
    ],
)
def test_only_a_certain_request_counts(requests, executions, rows, uncertain):
    columns = dict(zip(REQUESTS, np.array(requests, np.int64).T, strict=True))
    names = ("correlation_id", "start", "device")
    wanted = dict(zip(names, np.array(executions, np.int64).T, strict=True))
    nothing = np.full(len(executions), NONE)
    joined = joined_requests(columns, {**wanted, "graph_id": nothing, "graph_node_id": nothing})
    assert joined.rows.tolist() == rows
    assert joined.uncertain == uncertain
    assert (joined.note() is None) == (not joined.uncertain + joined.nearest)


def event(category, name, pid, ts, dur, **args):
    return {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": 7, "ts": ts, "dur": dur,
            "args": args}  # fmt: skip


def imported(tmp_path, events):
    path = tmp_path / "merged.pt.trace.json"
    path.write_text(json.dumps({"deviceProperties": [], "traceEvents": events}))
    (run,) = import_files([path], tmp_path / "out")
    trace = open_trace(tmp_path / "out")
    frames = {row["stack_id"]: row["frames"] for row in plain_rows(trace.table("stacks"))}
    rows = list(plain_rows(trace.table("gpu_kernels")))
    names = [frames[r["stack_id"]][0]["function"] if r["stack_id"] else None for r in rows]
    return run, rows, names


def test_each_kernel_of_id_zero_has_the_operator_before_it(tmp_path):
    events = []
    for number, operator in enumerate(("aten::mm", "aten::add", "aten::sum")):
        at = 100 * number
        events += [
            event("cpu_op", operator, 100, at, 20),
            event("cuda_runtime", "hipLaunchKernel", 100, at + 5, 5, correlation=0),
            event("kernel", f"k{number}", 0, at + 50, 30, device=0, stream=7, correlation=0),
        ]
    run, rows, names = imported(tmp_path, events)
    assert names == ["aten::mm", "aten::add", "aten::sum"]
    assert [row["launch_seq"] for row in rows] == [0, 1, 2]
    assert "ids of 3 executions are not unique" in run.lacks[-1]


def test_ranks_of_one_file_have_devices_and_threads_of_their_own(tmp_path):
    events = []
    for rank, operator in ((0, "aten::mm"), (1000, "aten::add")):
        for number in (1, 2):
            at = 100 * number + rank // 500
            ids = {"correlation": number + rank // 500 * (number == 2)}
            events += [
                event("cpu_op", operator, 100 + rank, at, 20),
                event("cuda_runtime", "cudaLaunchKernel", 100 + rank, at + 5, 5, **ids),
                event("kernel", "k", rank, at + 30, 50, device=0, stream=7, **ids),
            ]
    run, rows, names = imported(tmp_path, events)
    assert [row["device"] for row in rows] == [0, 1000, 0, 1000]
    assert names == ["aten::mm", "aten::add"] * 2  # by their second kernels, whose ids are unique
    assert "ids of 2 executions are not unique" in run.lacks[-1]
