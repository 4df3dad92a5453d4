"""Launches of a run, counted and their host time summed in one pass, however many they are."""

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.converters.compiling import CompilingLaunches
from kvtrace.schema.kept import weights

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace


@dataclass(frozen=True, slots=True)
class LaunchSums:
    """Launches by call and phase; a launch whose phase is not said is one of the phase "run".

    `phase_ns` is the nanoseconds of these launches, left out where none is timed, and without those
    in which the kernel was compiled, loaded or tuned: theirs are in `compiling_ns`, by call.
    `last_exit` is nanoseconds since 1970, None where nothing says it.
    """

    counts: Counter[tuple[int, str]]
    phase_ns: Counter[tuple[int, str]]
    compiling_ns: Counter[int]
    last_exit: int | None

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


def launch_sums(trace: "Trace", run: "Run") -> LaunchSums:
    """Count and sum the launches of a run; errors as `Trace.table`."""
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


def _summed(figures: Any) -> Counter[Any]:
    found: Counter[Any] = Counter()
    for key, number in figures:
        found[key] += number
    return found
