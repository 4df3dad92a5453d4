"""Passes that a trace lacks: `kvtrace report`, `profile` and `diff` run them in limited time."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from kvtrace.progress import progress
from kvtrace.schema.errors import KvtraceError
from kvtrace.schema.layout import EXCERPT, replayed_parts, results_beside, run_folder
from kvtrace.schema.without_ir import recorded_stages
from kvtrace.text import plural

if TYPE_CHECKING:
    from kvtrace.clients import Client
    from kvtrace.clients.call_results import EqualCalls
    from kvtrace.schema.trace import Run, Selection, Trace

#: Seconds of processor time for passes that the user did not request.
MOST_SECONDS: Final = 30.0
#: Seconds that rules of whole kernels get at least, after the calls.
_LEAST_SECONDS: Final = 5.0
#: The table whose presence shows that a client has analyzed a run.
_TABLES: Final = {"tracer": "accesses", "profiler": "ops", "sanitizer": "findings"}


def run_missing_passes(
    selection: "Selection", *, seconds: float | None, partial: bool = False,
    equal_calls: "EqualCalls | None" = None, clients: Sequence[str] = tuple(_TABLES),
    command: str = "report",
) -> Iterator[str]:  # fmt: skip
    """Run clients on runs that lack their tables; yield one message a run.

    Args:
        selection: The runs; unsealed runs, excerpts and runs without IR are skipped.
        seconds: Seconds of processor time for all runs; None: no limit.
        partial: With a limit, whether to analyze the cheapest calls first, until the time is used
            up, and to keep results of some calls beside the trace (`results_beside`). Otherwise a
            pass that would take longer has no results.
        equal_calls: Results of other runs; None: of the runs of the selection alone.
        clients: The clients: tracer, profiler and sanitizer, or some of them.
        command: The command whose --replay runs them without a limit, for messages.

    """
    trace = selection.trace
    complete_runs = [run for run in selection.runs if run.sealed and EXCERPT not in run.settings]
    missing_clients = {run.run_id: _missing(clients, trace, run) for run in complete_runs}
    runs = [
        run for run in selection.runs if missing_clients.get(run.run_id) and _has_ir(trace, run)
    ]
    if not runs or not trace.table("calls", runs, ["call_id"]).num_rows:
        return
    equal_calls = {} if equal_calls is None else equal_calls
    deadline = None if seconds is None else time.process_time() + seconds
    for number, run in enumerate(runs):
        missing = missing_clients[run.run_id]
        shared_by = len(runs) - number if partial else None
        try:
            done, rest = _run_passes(trace, run, missing, deadline, shared_by, equal_calls)
        except KvtraceError as error:
            added = "bytes, FLOPs, accesses" + (" and findings" if "sanitizer" in clients else "")
            yield f"{str(error).rstrip('.')}: kvtrace {command} {trace.path} --replay adds {added}"
            return
        if rest:
            yield f"{done}, the cheapest first; {rest}: kvtrace {command} {trace.path} --replay"
        else:
            yield done if deadline is None else f"{done}, skip with --no-replay"


@contextmanager
def completed_figures(
    selection: "Selection", tell: Callable[[str], object], *, replay: bool | None, seconds: float
) -> Iterator[None]:
    """Evaluate the calls of which bytes and FLOPs are missing; the trace is read in the context.

    Args:
        selection: The runs.
        tell: Called with each message.
        replay: Whether to evaluate calls, however long that takes; None: for some seconds, the
            cheapest calls first. Results of some calls are kept beside the trace.
        seconds: Those seconds, of processor time.

    """
    with results_beside(selection.trace.path):
        if replay is not False:
            messages = run_missing_passes(
                selection, seconds=None if replay else seconds, partial=True,
                clients=("tracer", "profiler"), command="profile",
            )  # fmt: skip
            for message in messages:
                tell(message)
        yield


def _missing(clients: Sequence[str], trace: "Trace", run: "Run") -> list[str]:
    folders = {client: run_folder(trace.path, _TABLES[client], run.run_id) for client in clients}
    return [client for client, folder in folders.items() if not replayed_parts(folder)]


def _has_ir(trace: "Trace", run: "Run") -> bool:
    from kvtrace.clients.recorded import IR_STAGES

    kernels = trace.table("kernels", (run,), ["stages"]).to_pylist()
    return any(not {*IR_STAGES}.isdisjoint(recorded_stages(kernel)) for kernel in kernels)


def _run_passes(
    trace: "Trace", run: "Run", clients: Sequence[str], deadline: float | None,
    shared_by: int | None, equal_calls: "EqualCalls",
) -> tuple[str, str]:  # fmt: skip
    """Run clients on a run; return what was done, and what remains ("" if nothing).

    `shared_by` counts the runs that share the time until the deadline: then the cheapest calls are
    evaluated first, until it is used up; None: a pass that would take longer has no results.
    """
    # Imported only where something is missing.
    from kvtrace.clients.recorded import InTime, estimated_costs, replay
    from kvtrace.clients.timed_progress import TimedProgress

    began = time.process_time()
    passes: list[str | Client] = list(clients)
    if "sanitizer" in clients:
        from kvtrace.analysis.judging import environment_rules, judge_by_kernel, sanitizer
        from kvtrace.verdicts.rules.choice import rule_ids

        rules = rule_ids([environment_rules()])
        passes = [sanitizer(rules) if name == "sanitizer" else name for name in clients]
    with progress(f"replay {run.run_id}") as report:
        calls = plural(trace.table("calls", (run,), ["call_id"]).num_rows, "unique call")
        pass_deadline = deadline if shared_by is None else None
        timed = TimedProgress(report, pass_deadline, f"analyzing {calls}")
        in_time = None
        if shared_by is not None and deadline is not None:
            costs, now = estimated_costs(trace, run), time.process_time()
            in_time = InTime(tuple(costs), now + max(deadline - now, 0.0) / shared_by, costs)
        outcome = replay(trace, run, timed, passes, in_time, equal_calls)
    if "sanitizer" in clients:
        end = None if in_time is None else max(in_time.end, time.process_time() + _LEAST_SECONDS)
        judge_by_kernel(trace, run, rules, (environment_rules(),), again=False, end=end)
    for error in outcome.errors:
        raise error
    succeeded = outcome.calls - len(outcome.failures)
    if outcome.failures or outcome.remaining:
        calls = f"{succeeded:,} of {outcome.calls + outcome.remaining:,} unique calls"
    else:
        calls = plural(succeeded, "unique call")
    passed = time.process_time() - began
    done = f"{run.run_id}: analyzed {calls} in {passed:.1f} s ({', '.join(clients)})"
    if not outcome.remaining:
        return done, ""
    seconds = timed.remaining_seconds
    rest = "the rest" if seconds is None else f"the rest takes about {seconds:,.0f} s more"
    if outcome.ended_early:
        rest = f"{plural(outcome.ended_early, 'call')} took half of the time and was not done"
    return done, rest
