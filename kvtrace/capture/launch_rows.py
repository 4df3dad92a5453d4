"""Launch rows of the hot path as columns of the table `launches`, without a copy per row."""

from typing import Any, Final

import numpy as np
import pyarrow as pa

from kvtrace.capture.records import GRAPH_CAPTURE, GRAPH_SHIFT, PHASES
from kvtrace.schema.arrays import array_of, array_of_numpy

#: The layout of `hot.ROW`, and of `struct row` in `_hot.c`.
LAYOUT: Final = np.dtype(
    [
        ("enter", "<i8"),
        ("exit", "<i8"),
        ("call_id", "<i8"),
        ("stream", "<i8"),
        ("thread", "<i8"),
        ("contents", "<i8"),
        ("device", "<i4"),
        ("phase", "<i4"),
    ]
)

PHASE_MASK: Final = (1 << GRAPH_SHIFT) - 1

#: Threads may note the ends of their launches in another order than they read the clock, so close.
_UNEVEN: Final = 10_000_000

_PHASES = array_of(PHASES, pa.string())


def has_graph_capture(content: bytes) -> bool:
    """Whether any of the launches went into a graph."""
    phases = np.frombuffer(content, LAYOUT)["phase"] & PHASE_MASK
    return bool((phases == GRAPH_CAPTURE).any())


def stepped_back(columns: dict[str, Any], last_exit: int) -> bool:
    """Have no launch end before it begins; return whether the clock was set back in the meantime.

    Rows are in the order in which launches ended; `last_exit` is when the one before them did.
    """
    ends = columns["exit"]
    steps = np.diff(ends, prepend=last_exit)
    took = ends - columns["enter"]
    columns["exit"] = np.maximum(ends, columns["enter"])
    return bool(min(steps.min(), took.min()) < -_UNEVEN)


def columns_of(content: bytes) -> dict[str, Any]:
    """Columns of `launches`, without `seq`; device, stream and graph are null without one.

    `contents`, which is not a column of the table, numbers what was copied for a launch; 0:
    nothing.
    """
    rows = np.frombuffer(content, LAYOUT)
    columns: dict[str, Any] = {
        name: np.ascontiguousarray(rows[name])
        for name in ("enter", "exit", "call_id", "thread", "contents")
    }
    absent = rows["device"] < 0
    for name in ("device", "stream"):
        columns[name] = array_of_numpy(rows[name], absent)
    columns["phase"] = pa.DictionaryArray.from_arrays(
        array_of_numpy(rows["phase"] & PHASE_MASK), _PHASES
    )
    graph = (rows["phase"] >> GRAPH_SHIFT).astype(np.int64)
    columns["graph_id"] = array_of_numpy(graph, graph == 0)
    return columns
