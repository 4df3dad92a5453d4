"""Launch rows of the hot path as columns of the table `launches`, without a copy per row."""

from typing import Any, Final

import numpy as np
import pyarrow as pa

from kvtrace.capture.records import GRAPH_CAPTURE, PHASES

#: The layout of `hot.ROW`, and of `struct row` in `_hot.c`.
LAYOUT: Final = np.dtype(
    [
        ("enter", "<i8"),
        ("exit", "<i8"),
        ("call_id", "<i8"),
        ("stream", "<i8"),
        ("thread", "<i8"),
        ("device", "<i4"),
        ("phase", "<i4"),
    ]
)

_PHASES = pa.array(PHASES, pa.string())


def has_graph_capture(content: bytes) -> bool:
    """Whether any of the launches went into a graph."""
    return bool((np.frombuffer(content, LAYOUT)["phase"] == GRAPH_CAPTURE).any())


def columns_of(content: bytes) -> dict[str, Any]:
    """Columns of `launches`, without `seq`; device and stream are null where there is no device."""
    rows = np.frombuffer(content, LAYOUT)
    columns: dict[str, Any] = {
        name: np.ascontiguousarray(rows[name]) for name in ("enter", "exit", "call_id", "thread")
    }
    absent = rows["device"] < 0
    for name in ("device", "stream"):
        columns[name] = pa.array(np.ascontiguousarray(rows[name]), mask=absent)
    columns["phase"] = pa.DictionaryArray.from_arrays(
        pa.array(np.ascontiguousarray(rows["phase"])), _PHASES
    )
    return columns
