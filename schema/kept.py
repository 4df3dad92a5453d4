"""Which of a run's launches its tables hold: all of them, one in so many, or the newest.

A row of `launches` or `gpu_kernels` may represent several: `weight` says for how many. So the sum
of weights is exact, whatever was recorded in detail, and a sum of times by weight is an estimate.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.schema.runs import Run

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

#: How a run ended whose recording ended at its limit.
LIMIT: Final = "limit"
#: The prefix of an amount of which the newest is kept.
RING: Final = "ring:"


def weights(rows: pa.Table) -> "npt.NDArray[np.int64]":
    """How many launches or executions each row represents; the column `weight` has been read."""
    found: npt.NDArray[np.int64] = weights_of(rows).to_numpy()
    return found


def number_of(pieces: Iterable[pa.Table]) -> int:
    """How many launches, or executions, rows with the column `weight` represent."""
    return sum(pc.sum(weights_of(piece)).as_py() or 0 for piece in pieces)


def weights_of(rows: pa.Table) -> pa.ChunkedArray:
    """Return the column `weight`, in which each row represents at least one."""
    written = pc.fill_null(rows["weight"], 1)
    return pc.max_element_wise(written, 1).cast(pa.int64())  # a file may say anything


def keeps_newest(run: Run) -> bool:
    """Whether the run's oldest launches may have been dropped while it was recorded."""
    return RING in run.settings.get("limit", "").lower()


def told_of(run: Run) -> Iterator[str]:
    """Return what readers must know of a run that does not hold every launch, a sentence each."""
    sample, limit = run.settings.get("sample"), run.settings.get("limit")
    if sample:
        lost = "" if run.ended is not None else ", except for the last ones of the killed run"
        yield (
            f"run {run.run_id} records {sample} of its launches in detail (KVTRACE_SAMPLE): the "
            f"numbers of launches and executions are exact{lost}; times are estimates from those "
            "that are recorded"
        )
    if keeps_newest(run):
        yield f"run {run.run_id} holds only its newest launches (KVTRACE_LIMIT={limit})"
    if run.ending == LIMIT:
        yield (
            f"run {run.run_id} ended at KVTRACE_LIMIT={limit}: what the program launched later is "
            "not recorded"
        )
