"""Numbers of tensors at calls' first launches, read from the table `tensor_statistics`."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Final, Literal

from kvtrace.schema.runs import plain_rows

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace


#: The first fields, which count elements.
_COUNTS: Final = 7


@dataclass(frozen=True, slots=True)
class TensorStatistics:
    """Numbers of one tensor, as the columns of `tensor_statistics` say."""

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
    quantiles: tuple[float, ...] | None
    sorted: Literal["ascending", "descending"] | None


def first_statistics(
    trace: "Trace", runs: Sequence["Run"]
) -> dict[tuple[str, int], dict[int, TensorStatistics]]:
    """Return the numbers at each call's first launch that has some.

    The result is keyed by (run id, call id), and then by the argument's index.
    """
    names = [field.name for field in fields(TensorStatistics)]
    first: dict[tuple[str, int], dict[int, TensorStatistics]] = {}
    for run in runs:
        launches: dict[int, int] = {}  # first `seq` of each call
        for row in plain_rows(trace.table("tensor_statistics", (run,))):
            call_id = row["call_id"]
            if launches.setdefault(call_id, row["seq"]) != row["seq"] or not row["sampled"]:
                continue
            values = {name: row[name] for name in names}
            if any(values[name] is None for name in names[:_COUNTS]):
                continue  # of another writer
            if values["quantiles"] is not None:
                values["quantiles"] = tuple(values["quantiles"])
            by_argument = first.setdefault((run.run_id, call_id), {})
            by_argument[row["arg"]] = TensorStatistics(**values)
    return first
