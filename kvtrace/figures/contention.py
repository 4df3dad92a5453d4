"""Slowdown of kernels beside a collective that waits for a later rank and occupies the device.

Ranks whose collectives wait compute for longer, so that the late rank's additional work looks
smaller than it is. The slowdown of a rank is that of its kernels, those of one name and grid
together, of which some ran beside a waiting collective throughout, and others beside none. Kernels
whose times differ otherwise, as matrix products of several sizes do, are left out.

Example: a rank computes for 24 ms a step, 11 ms of it beside a waiting collective. Its copies take
46 µs there, and 41 µs elsewhere: 1.12 times as long. Alone it would compute for 22.8 ms.
"""

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.figures.collectives import RankCollectives
from kvtrace.figures.columns import Coverage, Integers, coded, combined_codes, integers, union_of
from kvtrace.figures.rank_steps import RankSteps
from kvtrace.schema.collective_names import is_collective
from kvtrace.schema.trace import Trace
from kvtrace.schema.window import pieces_near

#: Steps whose kernels are compared: more say nothing else.
_STEPS: Final = 32
#: Fewest kernels of one name and grid, on either side, and shortest, in ns.
_FEWEST: Final = 5
_SHORTEST: Final = 5_000
#: Times by which the ninth tenth of their times may exceed the first.
_SPREAD: Final = 1.5
_COLUMNS: Final = ("name", "start", "end", "grid_x", "grid_y")


def compute_alone(trace: Trace, steps: RankSteps, ran: RankCollectives) -> npt.NDArray[np.float64]:
    """Return a rank's compute in each step, in ns, as if no collective waited beside it.

    Args:
        trace: The whole trace.
        steps: The rank's steps.
        ran: Its collectives.

    As recorded where no kernels can be compared. Errors as `Trace.table`.

    """
    compute = steps.part("compute").astype(np.float64)
    bounds = steps.bounds[: _STEPS + 1]
    kernel, start, end = _kernels(trace, steps, int(bounds[0]), int(bounds[-1]))
    has_last_rank = ran.last >= 0  # else it is not known until when the collective waited
    waiting = Coverage(*union_of(ran.start[has_last_rank], ran.transfer[has_last_rank]))
    running = Coverage(*union_of(ran.start, ran.end))
    slowdown = _slowdown(kernel, end - start, waiting.of(start, end), running.of(start, end))
    # A step's part "waiting" is the time in which a collective waits and no kernel runs.
    beside = waiting.of(steps.bounds[:-1], steps.bounds[1:]) - steps.part("waiting")
    return np.asarray(compute - np.minimum(beside, compute) * (1 - 1 / slowdown))


def _kernels(
    trace: Trace, steps: RankSteps, begin: int, end: int
) -> tuple[Integers, Integers, Integers]:
    """Return a rank's kernels between two times: a code of name and grid, begin and end."""
    rows = []
    span, near = ("start", "start"), [(begin, end)]
    for piece in pieces_near(trace, "gpu_kernels", steps.run, _COLUMNS, span, near):
        begins = integers(piece["start"], -1)
        is_near = (begins >= begin) & (begins < end) & pc.is_valid(piece["end"]).to_numpy()
        rows.append(piece.filter(pa.array(is_near)))
    if not rows:
        return (np.zeros(0, np.int64),) * 3
    table = pa.concat_tables(rows)
    names, code = coded(table["name"])
    is_work = np.array([not (name and is_collective(name)) for name in names], bool)[code]
    kernel, _ = combined_codes([table[column] for column in ("name", "grid_x", "grid_y")])
    return kernel[is_work], integers(table["start"])[is_work], integers(table["end"])[is_work]


def _slowdown(kernel: Integers, took: Integers, waiting: Integers, covered: Integers) -> float:
    """Return the factor by which kernels are slower beside a waiting collective; 1 if not known.

    Args:
        kernel: What each kernel is.
        took: Its duration.
        waiting: The part of it beside a waiting collective.
        covered: The part of it beside any collective.

    """
    is_long = took >= _SHORTEST
    beside, alone = is_long & (waiting >= 0.99 * took), is_long & (covered == 0)
    slow_ns = even_ns = 0.0
    for number in np.intersect1d(kernel[beside], kernel[alone]).tolist():
        of_kernel = kernel == number
        slow, even = took[beside & of_kernel], took[alone & of_kernel]
        if all(map(_are_alike, (slow, even))):
            slow_ns += float(slow.sum())
            even_ns += float(slow.sum() / np.median(slow) * np.median(even))
    return max(slow_ns / even_ns, 1.0) if even_ns else 1.0


def _are_alike(times: Integers) -> bool:
    if times.size < _FEWEST:
        return False
    low, high = np.percentile(times, (10, 90))
    return bool(high <= _SPREAD * low)
