"""Sums and medians of times, asked of Spark: what a profile is made from.

Texts over the views, in the dialect that DuckDB and Spark share. What comes back has a row for each
call and for each kernel, however many launches there are, as `kvtrace.converters.call_times` makes
of launches and executions that it reads itself.
"""

from collections.abc import Mapping
from typing import Final

import pyarrow as pa

from kvtrace.converters.call_times import TRITON, CallTimes
from kvtrace.converters.spark.session import SparkTrace
from kvtrace.converters.trials import TUNING

_TRIALS: Final = ", ".join(f"'{phase}'" for phase in TUNING)
#: Of calls whose kernel is known.
_KNOWN: Final = """
    JOIN calls c ON c.run = t.run AND c.call_id = t.call_id
    JOIN kernels k ON k.run = c.run AND k.kernel_id = c.kernel_id
"""
_LAUNCHED: Final = f"""
    SELECT t.*, t.ns IS NOT NULL AND NOT t.trial AND NOT t.slow AS steady,
        coalesce(k.module, '') AS module, coalesce(k.name, '') AS name
    FROM (
        SELECT l.run, l.call_id, epoch_ns(l."exit") - epoch_ns(l."enter") AS ns,
            coalesce(l.phase IN ({_TRIALS}), false) AS trial,
            coalesce(l.phase = 'graph_capture', false) AS to_graph,
            s.seq IS NOT NULL AS slow, greatest(l.weight, 1) AS weight
        FROM launches l LEFT JOIN compiling s ON s.run = l.run AND s.seq = l.seq
    ) t {_KNOWN}
"""  # noqa: S608
_EXECUTED: Final = f"""
    SELECT t.*, t.ns IS NOT NULL AND NOT t.trial AS steady,
        coalesce(k.module, '') AS module, coalesce(k.name, '') AS name
    FROM (
        SELECT p.run, p.call_id, p.device_ns AS ns, s.seq IS NOT NULL AS trial,
            p.graph_id IS NOT NULL AS of_graph, p.weight
        FROM placed p LEFT JOIN tuning s ON s.run = p.run AND s.seq = p.launch_seq
    ) t {_KNOWN}
"""  # noqa: S608


def _count(rows: str) -> str:
    """Return the text that counts rows of a call."""
    return f"sum(CASE WHEN {rows} THEN weight ELSE 0 END)"


def _total(rows: str) -> str:
    """Return the text that adds up the times of rows; null where there is none."""
    return f"sum(CASE WHEN {rows} THEN ns * weight END)"


_LAUNCHES: Final = {
    "launches": _count("NOT trial"),
    "tuning": _count("trial"),
    "captured": _count("to_graph"),
    "timed": _count("steady"),
    "ns": _total("steady"),
    "compiling": _count("slow"),
    "compiling_timed": _count("slow AND ns IS NOT NULL"),
    "compiling_ns": _total("slow"),
}
_EXECUTIONS: Final = {
    "executions": _count("NOT trial"),
    "timed": _count("steady"),
    "ns": _total("steady"),
    "replays": _count("of_graph AND NOT trial"),
    "tuned": _count("trial AND ns IS NOT NULL"),
    "tuned_ns": _total("trial"),
}


def spark_times(spark: SparkTrace) -> tuple[CallTimes, CallTimes]:
    """Return the times of calls on the host and on devices; errors as `SparkTrace.table`.

    There are none of executions whose call is not known, and no sizes or steps.
    """
    return _times(spark, _LAUNCHED, _LAUNCHES), _times(spark, _EXECUTED, _EXECUTIONS)


def _times(spark: SparkTrace, rows: str, sums: Mapping[str, str]) -> CallTimes:
    by_call = spark.table(
        f"WITH told AS ({rows}), summed AS ({_sums(sums)}), middle AS ({_medians('run, call_id')}) "  # noqa: S608
        "SELECT s.*, m.median FROM summed s "
        "LEFT JOIN middle m ON m.run = s.run AND m.call_id = s.call_id"
    )
    by_kernel = spark.table(f"WITH told AS ({rows}) {_medians('module, name')}")
    unnamed = pa.nulls(by_call.num_rows, pa.string())
    for name in ("kind", "name"):
        by_call = by_call.add_column(2, name, unnamed)
    kinds = pa.array([TRITON] * by_kernel.num_rows, pa.string())
    return CallTimes(by_call, by_kernel.add_column(2, "kind", kinds))


def _sums(named: Mapping[str, str]) -> str:
    """Return the text that sums rows by call."""
    columns = ", ".join(f"CAST({text} AS BIGINT) AS {name}" for name, text in named.items())
    return f"SELECT run, call_id, {columns} FROM told GROUP BY run, call_id"  # noqa: S608


def _medians(keys: str) -> str:
    """Return the text that gives the median of steady rows by some keys.

    A time stands for the places behind those of shorter ones, up to and with `upto`; the median is
    the mean of the times at the two places in the middle, which may be one.
    """
    low, high = (
        "2 * (upto - times) < total AND total <= 2 * upto",
        ("2 * (upto - times) <= total AND total < 2 * upto"),
    )
    return f"""
        SELECT {keys}, CAST(max(CASE WHEN {low} THEN ns END) + max(CASE WHEN {high} THEN ns END)
            AS DOUBLE) / 2 AS median
        FROM (
            SELECT {keys}, ns, times, sum(times) OVER (PARTITION BY {keys} ORDER BY ns) AS upto,
                sum(times) OVER (PARTITION BY {keys}) AS total
            FROM (
                SELECT {keys}, ns, CAST(sum(weight) AS BIGINT) AS times FROM told
                WHERE steady GROUP BY {keys}, ns
            ) counted
        ) placed_in_order
        GROUP BY {keys}
    """  # noqa: S608
