"""Replays of CUDA graphs: their number, and the executions in them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.schema.trace import Run, Trace
from kvtrace.text import plural

#: All executions of a replay have the driver's id of the call that replayed the graph.
_REPLAY: Final = ["graph_id", "correlation_id"]


@dataclass(frozen=True, slots=True)
class GraphReplays:
    """Replays of graphs in some runs, and the executions in them, of all executions.

    `graphs` is 0 where no graph has a number: a replay is then a call that ran several executions.
    """

    graphs: int
    replays: int
    executions: int
    of_executions: int

    @property
    def sentence(self) -> str:
        """Sentence on the replays and their executions."""
        graphs = plural(self.graphs, "graph") if self.graphs else "graphs"
        return (
            f"{plural(self.replays, 'replay')} of {graphs} ran "
            f"{self.executions:,} of {plural(self.of_executions, 'execution')}"
        )


def read_graph_replays(trace: Trace, runs: Sequence[Run]) -> GraphReplays | None:
    """Return the replays of graphs in some runs; None without any, or if rows were dropped."""
    if any(run.has_weights for run in runs):
        return None  # the oldest replays are not recorded one by one
    graphs = replays = executions = of_executions = 0
    for run in runs:
        seen = []
        for piece in trace.pieces("gpu_kernels", [run], _REPLAY):
            replayed = piece.filter(piece["graph_id"].is_valid())
            of_executions += piece.num_rows
            executions += replayed.num_rows
            seen.append(_distinct(replayed))
        if seen:
            distinct = _distinct(pa.concat_tables(seen))
            graphs += len(distinct["graph_id"].unique())
            replays += distinct.num_rows
            if run.source is not None and not distinct.num_rows:
                of_calls = _executions_of_calls(trace, run)
                replays, executions = replays + len(of_calls), executions + sum(of_calls)
    return GraphReplays(graphs, replays, executions, of_executions) if replays else None


def _executions_of_calls(trace: Trace, run: Run) -> list[int]:
    """Return how many executions the calls of the host ran that ran several."""
    calls = trace.table("gpu_kernels", [run], ["requested", "correlation_id"]).drop_null()
    numbers = calls.group_by("correlation_id").aggregate([([], "count_all")])["count_all"]
    return [int(number) for number in numbers.filter(pc.greater(numbers, 1)).to_pylist()]


def _distinct(rows: pa.Table) -> pa.Table:
    return rows.group_by(_REPLAY).aggregate([])
