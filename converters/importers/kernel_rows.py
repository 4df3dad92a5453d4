"""Rows of kernels, calls and launches for imported executions of the user's kernels.

Kernels of known libraries (cuBLAS, NCCL, torch) get none, as in kvtrace's own recordings. Calls are
distinguished by name, grid, block, registers and shared memory; they have no arguments.
"""

from typing import Final

import numpy as np

from kvtrace.converters.importers.rows import NONE, Integers, RunRows
from kvtrace.figures.causes import share_request
from kvtrace.figures.makers import kind_of
from kvtrace.figures.names import shown_names
from kvtrace.schema.layout import IMPORTED

#: Columns whose values distinguish variants of kernels.
_VARIANT_COLUMNS: Final = ("name", "block_x", "block_y", "block_z", "registers", "shared_bytes")
_GRID: Final = ("grid_x", "grid_y", "grid_z")


def add_calls(
    rows: RunRows,
    columns: dict[str, Integers],
    names: list[str],
    spans: Integers,
    requests: Integers,
) -> None:
    """Write kernels, calls and launches, and add `call_id` and `launch_seq` to the columns.

    Args:
        rows: The run that rows are added to.
        columns: Columns of `gpu_kernels`, in the order of `start`; they are extended.
        names: Texts that the numbers in the column `name` refer to.
        spans: End of each execution's request, or NONE.
        requests: The number of each execution's request, or -1.

    """
    count = columns["name"].size
    columns |= {"call_id": np.full(count, NONE), "launch_seq": np.full(count, NONE)}
    is_user_kernel = np.array([kind_of(name) == "other" for name in names], bool)
    has_call = (
        is_user_kernel[columns["name"]] & (columns["kind"] == NONE) if count else np.zeros(0, bool)
    )
    call_rows = np.flatnonzero(has_call)
    if not call_rows.size:
        return
    variants, kernel = _distinct([columns[name][call_rows] for name in _VARIANT_COLUMNS])
    grids, call = _distinct([kernel, *(columns[name][call_rows] for name in _GRID)])
    columns["call_id"][call_rows] = call
    shown = shown_names(names)
    rows.rows(
        "kernels",
        [
            {
                "kernel_id": index,
                "name": shown[names[name]],
                "function": names[name],
                "registers": None if registers == NONE else registers,
                "shared_bytes": None if shared == NONE else shared,
                "origin": IMPORTED,
            }
            for index, (name, _, _, _, registers, shared) in enumerate(variants.tolist())
        ],
    )
    first_rows = np.unique(call, return_index=True)[1]
    stacks = columns["stack_id"][call_rows][first_rows].tolist()
    rows.rows(
        "calls",
        [
            {
                "call_id": index,
                "kernel_id": row[0],
                **{axis: None if row[n] == NONE else row[n] for n, axis in enumerate(_GRID, 1)},
                "stack_id": None if stack == NONE else stack,
            }
            for index, (row, stack) in enumerate(zip(grids.tolist(), stacks, strict=True))
        ],
    )
    _add_launches(rows, columns, call_rows, spans, requests)


def _add_launches(
    rows: RunRows,
    columns: dict[str, Integers],
    call_rows: Integers,
    spans: Integers,
    requests: Integers,
) -> None:
    """Write a launch for each request that started exactly one execution, of those in `where`.

    Graph launches start several. `columns["launch_seq"]` is set.
    """
    is_single = ~share_request(requests) & (columns["requested"] != NONE)
    is_single &= (columns["graph_id"] == NONE) & (columns["graph_node_id"] == NONE)
    launched = call_rows[is_single[call_rows]]
    launched = launched[np.argsort(columns["requested"][launched], kind="stable")]
    if not launched.size:
        return
    numbers = np.arange(launched.size)
    columns["launch_seq"][launched] = numbers
    rows.columns(
        "launches",
        {
            "seq": numbers,
            "call_id": columns["call_id"][launched],
            "enter": columns["requested"][launched],
            "exit": spans[launched],
            "thread": columns["request_thread"][launched],
            "device": columns["device"][launched],
            "stream": columns["stream"][launched],
            "phase": np.zeros(launched.size, np.int64),
        },
        {"phase": ("run",)},
    )


def _distinct(columns: list[Integers]) -> tuple[Integers, Integers]:
    """Return the distinct rows of columns, by first occurrence, and the index of each row's."""
    table = np.stack(columns, 1)
    rows, first_rows, row_index = np.unique(table, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first_rows, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    return rows[order], rank[row_index.reshape(-1)]
