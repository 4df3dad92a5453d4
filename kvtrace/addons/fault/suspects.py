"""Calls of a run judged by the rules for memory: a line of JSON for each once it is judged.

`python -m kvtrace.addons.fault.suspects TRACE RUN` is started by a dying program (`dying.py`), and
stopped by it after some seconds: so results are printed one by one, the likeliest causes first.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from kvtrace.addons.fault.places import short_path
from kvtrace.evaluate.errors import UNFIT
from kvtrace.ir import source_stack
from kvtrace.recorded_calls.reading import calls_of
from kvtrace.recorded_calls.recorded import Call, UnreadyCall
from kvtrace.schema.errors import KvtraceError
from kvtrace.schema.trace import Run, Trace, select_runs
from kvtrace.verdicts.binding import Budget
from kvtrace.verdicts.judge import judge_launches
from kvtrace.verdicts.verdict import Verdict

#: The rules that a GPU fault breaks.
RULES: Final = ("out-of-bounds", "overflow", "null-pointer", "misaligned", "device-assert")
#: Small, so that no call takes the time of all others.
_BUDGET: Final = Budget(
    solver_seconds=0.2, solver_seconds_a_call=0.5, seconds_a_call=1.0, lanes=1 << 20
)


def suspects(trace: Trace, run: Run) -> Iterator[dict[str, Any]]:
    """Yield {"calls": number of calls of a run}, then the result of each call.

    A result has the call's `kernel` and its `verdict`: "violation" (with `text`), "proven" (no
    access leaves its tensor, in any launch) or "unknown". The last launched call of each kernel
    comes first, the kernel with the last launch before all others.

    Raises:
        TraceDamaged: as `Trace.table`.
    """
    calls = trace.table("calls", (run,), ["call_id", "kernel_id"]).to_pylist()
    kernels = {row["call_id"]: row["kernel_id"] for row in calls}
    yield {"calls": len(kernels)}
    order = _last_first(kernels, trace.table("launches", (run,), ["call_id"])["call_id"].to_numpy())
    for call in calls_of(trace, run, order):
        yield {"kernel": call.kernel, **_judged(call)}


def _last_first(kernels: dict[int, int], launched: Any) -> list[int]:
    """Return call ids: of each kernel the call launched last, then the other calls.

    Args:
        kernels: the kernel's id by the call's.
        launched: the array of the call's id of each launch, in order.
    """
    last = dict(zip(launched.tolist(), range(len(launched)), strict=True))
    recent = sorted(kernels, key=lambda call: last.get(call, -1), reverse=True)
    first_of_kernels: dict[int, int] = {}
    for call in recent:
        first_of_kernels.setdefault(kernels[call], call)
    return list(dict.fromkeys((*first_of_kernels.values(), *recent)))


def _judged(call: Call | UnreadyCall) -> dict[str, str]:
    if isinstance(call, UnreadyCall):
        return {"verdict": "unknown"}
    try:
        verdicts = judge_launches(call, RULES, _BUDGET)
    except (KvtraceError, *UNFIT):  # recorded IR may be anything; `sanitize` reports the reason
        return {"verdict": "unknown"}
    violation = next((one for one in verdicts if one.verdict == "violation"), None)
    if violation is not None:
        return {"verdict": "violation", "text": _text(call, violation)}
    is_proven = all(one.verdict == "proven" for one in verdicts)
    return {"verdict": "proven" if is_proven else "unknown"}


def _text(call: Call, violation: Verdict) -> str:
    frames = source_stack(violation.op)
    place = f" ({short_path(frames[0].file)}:{frames[0].line})" if frames else ""
    return f"kernel {call.kernel}{place}: {violation.message}"


def main(trace: str, run: str) -> None:
    """Print a line of JSON for each result of `suspects`."""
    selection = select_runs(Path(trace), run)
    for result in suspects(selection.trace, selection.runs[0]):
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
