"""Trials, the launches made by autotuners and warm-ups, and the launches that hold trials."""

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
    """Return a mask of launches by an autotuner or in a warm-up, by their `phase` (`TUNING`)."""
    phases = launches["phase"].unify_dictionaries()
    if not phases.num_chunks:
        return np.zeros(0, np.bool_)
    in_tuning = [name in TUNING for name in phases.chunk(0).dictionary.to_pylist()]
    is_tuning_code = np.array([*in_tuning, False])  # the last is for null
    codes = [integers(pa.chunked_array([chunk.indices]), -1) for chunk in phases.chunks]
    return is_tuning_code[np.concatenate(codes)]


class HoldingTrials:
    """Search, piece by piece, for launches that hold trials, in which an autotuner ran its trials.

    A launch becomes a row when it returns, so rows of trials precede the row of the launch that
    holds them. A launch holds trials if the last trial before it in its thread's rows began during
    the launch. Example: rows trial 2 to 3 ms, trial 4 to 5 ms, launch 1 to 7 ms: the launch holds
    both trials.
    """

    def __init__(self) -> None:
        self._last_trial: dict[int | None, int] = {}  # its `enter`, by thread

    def among(self, piece: pa.Table) -> npt.NDArray[np.bool_]:
        """Return a mask of the rows in the next piece of `launches` that hold trials.

        Pieces have to be passed in recorded order: the last trial of each thread is stored for the
        next call. They have columns enter, exit, phase and thread.
        """
        holding = np.zeros(piece.num_rows, np.bool_)
        tuning = is_tuning(piece)
        if not holding.size or (not tuning.any() and not self._last_trial):
            return holding
        enter, leave = (integers(piece[name], _NEVER) for name in ("enter", "exit"))
        if not tuning.any() and enter.min() > max(self._last_trial.values()):
            return holding
        codes, example_rows = combined_codes([piece["thread"]])
        for code, thread in enumerate(dictionary_values(piece["thread"], example_rows)):
            rows = np.flatnonzero(codes == code)
            trial_begins = np.where(tuning[rows], enter[rows], _NEVER)
            last_before = self._last_trial.get(thread, _NEVER)
            last = np.maximum.accumulate(np.append(last_before, trial_begins))[1:]
            holding[rows] = ~tuning[rows] & (enter[rows] <= last) & (last < leave[rows])
            holding[rows] &= last != _NEVER
            if last[-1] != _NEVER:
                self._last_trial[thread] = int(last[-1])
        return holding
