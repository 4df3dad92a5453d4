"""Requests of kernels without an execution: how many there are, and that their gaps are unknown."""

import json

import numpy as np
import pytest

from kvtrace.cli import main
from kvtrace.converters.importers.rows import NONE
from kvtrace.converters.importers.unexecuted import Calls, unexecuted
from kvtrace.figures.part_figures import PartFigures
from kvtrace.schema.trace import open_trace

BASE_US = 1_700_000_000_000_000


def event(category, name, begin, duration, correlation, **args):
    return {"ph": "X", "cat": category, "name": name, "pid": 9, "tid": 9, "ts": BASE_US + begin,
            "dur": duration, "args": {"correlation": correlation, **args}}  # fmt: skip


def steps(number, lost=(), untimed=()):
    """Return events of kernels of 40 µs each 100 µs, some of them lost or at the time 0."""
    for step in range(number):
        yield event("cuda_runtime", "cudaLaunchKernel", 100 * step, 5, step)
        kernel = event("kernel", "k", 100 * step + 15, 40, step, device=0, stream=7)
        if step in untimed:
            kernel |= {"ts": 0, "dur": 0}
        if step not in lost:
            yield kernel


def imported(events, tmp_path):
    path = tmp_path / "x.pt.trace.json"
    content = {"deviceProperties": [{"id": 0, "name": "NVIDIA H100"}], "traceEvents": events}
    path.write_text(json.dumps(content))
    assert main(["import", str(path), "-o", str(tmp_path / "out")]) == 0
    return open_trace(tmp_path / "out")


@pytest.mark.parametrize("how", ["lost", "untimed"])
def test_a_gap_in_which_an_execution_may_be_has_an_unknown_cause(how, tmp_path, capsys):
    trace = imported(list(steps(12, **{how: (4, 5, 9)})), tmp_path)
    sentence = "3 of 12 requests have no execution"
    assert sentence in capsys.readouterr().out
    gaps = PartFigures(trace, trace.runs).gaps
    assert gaps.by_cause["unknown"] == 260_000 + 160_000
    assert gaps.idle_ns == 260_000 + 160_000 + 6 * 60_000
    for command in ("info", "profile"):
        main([command, str(tmp_path / "out")])
        assert sentence in capsys.readouterr().out


def test_where_nothing_is_lost_nothing_is_said(tmp_path, capsys):
    trace = imported(list(steps(12)), tmp_path)
    assert "have no execution" not in capsys.readouterr().out
    assert "unknown" not in PartFigures(trace, trace.runs).gaps.by_cause


def test_launches_into_a_graph_have_no_execution_to_lose(tmp_path, capsys):
    captured = [
        event("cuda_runtime", "cudaStreamBeginCapture_v10000", 1201, 1, 90),
        event("cuda_runtime", "cudaLaunchKernel", 1205, 2, 91),
        event("cuda_runtime", "cudaStreamEndCapture", 1209, 1, 92),
        event("cuda_runtime", "cudaLaunchKernel", 1215, 2, 93),
    ]
    imported([*steps(12), *captured], tmp_path)
    assert "1 of 13 requests have no execution" in capsys.readouterr().out


def calls(*rows):
    return Calls(*(np.array(column, np.int64) for column in zip(*rows, strict=True)))


NO_CAPTURES = (Calls(*[np.zeros(0, np.int64)] * 4),) * 2


@pytest.mark.parametrize(
    ("rows", "executed", "lost", "total"),
    [
        ([(0, 9, 1, 5), (2, 7, 1, 6), (10, 19, 1, 7)], [6, 7], [], 2),  # the inner call's id
        ([(0, 9, 1, 5), (2, 7, 1, 6), (10, 19, 1, 7)], [7], [0], 2),  # both lost: one request
        ([(0, 9, 1, 5), (2, 7, 2, 6)], [5], [1], 2),  # of another thread: two requests
        ([(0, 9, 1, 5), (2, 7, 1, 6)], [8], [], 0),  # ids that tell nothing
        ([(0, 9, 1, NONE), (10, 19, 1, 7)], [7], [], 1),
    ],
)
def test_of_calls_in_one_another_the_outermost_is_one_request(rows, executed, lost, total):
    found, number = unexecuted(calls(*rows), NO_CAPTURES, np.array(executed))
    assert (found.tolist(), number) == (lost, total)
