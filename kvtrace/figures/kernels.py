"""The figures of kernels and calls: names, units, and definitions as sums in SQL.

A figure has one name in every output, and one definition: SQL over rows of the view `launch_times`
or `execution_times` that says which rows count.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

Unit = Literal["count", "ns", "bytes"]
#: Certainty of a figure: timed, or counted from records.
Certainty = Literal["measured", "exact"]


@dataclass(frozen=True, slots=True)
class KernelFigure:
    """A figure of a call, or of a kernel over its calls.

    Attributes:
        name: the name in JSON, in tables and in a diff.
        unit: the unit of the value.
        label: the name for people.
        certainty: measured or exact.
        text: the SQL expression of the sum, null if no row counts; None for a median.
        further: whether `info`, the profile, the report, a diff and the view `call_sums` show the
            figure by iterating over `FURTHER`, without code that names it.
        per: the name of a count; the shown value is the sum divided by this count. None: the sum.
        column: a column of `launches` that only this figure sums.

    """

    name: str
    unit: Unit
    label: str
    certainty: Certainty
    text: str | None = None
    further: bool = False
    per: str | None = None
    column: str | None = None

    def shown(self, sums: Mapping[str, Any]) -> float | None:
        """Return the figure's sum in `sums`, divided by that of `per` if any; None if undefined."""
        total = sums.get(self.name)
        if self.per is None or total is None:
            return total
        return total / sums[self.per] if sums.get(self.per) else None

    @property
    def adds_up(self) -> bool:
        """The figure of several calls is the sum of the calls' figures (no median)."""
        return self.text is not None


def compiled_here(cache_hit: bool | None, compile_ns: int | None) -> bool:
    """Return whether the process compiled a variant itself instead of loading it from a cache.

    `cache_hit` decides unless it is None; then a recorded `compile_ns` means that it compiled. A
    compiled variant is a recompile unless it is its kernel's first in the process. Inductor's
    kernels that a worker process compiled have no compile time, and so count as loaded.
    """
    return compile_ns is not None if cache_hit is None else not cache_hit


def _count(rows: str) -> str:
    """Return SQL that sums `weight` over rows for which the SQL condition `rows` is true."""
    return f"sum(CASE WHEN {rows} THEN weight ELSE 0 END)"


def _total(rows: str, column: str = "taken") -> str:
    """Return SQL for a column's sum over rows that satisfy `rows`; null without such rows."""
    return f"sum(CASE WHEN {rows} THEN {column} END)"


#: Figures of launches. Launches by autotuners and warm-ups count only in `tuning_launches`.
LAUNCHED: Final = (
    KernelFigure("launches", "count", "launches", "exact", _count("NOT tuning")),
    KernelFigure("tuning_launches", "count", "tuning", "exact", _count("tuning")),
    KernelFigure("captured_launches", "count", "captured", "exact", _count("captured")),
    KernelFigure("timed_launches", "count", "timed", "exact", _count("steady")),
    KernelFigure("host_ns", "ns", "host", "measured", _total("steady")),
    KernelFigure(
        "compiling_launches", "count", "compiling", "exact", _count("compiling AND NOT tuning")
    ),
    KernelFigure("compiling_ns", "ns", "compiling", "measured", _total("compiling AND NOT tuning")),
)
#: Figures of timed executions on devices. Trials count only in `tuning_…` figures.
EXECUTED: Final = (
    KernelFigure("device_executions", "count", "executions", "exact", _count("steady")),
    KernelFigure("device_ns", "ns", "device", "measured", _total("steady")),
    KernelFigure("replays", "count", "replays", "exact", _count("replayed AND NOT tuning")),
    KernelFigure("tuning_executions", "count", "tuning", "exact", _count("tuning AND timed")),
    KernelFigure("tuning_ns", "ns", "tuning", "measured", _total("tuning")),
)
#: Medians of steady launches, and of steady executions.
HOST_MEDIAN: Final = KernelFigure("host_median_ns", "ns", "host median", "measured")
DEVICE_MEDIAN: Final = KernelFigure("device_median_ns", "ns", "device median", "measured")

KERNEL_FIGURES: Final[Mapping[str, KernelFigure]] = {
    figure.name: figure for figure in (*LAUNCHED, HOST_MEDIAN, *EXECUTED, DEVICE_MEDIAN)
}
#: Columns of `launches` that only figures read; views have them times the row's weight.
LAUNCH_COLUMNS: Final = tuple(dict.fromkeys(f.column for f in LAUNCHED if f.column is not None))
#: Figures that outputs show without asking for their names.
FURTHER: Final = tuple(figure for figure in KERNEL_FIGURES.values() if figure.further)
#: Names of the sums of further figures, and of the counts by which they are divided.
FURTHER_SUMS: Final = tuple(
    dict.fromkeys(name for f in FURTHER for name in (f.name, f.per) if name is not None)
)


def further_sums(rows: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """Return the totals of `FURTHER_SUMS` over rows of calls; names without a value are absent."""
    total: dict[str, float] = {}
    for row in rows if FURTHER_SUMS else ():
        for name in FURTHER_SUMS:
            if row.get(name) is not None:
                total[name] = total.get(name, 0) + row[name]
    return total


def sums(figures: Sequence[KernelFigure]) -> str:
    """Return the SQL select list of the figures that are sums, one column per figure's name."""
    return ", ".join(
        f"CAST({figure.text} AS BIGINT) AS {figure.name}" for figure in figures if figure.adds_up
    )


def added_up(figures: Sequence[KernelFigure], condition: str = "true") -> str:
    """Return the SQL select list that adds up figures of calls, of rows that meet a condition."""
    return ", ".join(
        f"CAST(sum({figure.name}) FILTER ({condition}) AS BIGINT) AS {figure.name}"
        for figure in figures
        if figure.adds_up
    )


def medians(rows: str, keys: str, name: str) -> str:
    """Return SQL that selects `keys` and the median `ns` of steady rows by `keys`, as `name`.

    Args:
        rows: a table, view or subquery with columns `ns`, `weight`, `steady` and the keys.
        keys: names of columns, separated by commas.
        name: the name of the median's column.

    Rows are weighted. Sorted by time, a time has the ranks after the shorter times, up to `upto`;
    the median is the mean of the times at the two middle ranks, which may be the same. Example:
    3 ns with weight 1 and 5 ns with weight 3 have the ranks 1 and 2 to 4; ranks 2 and 3 give 5.
    """
    low, high = (
        "2 * (upto - times) < total AND total <= 2 * upto",
        "2 * (upto - times) <= total AND total < 2 * upto",
    )
    return f"""
        SELECT {keys}, CAST(max(CASE WHEN {low} THEN ns END) + max(CASE WHEN {high} THEN ns END)
            AS DOUBLE) / 2 AS {name}
        FROM (
            SELECT {keys}, ns, times, sum(times) OVER (PARTITION BY {keys} ORDER BY ns) AS upto,
                sum(times) OVER (PARTITION BY {keys}) AS total
            FROM (
                SELECT {keys}, ns, CAST(sum(weight) AS BIGINT) AS times FROM {rows}
                WHERE steady GROUP BY {keys}, ns
            ) counted
        ) placed_in_order
        GROUP BY {keys}
    """  # noqa: S608
