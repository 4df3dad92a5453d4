"""Both sides of a join as arrays: recorded launches, and executions timed by another tool."""

from dataclasses import dataclass
from math import prod
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.addons.join.looks import Look, number_looks
from kvtrace.figures.causes import NONE, Flags, Integers, Launches, device_look
from kvtrace.figures.columns import (
    combined_codes,
    dictionary_values,
    integers,
)
from kvtrace.schema.columns import without_dictionary
from kvtrace.schema.runs import Run
from kvtrace.schema.trace import Trace

#: Columns of an execution's look.
_LOOK: Final = (
    "kind",
    "name",
    "grid_x",
    "grid_y",
    "grid_z",
    "block_x",
    "block_y",
    "block_z",
    "shared_bytes",
)
_KERNEL: Final = (
    "kernel_id",
    "name",
    "function",
    "num_warps",
    "warp_size",
    "num_ctas",
    "shared_bytes",
)


@dataclass(frozen=True)
class RecordedLaunches(Launches):
    """Launches in the order of `seq`, with the thread of each."""

    thread: Integers


@dataclass(frozen=True)
class TimedExecutions:
    """Executions of another tool, in the order of their rows, as columns.

    Attributes:
        start: Begin on the device, in ns.
        correlation: Correlation id, which the executions of a replay share.
        place: A number for file, device and stream.
        graph: The graph of a replayed execution.
        requested: Time of the host's request, in ns.
        thread: Thread of the request.
        look: Number of the look; `FOREIGN` if no launch looks alike.
        file: The number of the run with the times.
    """

    start: Integers
    correlation: Integers
    place: Integers
    graph: Integers
    requested: Integers
    thread: Integers
    look: Integers
    file: Integers


class JoinSides(NamedTuple):
    """A recording's launches, and another tool's executions.

    `uncertain` are numbers of partly known looks; see `looks.py`. `sampled`: some launches were not
    recorded, or rows may be sums of several executions.
    """

    launched: RecordedLaunches
    executed: TimedExecutions
    uncertain: set[int]
    sampled: bool


def sides(trace: Trace, run: Run, executions: pa.Table) -> JoinSides:
    """Return a run's launches and the executions as arrays, with the number of each one's look.

    `run` is a recorded run; `executions` are rows of `gpu_kernels` of other runs, with their column
    `run`.

    Raises:
        DamagedFile, NewerFormat: a file cannot be read.
    """
    calls = _looks_of_calls(trace, run)
    codes, examples = combined_codes([executions[name] for name in _LOOK])
    looks = _looks_of_executions(executions, examples)
    look_numbers_of_sides = number_looks(calls, looks)
    look_numbers = np.asarray(look_numbers_of_sides.executions, np.int64)[codes] if looks else codes
    launched, sampled = _launched(trace, run, look_numbers_of_sides.calls)
    sampled |= _are_sampled(executions)
    return JoinSides(
        launched, _executed(executions, look_numbers), look_numbers_of_sides.uncertain, sampled
    )


def _looks_of_calls(trace: Trace, run: Run) -> dict[int, Look]:
    kernels = {row["kernel_id"]: row for row in trace.table("kernels", [run], _KERNEL).to_pylist()}
    columns = ["call_id", "kernel_id", "grid_x", "grid_y", "grid_z"]
    looks = {}
    for call in trace.table("calls", [run], columns).to_pylist():
        kernel = kernels.get(call["kernel_id"])
        if kernel is None:
            continue
        grid = [call[f"grid_{axis}"] for axis in "xyz"]
        look = device_look(kernel["function"], kernel["name"], kernel["num_ctas"], grid)
        if look is None:
            continue
        warps, width = kernel["num_warps"], kernel["warp_size"]
        block = warps * width if warps and width else None
        looks[call["call_id"]] = Look(*look, block, kernel["shared_bytes"])
    return looks


def _looks_of_executions(rows: pa.Table, examples: Integers) -> list[Look]:
    columns = [dictionary_values(rows[name], examples) for name in _LOOK]
    return [_look(*values) for values in zip(*columns, strict=True)]


def _look(kind: str | None, name: str | None, *sizes: int | None) -> Look:
    """Return the look of an execution; of copies and fills of memory (`kind`), one of no kernel."""
    x, y, z, *block, shared_bytes = sizes
    if kind:
        return Look("", (0, 0, 0))
    grid = None if x is None or y is None or z is None else (x, y, z)
    sizes_known = [size for size in block if size is not None]
    return Look(
        name or "",
        grid,
        prod(sizes_known) if len(sizes_known) == len(block) else None,
        shared_bytes,
    )


def _launched(trace: Trace, run: Run, looks: dict[int, int]) -> tuple[RecordedLaunches, bool]:
    """Return the launches that may have executions, and whether sampling left out others.

    `looks` are the numbers of looks by call id.
    """
    column_names = [
        "seq",
        "call_id",
        "enter",
        "exit",
        "thread",
        "device",
        "stream",
        "graph_id",
        "weight",
    ]
    rows = trace.table("launches", [run], [*column_names, "phase"]).sort_by("seq")
    call = integers(rows["call_id"])
    look = _looked_up(looks, call)
    phase = pc.fill_null(without_dictionary(rows["phase"]), "")
    captured: Flags = np.asarray(pc.equal(phase, "graph_capture"))
    graph = integers(rows["graph_id"], 0)
    enter, leave = integers(rows["enter"], NONE), integers(rows["exit"], NONE)
    usable = (look >= 0) & (enter >= 0) & (leave >= enter) & (~captured | (graph > 0))
    columns = {
        "seq": integers(rows["seq"]),
        "call": call,
        "enter": enter,
        "leave": leave,
        "thread": integers(rows["thread"], NONE),
        "place": _places(rows),
        "graph": np.where(captured, graph, NONE),
        "look": look,
    }
    launched = RecordedLaunches(**{key: value[usable] for key, value in columns.items()})
    return launched, _are_sampled(rows)


def _executed(rows: pa.Table, look: Integers) -> TimedExecutions:
    return TimedExecutions(
        start=integers(rows["start"], NONE),
        correlation=integers(rows["correlation_id"], NONE),
        place=_places(rows),
        graph=integers(rows["graph_id"], NONE),
        requested=integers(rows["requested"], NONE),
        thread=integers(rows["request_thread"], NONE),
        look=look,
        file=combined_codes([rows["run"]])[0],
    )


def _are_sampled(rows: pa.Table) -> bool:
    return bool((integers(rows["weight"], 1) > 1).any())


def _places(rows: pa.Table) -> Integers:
    columns = ["device", "stream", *(["run"] if "run" in rows.column_names else [])]
    return combined_codes([rows[name] for name in columns])[0]


def _looked_up(values: dict[int, int], numbers: Integers) -> Integers:
    distinct, index_in_distinct = np.unique(numbers, return_inverse=True)
    values_of_distinct = [values.get(number, NONE) for number in distinct.tolist()]
    return (
        np.asarray(values_of_distinct, np.int64)[index_in_distinct]
        if values_of_distinct
        else numbers
    )
