"""Flags of launches by which figures count them: trials, compiling and steady launches.

They are found piece by piece, with pyarrow alone: of rows that a recording drops, and of a run that
goes on. The views of `figures/views.py` define the same for all rows at once.
"""

from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.schema.arrays import array_of
from kvtrace.schema.features import TRIALS

_NEVER: Final = -1 << 63
#: Constants are made without `pa.scalar` (see `arrays.py`).
_NO: Final = array_of([False], pa.bool_())[0]
_PHASES: Final = array_of(sorted(TRIALS), pa.string())


def are_trials(launches: pa.Table) -> Any:
    """Return which launches are by an autotuner or in a warm-up, by their `phase`."""
    return pc.is_in(launches["phase"].cast(pa.string()), _PHASES)


def extreme(values: Any, which: str, none: int | None = None) -> Any:
    """Return the least ("min") or greatest ("max") of values; `none` if all are null."""
    value = pc.min_max(values)[which].as_py()
    return none if value is None else value


class HoldingTrials:
    """Search, piece by piece, for launches that hold trials, in which an autotuner ran its trials.

    A launch becomes a row when it returns, so rows of trials precede the row of the launch that
    holds them. A launch holds trials if the last trial before it in its thread's rows began during
    the launch. Example: rows trial 2 to 3 ms, trial 4 to 5 ms, launch 1 to 7 ms: the launch holds
    both trials.
    """

    def __init__(self) -> None:
        #: When the last trial of a thread began.
        self._last_trial: dict[int | None, int] = {}
        #: Whether a thread's last launch in the last piece is a trial, so that a later launch may
        #: hold it.
        self.ends_in_trials = False

    def among(self, launches: pa.Table) -> Any:
        """Return which rows of the next piece of `launches`, in recorded order, hold trials.

        The piece has the columns enter, exit, phase and thread.
        """
        enter, leave = (launches[name].cast(pa.int64()) for name in ("enter", "exit"))
        thread, trial = launches["thread"], are_trials(launches)
        number = pa.chunked_array([pa.arange(0, len(thread))])
        self.ends_in_trials = False
        newest = max(self._last_trial.values(), default=_NEVER)
        holding: list[pa.ChunkedArray] = []
        if extreme(enter, "min", _NEVER) <= newest or pc.any(trial).as_py():
            for native_id in pc.unique(thread).to_pylist():
                is_of_thread = pc.is_in(thread, array_of([native_id], pa.int64()))
                begin, end, is_trial, numbers = (
                    values.filter(is_of_thread) for values in (enter, leave, trial, number)
                )
                before = self._last_trial.get(native_id, _NEVER)
                never, start = array_of([_NEVER, before], pa.int64())
                begins = pc.coalesce(pc.if_else(is_trial, begin, never), never)
                last = pc.cumulative_max(begins, start=start)
                during = pc.and_(pc.less_equal(begin, last), pc.less(last, end))
                holding.append(numbers.filter(pc.and_not(during, is_trial)))
                self._last_trial[native_id] = last[-1].as_py()
                self.ends_in_trials |= is_trial[-1].as_py()
        return pc.is_in(number, pa.chunked_array(holding, pa.int64()))


class LaunchFlags:
    """Flags of a run's launches, piece by piece in recorded order.

    `refer` gets the rows of `kernels` and `calls`, before launches of them.
    """

    def __init__(self) -> None:
        #: When kernels were compiled and loaded, and their calls, by kernel_id.
        self._begins: dict[int, tuple[int | None, int | None]] = {}
        self._calls: dict[int, list[int]] = {}
        self._holding = HoldingTrials()

    @property
    def ends_in_trials(self) -> bool:
        """As of `HoldingTrials`."""
        return self._holding.ends_in_trials

    def refer(self, table: str, row: Mapping[str, Any]) -> None:
        """Note a row of `kernels` or `calls`; ignore other tables."""
        if table == "kernels":
            begins = row.get("compile_begin"), row.get("load_begin")
            if begins != (None, None):
                self._begins.setdefault(row["kernel_id"], begins)
        elif table == "calls" and row["kernel_id"] in self._begins:
            self._calls.setdefault(row["kernel_id"], []).append(row["call_id"])

    def of(self, launches: pa.Table) -> dict[str, Any]:
        """Return the flags `tuning`, `compiling` and `steady` of the next piece of `launches`.

        It has the columns call_id, enter, exit, phase and thread.
        """
        enter, leave = (launches[name].cast(pa.int64()) for name in ("enter", "exit"))
        trial = are_trials(launches)
        compiling = pc.or_(
            self._compiling(launches["call_id"], enter, leave), self._holding.among(launches)
        )
        is_timed = pc.and_(pc.is_valid(enter), pc.is_valid(leave))
        steady = pc.and_not(pc.and_not(is_timed, compiling), trial)
        return {"tuning": trial, "compiling": compiling, "steady": steady}

    def _compiling(self, call: pa.ChunkedArray, enter: Any, leave: Any) -> Any:
        """Return in which launches the compilation or loading of their kernel began."""
        low, high = extreme(enter, "min", _NEVER), extreme(leave, "max", _NEVER)
        ids: list[int] = []
        of_ids: tuple[list[int | None], ...] = [], []
        for kernel_id, begins in self._begins.items():
            if any(begin is not None and low <= begin < high for begin in begins):
                calls = self._calls.get(kernel_id, ())
                ids += calls
                for times, begin in zip(of_ids, begins, strict=True):
                    times += [begin] * len(calls)
        position = pc.index_in(call, array_of(ids, pa.int64()))
        compiled, loaded = (
            pc.and_(pc.less_equal(enter, begin), pc.less(begin, leave))
            for begin in (pc.take(array_of(times, pa.int64()), position) for times in of_ids)
        )
        return pc.or_(pc.coalesce(compiled, _NO), pc.coalesce(loaded, _NO))
