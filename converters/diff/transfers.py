"""Transfers of the collectives of a side's ranks, without the time in which they waited.

How long a kernel of NCCL takes is how late the other ranks are, too. So collectives of a job are
compared by the time from when the last rank began them. Of ranks that are not all there, or do not
match, that is not known.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from kvtrace.figures.collectives import RankCollectives, matched_collectives
from kvtrace.figures.columns import Integers, Positions
from kvtrace.figures.identity import kind_of
from kvtrace.figures.names import titled
from kvtrace.schema.window import TraceWindow

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

#: The shown name and kind of a collective, as `Named` in `executions.py`.
Name = tuple[str, str]


@dataclass(slots=True)
class Transfers:
    """The collectives of a side's ranks.

    Attributes:
        waiting: How long each collective waited, in ns, by name.
        moving: How long each transferred, in the same order.
        unmatched: The names of which some are not matched.
        of_run: Records of a run's collectives, and their transfers, in ns, by run id.

    """

    waiting: dict[Name, Integers] = field(default_factory=dict)
    moving: dict[Name, Integers] = field(default_factory=dict)
    unmatched: set[Name] = field(default_factory=set)
    of_run: dict[str, tuple[Positions, Integers]] = field(default_factory=dict)

    def replaced(self, run: str, record: Integers, ns: Integers) -> Integers:
        """Return the times `ns` of a run's executions, of its collectives the transfers."""
        if run not in self.of_run:
            return ns
        positions, moving = self.of_run[run]
        place = positions.of(record)
        return np.where(place >= 0, moving[place], ns)


def read_transfers(trace: "Trace", runs: Sequence["Run"]) -> Transfers:
    """Return the collectives of the runs in a trace or a window of it; errors as `Trace.table`."""
    transfers = Transfers()
    collectives = matched_collectives(trace, runs)
    for run in () if collectives is None else collectives.runs:
        assert collectives is not None
        ran = collectives.of_rank(run)
        if not ran.start.size:
            continue
        order = np.argsort(ran.record)
        positions = Positions(ran.record[order])
        transfers.of_run[run.run_id] = positions, (ran.end - ran.transfer)[order]
        inside = np.ones(ran.start.size, bool)
        if isinstance(trace, TraceWindow):
            window = trace.window_of(run.run_id)
            inside = (window.device_begin <= ran.start) & (ran.start < window.device_end)
        _add(transfers, ran, inside)
    return transfers


def _add(transfers: Transfers, ran: RankCollectives, inside: npt.NDArray[np.bool_]) -> None:
    """Add the collectives of a rank that are inside of the part."""
    for code, text in enumerate(ran.names):
        rows = inside & (ran.name == code)
        name = titled(text), kind_of(text, None)
        if (ran.last[rows] < 0).any():
            transfers.unmatched.add(name)
        for by_name, ns in (
            (transfers.waiting, ran.transfer - ran.start),
            (transfers.moving, ran.end - ran.transfer),
        ):
            earlier = by_name.get(name, np.zeros(0, np.int64))
            by_name[name] = np.append(earlier, ns[rows])
