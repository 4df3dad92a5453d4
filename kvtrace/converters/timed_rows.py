"""Launches and executions of a run in pieces: how long each took, and whether it was the program's.

Every sum and every median of times is made from these.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.converters.columns import Integers, integers
from kvtrace.converters.compiling import CompilingLaunches
from kvtrace.converters.trials import has_phase, is_tuning
from kvtrace.schema.integer_sets import IntegerSet
from kvtrace.schema.kept import weights

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Launched:
    """Launches, column by column: their call (-1: none), and their time in ns where `timed`.

    `captured`: into a graph. `compiling`: their kernel was compiled or loaded in them, or
    configurations tried. `times` says for how many launches each stands.
    """

    call: Integers
    ns: Integers
    timed: Mask
    tuning: Mask
    captured: Mask
    compiling: Mask
    times: Integers

    @property
    def steady(self) -> Mask:
        """Those whose time is that of a launch."""
        return self.timed & ~self.tuning & ~self.compiling


@dataclass(frozen=True, slots=True)
class Executed:
    """Executions on devices, column by column, much as launches.

    `call` is the execution's own or that of its launch. `named` has what the rows say of themselves
    (name, kind, bytes). What ran between two trials of an autotuner is `tuning`, too, such as
    emptying the caches.
    """

    call: Integers
    start: Integers
    ns: Integers
    timed: Mask
    tuning: Mask
    replayed: Mask
    times: Integers
    named: pa.Table

    @property
    def steady(self) -> Mask:
        """Those whose time is that of an execution for the program."""
        return self.timed & ~self.tuning


def launched(trace: "Trace", run: "Run") -> Iterator[Launched]:
    """Read the launches of a run; errors as `Trace.table`."""
    compiling = CompilingLaunches(trace, run)
    columns = ["call_id", "enter", "exit", "thread", "phase", "weight"]
    for piece in trace.pieces("launches", [run], columns):
        yield Launched(
            integers(piece["call_id"], -1),
            *_taken(piece, "enter", "exit"),
            is_tuning(piece),
            has_phase(piece, ["graph_capture"]),
            compiling.among(piece),
            weights(piece),
        )


def executed(trace: "Trace", run: "Run") -> Iterator[Executed]:
    """Read the executions of a run; errors as `Trace.table`."""
    launches = _LaunchesOfExecutions(trace, run)
    named = ["name", "kind", "bytes"]
    columns = ["launch_seq", "call_id", "start", "end", "graph_id", "weight", *named]
    for piece in trace.pieces("gpu_kernels", [run], columns):
        call = integers(launches.calls(piece), -1)
        start = integers(piece["start"])
        tuning = launches.tuning(piece["launch_seq"])
        if tuning.any():
            tuning |= _between(start, call >= 0, tuning)
        yield Executed(
            call,
            start,
            *_taken(piece, "start", "end"),
            tuning,
            _known(piece["graph_id"]),
            weights(piece),
            piece.select(named),
        )


def _known(column: pa.ChunkedArray) -> Mask:
    known: Mask = pc.is_valid(column).to_numpy()
    return known


def _taken(piece: pa.Table, begin: str, end: str) -> tuple[Integers, Mask]:
    timed = _known(piece[begin]) & _known(piece[end])
    return np.where(timed, integers(piece[end]) - integers(piece[begin]), 0), timed


def _between(start: Integers, launched: Mask, tuning: Mask) -> Mask:
    """Tell which executions without a launch ran between two that were trials, in order of time."""
    order = np.argsort(start, kind="stable")
    at = np.flatnonzero(launched[order])
    trial = np.concatenate(([False], tuning[order][at], [False]))
    before = np.searchsorted(at, np.arange(len(order)))
    found = np.zeros(len(order), np.bool_)
    found[order] = trial[before] & trial[before + 1] & ~launched[order]
    return found


class _LaunchesOfExecutions:
    """What executions need to know of the launches of their run."""

    def __init__(self, trace: "Trace", run: "Run") -> None:
        """Read which launches tuned, and the calls of those that executions name without a call."""
        self._tuning = IntegerSet()
        wanted = IntegerSet()
        executed = False
        for piece in trace.pieces("gpu_kernels", [run], ["launch_seq", "call_id"]):
            executed = executed or piece.num_rows > 0
            if piece["call_id"].null_count:
                unplaced = piece.filter(pc.is_null(piece["call_id"]))
                wanted.add(integers(unplaced["launch_seq"].drop_null()))
        found: list[pa.Table] = []
        columns = ["seq", "call_id", "phase"] if len(wanted) else ["seq", "phase"]
        for piece in trace.pieces("launches", [run], columns) if executed else ():
            tuning = is_tuning(piece)
            if tuning.any():
                self._tuning.add(integers(piece["seq"])[tuning])
            if len(wanted):
                chosen = pa.array(wanted.has(integers(piece["seq"])))
                found.append(piece.select(["seq", "call_id"]).filter(chosen))
        kinds = pa.schema({"seq": pa.int64(), "call_id": pa.int64()})
        known = pa.concat_tables([kinds.empty_table(), *found]).sort_by("seq")
        self._seq, self._call = integers(known["seq"]), integers(known["call_id"])

    def calls(self, piece: pa.Table) -> pa.ChunkedArray:
        """Return the call of each execution, its launch's where the row says none, else null."""
        if not (self._seq.size and piece["call_id"].null_count):
            return piece["call_id"]
        seq = integers(piece["launch_seq"])
        at = np.minimum(np.searchsorted(self._seq, seq), self._seq.size - 1)
        known = (self._seq[at] == seq) & _known(piece["launch_seq"])
        return pc.coalesce(piece["call_id"], pa.array(self._call[at], mask=~known))

    def tuning(self, seq: pa.ChunkedArray) -> Mask:
        """Tell of each launch whether it tuned; one that is not known did not."""
        return _known(seq) & self._tuning.has(integers(seq))
