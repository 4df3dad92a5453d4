"""Sums over the launches of each variant, computed in DuckDB, and times of single launches.

`prepare` and `add_figures` create tables, which the other functions query.
"""

from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Final

import duckdb
import numpy as np
import pyarrow as pa

from kvtrace.converters.diff.model import Totals
from kvtrace.converters.diff.read_times import (
    MOST_TIMES,
    STRETCHES,
    TimesKind,
    is_sampled,
    read_times,
)
from kvtrace.converters.diff.times import RunCalls, Samples
from kvtrace.converters.diff.variant import Call, Variant, Work
from kvtrace.figures.columns import Integers, Positions, integers, narrow, summed_by
from kvtrace.figures.identity import NOT_OWN, KernelKey
from kvtrace.figures.kernels import (
    DEVICE_MEDIAN,
    EXECUTED,
    HOST_MEDIAN,
    LAUNCHED,
    further_sums,
)
from kvtrace.figures.times import Times
from kvtrace.schema.window import split_by_run

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace


#: Least number of new times before the stored times are thinned.
_LEAST_THINNED: Final = 1 << 20


def prepare(database: duckdb.DuckDBPyConnection, members: pa.Table, calls: pa.Table) -> None:
    """Create the table `place` of unique calls, with a number, a variant and hashes each.

    `members` has the variant (column `grouped`) of each run and kernel_id.
    """
    database.register("members", members)
    database.register("all_calls", calls)
    database.execute(_PLACES)
    database.unregister("all_calls")  # their arguments take much memory


def add_figures(
    database: duckdb.DuckDBPyConnection, host: Times, device: Times, ops: pa.Table
) -> None:
    """Create the table `per_call` with the times and the work of each unique call."""
    for name, times in (("host", host), ("device", device)):
        database.register(f"{name}_figures", times.calls)
        database.register(f"{name}_kernels", times.kernels)
        database.register(f"{name}_variants", times.groups)
    database.register("ops", ops)
    database.execute(_PER_CALL)


#: SQL columns: figures of calls, and their sums over a variant; without launches, counts are 0.
_CALL_FIGURES: Final = ", ".join(
    f"coalesce({alias}.{f.name}, 0) AS {f.name}" if f.unit == "count" else f"{alias}.{f.name}"
    for alias, figures in (("h", LAUNCHED), ("d", EXECUTED))
    for f in figures
)
_ADDED_UP: Final = ", ".join(
    f"coalesce(sum({f.name}), 0)::BIGINT AS {f.name}"
    if f.unit == "count"
    else f"sum({f.name})::BIGINT AS {f.name}"
    for f in (*LAUNCHED, *EXECUTED)
)
_FIELDS: Final = frozenset(field.name for field in fields(Totals))

#: `place` numbers (run, call_id). `alike` is a 64-bit hash of a call's properties without addresses
#: and recorded values, which another process repeats; `work` is a hash of shapes and scalars only.
_PLACES: Final = """
    CREATE TEMP TABLE place AS
    SELECT row_number() OVER (ORDER BY c.run, c.call_id) - 1 AS place, c.run, c.call_id,
        m.grouped AS variant,
        hash(c.grid_x, c.grid_y, c.grid_z, list_transform(
            list_filter(c.args, lambda a: a.kind IS DISTINCT FROM 'constexpr'),
            lambda a: {
                'name': a.name, 'kind': a.kind, 'dtype': a.dtype,
                'device': regexp_replace(a.device, ':[0-9]+$', ''), 'shape': a.shape,
                'strides': a.strides, 'offset': a.offset_bytes, 'storage': a.storage_bytes,
                'alias': a.alias_group,
                'scalar': regexp_replace(a.scalar, '0x[0-9a-fA-F]{6,}', '0x…', 'g')
            })) AS alike,
        hash(list_transform(
            list_filter(c.args, lambda a: a.kind IS DISTINCT FROM 'constexpr'),
            lambda a: {'shape': a.shape, 'scalar': a.scalar})) AS work
    FROM all_calls c JOIN members m ON c.run = m.run AND c.kernel_id = m.kernel_id;
"""

_PER_CALL: Final = f"""
    CREATE TEMP TABLE per_call AS
    SELECT p.place, p.variant, p.run, p.call_id, p.alike, p.work, {_CALL_FIGURES},
        o.bytes, o.flops, o.sectors, o.lanes, o.lanes_on
    FROM place p LEFT JOIN host_figures h ON h.run = p.run AND h.call_id = p.call_id
    LEFT JOIN device_figures d ON d.run = p.run AND d.call_id = p.call_id
    LEFT JOIN (
        SELECT run, call_id, coalesce(sum(flops), 0) AS flops,
            CASE WHEN count(*) FILTER (kind IN ('load', 'store', 'atomic') AND bytes IS NULL) = 0
                THEN coalesce(sum(bytes), 0) END AS bytes,
            CASE WHEN count(*) FILTER (kind IN ('load', 'store', 'atomic') AND sectors IS NULL) = 0
                THEN coalesce(sum(sectors), 0) END AS sectors,
            sum(elements) FILTER (kind IN ('load', 'store', 'atomic')) AS lanes,
            sum(elements - masked_off) FILTER (kind IN ('load', 'store', 'atomic')) AS lanes_on
        FROM ops GROUP BY run, call_id
    ) o ON p.run = o.run AND p.call_id = o.call_id;
"""  # noqa: S608

_TOTALS: Final = f"""
    WITH work AS (
        SELECT variant, {_ADDED_UP},
            CASE WHEN count(*) FILTER (launches > 0 AND bytes IS NULL) = 0
                THEN sum(bytes * launches) END::BIGINT AS bytes,
            CASE WHEN count(*) FILTER (launches > 0 AND flops IS NULL) = 0
                THEN sum(flops * launches) END::BIGINT AS flops,
            CASE WHEN count(*) FILTER (launches > 0 AND sectors IS NULL) = 0
                THEN sum(sectors * launches) END::BIGINT AS sectors,
            sum(lanes * launches)::BIGINT AS lanes, sum(lanes_on * launches)::BIGINT AS lanes_on
        FROM per_call GROUP BY variant
    )
    SELECT w.*, h.{HOST_MEDIAN.name}, d.{DEVICE_MEDIAN.name}
    FROM work w LEFT JOIN host_variants h ON h.grouped = w.variant
    LEFT JOIN device_variants d ON d.grouped = w.variant
"""  # noqa: S608
_MEDIANS: Final = f"""
    SELECT module, name, source, h.{HOST_MEDIAN.name}, d.{DEVICE_MEDIAN.name}
    FROM host_kernels h FULL JOIN (FROM device_kernels WHERE kind NOT IN {NOT_OWN}) d
        USING (module, name, source)
"""  # noqa: S608

_CALLS: Final = """
    SELECT variant, alike, arg_min(run, place), arg_min(call_id, place), sum(launches),
        sum(tuning_launches)
    FROM per_call GROUP BY variant, alike ORDER BY min(place)
"""

_WORKS: Final = """
    SELECT variant, work, sum(launches)::BIGINT,
        CASE WHEN count(*) FILTER (bytes IS NULL) = 0 THEN sum(bytes * launches)::BIGINT END,
        CASE WHEN count(*) FILTER (flops IS NULL) = 0 THEN sum(flops * launches)::BIGINT END
    FROM per_call WHERE launches > 0 GROUP BY variant, work
"""


def fill_totals(database: duckdb.DuckDBPyConnection, variants: Sequence[Variant]) -> None:
    """Set `totals` of each variant to the sums over its launches; `compile_ns` stays."""
    for row in database.sql(_TOTALS).to_arrow_table().to_pylist():
        variant = variants[row.pop("variant")]
        figures = {name: value for name, value in row.items() if name in _FIELDS}
        further = further_sums([row]) or None
        variant.totals = Totals(compile_ns=variant.totals.compile_ns, further=further, **figures)


def kernel_medians(
    database: duckdb.DuckDBPyConnection,
) -> dict[KernelKey, tuple[float | None, float | None]]:
    """Return each kernel's median host time and median device time, in ns."""
    rows = database.execute(_MEDIANS).fetchall()
    return {KernelKey(*key): (host, device) for *key, host, device in rows}


def fill_calls(database: duckdb.DuckDBPyConnection, variants: Sequence[Variant]) -> None:
    """Set `calls` of each variant, by `alike`; calls with the same hash are merged."""
    for variant_index, alike, run, call_id, launches, tuning_launches in database.execute(
        _CALLS
    ).fetchall():
        variants[variant_index].calls[alike] = Call(
            run, call_id, int(launches), int(tuning_launches)
        )


def fill_works(database: duckdb.DuckDBPyConnection, variants: Sequence[Variant]) -> None:
    """Set `works` of each variant: launches, bytes and FLOPs by hash of shapes and scalars."""
    for variant_index, work, *sums in database.execute(_WORKS).fetchall():
        variants[variant_index].works[work] = Work(*sums)


def run_calls(database: duckdb.DuckDBPyConnection, run: "Run") -> RunCalls:
    """Return the unique calls of a run, sorted by id."""
    query = "SELECT call_id, variant, work, place FROM place WHERE run = ? ORDER BY call_id"
    arrays = database.execute(query, [run.run_id]).fetchnumpy()
    columns = (np.asarray(arrays[name]) for name in ("call_id", "variant", "work", "place"))
    return RunCalls(*(column.astype(np.int64) for column in columns))


# Times of single launches of one side, in arrays of about ten bytes per launch.
#
# All times of a kernel are stored, or if there are more than `MOST_TIMES`, every second, fourth,
# eighth … launch of each unique call. Of very many launches of a side, a sample is added
# (`read_times.py`).


class TimeStore:
    """Store of times of steady launches, or of executions: `add` all, then `gather`, then `of`."""

    def __init__(self, runs: Sequence[RunCalls], kernels: Integers) -> None:
        """Create an empty store for some runs; `kernels` has the kernel number of each variant."""
        size = 1 + max((int(calls.place[-1]) for calls in runs if calls.place.size), default=-1)
        self._variant, self._work, self._run = (np.zeros(size, np.int64) for _ in range(3))
        self._runs = [(calls, Positions(calls.call)) for calls in runs]
        for number, calls in enumerate(runs):
            self._variant[calls.place] = calls.variant
            self._work[calls.place] = calls.work
            self._run[calls.place] = number
        self._kernel = kernels[self._variant] if size else self._variant
        #: Number of launches so far by place; n if every n-th time is stored, by kernel.
        self._seen = np.zeros(size, np.int64)
        self._every = np.ones(1 + int(self._kernel.max(initial=-1)), np.int64)
        #: Batches of place, time in ns, and the launch's number among those of its place.
        self._batches: list[tuple[Integers, Integers, Integers]] = []
        self._stored = self._stored_after_thinning = 0
        #: Number of launches by place if a sample of them is added, else None.
        self._launched: Integers | None = None
        self._place = self._ns = self._launch_order = np.zeros(0, np.int64)
        self._first = self._places = self._first_place = np.zeros(0, np.int64)

    def add(self, run: int, call: Integers, ns: Integers) -> None:
        """Add the call ids and times of launches of the run with this number.

        Launches of unknown calls are skipped.
        """
        calls, positions = self._runs[run]
        position = positions.of(call)
        self._store(calls.place[position[position >= 0]], ns[position >= 0])

    def count(self, run: int, call: Integers, launches: Integers) -> None:
        """Set the numbers of launches of a run's calls, if those that are added are a sample."""
        calls, positions = self._runs[run]
        position = positions.of(call)
        if self._launched is None:
            self._launched = np.zeros_like(self._seen)
        self._launched[calls.place[position[position >= 0]]] = launches[position >= 0]

    def _store(self, place: Integers, ns: Integers) -> None:
        order_by_place = np.argsort(place, kind="stable")
        starts = np.flatnonzero(np.diff(place[order_by_place], prepend=-1))
        counts = np.diff(starts, append=place.size)
        launch_number = np.empty(place.size, np.int64)
        launch_number[order_by_place] = np.arange(place.size) - np.repeat(starts, counts)
        launch_number += self._seen[place]
        self._seen[place[order_by_place[starts]]] += counts
        is_stored = launch_number % self._every[self._kernel[place]] == 0
        self._batches.append(
            (narrow(place[is_stored]), narrow(ns[is_stored]), narrow(launch_number[is_stored]))
        )
        self._stored += int(is_stored.sum())
        if self._stored > max(_LEAST_THINNED, 2 * self._stored_after_thinning):
            self._thin()

    def _thin(self) -> None:
        """Double the stride of kernels with too many times, until all are below the limit."""
        columns = [list(column) for column in zip(*self._batches, strict=True)] or [[], [], []]
        empty = np.zeros(0, np.int8)
        place, ns, number = (np.concatenate([empty, *column]) for column in columns)
        kernel = self._kernel[place]
        # The limit is at least the number of unique calls, as the first launch of each stays.
        calls = np.bincount(self._kernel[self._seen > 0], minlength=self._every.size)
        limits = np.maximum(calls, MOST_TIMES)
        while (has_too_many := np.bincount(kernel, minlength=self._every.size) > limits).any():
            self._every[has_too_many] *= 2
            is_stored = number % self._every[kernel] == 0
            place, ns, number, kernel = (
                column[is_stored] for column in (place, ns, number, kernel)
            )
        self._batches = [(place, ns, number)]
        self._stored = self._stored_after_thinning = place.size

    def gather(self) -> "TimeStore":
        """Group the stored times by variant, in the order of launches, and return the store."""
        self._thin()
        ((place, ns, _),) = self._batches
        self._batches = []
        variant = narrow(self._variant)[place]
        order = narrow(np.argsort(variant, kind="stable"))
        variant_count = int(self._variant.max(initial=-1)) + 1
        self._first = np.append(0, np.cumsum(np.bincount(variant, minlength=variant_count)))
        self._place, self._ns, self._launch_order = place[order], ns[order], order
        self._places = np.argsort(self._variant, kind="stable")
        self._first_place = np.append(
            0, np.cumsum(np.bincount(self._variant, minlength=variant_count))
        )
        return self

    def of(self, variants: Sequence[int]) -> Samples:
        """Return the times of some variants, in the order of launches."""
        rows = _index_ranges(self._first, variants)
        if len(variants) > 1:
            rows = rows[np.argsort(self._launch_order[rows], kind="stable")]
        place = self._place[rows]
        variant, work, run = (column[place] for column in (self._variant, self._work, self._run))
        all_places = self._places[_index_ranges(self._first_place, variants)]
        works, number = np.unique(self._work[all_places], return_inverse=True)
        launched = self._seen if self._launched is None else self._launched
        launch_counts = summed_by(number, launched[all_places])
        return Samples(
            variant,
            work,
            run,
            self._ns[rows],
            works[launch_counts > 0],
            launch_counts[launch_counts > 0],
            None if self._launched is None else STRETCHES,
        )


def _index_ranges(first: Integers, variants: Sequence[int]) -> Integers:
    """Return the concatenated index ranges of some variants; `first` has each range's first."""
    present = [variant for variant in variants if variant + 1 < first.size]
    spans = [np.arange(first[variant], first[variant + 1]) for variant in present]
    return np.concatenate([np.zeros(0, np.int64), *spans])


def read_samples(
    kind: TimesKind,
    trace: "Trace",
    runs: Sequence["Run"],
    places: Sequence[RunCalls],
    kernels: Integers,
    figures: pa.Table,
) -> TimeStore:
    """Return a store with the host or device times of steady launches of some runs.

    `figures` has the launches or executions of each call, as `host_times(trace, runs).calls`.
    """
    times = TimeStore(places, kernels)
    for run, rows in read_times(trace, runs, kind, figures):
        times.add(run, integers(rows["call_id"], -1), integers(rows["ns"]))
    if not is_sampled(trace, runs, kind, figures):
        return times.gather()
    numbers = {run.run_id: number for number, run in enumerate(runs)}
    for run_id, rows in split_by_run(figures.sort_by("run")):
        times.count(numbers[run_id], integers(rows["call_id"], -1), integers(rows[kind.rows]))
    return times.gather()
