"""Trials, the launches made by autotuners and warm-ups, and the launches that hold trials."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.figures.columns import Positions, combined_codes, dictionary_values, integers
from kvtrace.schema.window import pieces_near, whole_trace

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

#: Phases whose launches are repeated as often as time allows and are no work of the program: sums
#: and medians leave them out.
TUNING: Final = ("autotune", "warmup")

#: The schema of `trial_times`.
_TIMES: Final = pa.schema({"run": pa.string(), "call_id": pa.int64(), "ns": pa.int64()})
_LAUNCH: Final = ("seq", "call_id", "phase")
_EXECUTION: Final = ("record", "launch_seq", "start", "end")
_NONE: Final = np.zeros(0, np.int64)
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


def trial_times(trace: "Trace", runs: Sequence["Run"]) -> pa.Table:
    """Return run, call_id and duration `ns` of executions of autotuners' trials, as launched.

    Of sealed runs only row groups are read that may have some. Errors as `Trace.table`.
    """
    return pa.concat_tables([_TIMES.empty_table(), *(_trials_of(trace, run) for run in runs)])


def _trials_of(trace: "Trace", run: "Run") -> pa.Table:
    whole, texts = whole_trace(trace), [(b"autotune", b"autotune")]
    seq, call = [_NONE], [_NONE]
    for piece in pieces_near(whole, "launches", run, _LAUNCH, ("phase", "phase"), texts):
        trials = piece.filter(pc.equal(piece["phase"].cast(pa.string()), "autotune"))
        seq.append(integers(trials["seq"]))
        call.append(integers(trials["call_id"], -1))
    launches, calls = np.concatenate(seq), np.concatenate(call)
    if not launches.size:
        return _TIMES.empty_table()
    order = np.argsort(launches, kind="stable")
    launches, calls = launches[order], calls[order]
    bounds = [(int(launches[0]), int(launches[-1]))]
    span = ("launch_seq", "launch_seq")
    rows = [np.zeros((3, 0), np.int64)]
    for piece in pieces_near(whole, "gpu_kernels", run, _EXECUTION, span, bounds):
        timed = piece.filter(pc.and_(pc.is_valid(piece["start"]), pc.is_valid(piece["end"])))
        launch = Positions(launches).of(integers(timed["launch_seq"], -1))
        ns = np.maximum(integers(timed["end"]) - integers(timed["start"]), 0)
        rows.append(np.stack([launch, integers(timed["record"]), ns])[:, launch >= 0])
    launch, record, ns = np.concatenate(rows, axis=1)
    order = np.lexsort((record, launch))
    run_ids = pa.array([run.run_id] * order.size, pa.string())
    return pa.table([run_ids, calls[launch[order]], ns[order]], schema=_TIMES)


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
