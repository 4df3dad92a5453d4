"""Both sides of a join from a few numbers."""

from collections.abc import Sequence

import numpy as np

from kvtrace.addons.join.sides import RecordedLaunches, TimedExecutions
from kvtrace.figures.causes import NONE


def launched(
    look: Sequence[int],
    enter: Sequence[int],
    leave: Sequence[int],
    *,
    thread: Sequence[int] | None = None,
    place: Sequence[int] | None = None,
    graph: Sequence[int] | None = None,
    call: Sequence[int] | None = None,
) -> RecordedLaunches:
    """Return launches; those without a call take the call of their look."""
    one = [0] * len(look)
    columns = (
        range(len(look)), call or look, enter, leave, place or one, graph or [NONE] * len(look),
        look, thread or one,
    )  # fmt: skip
    return RecordedLaunches(*(np.asarray(list(each), np.int64) for each in columns))


def executed(
    look: Sequence[int],
    *,
    start: Sequence[int] | None = None,
    requested: Sequence[int] | None = None,
    thread: Sequence[int] | None = None,
    correlation: Sequence[int] | None = None,
    place: Sequence[int] | None = None,
    graph: Sequence[int] | None = None,
) -> TimedExecutions:
    """Return executions, by default in order and requested one by one."""
    none, one = [NONE] * len(look), [0] * len(look)
    columns = (
        start or range(1000, 1000 + len(look)), correlation or range(len(look)), place or one,
        graph or none, requested or none, thread or none, look, one,
    )  # fmt: skip
    return TimedExecutions(*(np.asarray(list(each), np.int64) for each in columns))
