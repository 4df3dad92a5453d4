"""Times that autotuners' trials took on devices."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.figures.columns import Positions, integers
from kvtrace.figures.kept import kept_rows
from kvtrace.figures.sums_reading import facts_to_keep
from kvtrace.schema.window import pieces_near, whole_trace

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

_PHASE: Final = "autotune"
_SCHEMA: Final = pa.schema([("run", pa.string()), ("call_id", pa.int64()), ("ns", pa.int64())])
_LAUNCH: Final = ("seq", "call_id", "phase")
_EXECUTION: Final = ("record", "launch_seq", "start", "end")
_NONE: Final = np.zeros(0, np.int64)


def trial_times(trace: "Trace", runs: Sequence["Run"]) -> pa.Table:
    """Return run, call_id and duration `ns` of executions of autotuners' trials, as launched.

    Of sealed runs only row groups are read that may have some, and those of many runs are kept
    (`kept.py`). Errors as `Trace.table`.
    """
    whole = whole_trace(trace)
    facts = facts_to_keep(whole, runs, "launch_sums")

    def read() -> pa.Table:
        return pa.concat_tables([_SCHEMA.empty_table(), *(_trials_of(whole, r) for r in runs)])

    return read() if facts is None else kept_rows(whole, "trials", facts, read)


def _trials_of(whole: "Trace", run: "Run") -> pa.Table:
    seq, call = [_NONE], [_NONE]
    texts = [(_PHASE.encode(), _PHASE.encode())]
    for piece in pieces_near(whole, "launches", run, _LAUNCH, ("phase", "phase"), texts):
        trials = piece.filter(pc.equal(piece["phase"].cast(pa.string()), _PHASE))
        seq.append(integers(trials["seq"]))
        call.append(integers(trials["call_id"], -1))
    launches, calls = np.concatenate(seq), np.concatenate(call)
    if not launches.size:
        return _SCHEMA.empty_table()
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
    return pa.table([run_ids, calls[launch[order]], ns[order]], schema=_SCHEMA)
