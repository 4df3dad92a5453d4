"""Launches of runs, counted and their host time summed, however many they are.

DuckDB sums them by the views where the rows mean what they say, as nearly all do. A run of which
that is not known, or that is not sealed, is read in pieces, as `Trace.table` repairs its rows.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.converters.compiling import CompilingLaunches
from kvtrace.converters.database import database as new_database
from kvtrace.converters.scans import Scans, sound_rows
from kvtrace.converters.views import tables_of, view_statements
from kvtrace.schema.kept import weights

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace


#: Times are nanoseconds since 1970; null where none is known.
_SUMS: Final = """
    SELECT p.run, p.call_id, p.phase, p.launches, p.least_ns, epoch_ns(p.last_exit),
        CASE WHEN p.timed > coalesce(c.timed, 0) THEN p.host_ns - coalesce(c.host_ns, 0) END,
        c.host_ns
    FROM phase_sums p LEFT JOIN compiling_sums c
        ON c.run = p.run AND c.call_id = p.call_id AND c.phase = p.phase
"""
#: How far into each run autotuners and warm-ups went.
_REACH: Final = "SELECT run, max(seq) FROM tuning GROUP BY run ORDER BY max(seq)"
#: Launches up to the last trial, of all runs, that a window over their threads may hold in memory.
_MOST_HELD: Final = 1 << 18
_COLUMNS: Final = ("seq", "call_id", "enter", "exit")


_SUMMED: Final[WeakKeyDictionary["Trace", dict[str, "LaunchSums"]]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class LaunchSums:
    """Launches by call and phase; a launch whose phase is not said is one of the phase "run".

    `phase_ns` is the nanoseconds of these launches, left out where none is timed, and without those
    in which the kernel was compiled, loaded or tuned: theirs are in `compiling_ns`, by call.
    `last_exit` is nanoseconds since 1970, None where nothing says it.
    """

    counts: Counter[tuple[int, str]] = field(default_factory=Counter)
    phase_ns: Counter[tuple[int, str]] = field(default_factory=Counter)
    compiling_ns: Counter[int] = field(default_factory=Counter)
    last_exit: int | None = None

    @property
    def launches(self) -> int:
        """How many launches there are."""
        return self.counts.total()

    @property
    def phases(self) -> Counter[str]:
        """Launches by phase."""
        return _summed((phase, number) for (_, phase), number in self.counts.items())

    @property
    def calls(self) -> Counter[int]:
        """Launches by call."""
        return _summed((call, number) for (call, _), number in self.counts.items())

    @property
    def host_ns(self) -> Counter[int]:
        """Nanoseconds by call, of all phases."""
        return _summed((call, taken) for (call, _), taken in self.phase_ns.items())


def launch_sums(trace: "Trace", runs: Sequence["Run"]) -> dict[str, LaunchSums]:
    """Count and sum the launches of each run; errors as `Trace.table`.

    Those of sealed runs are counted once for an opened trace, whoever asks.
    """
    known = _SUMMED.setdefault(trace, {})
    new = [run for run in runs if not run.sealed or run.run_id not in known]
    found = _read(trace, new) if new else {}
    known.update((run.run_id, found[run.run_id]) for run in new if run.sealed)
    return {run.run_id: found.get(run.run_id) or known[run.run_id] for run in runs}


def _read(trace: "Trace", runs: Sequence["Run"]) -> dict[str, LaunchSums]:
    sound = [run for run in runs if sound_rows(trace, run, "launches", _COLUMNS) is not None]
    sound = _tuned_early(trace, sound) if sound else []
    found = _asked(trace, sound) if sound else {}
    return {
        run.run_id: found[run.run_id] if run.run_id in found else _in_pieces(trace, run)
        for run in runs
    }


def _tuned_early(trace: "Trace", runs: Sequence["Run"]) -> list["Run"]:
    """Return the runs without those whose trials reach so far that a window takes much memory."""
    with _views(trace, runs, ("tuning",)) as database:
        reached = database.execute(_REACH).fetchall()
    late, held = set(), 0
    for run, last in reached:
        held += last + 1
        if held > _MOST_HELD:
            late.add(run)
    return [run for run in runs if run.run_id not in late]


def _views(
    trace: "Trace", runs: Sequence["Run"], views: Sequence[str]
) -> duckdb.DuckDBPyConnection:
    """Return a database with some views of some runs."""
    database = new_database()
    scans = Scans(trace, runs, itself=True)
    scans.close(database, tables_of(views))
    for name in tables_of(views):
        scans.create_view(database, name)
    for statement in view_statements(views):
        database.execute(statement)
    return database


def _asked(trace: "Trace", runs: Sequence["Run"]) -> dict[str, LaunchSums]:
    """Sum by the views; runs in which a clock was set back are left out."""
    with _views(trace, runs, ("phase_sums", "compiling_sums")) as database:
        rows = database.execute(_SUMS).fetchall()
    found = {run.run_id: LaunchSums() for run in runs}
    last: dict[str, int] = {}
    back = set()
    for run, call, phase, launches, least, last_exit, host_ns, compiling_ns in rows:
        sums = found[run]
        sums.counts[call, phase] = launches
        if host_ns is not None:
            sums.phase_ns[call, phase] = host_ns
        if compiling_ns is not None:
            sums.compiling_ns[call] += compiling_ns
        if last_exit is not None:
            last[run] = max(last_exit, last.get(run, last_exit))
        if least is not None and least < 0:
            back.add(run)
    return {
        run: LaunchSums(sums.counts, sums.phase_ns, sums.compiling_ns, last.get(run))
        for run, sums in found.items()
        if run not in back
    }


def _in_pieces(trace: "Trace", run: "Run") -> LaunchSums:
    """Count and sum the launches of a run, piece by piece."""
    counts: Counter[tuple[int, str]] = Counter()
    phase_ns: Counter[tuple[int, str]] = Counter()
    compiling_ns: Counter[int] = Counter()
    compiling = CompilingLaunches(trace, run)
    last_exit = None
    columns = ["call_id", "enter", "exit", "thread", "phase", "weight"]
    for piece in trace.pieces("launches", [run], columns):
        exits = piece["exit"].cast(pa.int64())
        latest = pc.max(exits).as_py()
        if latest is not None:
            last_exit = latest if last_exit is None else max(last_exit, latest)
        taken = pc.subtract(exits, piece["enter"].cast(pa.int64()))
        weight = pa.array(weights(piece))
        plain = {
            "call": piece["call_id"],
            "phase": piece["phase"].cast(pa.string()),
            "compiling": pa.array(compiling.among(piece)),
            "count": weight,
            "ns": pc.multiply(taken, weight),
        }
        grouped = pa.table(plain).group_by(["call", "phase", "compiling"], use_threads=False)
        for row in grouped.aggregate([("count", "sum"), ("ns", "sum")]).to_pylist():
            counts[row["call"], row["phase"] or "run"] += row["count_sum"]
            if row["ns_sum"] is None:
                continue
            if row["compiling"]:
                compiling_ns[row["call"]] += row["ns_sum"]
            else:
                phase_ns[row["call"], row["phase"] or "run"] += row["ns_sum"]
    return LaunchSums(counts, phase_ns, compiling_ns, last_exit)


def _summed(figures: Iterable[tuple[Any, int]]) -> Counter[Any]:
    found: dict[Any, int] = {}  # a Counter asks Python of each key that is new
    for key, number in figures:
        found[key] = found.get(key, 0) + number
    return Counter(found)
