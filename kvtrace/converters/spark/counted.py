"""How often each time was taken, by call, asked of Spark: what a profile is made from.

Two texts over the views, in the dialect that DuckDB and Spark share; what they count is summed as
`kvtrace.converters.call_times` sums launches and executions that it reads itself.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.converters.call_times import CallTimes, device_times, host_times
from kvtrace.converters.columns import integers
from kvtrace.converters.spark.session import SparkTrace
from kvtrace.converters.timed_rows import Executed, Launched, Mask
from kvtrace.converters.trials import TUNING

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

_TRIALS: Final = ", ".join(f"'{phase}'" for phase in TUNING)

#: Launches that are alike.
HOST_TIMES: Final = f"""
    SELECT run, call_id, ns, tuning, captured, compiling,
        CAST(sum(weight) AS BIGINT) AS times
    FROM (
        SELECT l.run, l.call_id, epoch_ns(l."exit") - epoch_ns(l."enter") AS ns,
            coalesce(l.phase IN ({_TRIALS}), false) AS tuning,
            coalesce(l.phase = 'graph_capture', false) AS captured,
            c.seq IS NOT NULL AS compiling, greatest(l.weight, 1) AS weight
        FROM launches l LEFT JOIN compiling c ON c.run = l.run AND c.seq = l.seq
    ) told
    GROUP BY run, call_id, ns, tuning, captured, compiling
"""  # noqa: S608

#: Executions that are alike.
DEVICE_TIMES: Final = """
    SELECT run, call_id, ns, tuning, replayed, CAST(sum(weight) AS BIGINT) AS times
    FROM (
        SELECT p.run, p.call_id, p.device_ns AS ns, t.seq IS NOT NULL AS tuning,
            p.graph_id IS NOT NULL AS replayed, p.weight
        FROM placed p LEFT JOIN tuning t ON t.run = p.run AND t.seq = p.launch_seq
    ) told
    GROUP BY run, call_id, ns, tuning, replayed
"""


def spark_times(
    trace: "Trace", runs: Sequence["Run"], spark: SparkTrace
) -> tuple[CallTimes, CallTimes]:
    """Return the times of calls on the host and on devices; errors as `SparkTrace.table`."""
    host, device = spark.table(HOST_TIMES), spark.table(DEVICE_TIMES)

    def launched(run: "Run") -> Iterator[Launched]:
        rows = host.filter(pc.equal(host["run"], run.run_id))
        tuning, captured, compiling = (_flags(rows, n) for n in ("tuning", "captured", "compiling"))
        timed, times = pc.is_valid(rows["ns"]).to_numpy(), integers(rows["times"])
        call, ns = integers(rows["call_id"], -1), integers(rows["ns"])
        yield Launched(call, ns, timed, tuning, captured, compiling, times)

    def executed(run: "Run") -> Iterator[Executed]:
        rows = device.filter(pc.equal(device["run"], run.run_id))
        tuning, replayed = (_flags(rows, name) for name in ("tuning", "replayed"))
        timed, times = pc.is_valid(rows["ns"]).to_numpy(), integers(rows["times"])
        call, ns = integers(rows["call_id"], -1), integers(rows["ns"])
        unnamed = pa.table({name: pa.nulls(call.size, pa.string()) for name in ("name", "kind")})
        unnamed = unnamed.append_column("bytes", pa.nulls(call.size, pa.int64()))
        start = np.zeros(call.size, np.int64)
        yield Executed(call, start, ns, timed, tuning, replayed, times, unnamed)

    return host_times(trace, runs, launched), device_times(trace, runs, {}, executed)


def _flags(rows: pa.Table, name: str) -> Mask:
    found: Mask = rows[name].to_numpy()
    return found
