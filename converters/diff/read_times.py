"""Times of steady launches, or of executions: all of a kernel, or evenly spread ones of many.

Example: a kernel that was launched 42,000 times has the stride 6: 7,000 launches are chosen.
A call's *place* is its number among the calls of all runs of a side (`RunCalls`).
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.converters.diff.times import RunCalls, Samples
from kvtrace.figures.columns import Integers, Positions, integers, narrow, summed_by
from kvtrace.figures.scans import row_count
from kvtrace.figures.tables import add_rows, open_times
from kvtrace.schema.trace import Run, Trace
from kvtrace.schema.window import split_by_run

#: Most times of a kernel on one side that are compared.
MOST_TIMES: Final = 1 << 13
#: Numbers of rows times the golden ratio, modulo 1, are spread evenly: of 2**20, this one is
#: nearest to the ratio. A row is chosen by this, as every n-th could be the same one of each step.
STEPS: Final = 1 << 20
_GOLDEN: Final = 648_055


def spread(key: str) -> str:
    """Return SQL of a number below `STEPS`, evenly spread over rows, given SQL of their number."""
    return f"((({key} & {STEPS - 1}) * {_GOLDEN}) & {STEPS - 1})"


class TimesKind(NamedTuple):
    """A view of `figures/views.py`, its table and key, and a call's number of steady rows."""

    view: str
    table: str
    key: str
    rows: str


HOST: Final = TimesKind("launch_times", "launches", "seq", "timed_launches")
DEVICE: Final = TimesKind("execution_times", "gpu_kernels", "record", "device_executions")


class TimeStore:
    """Times of steady launches, or of executions, in order, by variant."""

    def __init__(
        self, runs: Sequence[RunCalls], launched: Integers, place: Integers, ns: Integers
    ) -> None:
        """Group times, which are in order, by the variants of their calls.

        `launched` has the number of all launches of each place; `place` and `ns` are of those whose
        times are known, or chosen.
        """
        self._launched = launched
        self._variant, self._work, self._run = (np.zeros(launched.size, np.int64) for _ in range(3))
        for number, calls in enumerate(runs):
            self._variant[calls.place] = calls.variant
            self._work[calls.place] = calls.work
            self._run[calls.place] = number
        self._order, self._first_time = _grouped(narrow(self._variant)[place])
        self._place, self._ns = place[self._order], ns[self._order]
        self._places, self._first_place = _grouped(self._variant)

    def of(self, variants: Sequence[int]) -> Samples:
        """Return the times of some variants, in the order of launches."""
        rows = _index_ranges(self._first_time, variants)
        if len(variants) > 1:
            rows = rows[np.argsort(self._order[rows], kind="stable")]
        place = self._place[rows]
        work, run = self._work[place], self._run[place]
        all_places = self._places[_index_ranges(self._first_place, variants)]
        works, number = np.unique(self._work[all_places], return_inverse=True)
        counts = summed_by(number, self._launched[all_places])
        is_launched = counts > 0
        return Samples(work, run, self._ns[rows], works[is_launched], counts[is_launched])


def _grouped(variant: Integers) -> tuple[Integers, Integers]:
    """Return the rows by variant, and at which of these each variant begins, and the last ends."""
    order = narrow(np.argsort(variant, kind="stable"))
    return order, np.append(0, np.cumsum(np.bincount(variant)))


def _index_ranges(first: Integers, variants: Sequence[int]) -> Integers:
    """Return the concatenated index ranges of some variants; `first` has each range's first."""
    present = [variant for variant in variants if variant + 1 < first.size]
    spans = [np.arange(first[variant], first[variant + 1]) for variant in present]
    return np.concatenate([np.zeros(0, np.int64), *spans])


def read_samples(
    kind: TimesKind,
    trace: Trace,
    runs: Sequence[Run],
    places: Sequence[RunCalls],
    kernels: Integers,
    figures: pa.Table,
) -> TimeStore:
    """Return the host or device times of steady launches of some runs.

    `kernels` has the kernel number of each variant, and `figures` the launches or executions of
    each call, as `host_times(trace, runs).calls`. Errors as `Trace.table`.
    """
    size = 1 + max((int(calls.place.max()) for calls in places if calls.place.size), default=-1)
    launched, kernel = np.zeros(size, np.int64), np.zeros(size, np.int64)
    for calls in places:
        kernel[calls.place] = kernels[calls.variant]
    numbers = {run.run_id: number for number, run in enumerate(runs)}
    for run_id, rows in split_by_run(figures.sort_by("run")):
        calls = places[numbers[run_id]]
        position = Positions(calls.call).of(integers(rows["call_id"], -1))
        is_known = position >= 0
        launched[calls.place[position[is_known]]] = integers(rows[kind.rows])[is_known]
    weights = int(pc.sum(figures[kind.rows]).as_py() or 0)
    # A row of a sampled recording stands for several launches.
    rows_in_all = sum(row_count(trace, run, kind.table) for run in runs)
    rows_per_launch = min(1.0, rows_in_all / weights) if weights else 1.0
    stride = np.ceil(summed_by(kernel, launched) * rows_per_launch / MOST_TIMES).astype(np.int64)
    chosen = pa.concat_tables([
        pa.table({
            "run": pa.array([run.run_id] * calls.call.size, pa.string()), "call_id": calls.call,
            "place": calls.place, "stride": np.maximum(stride[kernel[calls.place]], 1),
        })
        for run, calls in zip(runs, places, strict=True)
    ])  # fmt: skip
    with open_times(trace, runs, kind.view) as database:
        add_rows(database, "chosen_calls", chosen, "TEMP TABLE")
        times = database.sql(
            f"SELECT c.place, t.ns FROM {kind.view} t "  # noqa: S608
            "JOIN chosen_calls c ON c.run = t.run AND c.call_id = t.call_id "
            f"WHERE t.steady AND {spread(f't.{kind.key}')} * c.stride < {STEPS} "
            f"ORDER BY t.run, t.{kind.key}"
        ).to_arrow_table()
    return TimeStore(places, launched, integers(times["place"]), integers(times["ns"]))
