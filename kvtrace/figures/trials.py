"""Launches that autotuners and warm-ups make, and those in which they are made."""

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kvtrace.figures.columns import combined_codes, dictionary_values, integers

#: Phases whose launches are repeated as often as time allows, and are not runs of the program:
#: they are left out of sums of work and of medians.
TUNING: Final = ("autotune", "warmup")

_NEVER: Final = np.iinfo(np.int64).min


def is_tuning(launches: pa.Table) -> npt.NDArray[np.bool_]:
    """Tell which launches an autotuner or a warm-up made; column phase."""
    phases = launches["phase"].unify_dictionaries()
    if not phases.num_chunks:
        return np.zeros(0, np.bool_)
    chosen = [name in TUNING for name in phases.chunk(0).dictionary.to_pylist()]
    known = np.array([*chosen, False])  # the last is for none
    codes = [integers(pa.chunked_array([part.indices]), -1) for part in phases.chunks]
    return known[np.concatenate(codes)]


class HoldingTrials:
    """Tells the launches in which an autotuner tried its configurations: they hold its launches.

    A launch is a row when it returns, so those that it holds are rows before it; and the last of
    these that a thread began is in it, or none is.
    """

    def __init__(self) -> None:
        self._last: dict[int | None, int] = {}

    def among(self, piece: pa.Table) -> npt.NDArray[np.bool_]:
        """Tell of each row of `launches` whether it is one.

        Pieces are given in their order; columns enter, exit, phase and thread.
        """
        found = np.zeros(piece.num_rows, np.bool_)
        tuning = is_tuning(piece)
        if not found.size or (not tuning.any() and not self._last):
            return found
        enter, leave = (integers(piece[name], _NEVER) for name in ("enter", "exit"))
        if not tuning.any() and enter.min() > max(self._last.values()):
            return found
        codes, first = combined_codes([piece["thread"]])
        for number, thread in enumerate(dictionary_values(piece["thread"], first)):
            rows = np.flatnonzero(codes == number)
            began = np.where(tuning[rows], enter[rows], _NEVER)
            last = np.maximum.accumulate(np.append(self._last.get(thread, _NEVER), began))[1:]
            found[rows] = ~tuning[rows] & (enter[rows] <= last) & (last < leave[rows])
            found[rows] &= last != _NEVER
            if last[-1] != _NEVER:
                self._last[thread] = int(last[-1])
        return found
