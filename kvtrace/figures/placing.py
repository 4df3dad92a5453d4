"""Call and phase of each execution: the recorded call, else its launch's, as in view `placed`."""

from dataclasses import dataclass
from typing import Final, Self

import numpy as np

from kvtrace.figures.columns import Integers, Positions

#: Stands for an unknown call, phase or launch.
UNKNOWN: Final = -1


@dataclass(frozen=True, slots=True)
class PlacedLaunches:
    """The launches of a run as columns sorted by `seq`: `seq`, call id and phase code."""

    seq: Integers
    call: Integers
    phase: Integers
    _positions: Positions

    @classmethod
    def of(cls, seq: Integers, call: Integers, phase: Integers) -> Self:
        """Return the launches, sorted by `seq`; the columns may be in any order."""
        if not np.all(seq[1:] >= seq[:-1]):
            order = np.argsort(seq, kind="stable")
            seq, call, phase = seq[order], call[order], phase[order]
        return cls(seq, call, phase, Positions(seq))

    def placed(self, launch: Integers, call: Integers) -> tuple[Integers, Integers]:
        """Return the call id and phase code of each execution; UNKNOWN without a call.

        `launch` and `call` have each execution's recorded launch and call id, or UNKNOWN.
        """
        if not self.seq.size:
            return call, np.full(launch.size, UNKNOWN)
        rows = self._positions.of(launch)
        has_launch = rows >= 0
        phase = np.where(has_launch, self.phase[rows], np.int64(UNKNOWN))
        return np.where(has_launch & (call == UNKNOWN), self.call[rows], call), phase
