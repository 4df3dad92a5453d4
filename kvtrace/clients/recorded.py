"""Evaluation of the unique calls of a recorded run for clients, whose tables are written."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from kvtrace.clients.client import Client
from kvtrace.clients.declared import declared_tables
from kvtrace.clients.registry import as_client
from kvtrace.clients.running import ClientPass, Member
from kvtrace.recorded_calls.recorded import UnreadyCall, calls_of, evaluable_calls
from kvtrace.schema.errors import KvtraceError
from kvtrace.schema.layout import PARTIAL
from kvtrace.schema.trace import Run, Trace
from kvtrace.schema.without_ir import runs_without_ir

#: Called after each call with the number of evaluated calls and the number of all calls.
Progress = Callable[[int, int], None]

DEFAULT: Final = ("tracer", "profiler")


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a pass of clients over one run.

    `calls` counts the evaluated calls. `failures` has sentences on calls that were not evaluated
    completely, `notes` on clients whose results are of a sample. `errors` has errors of failed
    clients, whose rows were not written. `left_out` is the reason why no call was evaluated and
    nothing was written, or None. `remaining` counts the calls that were not reached in time.
    """

    run: str
    calls: int
    failures: tuple[str, ...]
    notes: tuple[str, ...] = ()
    errors: tuple[KvtraceError, ...] = ()
    left_out: str | None = None
    remaining: int = 0


@dataclass(frozen=True, slots=True)
class InTime:
    """The calls of a pass that ends at a time, whether or not all of them were evaluated.

    Attributes:
        order: Ids of all calls, those to evaluate first in front.
        end: The processor time (`time.process_time()`) from which on no further call is begun,
            unless the rest costs less than the pass has spent, and twice its time is not used up.
        costs: Estimated costs by call id, in any unit; without them the pass ends at `end`.

    """

    order: Sequence[int]
    end: float
    costs: Mapping[int, float] = field(default_factory=dict)

    def is_over(self, began: float, now: float, remaining: Set[int]) -> bool:
        """Return whether no further call is begun of a pass that began at a time."""
        if now < self.end:
            return False
        rest = sum(self.costs.get(call_id, 0) for call_id in remaining)
        is_small = 0 < rest < sum(self.costs.values()) - rest
        return not is_small or now - self.end >= self.end - began


def replay(
    trace: Trace,
    run: Run,
    progress: Progress | None = None,
    clients: Sequence[str | Client] = DEFAULT,
    in_time: InTime | None = None,
) -> Outcome:
    """Evaluate every unique call of `run` for clients, and write the clients' rows.

    Tensor data that was not recorded is unknown. For a call that cannot be evaluated completely,
    clients keep their rows up to the failure, and the outcome has a sentence in `failures`. Rows
    replace earlier rows of clients of the same name.

    With `in_time`, some calls may not be reached. Then rows are not written to the trace, only
    beside it (`results_beside`), with the setting `PARTIAL`.

    Args:
        trace: The trace, to whose directory the rows are written.
        run: The run.
        progress: Called after each call with the number of evaluated calls and that of all calls.
        clients: Clients by name, or objects.
        in_time: Order of the calls, and the time at which the pass ends; None: all calls.

    Raises:
        BadSetting: no client has a name.
        TraceWriteError: the rows cannot be written.

    """
    client_pass = ClientPass([as_client(client) for client in dict.fromkeys(clients)])
    left_out = runs_without_ir(trace, (run,)).get(run.run_id)
    if left_out is not None:
        return Outcome(run.run_id, 0, (), left_out=left_out)
    began, remaining = time.process_time(), evaluable_calls(trace, run)
    total = len(remaining)
    steps = examine(trace, run, client_pass, None if in_time is None else in_time.order)
    failures: list[str] = []
    for calls_done, (call_id, failure) in enumerate(steps, start=1):
        remaining.discard(call_id)
        if failure is not None:
            failures.append(failure)
        if progress is not None:
            progress(calls_done, total)
        if in_time is not None and in_time.is_over(began, time.process_time(), remaining):
            break
    partial: dict[str, Any] = {}
    if remaining:
        seconds = round(time.process_time() - began, 1)
        partial[PARTIAL] = {"remaining": sorted(remaining), "seconds": seconds}
    for member in client_pass.members:
        write(trace, run.run_id, member, partial)
    notes = tuple(note for member in client_pass.members for note in sample_note(member))
    errors = tuple(m.error for m in client_pass.members if m.error is not None)
    calls = total - len(remaining)
    return Outcome(run.run_id, calls, tuple(failures), notes, errors, remaining=len(remaining))


def examine(
    trace: Trace, run: Run, together: ClientPass, only: Iterable[int] | None = None
) -> Iterator[tuple[int, str | None]]:
    """Evaluate the calls of a run for clients; with `only`, calls with these ids in its order.

    Yield after each call its id and, if it was not evaluated completely, a sentence, else None.
    """
    for call in calls_of(trace, run, only):
        if isinstance(call, UnreadyCall):
            together.unready(call)
            failure: str | None = call.reason
        else:
            failure = together.run(call)
        sentence = None if failure is None else f"call {call.call_id} of {call.kernel}: {failure}"
        yield call.call_id, sentence


def write(
    trace: Trace, run_id: str, member: Member, partial: Mapping[str, Any] = MappingProxyType({})
) -> None:
    """Write a client's tables to the run unless it failed; a failure is stored in the member.

    `partial` are settings of results that are not of all calls; {} if they are.
    """
    tables = member.tables()
    facts = {**member.facts(), **partial}
    if member.error is not None:
        return
    try:
        declared = declared_tables(member.client)
        trace.add_derived(run_id, member.client.name, tables, facts, declared, whole=not partial)
    except KvtraceError as error:
        member.fail(error)


def sample_note(member: Member) -> tuple[str, ...]:
    """Return (sentence,) for a client that has evaluated only some programs, else ()."""
    sample = member.sample
    if not sample.calls or member.error is not None:
        return ()
    name = member.client.name
    return (
        f"{name} is based on a sample: {sample.programs:,} of {sample.of:,} programs of "
        f"{sample.calls:,} call{'' if sample.calls == 1 else 's'}",
    )
