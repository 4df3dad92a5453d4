"""Calls of executions: the recorded call, or else the launch's call, as in the view `placed`."""

from dataclasses import dataclass
from typing import Final, Self

import numpy as np

from kvtrace.figures.columns import Integers, Positions

#: Stands for an unknown call, phase or launch.
UNKNOWN: Final = -1


@dataclass(frozen=True, slots=True)
class PlacedLaunches:
    """The launches of a run as columns: `seq`, call id and phase number."""

    seq: Integers
    call: Integers
    phase: Integers
    _positions: Positions

    @classmethod
    def of(cls, seq: Integers, call: Integers, phase: Integers) -> Self:
        """Return launches given in any order."""
        if not np.all(seq[1:] >= seq[:-1]):
            order = np.argsort(seq, kind="stable")
            seq, call, phase = seq[order], call[order], phase[order]
        return cls(seq, call, phase, Positions(seq))

    def placed(self, launch: Integers, call: Integers) -> tuple[Integers, Integers]:
        """Return calls and phases of executions, given their recorded `launch` and `call`."""
        if not self.seq.size:
            return call, np.full(launch.size, UNKNOWN)
        rows = self._positions.of(launch)
        has_launch = rows >= 0
        phase = np.where(has_launch, self.phase[rows], np.int64(UNKNOWN))
        return np.where(has_launch & (call == UNKNOWN), self.call[rows], call), phase
