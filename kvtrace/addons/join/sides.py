"""The two sides of a join as arrays: recorded launches, executions that another tool timed."""

from dataclasses import dataclass
from math import prod
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.addons.join.looks import Look, numbered
from kvtrace.figures.causes import NONE, Flags, Integers, Launches, device_look
from kvtrace.figures.columns import (
    combined_codes,
    dictionary_values,
    integers,
)
from kvtrace.schema.columns import without_dictionary
from kvtrace.schema.runs import Run
from kvtrace.schema.trace import Trace

#: Columns of an execution that tell what it looks like.
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
class Launched(Launches):
    """Launches in order of `seq`, with the thread that called each."""

    thread: Integers


@dataclass(frozen=True)
class Executed:
    """Executions of another tool, in the order of their rows, one array a column.

    Attributes:
        start: When it began on the device.
        correlation: Its number, which the executions of a replay share.
        place: A number for its device and stream.
        graph: The graph that it was replayed from.
        requested: When the host asked for it.
        thread: The thread that did.
        look: What it looks like; `FOREIGN` where no launch looks like that.
        file: The number of the run that it is of, where there are several.

    """

    start: Integers
    correlation: Integers
    place: Integers
    graph: Integers
    requested: Integers
    thread: Integers
    look: Integers
    file: Integers


class Sides(NamedTuple):
    """A recording's launches, and executions.

    Attributes:
        launched: The launches.
        executed: The executions.
        uncertain: Looks that are known in part.
        sampled: Whether launches were left out, or a row may be the sum of several executions.

    """

    launched: Launched
    executed: Executed
    uncertain: set[int]
    sampled: bool


def sides(trace: Trace, run: Run, executions: pa.Table) -> Sides:
    """Return the launches of a run, and executions, with numbers for what looks alike.

    Args:
        trace: The recording.
        run: The run of it.
        executions: Rows of `gpu_kernels` of other runs, with their column `run`.

    Raises:
        DamagedFile, NewerFormat: a file cannot be read.

    """
    calls = _looks_of_calls(trace, run)
    codes, examples = combined_codes([executions[name] for name in _LOOK])
    looks = _looks_of_executions(executions, examples)
    numbers = numbered(calls, looks)
    own = np.asarray(numbers.executions, np.int64)[codes] if looks else codes
    launched, sampled = _launched(trace, run, numbers.calls)
    sampled |= _are_sampled(executions)
    return Sides(launched, _executed(executions, own), numbers.uncertain, sampled)


def _looks_of_calls(trace: Trace, run: Run) -> dict[int, Look]:
    kernels = {row["kernel_id"]: row for row in trace.table("kernels", [run], _KERNEL).to_pylist()}
    columns = ["call_id", "kernel_id", "grid_x", "grid_y", "grid_z"]
    found = {}
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
        found[call["call_id"]] = Look(*look, block, kernel["shared_bytes"])
    return found


def _looks_of_executions(rows: pa.Table, examples: Integers) -> list[Look]:
    columns = [dictionary_values(rows[name], examples) for name in _LOOK]
    return [_look(*values) for values in zip(*columns, strict=True)]


def _look(kind: str | None, name: str | None, *sizes: int | None) -> Look:
    """Return what an execution looks like; a copy or fill of memory is like no kernel."""
    x, y, z, *block, shared_bytes = sizes
    if kind:
        return Look("", (0, 0, 0))
    grid = None if x is None or y is None or z is None else (x, y, z)
    known = [size for size in block if size is not None]
    return Look(name or "", grid, prod(known) if len(known) == len(block) else None, shared_bytes)


def _launched(trace: Trace, run: Run, looks: dict[int, int]) -> tuple[Launched, bool]:
    """Return the launches that may have executions, and whether others were left out."""
    names = ["seq", "call_id", "enter", "exit", "thread", "device", "stream", "graph_id", "weight"]
    rows = trace.table("launches", [run], [*names, "phase"]).sort_by("seq")
    call = integers(rows["call_id"])
    look = _by_number(looks, call)
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
    launched = Launched(**{key: value[usable] for key, value in columns.items()})
    return launched, _are_sampled(rows)


def _executed(rows: pa.Table, look: Integers) -> Executed:
    return Executed(
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


def _by_number(values: dict[int, int], wanted: Integers) -> Integers:
    distinct, place = np.unique(wanted, return_inverse=True)
    found = [values.get(number, NONE) for number in distinct.tolist()]
    return np.asarray(found, np.int64)[place] if found else wanted
