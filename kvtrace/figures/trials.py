"""Trials: launches that autotuners and warm-ups make, and the launches during which they do."""

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kvtrace.figures.columns import combined_codes, dictionary_values, integers

#: Phases whose launches are repeated as often as time allows and are no work of the program: sums
#: and medians leave them out.
TUNING: Final = ("autotune", "warmup")

_NEVER: Final = np.iinfo(np.int64).min


def is_tuning(launches: pa.Table) -> npt.NDArray[np.bool_]:
    """Return a mask of launches made by an autotuner or a warm-up, by the column phase."""
    phases = launches["phase"].unify_dictionaries()
    if not phases.num_chunks:
        return np.zeros(0, np.bool_)
    in_tuning = [name in TUNING for name in phases.chunk(0).dictionary.to_pylist()]
    of_code = np.array([*in_tuning, False])  # the last is for null
    codes = [integers(pa.chunked_array([part.indices]), -1) for part in phases.chunks]
    return of_code[np.concatenate(codes)]


class HoldingTrials:
    """Finds launches that hold trials: an autotuner tried its configurations during the launch.

    A launch becomes a row when it returns, so rows of trials precede the row of the launch that
    holds them. A launch holds trials if the last trial that its thread began before is inside.
    Example: rows trial 2 to 3 ms, trial 4 to 5 ms, launch 1 to 7 ms: the launch holds both trials.
    """

    def __init__(self) -> None:
        self._last: dict[int | None, int] = {}

    def among(self, piece: pa.Table) -> npt.NDArray[np.bool_]:
        """Return a mask of the rows of `launches` that hold trials.

        Pieces have to be passed in order; columns enter, exit, phase and thread.
        """
        holding = np.zeros(piece.num_rows, np.bool_)
        tuning = is_tuning(piece)
        if not holding.size or (not tuning.any() and not self._last):
            return holding
        enter, leave = (integers(piece[name], _NEVER) for name in ("enter", "exit"))
        if not tuning.any() and enter.min() > max(self._last.values()):
            return holding
        codes, first = combined_codes([piece["thread"]])
        for number, thread in enumerate(dictionary_values(piece["thread"], first)):
            rows = np.flatnonzero(codes == number)
            began = np.where(tuning[rows], enter[rows], _NEVER)
            last = np.maximum.accumulate(np.append(self._last.get(thread, _NEVER), began))[1:]
            holding[rows] = ~tuning[rows] & (enter[rows] <= last) & (last < leave[rows])
            holding[rows] &= last != _NEVER
            if last[-1] != _NEVER:
                self._last[thread] = int(last[-1])
        return holding
