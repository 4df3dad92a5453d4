"""Which call an execution is of: its own or else that of its launch, as in the view `placed`."""

from dataclasses import dataclass
from typing import Final, Self

import numpy as np

from kvtrace.figures.columns import Integers, Positions

#: Instead of a call, a phase or a launch that is not known.
UNKNOWN: Final = -1


@dataclass(frozen=True, slots=True)
class PlacedLaunches:
    """The launches of a run as columns: `seq`, a number for the call and one for the phase."""

    seq: Integers
    call: Integers
    phase: Integers
    _positions: Positions

    @classmethod
    def of(cls, seq: Integers, call: Integers, phase: Integers) -> Self:
        """Return launches that are given in any order."""
        if not np.all(seq[1:] >= seq[:-1]):
            order = np.argsort(seq, kind="stable")
            seq, call, phase = seq[order], call[order], phase[order]
        return cls(seq, call, phase, Positions(seq))

    def placed(self, launch: Integers, call: Integers) -> tuple[Integers, Integers]:
        """Return the calls and phases of executions, whose `launch` and `call` are recorded."""
        if not self.seq.size:
            return call, np.full(launch.size, UNKNOWN)
        rows = self._positions.of(launch)
        known = rows >= 0
        phase = np.where(known, self.phase[rows], np.int64(UNKNOWN))
        return np.where(known & (call == UNKNOWN), self.call[rows], call), phase
