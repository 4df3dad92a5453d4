"""How often each time was taken, by call, asked of Spark: what a profile is made from.

Two texts over the views, in the dialect that DuckDB and Spark share; the tables that they give are
those of `kvtrace.converters.counted_times`, which reads launches and executions in pieces.
"""

from typing import Final

from kvtrace.converters.counted_times import CountedTimes
from kvtrace.converters.spark.session import SparkTrace
from kvtrace.converters.trials import TUNING

_TRIALS: Final = ", ".join(f"'{phase}'" for phase in TUNING)

#: Launches that are alike.
HOST_TIMES: Final = f"""
    SELECT run, call_id, ns, tuning, captured, compiling, count(*) AS times
    FROM (
        SELECT l.run, l.call_id, epoch_ns(l."exit") - epoch_ns(l."enter") AS ns,
            coalesce(l.phase IN ({_TRIALS}), false) AS tuning,
            coalesce(l.phase = 'graph_capture', false) AS captured,
            c.seq IS NOT NULL AS compiling
        FROM launches l LEFT JOIN compiling c ON c.run = l.run AND c.seq = l.seq
    ) told
    GROUP BY run, call_id, ns, tuning, captured, compiling
"""  # noqa: S608

#: Executions that are alike.
DEVICE_TIMES: Final = """
    SELECT run, call_id, ns, tuning, replayed, count(*) AS times
    FROM (
        SELECT p.run, p.call_id, p.device_ns AS ns, t.seq IS NOT NULL AS tuning,
            p.graph_id IS NOT NULL AS replayed
        FROM placed p LEFT JOIN tuning t ON t.run = p.run AND t.seq = p.launch_seq
    ) told
    GROUP BY run, call_id, ns, tuning, replayed
"""


def spark_times(trace: SparkTrace) -> CountedTimes:
    """Return the counted times of the runs; errors as `SparkTrace.table`."""
    return CountedTimes(trace.table(HOST_TIMES), trace.table(DEVICE_TIMES))
