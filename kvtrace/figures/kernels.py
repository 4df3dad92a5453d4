"""The figures of kernels and calls: names, units, and what of launches and executions they sum.

A figure has one name in every output, and one definition: a text over rows of the view
`launch_times` or `execution_times`, which says which of them count.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

Unit = Literal["count", "ns", "bytes"]
#: How sure a figure is: timed, or read off what was recorded.
Certainty = Literal["measured", "exact"]


@dataclass(frozen=True, slots=True)
class KernelFigure:
    """A figure of a call, or of a kernel over its calls.

    Attributes:
        name: its name in JSON, in tables and in a diff.
        unit: what it is counted in.
        label: its name for people.
        certainty: how sure it is.
        text: the sum in SQL, null where nothing is summed; None of a median, which is not a sum.
        further: whether `info`, the profile, the report, a diff and the view `call_sums` show it
            without asking for its name.
        per: of those, the count that the sum is divided by where it is shown: it is a mean.
        column: a column of `launches` that is summed, which is not there for anything else.

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
        """Return what is shown of sums by name: this one, or the mean."""
        own = sums.get(self.name)
        if self.per is None or own is None:
            return own
        return own / sums[self.per] if sums.get(self.per) else None

    @property
    def adds_up(self) -> bool:
        """Whether the figure of several calls is the sum of each call's."""
        return self.text is not None


def _count(rows: str) -> str:
    """Return the text that counts rows: a row may represent several."""
    return f"sum(CASE WHEN {rows} THEN weight ELSE 0 END)"


def _total(rows: str, column: str = "taken") -> str:
    """Return the text that adds up the time of rows, or a column; null where there is none."""
    return f"sum(CASE WHEN {rows} THEN {column} END)"


#: Of launches. Those of autotuners and warm-ups are in `tuning_launches` and in nothing else.
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
#: Of executions on devices: those that were timed, trials excluded.
EXECUTED: Final = (
    KernelFigure("device_executions", "count", "executions", "exact", _count("steady")),
    KernelFigure("device_ns", "ns", "device", "measured", _total("steady")),
    KernelFigure("replays", "count", "replays", "exact", _count("replayed AND NOT tuning")),
    KernelFigure("tuning_executions", "count", "tuning", "exact", _count("tuning AND timed")),
    KernelFigure("tuning_ns", "ns", "tuning", "measured", _total("tuning")),
)
#: Of steady launches, and of steady executions.
HOST_MEDIAN: Final = KernelFigure("host_median_ns", "ns", "host median", "measured")
DEVICE_MEDIAN: Final = KernelFigure("device_median_ns", "ns", "device median", "measured")

KERNEL_FIGURES: Final[Mapping[str, KernelFigure]] = {
    each.name: each for each in (*LAUNCHED, HOST_MEDIAN, *EXECUTED, DEVICE_MEDIAN)
}
#: Columns of `launches` that only figures read, which the views have as sums over what a row
#: represents.
LAUNCH_COLUMNS: Final = tuple(dict.fromkeys(f.column for f in LAUNCHED if f.column is not None))
#: Figures that no code asks for by name.
FURTHER: Final = tuple(each for each in KERNEL_FIGURES.values() if each.further)
#: The names of what these are made of: sums, and the counts that they are divided by.
FURTHER_SUMS: Final = tuple(
    dict.fromkeys(name for f in FURTHER for name in (f.name, f.per) if name is not None)
)


def further_sums(rows: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """Add up what further figures, and the counts that they are divided by, are of some calls."""
    total: dict[str, float] = {}
    for row in rows if FURTHER_SUMS else ():
        for name in FURTHER_SUMS:
            if row.get(name) is not None:
                total[name] = total.get(name, 0) + row[name]
    return total


def sums(figures: Sequence[KernelFigure]) -> str:
    """Return the columns that sum rows of `launch_times` or `execution_times`."""
    return ", ".join(
        f"CAST({each.text} AS BIGINT) AS {each.name}" for each in figures if each.adds_up
    )


def medians(rows: str, keys: str, name: str) -> str:
    """Return the query of the median time of steady rows, by some keys, as a column of this name.

    A time has the ranks behind those of shorter ones, up to and with `upto`; the median is the mean
    of the times at the two ranks in the middle, which may be one.
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


def medians_of_single_rows(rows: str, keys: str, name: str) -> str:
    """Return `medians` of rows that each represent one, which DuckDB finds in less time."""
    return f"SELECT {keys}, median(ns) AS {name} FROM {rows} WHERE steady GROUP BY {keys}"  # noqa: S608
