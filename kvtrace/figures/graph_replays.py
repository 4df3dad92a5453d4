"""Replays of CUDA graphs: their number, and the executions in them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from kvtrace.figures.columns import integers
from kvtrace.text import plural

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

#: All executions of a replay have the driver's id of the call that replayed the graph.
_REPLAY: Final = ["graph_id", "correlation_id"]


@dataclass(frozen=True, slots=True)
class GraphReplays:
    """Replays of graphs in some runs, and the executions in them, of all executions."""

    graphs: int
    replays: int
    executions: int
    of_executions: int

    @property
    def sentence(self) -> str:
        """Sentence on the replays and their executions."""
        return (
            f"{plural(self.replays, 'replay')} of {plural(self.graphs, 'graph')} ran "
            f"{self.executions:,} of {plural(self.of_executions, 'execution')}"
        )


def read_graph_replays(trace: "Trace", runs: Sequence["Run"]) -> GraphReplays | None:
    """Return the replays of graphs in some runs; None without any, or if rows were dropped."""
    if any(run.has_weights for run in runs):
        return None  # the oldest replays are not recorded one by one
    graphs = replays = executions = of_executions = 0
    for run in runs:
        seen = [np.zeros((2, 0), np.int64)]
        for piece in trace.pieces("gpu_kernels", [run], _REPLAY):
            ids = np.stack([integers(piece[name], -1) for name in _REPLAY])
            replayed = ids[:, piece["graph_id"].is_valid().to_numpy()]
            of_executions += piece.num_rows
            executions += replayed.shape[1]
            # Most rows are of the replay of the row before them, which need not be sorted.
            is_first = np.any(np.diff(replayed, axis=1, prepend=-2) != 0, axis=0)
            seen.append(np.unique(replayed[:, is_first], axis=1))
        distinct = np.unique(np.concatenate(seen, axis=1), axis=1)
        graphs += len(np.unique(distinct[0]))
        replays += distinct.shape[1]
    return GraphReplays(graphs, replays, executions, of_executions) if replays else None
