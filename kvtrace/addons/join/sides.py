"""Both sides of a join as arrays: recorded launches, and executions timed by another tool.

Launches are matched by looks, the properties that a device reports. Name and grid are always
compared. Block size and shared memory are compared if both sides know them, unless executions of
that name and grid have a value that no launch has: then the kernel was compiled again for the other
run, and launches are matched by name and grid alone. Registers are not compared: a device reports
allocated registers, for example 32 where the compiler says 24. For tools without grids, such as
Proton, only names are compared.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.figures.causes import NONE, Flags, Integers, Launches, device_look
from kvtrace.figures.columns import combined_codes, dictionary_values, integers
from kvtrace.schema.columns import without_dictionary
from kvtrace.schema.runs import Run
from kvtrace.schema.trace import Trace

#: Columns of an execution's look.
_LOOK: Final = (
    "kind", "name", "grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z", "shared_bytes",
)  # fmt: skip
_KERNEL: Final = (
    "kernel_id", "name", "function", "num_warps", "warp_size", "num_ctas", "shared_bytes",
)  # fmt: skip
_LAUNCH: Final = (
    "seq", "call_id", "enter", "exit", "thread", "device", "stream", "graph_id", "weight", "phase",
)  # fmt: skip


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

    `uncertain` are numbers of partly known looks; see `Look`. `sampled`: some launches were not
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
    numbers = number_looks(calls, looks)
    executed_looks = np.asarray(numbers.executions, np.int64)[codes] if looks else codes
    launched, sampled = _launched(trace, run, numbers.calls)
    executed = _executed(executions, executed_looks)
    return JoinSides(launched, executed, numbers.uncertain, sampled or _are_sampled(executions))


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
    block_sizes = [size for size in block if size is not None]
    threads = prod(block_sizes) if len(block_sizes) == len(block) else None
    return Look(name or "", grid, threads, shared_bytes)


def _launched(trace: Trace, run: Run, looks: dict[int, int]) -> tuple[RecordedLaunches, bool]:
    """Return the launches that may have executions, and whether sampling left out others.

    `looks` are the numbers of looks by call id.
    """
    rows = trace.table("launches", [run], _LAUNCH).sort_by("seq")
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
    distinct, places = np.unique(numbers, return_inverse=True)
    values_of_distinct = [values.get(number, NONE) for number in distinct.tolist()]
    return np.asarray(values_of_distinct, np.int64)[places]


# -- looks -----------------------------------------------------------------------------------------


#: Number of looks that no launch has.
FOREIGN: Final = -1
#: Suffix that rocprof appends to function names.
_DESCRIPTOR: Final = ".kd"
_NameAndGrid = tuple[str, tuple[int, int, int] | None]


class Look(NamedTuple):
    """Name, grid in blocks, threads per block, and bytes of shared memory; None where unknown."""

    name: str
    grid: tuple[int, int, int] | None
    block: int | None = None
    shared_bytes: int | None = None


@dataclass(slots=True)
class LookNumbers:
    """Numbers of looks; looks that cannot be distinguished share a number.

    Attributes:
        calls: The number of each call's look, by call id.
        executions: The number of each execution's look, in order; FOREIGN if no launch has it.
        uncertain: Numbers of kernels that were compiled differently for the executions, or
            whose grid the executions lack.
    """

    calls: dict[int, int] = field(default_factory=dict)
    executions: list[int] = field(default_factory=list)
    uncertain: set[int] = field(default_factory=set)


def number_looks(calls: Mapping[int, Look], executions: Sequence[Look]) -> LookNumbers:
    """Number the looks of calls and executions; a call and its executions get equal numbers."""
    executions = [look._replace(name=look.name.removesuffix(_DESCRIPTOR)) for look in executions]
    gridless = {look.name for look in executions if look.grid is None}
    executions = [_without_grid(look, gridless) for look in executions]
    calls = {call: _without_grid(look, gridless) for call, look in calls.items()}
    launched, executed = _by_name_and_grid(calls.values()), _by_name_and_grid(executions)
    compared: dict[_NameAndGrid, tuple[bool, ...]] = {}
    compiled_again: set[_NameAndGrid] = set()
    for name_and_grid, looks in launched.items():
        compared[name_and_grid], has_new_values = _comparison(looks, executed.get(name_and_grid))
        if has_new_values:
            compiled_again.add(name_and_grid)
    result, number_by_look = LookNumbers(), dict[Hashable, int]()
    for call, look in calls.items():
        key = _compared_look(look, compared[look[:2]])
        result.calls[call] = number = number_by_look.setdefault(key, len(number_by_look))
        if look[:2] in executed and (look.grid is None or look[:2] in compiled_again):
            result.uncertain.add(number)
    for look in executions:
        is_launched = look[:2] in compared
        key = _compared_look(look, compared[look[:2]]) if is_launched else None
        result.executions.append(number_by_look.get(key, FOREIGN))
    return result


def _comparison(launched: set[Look], executed: set[Look] | None) -> tuple[tuple[bool, ...], bool]:
    """Return which of block size and shared memory are compared, and if executions have new values.

    A property is compared if both sides know it and launches have every value of the executions.
    """
    are_compared, has_new_values = [], False
    for index in (2, 3):
        launch_values = {look[index] for look in launched}
        values = {look[index] for look in executed or ()}
        is_known = bool(values) and None not in launch_values | values
        are_compared.append(is_known and values <= launch_values)
        has_new_values |= is_known and not values <= launch_values
    return tuple(are_compared), has_new_values


def _without_grid(look: Look, names: Container[str]) -> Look:
    return look._replace(grid=None) if look.name in names else look


def _by_name_and_grid(looks: Iterable[Look]) -> dict[_NameAndGrid, set[Look]]:
    looks_by_name_and_grid: dict[_NameAndGrid, set[Look]] = {}
    for look in looks:
        looks_by_name_and_grid.setdefault((look.name, look.grid), set()).add(look)
    return looks_by_name_and_grid


def _compared_look(look: Look, compared: tuple[bool, ...]) -> Hashable:
    compared_values = (
        value if is_compared else None
        for value, is_compared in zip(look[2:], compared, strict=True)
    )
    return (*look[:2], *compared_values)
