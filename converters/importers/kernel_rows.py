"""Kernels, calls and launches of executions: those that no library is known to have made.

What cuBLAS, NCCL or torch made stays an execution alone, as in kvtrace's own recordings. A call is
then a name, a grid, a block, registers and shared memory, as far as known, without arguments.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np

from kvtrace.converters.importers.rows import NONE, Integers, RunRows
from kvtrace.figures.causes import share_request
from kvtrace.figures.makers import kind_of
from kvtrace.schema.layout import IMPORTED
from kvtrace.schema.symbols import titled

#: What makes two executions of one name two variants of the kernel.
_VARIANT: Final = ("name", "block_x", "block_y", "block_z", "registers", "shared_bytes")
_GRID: Final = ("grid_x", "grid_y", "grid_z")


def add_calls(
    rows: RunRows, columns: dict[str, Integers], names: list[str], spans: Integers
) -> None:
    """Write kernels, calls and launches, and add `call_id` and `launch_seq` to the columns.

    Args:
        rows: Where they are written.
        columns: Columns of `gpu_kernels`, in the order of `start`.
        names: What the numbers in the column `name` mean.
        spans: When the request of each execution ended, or NONE.

    """
    count = columns["name"].size
    columns |= {"call_id": np.full(count, NONE), "launch_seq": np.full(count, NONE)}
    own = np.array([kind_of(name) == "other" for name in names], bool)
    shown = own[columns["name"]] & (columns["kind"] == NONE) if count else np.zeros(0, bool)
    where = np.flatnonzero(shown)
    if not where.size:
        return
    variants, kernel = _distinct([columns[name][where] for name in _VARIANT])
    grids, call = _distinct([kernel, *(columns[name][where] for name in _GRID)])
    columns["call_id"][where] = call
    rows.rows(
        "kernels",
        [
            {
                "kernel_id": number,
                "name": titled(names[name]),
                "function": names[name],
                "registers": None if registers == NONE else registers,
                "shared_bytes": None if shared == NONE else shared,
                "origin": IMPORTED,
            }
            for number, (name, _, _, _, registers, shared) in enumerate(variants.tolist())
        ],
    )
    first = np.unique(call, return_index=True)[1]
    stacks = columns["stack_id"][where][first].tolist()
    rows.rows(
        "calls",
        [
            {
                "call_id": number,
                "kernel_id": row[0],
                **{name: None if size == NONE else size for name, size in _sizes(row)},
                "stack_id": None if stack == NONE else stack,
            }
            for number, (row, stack) in enumerate(zip(grids.tolist(), stacks, strict=True))
        ],
    )
    _add_launches(rows, columns, where, spans)


def _add_launches(
    rows: RunRows, columns: dict[str, Integers], where: Integers, spans: Integers
) -> None:
    """Write a launch for each request of one of these kernels alone: a graph's has several."""
    alone = ~share_request(columns["correlation_id"]) & (columns["requested"] != NONE)
    alone &= (columns["graph_id"] == NONE) & (columns["graph_node_id"] == NONE)
    launched = where[alone[where]]
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


def _sizes(row: list[int]) -> Iterator[tuple[str, int]]:
    return zip(_GRID, row[1:], strict=True)


def _distinct(columns: list[Integers]) -> tuple[Integers, Integers]:
    """Return the distinct rows of columns in the order in which they first come, and each one's."""
    table = np.stack(columns, 1)
    rows, first, place = np.unique(table, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    return rows[order], rank[place.reshape(-1)]
