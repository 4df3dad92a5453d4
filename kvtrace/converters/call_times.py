"""How often calls were launched and executed, how long that took, and how long in the median.

Launches and executions are read in pieces, once for sums and the medians of calls, and in a large
trace once more for the medians of kernels, whose times are those of many runs.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from kvtrace.converters.columns import (
    Integers,
    Positions,
    combined_codes,
    integers,
    summed_by,
)
from kvtrace.converters.makers import kind_of
from kvtrace.converters.middles import Middles
from kvtrace.converters.timed_rows import Executed, Launched, executed, launched
from kvtrace.schema.symbols import titled

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

#: Whose kernels they are that a launch is known for.
TRITON: Final = "Triton"
_LAUNCHED: Final = (
    "launches", "tuning", "captured", "timed", "ns", "compiling", "compiling_timed", "compiling_ns",
)  # fmt: skip
_EXECUTED: Final = (
    "executions", "timed", "ns", "replays", "stepped_ns", "sized", "bytes", "tuned", "tuned_ns",
)  # fmt: skip
#: What is null where nothing is counted that it would be a sum of.
_AMOUNTS: Final = {"ns": "timed", "compiling_ns": "compiling_timed", "bytes": "sized"}


@dataclass(frozen=True, slots=True)
class CallTimes:
    """Sums and the median of one by call, and medians by kernel.

    `sums` has columns run, call_id, and of executions that no call is known for `name` and `kind`,
    as they are shown; then what is counted and summed, and `median`. `medians` has columns module,
    name, kind and median.
    """

    sums: pa.Table
    medians: pa.Table


def host_times(trace: "Trace", runs: Sequence["Run"], *, kernels: bool = True) -> CallTimes:
    """Sum the launches of calls; without `kernels` there are no medians of kernels.

    `launches` are those that are not `tuning`; some of them `captured` into a graph. `ns` is the
    time of those that are `timed`, and the median one of theirs, which are without trials and
    `compiling` ones. Errors as `Trace.table`.
    """
    gathered = _Gathered(trace, runs, _LAUNCHED, kernels=kernels)

    def add(run: "Run", piece: Launched) -> None:
        at = gathered.places[run.run_id].of(piece.call)
        found, all_ns = at >= 0, piece.ns * piece.times
        slow = piece.compiling & found
        steady = piece.steady & found
        gathered.add(at, found & ~piece.tuning, launches=piece.times)
        gathered.add(at, found & piece.tuning, tuning=piece.times)
        gathered.add(at, found & piece.captured, captured=piece.times)
        gathered.add(at, steady, timed=piece.times, ns=all_ns)
        gathered.add(at, slow, compiling=piece.times)
        gathered.add(at, slow & piece.timed, compiling_timed=piece.times, compiling_ns=all_ns)
        gathered.rank(run, at[steady], piece.ns[steady], piece.times[steady])

    return gathered.times(partial(launched, trace), add)


def device_times(
    trace: "Trace", runs: Sequence["Run"], stepping: Mapping[str, tuple[int, int]]
) -> CallTimes:
    """Sum the executions of calls, and those of other kernels, copies and fills by their names.

    Trials are `tuned`. All else is without them: `executions`, those that are `timed` and their
    `ns`, those `replayed` from a graph, and the time of those that began within the run's range of
    `stepping` (ns since 1970). Errors as in `host_times`.
    """
    gathered = _Gathered(trace, runs, _EXECUTED)

    def add(run: "Run", piece: Executed) -> None:
        at = gathered.known(run, piece)
        first, last = stepping.get(run.run_id, (0, -1))
        all_ns = piece.ns * piece.times
        stepped = piece.steady & (first <= piece.start) & (piece.start <= last)
        trial = piece.timed & piece.tuning
        gathered.add(at, ~piece.tuning, executions=piece.times)
        gathered.add(at, piece.replayed & ~piece.tuning, replays=piece.times)
        gathered.add(at, piece.steady, timed=piece.times, ns=all_ns)
        gathered.add(at, stepped, stepped_ns=all_ns)
        gathered.add(at, trial, tuned=piece.times, tuned_ns=all_ns)
        size = piece.named["bytes"]
        if size.null_count < len(size):
            sized = piece.steady & (piece.call < 0) & size.is_valid().to_numpy()
            gathered.add(at, sized, sized=piece.times, bytes=integers(size) * piece.times)
        steady = piece.steady
        gathered.rank(run, at[steady], piece.ns[steady], piece.times[steady])

    return gathered.times(partial(executed, trace), add)


class _Gathered:
    """Sums of one run after the other, and the medians that are not known yet.

    What is summed has a number in its run: first the calls of known kernels, then names that
    executions have without one, which are numbered over all runs.
    """

    def __init__(
        self,
        trace: "Trace",
        runs: Sequence["Run"],
        names: Sequence[str],
        *,
        kernels: bool = True,
    ) -> None:
        self._runs = runs
        self._by_kernel = kernels
        self._names = names
        self._kernels: dict[tuple[str, str], int] = {}
        self._symbols: dict[tuple[str, str], int] = {}
        self._calls: dict[str, Integers] = {}
        self._kernel_of: dict[str, Integers] = {}
        self.places: dict[str, Positions] = {}
        for run in runs:
            self._read_calls(trace, run)
        self._of_kernels = Middles()
        self._of_calls = {run.run_id: Middles() for run in runs}
        self._open = {run.run_id for run in runs}
        self._sums: dict[str, Integers] | None = None

    def _read_calls(self, trace: "Trace", run: "Run") -> None:
        rows = trace.table("kernels", [run], ["kernel_id", "module", "name"]).sort_by("kernel_id")
        names = zip(
            *(rows[each].cast(pa.string()).to_pylist() for each in ("module", "name")), strict=True
        )
        number = np.array(
            [self._kernels.setdefault((m or "", n or ""), len(self._kernels)) for m, n in names],
            np.int64,
        )
        calls = trace.table("calls", [run], ["call_id", "kernel_id"]).sort_by("call_id")
        at = Positions(integers(rows["kernel_id"])).of(integers(calls["kernel_id"], -1))
        self._calls[run.run_id] = integers(calls["call_id"])[at >= 0]
        self._kernel_of[run.run_id] = number[at[at >= 0]]
        self.places[run.run_id] = Positions(self._calls[run.run_id])

    def known(self, run: "Run", piece: Executed) -> Integers:
        """Return the number of what each execution is of."""
        at = self.places[run.run_id].of(piece.call)
        unknown = np.flatnonzero(at < 0)
        if not unknown.size:
            return at
        named = piece.named.take(pa.array(unknown))
        alike = [
            named["name"],
            named["kind"],
            pa.chunked_array([pa.array(piece.call[unknown] >= 0)]),
        ]
        codes, first = combined_codes(alike)
        columns = (named[each].take(pa.array(first)).to_pylist() for each in ("name", "kind"))
        symbols = []
        for of_call, name, kind in zip(piece.call[unknown[first]] >= 0, *columns, strict=True):
            name, kind = ("(unknown)", None) if of_call else (name or "(unknown)", kind)
            shown = titled(name), kind_of(name, kind)
            symbols.append(self._symbols.setdefault(shown, len(self._symbols)))
        at[unknown] = np.array(symbols)[codes] + self._calls[run.run_id].size
        return at

    def add(self, at: Integers, chosen: Any, **amounts: Integers) -> None:
        """Add to the sums of a run that is read for the first time."""
        if self._sums is None or not chosen.any():
            return
        at = at[chosen]
        for name, amount in amounts.items():
            counted = summed_by(at, amount[chosen])
            known = self._sums[name]
            if known.size < counted.size:
                known = np.append(known, np.zeros(counted.size - known.size, np.int64))
            known[: counted.size] += counted
            self._sums[name] = known

    def rank(self, run: "Run", at: Integers, ns: Integers, times: Integers) -> None:
        """Add times to those whose medians are wanted."""
        if run.run_id in self._open:
            self._of_calls[run.run_id].add(at, ns, times)
        if not self._by_kernel:
            return
        calls = self._kernel_of[run.run_id]
        names = np.arange(len(self._symbols)) * 2 + 1
        self._of_kernels.add(np.append(calls * 2, names)[at], ns, times)

    def times(
        self, read: Callable[["Run"], Iterable[Any]], add: Callable[["Run", Any], None]
    ) -> CallTimes:
        """Read the runs as often as it takes."""
        tables = []
        for run in self._runs:
            self._sums = dict.fromkeys(self._names, np.zeros(0, np.int64))
            for piece in read(run):
                add(run, piece)
            self._settle(run)
            tables.append((run, self._sums))
        self._sums = None
        while (again := self._of_kernels.settle()) or self._open:
            for run in self._runs if again else [r for r in self._runs if r.run_id in self._open]:
                for piece in read(run):
                    add(run, piece)
                self._settle(run)
        return CallTimes(pa.concat_tables([self._table(*each) for each in tables]), self._medians())

    def _settle(self, run: "Run") -> None:
        if run.run_id in self._open and not self._of_calls[run.run_id].settle():
            self._open.remove(run.run_id)

    def _table(self, run: "Run", sums: Mapping[str, Integers]) -> pa.Table:
        calls, symbols = self._calls[run.run_id], list(self._symbols)
        size = calls.size + len(symbols)
        whole = {name: _padded(column, size) for name, column in sums.items()}
        used = np.flatnonzero(np.logical_or.reduce([column > 0 for column in whole.values()]))
        of_call = used < calls.size
        median = _padded(self._of_calls[run.run_id].medians(calls.size), size, np.nan)[used]
        names = [symbols[at] for at in (used[~of_call] - calls.size).tolist()]
        none: list[tuple[None, None]] = [(None, None)] * int(of_call.sum())
        titles, kinds = zip(*none, *names, strict=True) if used.size else ((), ())
        columns = {
            "run": pa.repeat(pa.scalar(run.run_id, pa.string()), used.size),
            "call_id": pa.array(_padded(calls, size)[used], pa.int64(), mask=~of_call),
            "name": pa.array(titles, pa.string()),
            "kind": pa.array(kinds, pa.string()),
            **{
                name: pa.array(
                    column[used], mask=whole[of][used] == 0 if (of := _AMOUNTS.get(name)) else None
                )
                for name, column in whole.items()
            },
            "median": pa.array(median, mask=np.isnan(median)),
        }
        return pa.table(columns)

    def _medians(self) -> pa.Table:
        names = [(*kernel, TRITON) for kernel in self._kernels]
        names += [("", *symbol) for symbol in self._symbols]
        numbers = np.append(
            np.arange(len(self._kernels)) * 2, np.arange(len(self._symbols)) * 2 + 1
        )
        median = self._of_kernels.medians(int(numbers.max(initial=-1)) + 1)[numbers]
        columns = [pa.array(each, pa.string()) for each in zip(*names, strict=True)]
        columns = columns or [pa.array([], pa.string())] * 3
        found = pa.array(median, mask=np.isnan(median))
        return pa.table([*columns, found], ["module", "name", "kind", "median"])


def _padded(column: Any, size: int, fill: float = 0) -> Any:
    return np.append(column, np.full(size - column.size, fill, column.dtype))
