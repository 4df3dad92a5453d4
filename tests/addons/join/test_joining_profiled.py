"""Recordings and torch.profiler's traces of the same processes, on a GPU: two ways, one answer."""

from pathlib import Path

import numpy as np
import pytest

from kvtrace.addons.join.joining import JoinedExecutions
from kvtrace.addons.join.results import join, opened_times
from kvtrace.figures.causes import NONE
from kvtrace.figures.columns import integers
from kvtrace.schema.trace import open_trace, select_runs
from tests.support.tree import ROOT

PROFILED = ROOT / "tests" / "fixtures" / "profiled"
#: Executions of recorded kernels in each.
PROGRAMS = {"eager": 114, "graphs": 540}


def joined(program: str, *, by_order: bool = False) -> JoinedExecutions:
    """Join a program's recording with what torch.profiler wrote."""
    folder = PROFILED / program
    with opened_times([folder / "rank0.pt.trace.json.gz"]) as times:
        (done,) = join(select_runs(folder / "kvtrace"), times, by_order=by_order)
    return done.joined


@pytest.mark.parametrize(("program", "executions"), PROGRAMS.items())
def test_host_times_and_order_agree_on_every_execution(program: str, executions: int) -> None:
    by_time, by_order = joined(program).matches, joined(program, by_order=True).matches
    assert int((by_time.seq != NONE).sum()) == executions
    assert np.array_equal(by_time.seq, by_order.seq)
    assert np.array_equal(by_time.call, by_order.call)


def test_graphs_are_replayed_in_the_order_of_kvtraces_own_timeline() -> None:
    found = joined("graphs")
    rows = found.rows.select(["correlation_id"])
    requests = integers(rows["correlation_id"])
    of_graph = np.flatnonzero(found.matches.graph != NONE)
    _, first = np.unique(requests[of_graph], return_index=True)
    replayed = found.matches.graph[of_graph[first]].tolist()
    assert replayed == own_steps(PROFILED / "graphs" / "kvtrace")[0] * 3


def own_steps(trace: Path) -> list[list[int]]:
    """Return the captured graphs that each step after the profiler replayed, by kvtrace's timeline.

    The driver numbers a graph that can be launched one above the captured one.
    """
    columns = ["graph_id", "correlation_id", "call_id", "start"]
    table = open_trace(trace).table("gpu_kernels", columns=columns).sort_by("start")
    table = table.filter(table["graph_id"].is_valid())
    table = table.filter(table["call_id"].is_valid())
    requests, graphs = integers(table["correlation_id"]), integers(table["graph_id"])
    _, first = np.unique(requests, return_index=True)
    order = (graphs[np.sort(first)] - 1).tolist()
    begins = [at for at, graph in enumerate(order) if graph == order[0]]
    steps = [order[a:b] for a, b in zip(begins, [*begins[1:], None], strict=True)]
    return steps[-2:]
