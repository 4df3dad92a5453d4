"""Numbers of tensors at calls' first launches, read from the table `tensor_statistics`."""

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Final, Literal

import pyarrow.compute as pc

from kvtrace.schema.runs import plain_rows

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace


#: The first fields, which count elements.
_COUNTS: Final = 7


@dataclass(frozen=True, slots=True)
class TensorStatistics:
    """Numbers of one tensor, as the columns of `tensor_statistics` say; no quantile: ()."""

    elements: int
    sampled: int
    nans: int
    infinities: int
    negative_infinities: int
    zeros: int
    negatives: int
    minimum: float | None
    maximum: float | None
    mean: float | None
    deviation: float | None
    quantiles: tuple[float, ...]
    sorted: Literal["ascending", "descending"] | None


def call_statistics(trace: "Trace", run: "Run", call_id: int) -> dict[int, TensorStatistics]:
    """Return the numbers at a call's first launch that has some, by the argument's index.

    Rows without a count, as another writer may leave them, are left out.
    """
    table = trace.table("tensor_statistics", (run,))
    rows = plain_rows(table.filter(pc.equal(table.column("call_id"), call_id)))
    first = min((row["seq"] for row in rows), default=None)
    names = [field.name for field in fields(TensorStatistics)]
    statistics: dict[int, TensorStatistics] = {}
    for row in rows:
        values = {name: row[name] for name in names}
        if row["seq"] != first or None in [values[name] for name in names[:_COUNTS]]:
            continue
        values["quantiles"] = tuple(values["quantiles"] or ())
        statistics[row["arg"]] = TensorStatistics(**values)
    return statistics
