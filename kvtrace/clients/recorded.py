"""Clients over the unique calls of a recorded run: tables in, tables out."""

from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from kvtrace.clients.client import Client
from kvtrace.clients.declared import declared_tables
from kvtrace.clients.registry import as_client
from kvtrace.clients.running import ClientPass, Member
from kvtrace.recorded_calls.recorded import UnreadyCall, calls_of, without_ir
from kvtrace.schema.errors import KvtraceError
from kvtrace.schema.trace import Run, Trace

#: Called after each call with how many are done and how many there are.
Progress = Callable[[int, int], None]

DEFAULT: Final = ("tracer", "profiler")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a pass did to one run.

    `failures`: calls that could not be evaluated to their end. `notes`: what depends on a sample.
    `left_out`: why none of its calls can be evaluated, and nothing was written.
    `errors`: clients that failed, none of whose rows were kept.
    """

    run: str
    calls: int
    failures: tuple[str, ...]
    notes: tuple[str, ...] = ()
    errors: tuple[KvtraceError, ...] = ()
    left_out: str | None = None


def replay(
    trace: Trace,
    run: Run,
    progress: Progress | None = None,
    clients: Sequence[str | Client] = DEFAULT,
) -> Outcome:
    """Evaluate every unique call of `run` for clients, and write the rows that they give.

    Tensor data that was not recorded counts as unknown. A call that cannot be evaluated to its end
    leaves what the clients made of what it reached, and one sentence in the outcome's failures.
    Rows of a client replace those of the same name from before.

    Args:
        trace: The trace, whose directory gets the rows.
        run: The run.
        progress: Called after each call with how many are evaluated, and how many there are.
        clients: Clients by name, or objects.

    Raises:
        BadSetting: there is no client of a name.
        TraceWriteError: the rows cannot be written.

    """
    together = ClientPass([as_client(client) for client in dict.fromkeys(clients)])
    left_out = without_ir(trace, run)
    if left_out is not None:
        return Outcome(run.run_id, 0, (), left_out=left_out)
    total = trace.table("calls", (run,), columns=["call_id"]).num_rows
    found = examine(trace, run, together)
    failures: list[str] = []
    for number, (_, failure) in enumerate(found, start=1):
        if failure is not None:
            failures.append(failure)
        if progress is not None:
            progress(number, total)
    for member in together.members:
        write(trace, run.run_id, member)
    notes = tuple(note for member in together.members for note in sample_note(member))
    errors = tuple(m.error for m in together.members if m.error is not None)
    return Outcome(run.run_id, total, tuple(failures), notes, errors)


def examine(
    trace: Trace, run: Run, together: ClientPass, only: Container[int] | None = None
) -> Iterator[tuple[int, str | None]]:
    """Evaluate the calls of a run (`only` those) for clients, one with each step.

    A step gives the call's id, and a sentence where its end was not reached.
    """
    for call in calls_of(trace, run, only):
        if isinstance(call, UnreadyCall):
            together.unready(call)
            failure: str | None = call.reason
        else:
            failure = together.run(call)
        told = None if failure is None else f"call {call.call_id} of {call.kernel}: {failure}"
        yield call.call_id, told


def write(trace: Trace, run_id: str, member: Member) -> None:
    """Write what a client has found of a run, unless it failed."""
    tables = member.tables()
    facts = member.facts()
    if member.error is not None:
        return
    try:
        declared = declared_tables(member.client)
        trace.add_derived(run_id, member.client.name, tables, facts, declared)
    except KvtraceError as error:
        member.fail(error)


def sample_note(member: Member) -> tuple[str, ...]:
    """Say that a client has seen only some programs."""
    sample = member.sample
    if not sample.calls or member.error is not None:
        return ()
    name = member.client.name
    return (
        f"{name} is based on a sample: {sample.programs:,} of {sample.of:,} programs of "
        f"{sample.calls:,} call{'' if sample.calls == 1 else 's'}",
    )
