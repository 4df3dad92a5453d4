"""How often each time was taken, by call: what is kept of launches and executions, read in pieces.

A hundred million launches have a few thousand different times, in nanoseconds, of each call.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.converters.columns import Integers, integers
from kvtrace.converters.compiling import CompilingLaunches
from kvtrace.converters.trials import is_tuning
from kvtrace.schema.integer_sets import IntegerSet
from kvtrace.schema.kept import weights

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

#: Rows that wait to be counted, at least.
_FEW: Final = 1 << 18


@dataclass(frozen=True, slots=True)
class CountedTimes:
    """What `host_times` and `device_times` give, from whatever engine; `stepped` may be missing."""

    host: pa.Table
    device: pa.Table


def host_times(trace: "Trace", runs: Sequence["Run"]) -> pa.Table:
    """Count the launches by run, call_id, ns (null where not timed), and what they are.

    The column `times` says for how many launches a row stands; `tuning`, `captured` (into a graph)
    and `compiling` (their kernel was compiled or loaded in them, or configurations tried) are
    flags. Errors as `Trace.table`.
    """
    tables = [_nothing("tuning", "captured", "compiling")]
    for run in runs:
        counted = _Counted()
        compiling = CompilingLaunches(trace, run)
        columns = ["call_id", "enter", "exit", "thread", "phase", "weight"]
        for piece in trace.pieces("launches", [run], columns):
            phase = piece["phase"].cast(pa.string())
            counted.add(
                call_id=piece["call_id"],
                ns=_ns(piece["enter"], piece["exit"]),
                tuning=pa.array(is_tuning(piece)),
                captured=pc.fill_null(pc.equal(phase, "graph_capture"), fill_value=False),
                compiling=pa.array(compiling.among(piece)),
                times=pa.array(weights(piece)),
            )
        tables += counted.tables(run)
    return pa.concat_tables(tables)


def device_times(
    trace: "Trace", runs: Sequence["Run"], stepping: Mapping[str, tuple[int, int]]
) -> pa.Table:
    """Count the device's executions by run, call_id, ns, and what they are.

    `call_id` is the execution's own or that of its launch, null where neither is known; `name`,
    `kind` and `bytes` are those of the row then, else null. Flags: `tuning`, `replayed` (from a
    graph), and `stepped`: it began within the run's range of `stepping` (ns since 1970). What ran
    between two trials of an autotuner is its doing too, such as emptying the caches. The column
    `times` says for how many executions a row stands. Errors as `Trace.table`.
    """
    more = {"name": pa.string(), "kind": pa.string(), "bytes": pa.int64()}
    tables = [_nothing("tuning", "replayed", "stepped", **more)]
    columns = ["launch_seq", "call_id", "start", "end", "graph_id", "weight", *more]
    for run in runs:
        counted = _Counted()
        launches = LaunchesOfExecutions(trace, run)
        first, last = stepping.get(run.run_id, (0, -1))
        for piece in trace.pieces("gpu_kernels", [run], columns):
            call = pc.coalesce(piece["call_id"], launches.calls(piece["launch_seq"]))
            start = integers(piece["start"])
            tuning = launches.tuning(piece["launch_seq"])
            counted.add(
                call_id=call,
                ns=_ns(piece["start"], piece["end"]),
                tuning=pa.array(tuning | _between(start, pc.is_valid(call).to_numpy(), tuning)),
                replayed=pc.is_valid(piece["graph_id"]),
                stepped=pa.array((first <= start) & (start <= last)),
                times=pa.array(weights(piece)),
                **{
                    name: pc.if_else(pc.is_null(call), piece[name].cast(type_), None)
                    for name, type_ in more.items()
                },
            )
        tables += counted.tables(run)
    return pa.concat_tables(tables)


def _between(
    start: Integers, launched: npt.NDArray[np.bool_], tuning: npt.NDArray[np.bool_]
) -> npt.NDArray[np.bool_]:
    """Tell which executions without a launch ran between two that were trials, in order of time."""
    order = np.argsort(start, kind="stable")
    at = np.flatnonzero(launched[order])
    trial = np.concatenate(([False], tuning[order][at], [False]))
    before = np.searchsorted(at, np.arange(len(order)))
    found = np.zeros(len(order), np.bool_)
    found[order] = trial[before] & trial[before + 1] & ~launched[order]
    return found


class _Counted:
    """Rows that are alike, counted as they come."""

    def __init__(self) -> None:
        self._counted: pa.Table | None = None
        self._waiting: list[pa.Table] = []

    def add(self, **columns: Any) -> None:
        """Count the rows of some columns; `times` says for how many each stands."""
        self._waiting.append(_summed(pa.table(columns)))
        # Counting again costs as much as there is: so it is done when that has doubled.
        waiting = sum(table.num_rows for table in self._waiting)
        if waiting > max(_FEW, 0 if self._counted is None else self._counted.num_rows):
            self._count()

    def _count(self) -> None:
        known = [] if self._counted is None else [self._counted]
        self._counted = _summed(pa.concat_tables([*known, *self._waiting]))
        self._waiting = []

    def tables(self, run: "Run") -> list[pa.Table]:
        """Return what was counted, with the run; nothing if nothing was added."""
        if self._waiting:
            self._count()
        if self._counted is None:
            return []
        names = pa.repeat(pa.scalar(run.run_id, pa.string()), self._counted.num_rows)
        return [self._counted.append_column("run", names)]


class LaunchesOfExecutions:
    """What executions need to know of the launches of their run."""

    def __init__(self, trace: "Trace", run: "Run") -> None:
        """Read which launches tuned, and the calls of those that executions name without a call."""
        self._tuning = IntegerSet()
        wanted = IntegerSet()
        executed = False
        for piece in trace.pieces("gpu_kernels", [run], ["launch_seq", "call_id"]):
            executed = executed or piece.num_rows > 0
            unplaced = piece.filter(pc.is_null(piece["call_id"]))
            wanted.add(integers(unplaced["launch_seq"].drop_null()))
        found: list[pa.Table] = []
        pieces = trace.pieces("launches", [run], ["seq", "call_id", "phase"]) if executed else ()
        for piece in pieces:
            seq = integers(piece["seq"])
            self._tuning.add(seq[is_tuning(piece)])
            if len(wanted):
                found.append(piece.select(["seq", "call_id"]).filter(pa.array(wanted.has(seq))))
        kinds = pa.schema({"seq": pa.int64(), "call_id": pa.int64()})
        known = pa.concat_tables([kinds.empty_table(), *found]).sort_by("seq")
        self._seq, self._call = integers(known["seq"]), integers(known["call_id"])

    def calls(self, seq: pa.ChunkedArray) -> pa.Array:
        """Return the call of each launch that an execution without a call names, else null."""
        numbers = integers(seq)
        if not self._seq.size:
            return pa.nulls(numbers.size, pa.int64())
        at = np.minimum(np.searchsorted(self._seq, numbers), self._seq.size - 1)
        known = (self._seq[at] == numbers) & pc.is_valid(seq).to_numpy()
        return pa.array(self._call[at], mask=~known)

    def tuning(self, seq: pa.ChunkedArray) -> npt.NDArray[np.bool_]:
        """Tell of each launch whether it tuned; one that is not known did not."""
        known: npt.NDArray[np.bool_] = pc.is_valid(seq).to_numpy()
        return known & self._tuning.has(integers(seq))


def _nothing(*flags: str, **more: pa.DataType) -> pa.Table:
    kinds = {"call_id": pa.int64(), "ns": pa.int64(), **dict.fromkeys(flags, pa.bool_()), **more}
    return pa.schema({**kinds, "times": pa.int64(), "run": pa.string()}).empty_table()


def _ns(begin: pa.ChunkedArray, end: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.subtract(end.cast(pa.int64()), begin.cast(pa.int64()))


def _summed(rows: pa.Table) -> pa.Table:
    """Return one row of those that are alike but for `times`, which is their sum."""
    keys = [name for name in rows.column_names if name != "times"]
    grouped = rows.group_by(keys, use_threads=False).aggregate([("times", "sum")])
    return grouped.select([*keys, "times_sum"]).rename_columns([*keys, "times"])
