"""Executions of libraries (cuBLAS, cuDNN, torch), copies and fills, by name and call stack."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from kvtrace.figures.identity import kind_of
from kvtrace.figures.kernels import EXECUTED, sums
from kvtrace.figures.lines import place_of
from kvtrace.figures.names import shown_names
from kvtrace.figures.scans import row_count
from kvtrace.figures.sums_reading import sums_of
from kvtrace.figures.tables import row_dicts, scratch

if TYPE_CHECKING:
    import duckdb

    from kvtrace.schema.trace import Run, Trace

_UNKNOWN: Final = "(unknown)"
#: Sums of the executions with a condition by keys, and if some were `asked`.
_SUMMED: Final = f"""
    SELECT {{keys}}, bool_or(asked) AS asked, {sums(EXECUTED)}
    FROM (SELECT *, taken_ns AS taken, timed AND NOT tuning AS steady FROM summed) executed
    WHERE {{condition}} GROUP BY {{keys}} HAVING sum(CASE WHEN steady THEN 1 ELSE 0 END) > 0
    ORDER BY {{keys}}
"""  # noqa: S608
_COUNTED: Final = """
    SELECT name, sum(weight) FROM summed WHERE call_id IS NULL AND kind IS NULL
    GROUP BY name ORDER BY name
"""
_OF_LIBRARIES: Final = _SUMMED.format(
    keys="name, kind, stack_id, forward_stack_id", condition="call_id IS NULL"
)
#: Executions of calls in a backward, by the stack at which autograd made their node.
_OF_NODES: Final = _SUMMED.format(
    keys="run, call_id, forward_stack_id",
    condition="call_id IS NOT NULL AND forward_stack_id IS NOT NULL",
)


class LibraryTime(Struct, frozen=True):
    """The executions with one name and one call stack, without autotuners' executions.

    Attributes:
        name: The short name (`names.py`) of the kernel, copy or fill.
        kind: The library (`identity.py`), or copy or fill.
        executions: Number of executions.
        device_ns: Sum of the executions' measured durations.
        frames: The Python stack that requested the executions, innermost frame first; None if not
            recorded, empty if no Python was running, as in autograd's backward pass.
        origins: The graph nodes from which Inductor generated the stack's innermost generated line.
        forward_frames: The stack at which autograd made the node whose backward this is; None if
            they are not of a backward, or it was not recorded.

    """

    name: str
    kind: str
    executions: int
    device_ns: int
    frames: tuple[Mapping[str, Any], ...] | None
    origins: tuple[Mapping[str, Any], ...]
    forward_frames: tuple[Mapping[str, Any], ...] | None = None

    @property
    def line(self) -> tuple[str, int | None] | None:
        """The program's file and line: of an origin, the stack or the forward; None if unknown."""
        for origin in self.origins:
            if origin["file"] and origin["line"]:
                return origin["file"], origin["line"]
        place = place_of(self.frames or ()) or place_of(self.forward_frames or ())
        return None if place is None else (place.file, place.line)


def library_times(trace: "Trace", runs: Sequence["Run"]) -> list[LibraryTime]:
    """Return executions without a Triton launch by name and stack; errors as `Trace.table`."""
    with _summed(trace, runs) as database:
        rows = row_dicts(database, _OF_LIBRARIES)
    stack_ids = {row[name] for row in rows for name in ("stack_id", "forward_stack_id")} - {None}
    stacks = {}
    if stack_ids:
        columns = ["stack_id", "frames", "origins"]
        stored_stacks = trace.table("stacks", runs, columns)
        ids = pa.array(stack_ids, stored_stacks["stack_id"].type)
        for row in stored_stacks.filter(pc.is_in(stored_stacks["stack_id"], ids)).to_pylist():
            frames, origins = row["frames"], row["origins"]
            stacks[row["stack_id"]] = without_nulls(frames), without_nulls(origins)
    times = []
    names = shown_names(row["name"] or _UNKNOWN for row in rows)
    for row in rows:
        symbol = row["name"] or _UNKNOWN
        unknown = () if row["asked"] else None
        frames, origins = stacks.get(row["stack_id"], (unknown, ()))
        forward_frames, _ = stacks.get(row["forward_stack_id"], (None, ()))
        times.append(
            LibraryTime(
                name=names[symbol],
                kind=kind_of(symbol, row["kind"]),
                executions=int(row["device_executions"]),
                device_ns=int(row["device_ns"] or 0),
                frames=frames,
                origins=origins,
                forward_frames=forward_frames,
            )
        )
    return times


def library_executions(trace: "Trace", runs: Sequence["Run"]) -> dict[str, int]:
    """Return how often kernels without a recorded launch ran, by library, the most frequent first.

    Errors as `Trace.table`.
    """
    counts: Counter[str] = Counter()
    if any(row_count(trace, run, "gpu_kernels") for run in runs):
        with _summed(trace, runs) as database:
            for name, count in database.sql(_COUNTED).fetchall():
                counts[kind_of(name or _UNKNOWN)] += int(count)
    return dict(counts.most_common())


def node_times(trace: "Trace", runs: Sequence["Run"]) -> pa.Table:
    """Return the executions of calls in a backward whose forward is known; errors as `Trace.table`.

    A row per run, call_id and forward_stack_id, with sums of executions as the view `device_sums`.
    """
    with _summed(trace, runs) as database:
        return database.sql(_OF_NODES).to_arrow_table()


def _summed(trace: "Trace", runs: Sequence["Run"]) -> "duckdb.DuckDBPyConnection":
    """Return a connection with the view `summed` of executions; the caller closes it."""
    rows = sums_of(trace, runs, "execution_sums").rows
    database = scratch()
    database.register("summed", rows)
    return database


def lines_by_time(times: Sequence[LibraryTime]) -> dict[tuple[str, str], tuple[str, int | None]]:
    """Return by (name, kind) the line (file, number) that caused the most device time."""
    by_line: dict[tuple[str, str], dict[tuple[str, int | None], int]] = {}
    for time in times:
        if time.line is not None:
            lines = by_line.setdefault((time.name, time.kind), {})
            lines[time.line] = lines.get(time.line, 0) + time.device_ns
    return {key: max(lines, key=lambda line: lines[line]) for key, lines in by_line.items()}


def without_nulls(entries: Sequence[Any] | None) -> tuple[Any, ...]:
    """Return the entries that are not None; damaged traces have None among them."""
    return tuple(entry for entry in entries or () if entry is not None)
