"""Launches that a run's tables hold: all, one in N, or the newest; and the weights of rows.

A row of `launches` or `gpu_kernels` may stand for several launches or executions; `weight` is their
number. So sums of weights are exact, and sums of times by weight are estimates.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.schema.features import LIMIT, keeps_newest_rows, keeps_sums_of_dropped
from kvtrace.schema.runs import Run

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


def weights(rows: pa.Table) -> "npt.NDArray[np.int64]":
    """Return, per row, the number of launches or executions that the row stands for."""
    numbers: npt.NDArray[np.int64] = weights_of(rows).to_numpy()
    return numbers


def number_of(pieces: Iterable[pa.Table]) -> int:
    """Return the number of launches or executions that rows with a column `weight` stand for."""
    return sum(pc.sum(weights_of(piece)).as_py() or 0 for piece in pieces)


def weights_of(rows: pa.Table) -> pa.ChunkedArray:
    """Return the column `weight` as int64, with 1 instead of nulls and smaller numbers."""
    stored = pc.fill_null(rows["weight"], 1)
    return pc.max_element_wise(stored, 1).cast(pa.int64())  # a file may have any value


def keeps_newest(run: Run) -> bool:
    """Return whether KVTRACE_LIMIT made the run drop its oldest launches (`ring:`, `sums:`)."""
    return keeps_newest_rows(run.settings)


def keeps_sums(run: Run) -> bool:
    """Return whether the run keeps what the launches that it dropped add up to (`sums:`)."""
    return keeps_sums_of_dropped(run.settings)


def missing_launch_notes(run: Run) -> Iterator[str]:
    """Yield sentences about launches that the run lacks, by settings such as KVTRACE_WINDOW."""
    sample, limit = run.settings.get("sample"), run.settings.get("limit")
    window = run.settings.get("window")
    if window:
        yield (
            f"run {run.run_id} records a part of the program (KVTRACE_WINDOW={window}): launches "
            "outside of it are not recorded"
        )
    if sample:
        exception = "" if run.ended is not None else ", except for the last ones of the killed run"
        yield (
            f"run {run.run_id} records {sample} of its launches in detail (KVTRACE_SAMPLE): the "
            f"numbers of launches and executions are exact{exception}; times are estimated from "
            "the recorded launches"
        )
    if keeps_sums(run):
        yield (
            f"run {run.run_id} holds its newest launches in detail, and what older ones add up to "
            f"(KVTRACE_LIMIT={limit}): figures of the whole run (--whole) are of all launches; "
            "those of its steady part and of other windows, of steps, gaps and timelines are of "
            "the newest"
        )
    elif keeps_newest(run):
        yield f"run {run.run_id} holds only its newest launches (KVTRACE_LIMIT={limit})"
    if run.has_collectives_alone:
        yield (
            f"run {run.run_id} records collectives alone (KVTRACE_RANKS="
            f"{run.settings['ranks']}): neither launches nor other executions"
        )
    named = window or limit or run.dropped_rows or run.has_collectives_alone
    if "partial" in run.required_features and not named:
        yield f"run {run.run_id} does not hold all launches of its program, as its producer says"
    if run.ending == LIMIT:
        yield (
            f"run {run.run_id} ended at KVTRACE_LIMIT={limit}: later launches of the program are "
            "not recorded"
        )
