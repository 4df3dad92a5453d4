"""Device time of both sides by name: launched kernels, libraries' kernels, copies and fills.

Kernels of libraries (NCCL, cuBLAS), copies and fills have no recorded launch. Their executions of
the same name, grid and bytes are compared as launches with the same arguments are. A collective of
a job's ranks counts from when the last rank began it: its waiting before is lateness of others, and
a row of its own. Where that is not known, as of some ranks alone, collectives are not compared.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.converters.diff.model import (
    DeviceDifference,
    DeviceWork,
    Executions,
    KernelTime,
    Totals,
)
from kvtrace.converters.diff.read_times import MOST_TIMES, STEPS, spread
from kvtrace.converters.diff.times import Samples, compare_times
from kvtrace.converters.parallel import in_order
from kvtrace.figures.collectives import RankCollectives, matched_collectives
from kvtrace.figures.columns import Integers, Positions, combined_codes, integers
from kvtrace.figures.identity import kind_of, own_kind
from kvtrace.figures.names import titled
from kvtrace.figures.tables import open_times
from kvtrace.figures.times import UNKNOWN
from kvtrace.schema.window import TraceWindow

if TYPE_CHECKING:
    from kvtrace.converters.diff.gate import Gate
    from kvtrace.converters.diff.snapshot import Snapshot
    from kvtrace.figures.identity import KernelKey
    from kvtrace.schema.trace import Run, Trace


# Transfers of the collectives of a side's ranks, without the time in which they waited.
#
# How long a kernel of NCCL takes is how late the other ranks are, too. So collectives of a job are
# compared by the time from when the last rank began them. Of ranks that are not all there, or do
# not match, that is not known.


class Named(NamedTuple):
    """A library's kernel, copy or fill: its readable name and its kind (`figures/identity.py`)."""

    name: str
    kind: str


@dataclass(slots=True)
class Transfers:
    """The collectives of a side's ranks.

    Attributes:
        waiting: How long each collective waited, in ns, by name.
        moving: How long each transferred, in the same order.
        unmatched: The names of which some are not matched.
        of_run: Records of a run's collectives, and their transfers, in ns, by run id.

    """

    waiting: dict[Named, Integers] = field(default_factory=dict)
    moving: dict[Named, Integers] = field(default_factory=dict)
    unmatched: set[Named] = field(default_factory=set)
    of_run: dict[str, tuple[Positions, Integers]] = field(default_factory=dict)

    def replaced(self, run: str, record: Integers, ns: Integers) -> Integers:
        """Return the times `ns` of a run's executions, of its collectives the transfers."""
        if run not in self.of_run:
            return ns
        positions, moving = self.of_run[run]
        place = positions.of(record)
        return np.where(place >= 0, moving[place], ns)


def read_transfers(trace: "Trace", runs: Sequence["Run"]) -> Transfers:
    """Return the collectives of the runs in a trace or a window of it; errors as `Trace.table`."""
    transfers = Transfers()
    collectives = matched_collectives(trace, runs)
    for run in () if collectives is None else collectives.runs:
        assert collectives is not None
        ran = collectives.of_rank(run)
        if not ran.start.size:
            continue
        order = np.argsort(ran.record)
        positions = Positions(ran.record[order])
        transfers.of_run[run.run_id] = positions, (ran.end - ran.transfer)[order]
        inside = np.ones(ran.start.size, bool)
        if isinstance(trace, TraceWindow):
            window = trace.window_of(run.run_id)
            inside = (window.device_begin <= ran.start) & (ran.start < window.device_end)
        _add(transfers, ran, inside)
    return transfers


def _add(transfers: Transfers, ran: RankCollectives, inside: npt.NDArray[np.bool_]) -> None:
    """Add the collectives of a rank that are inside of the part."""
    for code, text in enumerate(ran.names):
        rows = inside & (ran.name == code)
        name = Named(titled(text), kind_of(text, None))
        if (ran.last[rows] < 0).any():
            transfers.unmatched.add(name)
        for by_name, ns in (
            (transfers.waiting, ran.transfer - ran.start),
            (transfers.moving, ran.end - ran.transfer),
        ):
            earlier = by_name.get(name, np.zeros(0, np.int64))
            by_name[name] = np.append(earlier, ns[rows])


#: The name and kind of the row with the time of autotuners and warm-ups.
TUNING: Final = ("autotuners and warm-ups", "tuning")
#: That of the row with the time of collectives before their transfer.
WAITING: Final = ("waiting for later ranks", "waiting")


@dataclass(frozen=True, slots=True)
class DeviceExecutions:
    """Executions of a side: of launched kernels by key, of all others by name, and of trials.

    `waiting` is the time of `transfers`, the ranks' collectives, which is in no other sum.
    """

    own: Mapping["KernelKey", Executions]
    others: Mapping[Named, Executions]
    tuning: Executions
    waiting: Executions
    transfers: Transfers

    @property
    def device_ns(self) -> int:
        """The time of all executions: the sum of their durations."""
        parts = (*self.own.values(), *self.others.values(), self.tuning, self.waiting)
        return sum(part.device_ns for part in parts)


#: Sums over executions by kernel; `place` and `device_figures` are those of `totals.py`.
_OWN: Final = """
    SELECT p.variant, sum(d.device_executions)::BIGINT, sum(d.device_ns)::BIGINT
    FROM place p JOIN device_figures d ON d.run = p.run AND d.call_id = p.call_id
    WHERE d.device_executions > 0 GROUP BY p.variant
"""
_OTHERS: Final = """
    SELECT f.name, f.kind, sum(f.device_executions)::BIGINT, sum(f.device_ns)::BIGINT,
        any_value(k.device_median_ns)
    FROM device_figures f LEFT JOIN device_kernels k ON k.name = f.name AND k.kind = f.kind
    WHERE f.call_id IS NULL AND f.device_executions > 0 GROUP BY f.name, f.kind
    ORDER BY f.name, f.kind
"""
_TUNED: Final = """
    SELECT coalesce(sum(tuning_executions), 0)::BIGINT, coalesce(sum(tuning_ns), 0)::BIGINT
    FROM device_figures
"""


def device_executions(
    database: duckdb.DuckDBPyConnection, kernel_of_variant: Sequence["KernelKey"],
    medians: Mapping["KernelKey", tuple[float | None, float | None]], transfers: Transfers,
) -> DeviceExecutions:  # fmt: skip
    """Return the executions of a side, from the tables that `totals.add_figures` has made.

    Args:
        database: The connection.
        kernel_of_variant: The kernel of each variant.
        medians: Median host and device time by kernel, in ns.
        transfers: The collectives of the side's ranks.

    """
    sums: dict[KernelKey, tuple[int, int]] = {}
    for variant, executions, taken in database.execute(_OWN).fetchall():
        key = kernel_of_variant[variant]
        previous = sums.get(key, (0, 0))
        sums[key] = previous[0] + executions, previous[1] + taken
    own = {key: Executions(*both, medians.get(key, (None, None))[1]) for key, both in sums.items()}
    others = {
        Named(name, kind): Executions(executions, taken, median)
        for name, kind, executions, taken, median in database.execute(_OTHERS).fetchall()
    }
    ((tuning_executions, tuning_ns),) = database.execute(_TUNED).fetchall()
    waiting = _take_waiting(others, transfers)
    tuning = Executions(tuning_executions, tuning_ns)
    return DeviceExecutions(own, others, tuning, waiting, transfers)


def _take_waiting(others: dict[Named, Executions], transfers: Transfers) -> Executions:
    """Reduce collectives in `others` to their transfers; return the time that they waited."""
    number = total_ns = 0
    for name, waited in transfers.waiting.items():
        executions = others.get(name)
        if executions is None or executions.executions != waited.size:
            continue  # not the executions that waited, so that no waiting is subtracted
        rest_ns = executions.device_ns - int(waited.sum())
        median_ns = float(np.median(transfers.moving[name]))
        others[name] = Executions(waited.size, rest_ns, median_ns)
        number += int((waited > 0).sum())
        total_ns += int(waited.sum())
    return Executions(number, total_ns)


def device_difference(
    a: "Snapshot", b: "Snapshot", matched: Iterable[tuple["KernelKey", "KernelKey"]]
) -> DeviceDifference | None:
    """Return all device time of both sides by name, most time first.

    None if neither side has executions without a launch: then the kernels' times are all times.

    Args:
        a: The side BEFORE.
        b: The side AFTER.
        matched: The kernels of both sides that are compared with each other.

    """
    if not a.executions.others and not b.executions.others:
        return None
    before, after = a.executions, b.executions
    rows = list(_own_rows(a, b, dict(matched)))
    rows += [
        DeviceWork(*named, before.others.get(named), after.others.get(named))
        for named in dict.fromkeys((*before.others, *after.others))
    ]
    others = (TUNING, before.tuning, after.tuning), (WAITING, before.waiting, after.waiting)
    rows += [DeviceWork(*named, a, b) for named, a, b in others if a.executions or b.executions]
    rows.sort(key=lambda row: (-row.most_ns, row.name, row.kind))
    return DeviceDifference(tuple(rows), before.device_ns, after.device_ns)


def _own_rows(
    a: "Snapshot", b: "Snapshot", matched: Mapping["KernelKey", "KernelKey"]
) -> Iterator[DeviceWork]:
    rest = dict(b.executions.own)
    for key, before in a.executions.own.items():
        after_key = matched.get(key)
        after = None if after_key is None else rest.pop(after_key, None)
        side, shown = (a, key) if after is None or after_key is None else (b, after_key)
        yield DeviceWork(shown.name, _maker(side, shown), before, after)
    for key, after in rest.items():
        yield DeviceWork(key.name, _maker(b, key), None, after)


def _maker(side: "Snapshot", key: "KernelKey") -> str:
    return own_kind(side.kernels[key][0].row["origin"])


def library_times(
    a: "Snapshot", b: "Snapshot", threshold: float, why_not: str | None
) -> tuple[KernelTime, ...]:
    """Return the times of what ran on both sides without a recorded launch, most time first.

    Args:
        a: The side BEFORE.
        b: The side AFTER.
        threshold: See `compare_times`.
        why_not: Why device times cannot be compared; None if they can.

    """
    unmatched = unmatched_collectives(a.executions, b.executions)
    common = [n for n in a.executions.others if n in b.executions.others and n not in unmatched]
    if not common:
        return ()
    works: dict[tuple[object, ...], int] = {}
    samples = [_samples(side, set(common), works) for side in (a, b)]
    timed = [named for named in common if named in samples[0] and named in samples[1]]
    compared = in_order(
        partial(
            compare_times, "device", samples[0][named], samples[1][named],
            threshold=threshold, why_not=why_not,
        )
        for named in timed
    )  # fmt: skip
    times = []
    for named, comparison in zip(timed, compared, strict=True):
        before, after = (_as_totals(side.executions.others[named]) for side in (a, b))
        comparisons = () if comparison is None else (comparison,)
        times.append(KernelTime(named.name, before, after, comparisons))
    return tuple(sorted(times, key=lambda time: -(time.before.device_ns or 0)))


def unmatched_collectives(a: DeviceExecutions, b: DeviceExecutions) -> set[Named]:
    """Return the collectives whose waiting for other ranks is not known on one of the sides."""
    return a.transfers.unmatched | b.transfers.unmatched


def judge_libraries(gate: "Gate", before: DeviceExecutions, after: DeviceExecutions) -> None:
    """Judge what ran in AFTER without a recorded launch by the gate's rules."""
    unmatched = unmatched_collectives(before, after)
    for named, executions in after.others.items():
        if named in unmatched:
            continue
        earlier = before.others.get(named)
        totals = None if earlier is None else _as_totals(earlier)
        gate.compare_kernels(named.name, totals, _as_totals(executions))


def _as_totals(executions: Executions) -> Totals:
    """Return executions without a launch as totals, in which each counts as a launch."""
    return Totals(
        launches=executions.executions,
        device_ns=executions.device_ns,
        device_median_ns=executions.median_ns,
    )


_GRID: Final = ("grid_x", "grid_y", "grid_z")
_UNLAUNCHED: Final = """
    SELECT name, kind, bytes, run, record, "start", ns FROM execution_times
    WHERE call_id IS NULL AND launch_seq IS NULL AND steady
"""
#: Executions by name; of more than `MOST_TIMES` of a name, one in `stride`, evenly spread.
_SAMPLED: Final = f"""
    SELECT t.name, t.kind, t.bytes, t.run::VARCHAR AS run, t.record, t.ns FROM ({_UNLAUNCHED}) t
    JOIN (
        SELECT name, kind, ceil(count(*) / {MOST_TIMES}) AS stride FROM ({_UNLAUNCHED})
        GROUP BY name, kind
    ) n ON n.name IS NOT DISTINCT FROM t.name AND n.kind IS NOT DISTINCT FROM t.kind
    WHERE {spread("t.record")} * n.stride < {STEPS} ORDER BY t.name, t.kind, t.run, t."start"
"""  # noqa: S608


def _samples(
    side: "Snapshot", chosen: set[Named], works: dict[tuple[object, ...], int]
) -> dict[Named, Samples]:
    """Return the times of executions without a launch by name, of collectives the transfers.

    Executions of the same name, bytes and grid are the same work, which `works`, shared by both
    sides, numbers.
    """
    with open_times(side.trace, side.runs, "execution_times") as database:
        rows = database.sql(_SAMPLED).to_arrow_table()
    run_ids = pa.array([run.run_id for run in side.runs], pa.string())
    run = integers(pc.index_in(rows["run"], run_ids))
    code, distinct_works = _distinct(_with_grids(side, rows, run), ("name", "bytes", *_GRID))
    work = np.array([works.setdefault(key, len(works)) for key in distinct_works])[code]
    ns, record = integers(rows["ns"]).copy(), integers(rows["record"])
    for number in np.unique(run).tolist():
        of_run = run == number
        run_id = side.runs[number].run_id
        ns[of_run] = side.executions.transfers.replaced(run_id, record[of_run], ns[of_run])
    code, symbols = _distinct(rows, ("name", "kind"))
    rows_of: dict[Named, list[Integers]] = {}  # of several symbols that are shown as the same name
    for number, symbol_and_kind in enumerate(symbols):
        named = _named(*symbol_and_kind)
        if named in chosen:
            rows_of.setdefault(named, []).append(np.flatnonzero(code == number))
    in_order = {named: np.sort(np.concatenate(parts)) for named, parts in rows_of.items()}
    return {named: _as_samples(work[i], run[i], ns[i]) for named, i in in_order.items()}


def _distinct(rows: pa.Table, names: Sequence[str]) -> tuple[Integers, list[tuple[Any, ...]]]:
    """Return each row's index in the distinct values of some columns, and these values."""
    code, examples = combined_codes([rows[name] for name in names])
    values = rows.select(names).take(pa.array(examples)).to_pylist()
    return code, [tuple(row.values()) for row in values]


def _with_grids(side: "Snapshot", rows: pa.Table, run: Integers) -> pa.Table:
    """Return executions with columns of their grids; `run` has the number of each row's run."""
    record = integers(rows["record"])
    grids = np.zeros((len(_GRID), record.size), np.int64)
    for number in np.unique(run).tolist():
        of_run = np.flatnonzero(run == number)
        of_run = of_run[np.argsort(record[of_run])]
        positions = Positions(record[of_run])
        columns = ("record", *_GRID)
        for piece in side.trace.pieces("gpu_kernels", (side.runs[number],), columns):
            position = positions.of(integers(piece["record"]))
            is_sampled = position >= 0
            for grid, name in zip(grids, _GRID, strict=True):
                grid[of_run[position[is_sampled]]] = integers(piece[name], -1)[is_sampled]
    for grid, name in zip(grids, _GRID, strict=True):
        rows = rows.append_column(name, pa.array(grid))
    return rows


def _named(symbol: str | None, kind: str | None) -> Named:
    """Return the shown name and kind, as `figures/times.py` shows them."""
    return Named(titled(symbol or UNKNOWN), kind_of(symbol or UNKNOWN, kind))


def _as_samples(work: Integers, run: Integers, ns: Integers) -> Samples:
    works, counts = np.unique(work, return_counts=True)
    return Samples(work, run, ns, works, counts.astype(np.int64))
