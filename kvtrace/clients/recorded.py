"""Evaluation of the unique calls of a recorded run for clients, whose tables are written."""

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from math import prod
from types import MappingProxyType
from typing import Any, Final

from msgspec import Struct

from kvtrace.clients.call_results import EqualCalls, add_results, keep_results
from kvtrace.clients.client import Client
from kvtrace.clients.declared import declared_tables
from kvtrace.clients.registry import as_client, load_client, load_clients
from kvtrace.clients.running import ClientPass, Member
from kvtrace.progress import Report, progress
from kvtrace.recorded_calls.reading import evaluable_calls, recorded_calls
from kvtrace.recorded_calls.recorded import UnreadyCall
from kvtrace.schema.errors import KvtraceError
from kvtrace.schema.layout import PARTIAL
from kvtrace.schema.trace import Run, Selection, Trace
from kvtrace.schema.without_ir import EVALUATED_STAGES, runs_without_ir

#: Stages with the IR that is evaluated.
IR_STAGES: Final = (*EVALUATED_STAGES, "ttir", "ttgir")
#: In the text of IR, divisions of blocks of integers, and extents of blocks.
_DIVISION: Final = re.compile(rb"arith\.(?:div|rem)[su]i[^\n]*tensor<")
_BLOCK: Final = re.compile(rb"tensor<(\d+(?:x\d+)*)x")
#: What a lane adds to the cost of a kernel with one such division, in costs of a grid of few lanes.
_LANE_COST: Final = 3e-6
#: Seconds of processor time that each call gets of a pass that ends at a time.
_LEAST_SHARE: Final = 3.0

DEFAULT: Final = ("tracer", "profiler")


class Outcome(Struct, frozen=True):
    """The result of a pass of clients over one run.

    `calls` counts the evaluated calls. `failures` has sentences on calls that were not evaluated
    completely, `notes` on clients whose results are of a sample. `errors` has errors of failed
    clients, whose rows were not written. `left_out` is the reason why no call was evaluated and
    nothing was written, or None. `remaining` counts the calls that were not reached in time, with
    those that were `ended_early`, as their share of it was used up.
    """

    run: str
    calls: int
    failures: tuple[str, ...]
    notes: tuple[str, ...] = ()
    errors: tuple[KvtraceError, ...] = ()
    left_out: str | None = None
    remaining: int = 0
    ended_early: int = 0


class InTime(Struct, frozen=True):
    """The calls of a pass that ends at a time, whether or not all of them were evaluated.

    Attributes:
        order: Ids of all calls, those to evaluate first in front.
        end: The processor time (`time.process_time()`) from which on no further call is begun,
            unless the rest costs less than the pass has spent, and twice its time is not used up.
        costs: Estimated costs by call id, in any unit; without them the pass ends at `end`.

    A call gets at most half of the time that is left, or more if the rest costs less than it, so
    that one huge call does not take the time of all others.
    """

    order: Sequence[int]
    end: float
    costs: Mapping[int, float] = {}

    def is_over(self, began: float, now: float, rest: float) -> bool:
        """Return whether no further call is begun of a pass that began at a time.

        `rest` is the cost of the calls that are not evaluated yet.
        """
        if now < self.end:
            return False
        is_small = 0 < rest < sum(self.costs.values()) - rest
        return not is_small or now - self.end >= self.end - began

    def end_of(self, call_id: int, began: float, now: float, rest: float) -> float:
        """Return the processor time at which the evaluation of a call, part of `rest`, is ended."""
        end = self.end if now < self.end else 2 * self.end - began
        part = self.costs.get(call_id, 0) / rest if rest else 0.0
        return now + max((end - now) * max(part, 0.5), _LEAST_SHARE)


def replay(
    trace: Trace,
    run: Run,
    report: Report | None = None,
    clients: Sequence[str | Client] = DEFAULT,
    in_time: InTime | None = None,
    equal_calls: EqualCalls | None = None,
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
        report: Called after each call with the estimated cost of evaluated and of all calls.
        clients: Clients by name, or objects.
        in_time: Order of the calls, and the time at which the pass ends; None: all calls.
        equal_calls: Results of other runs, which this run adds to; None: all calls are evaluated.

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
    costs = (in_time and in_time.costs) or estimated_costs(trace, run)
    done, all_costs = 0.0, sum(costs.get(call_id, 0.0) for call_id in remaining)
    order = None if in_time is None else in_time.order

    def end_of(call_id: int) -> float | None:
        if in_time is None:
            return None
        return in_time.end_of(call_id, began, time.process_time(), all_costs - done)

    failures: list[str] = []
    for call_id, failure in examine(trace, run, client_pass, order, end_of, equal_calls):
        remaining.discard(call_id)
        if failure is not None:
            failures.append(failure)
        done += costs.get(call_id, 0.0)
        if report is not None:
            report(done, all_costs)
        now = time.process_time()
        if in_time is not None and in_time.is_over(began, now, all_costs - done):
            break
    seconds = round(time.process_time() - began, 1)
    for member in client_pass.members:
        unreached = sorted(remaining | member.ended_early)
        is_partial = {PARTIAL: {"remaining": unreached, "seconds": seconds}} if unreached else {}
        write(trace, run.run_id, member, is_partial)
    ended_early = set().union(*(member.ended_early for member in client_pass.members))
    notes = tuple(note for member in client_pass.members for note in sample_note(member))
    errors = tuple(m.error for m in client_pass.members if m.error is not None)
    unreached_count = len(remaining | ended_early)
    return Outcome(
        run.run_id, total - unreached_count, tuple(failures), notes, errors,
        remaining=unreached_count, ended_early=len(ended_early),
    )  # fmt: skip


def estimated_costs(trace: Trace, run: Run) -> dict[int, float]:
    """Return the estimated cost of each call of a run by its id, the cheapest call first.

    The cost is the size of the kernel's IR, and more for each lane if it divides blocks of
    integers: such addresses are counted lane by lane, others as progressions. Of the estimates
    that need no parsed module, this predicts best.
    """
    sizes: dict[int, int] = {}
    lane_costs: dict[int, float] = {}
    for row in trace.table("kernels", (run,), ["kernel_id", "stages"]).to_pylist():
        stages = (stage for stage in row["stages"] or () if stage["stage"] in IR_STAGES)
        text = max((_text(trace, stage["artifact"]) for stage in stages), key=len, default=b"")
        block = max((prod(map(int, b.split(b"x"))) for b in _BLOCK.findall(text)), default=1)
        sizes[row["kernel_id"]] = max(len(text), 1)
        lane_costs[row["kernel_id"]] = _LANE_COST * len(_DIVISION.findall(text)) ** 0.5 * block
    costs: dict[int, float] = {}
    columns = ["call_id", "kernel_id", "grid_x", "grid_y", "grid_z"]
    for row in trace.table("calls", (run,), columns).to_pylist():
        kernel_id, programs = row["kernel_id"], prod(max(row[axis] or 1, 1) for axis in columns[2:])
        lanes = programs * lane_costs.get(kernel_id, 0.0)
        costs[row["call_id"]] = sizes.get(kernel_id, 1) * (1 + lanes)
    return dict(sorted(costs.items(), key=lambda entry: entry[1]))


def _text(trace: Trace, sha256: str | None) -> bytes:
    try:
        return trace.artifact(sha256) or b""
    except KvtraceError:  # its calls fail, and are named
        return b""


def examine(
    trace: Trace, run: Run, together: ClientPass, only: Iterable[int] | None = None,
    end_of: Callable[[int], float | None] = lambda _: None, equal_calls: EqualCalls | None = None,
) -> Iterator[tuple[int, str | None]]:  # fmt: skip
    """Evaluate the calls of a run for clients; with `only`, calls with these ids in its order.

    `end_of` returns the processor time at which the evaluation of a call is ended, or None. Calls
    of which `equal_calls` has results are not evaluated. Yield after each call its id and, if it
    was not evaluated completely, a sentence, else None.
    """
    for recorded in recorded_calls(trace, run, only):
        call_id, content = recorded.call_id, recorded.content
        results = {} if equal_calls is None or not content else equal_calls
        if add_results(results, together, call_id, content):
            yield call_id, None
            continue
        call = recorded.made()
        if isinstance(call, UnreadyCall):
            together.unready(call)
            failure: str | None = call.reason
        else:
            failure = together.run(call, end_of(call_id))
        if failure is None:
            keep_results(results, together, call_id, content)
        yield call_id, None if failure is None else f"call {call_id} of {call.kernel}: {failure}"


def write(
    trace: Trace, run_id: str, member: Member, is_partial: Mapping[str, Any] = MappingProxyType({})
) -> None:
    """Write a client's tables to the run unless it failed; a failure is stored in the member.

    `is_partial` are settings of results that are not of all calls; {} if they are.
    """
    tables = member.tables()
    facts = {**member.facts(), **is_partial}
    if member.error is not None:
        return
    try:
        declared = declared_tables(member.client)
        trace.add_derived(run_id, member.client.name, tables, facts, declared, whole=not is_partial)
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


#: A function that makes a client, in any process.
Recipe = Callable[[], Client]
#: A function that evaluates the calls of runs for clients and writes their tables, as `replay`.
Engine = Callable[[Selection, Sequence[Recipe]], Iterable[Outcome]]


def replay_runs(
    selection: Selection, clients: Sequence[str], engine: Engine | None = None
) -> Iterator[Outcome]:
    """Evaluate each unique call for clients, in this process or by an engine; yield outcomes.

    There is one outcome per run. The clients' rows in the trace are replaced.

    Raises:
        BadSetting: No client has a given name; raised before any call is evaluated.

    """
    load_clients(clients)
    if engine is not None:
        yield from engine(
            selection, [partial(load_client, name) for name in dict.fromkeys(clients)]
        )
        return
    equal_calls: EqualCalls = {}
    for run in selection.runs:
        with progress(f"replay {run.run_id}") as report:
            outcome = replay(selection.trace, run, report, clients, equal_calls=equal_calls)
        yield outcome
