"""Replay: evaluate each distinct call of a run over its grid, fill `ops`, `accesses`, `loops`."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from kvtrace.evaluate import evaluate
from kvtrace.evaluate.observe import Observer
from kvtrace.passes.calls import Call, UnreadyCall, calls_of
from kvtrace.passes.metrics import Metrics, loops_around
from kvtrace.passes.stacks import StackRows
from kvtrace.schema.errors import KvtraceError
from kvtrace.schema.tables import TABLES
from kvtrace.schema.trace import Run, Trace

#: Called after each call with how many are done and how many there are.
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a pass did to one run."""

    run: str
    calls: int
    failures: tuple[str, ...]


def replay(trace: Trace, run: Run, progress: Progress | None = None) -> Outcome:
    """Evaluate every distinct call of `run`; tensor data counts as unknown.

    A call that cannot be evaluated to its end leaves the rows of what it reached, and one sentence
    in the outcome's failures.
    """
    stacks = StackRows()
    ops: list[dict[str, Any]] = []
    loops: list[dict[str, Any]] = []
    accesses: list[dict[str, Any]] = []
    notes: list[str] = []
    failures: list[str] = []
    done = 0
    for call in each_call(trace, run, progress):
        done += 1
        if isinstance(call, UnreadyCall):
            failures.append(f"call {call.call_id} of {call.kernel}: {call.reason}")
            continue
        metrics = Metrics()
        failure = run_call(call, metrics)
        if failure is not None:
            failures.append(f"call {call.call_id} of {call.kernel}: {failure}")
        names = [argument.name for argument in call.arguments]
        around = loops_around(call.module)
        ops += metrics.op_rows(call.call_id, names, around, stacks)
        loops += metrics.loop_rows(call.call_id, stacks)
        accesses += metrics.access_rows(call.call_id, names, around)
        notes += metrics.notes(call.call_id)
    tables = {
        "ops": as_table("ops", ops),
        "accesses": as_table("accesses", accesses),
        "loops": as_table("loops", loops),
        "stacks": as_table("stacks", stacks.rows()),
    }
    trace.add_derived(run.run_id, "replay", tables, settings={"left_out": notes})
    return Outcome(run.run_id, done, tuple(failures))


def each_call(trace: Trace, run: Run, progress: Progress | None) -> Iterable[Call | UnreadyCall]:
    """Give the calls of a run and report progress after each."""
    total = trace.table("calls", (run,), columns=["call_id"]).num_rows
    for number, call in enumerate(calls_of(trace, run), start=1):
        yield call
        if progress is not None:
            progress(number, total)


def run_call(call: Call, observer: Observer) -> str | None:
    """Evaluate `call` under `observer`; give the reason where it could not reach the end."""
    try:
        evaluate(call.module, call.arguments, call.grid, observers=(observer,), kernel=call.kernel)
    except KvtraceError as error:
        return str(error)
    return None


def as_table(name: str, rows: list[dict[str, Any]]) -> pa.Table:
    """Rows as a table of the format; columns that no row names are null."""
    return pa.Table.from_pylist(rows, schema=TABLES[name].schema)
