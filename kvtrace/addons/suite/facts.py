"""Facts of a suite's calls from their IR: verdicts, memory that is updated, and indices."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from kvtrace.clients.recorded import estimated_costs
from kvtrace.evaluate import TensorArgument
from kvtrace.evaluate.errors import UNFIT
from kvtrace.evaluate.order import memory_sites
from kvtrace.ir.data_dependence import leading_integers
from kvtrace.progress import progress
from kvtrace.recorded_calls.recorded import UnreadyCall, calls_of
from kvtrace.schema.errors import KvtraceError
from kvtrace.schema.layout import pass_parts, run_folder
from kvtrace.verdicts.judge import judge_launches

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kvtrace.addons.suite.choice import WeighedCall
    from kvtrace.recorded_calls.recorded import Call
    from kvtrace.schema.trace import Selection, Trace

#: The pass that fills the table `findings`.
_SANITIZER: Final = "sanitizer"
#: Verdicts that count before others where a rule has several.
_ORDER: Final = ("violation", "unknown", "proven")
#: Seconds for calls of which the trace has no verdicts; later ones have none in the suite.
MOST_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True)
class CallFacts:
    """What the IR of a call says of it.

    Attributes:
        checks: the worst verdict of each rule of the sanitizer.
        updated: storages that the kernel both reads and writes, by name.
        leading: storages whose contents decide what work it does, as indices and lengths do.
    """

    checks: Mapping[str, str] = field(default_factory=dict)
    updated: tuple[str, ...] = ()
    leading: tuple[str, ...] = ()


def facts_of_calls(
    selection: Selection, groups: Sequence[Sequence[WeighedCall]], seconds: float = MOST_SECONDS
) -> list[CallFacts]:
    """Return the facts of the first call of each group; verdicts are of all its calls.

    Verdicts are from the trace where it was sanitized; else the first call is judged, in the order
    of the groups, until `seconds` are used up. Calls that cannot be evaluated have no facts.
    """
    trace = selection.trace
    recorded = _recorded_verdicts(selection)
    judged = {
        run.run_id
        for run in selection.runs
        if pass_parts(run_folder(trace.path, "findings", run.run_id), _SANITIZER)
    }
    evaluable = _evaluable_calls(trace, [calls[0] for calls in groups])
    deadline = time.monotonic() + seconds
    facts = []
    costs = {run.run_id: estimated_costs(trace, run) for run in selection.runs}
    group_costs = [costs[calls[0].run.run_id][calls[0].call_id] for calls in groups]
    with progress("suite: judging calls") as report:
        for number, calls in enumerate(groups, start=1):
            call = evaluable.get(calls[0])
            pairs: list[tuple[str, str]] = []
            if calls[0].run.run_id in judged:
                places = [(weighed.run.run_id, weighed.call_id) for weighed in calls]
                pairs = [pair for place in places for pair in recorded.get(place, ())]
            elif call is not None and time.monotonic() < deadline:
                pairs = _judged(call)
            updated, leading = ((), ()) if call is None else _storages(call)
            facts.append(CallFacts(_worst(pairs), updated, leading))
            report(sum(group_costs[:number]), sum(group_costs))
    return facts


def _evaluable_calls(trace: Trace, weighed: Sequence[WeighedCall]) -> dict[WeighedCall, Call]:
    calls: dict[WeighedCall, Call] = {}
    for run in dict.fromkeys(one.run for one in weighed):
        by_id = {one.call_id: one for one in weighed if one.run == run}
        for call in calls_of(trace, run, by_id):
            if not isinstance(call, UnreadyCall):
                calls[by_id[call.call_id]] = call
    return calls


def _storages(call: Call) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the storages that a call updates, and those whose contents decide its work."""
    tensors = {
        position: argument
        for position, argument in enumerate(call.arguments)
        if isinstance(argument, TensorArgument)
    }
    names: dict[int, str] = {}
    for argument in tensors.values():
        names.setdefault(id(argument.storage), argument.name)
    leading_ops = leading_integers(call.module)
    kinds: dict[str, set[str]] = {name: set() for name in names.values()}
    leading: dict[str, None] = {}
    for site in memory_sites(call.module):
        reached = [argument for position, argument in tensors.items() if site.reaches(position)]
        for name in (names[id(argument.storage)] for argument in reached):
            kinds[name].add(site.kind)
            if site.op.index in leading_ops:
                leading[name] = None
    updated = [name for name, found in kinds.items() if "atomic" in found or len(found) > 1]
    return tuple(updated), tuple(leading)


def _recorded_verdicts(selection: Selection) -> Mapping[tuple[str, int], list[tuple[str, str]]]:
    """Return (rule, verdict) of each finding of a call, by run id and call id."""
    verdicts: dict[tuple[str, int], list[tuple[str, str]]] = {}
    for row in selection.table("findings", ["call_id", "rule", "verdict"]).to_pylist():
        pairs = verdicts.setdefault((row["run"], row["call_id"]), [])
        pairs.append((str(row["rule"]), str(row["verdict"])))
    return verdicts


def _judged(call: Call) -> list[tuple[str, str]]:
    """Return (rule, verdict) of each claim on a call; none if it cannot be judged."""
    try:
        return [(verdict.rule, verdict.verdict) for verdict in judge_launches(call)]
    except (KvtraceError, *UNFIT):  # the call has no checks then, as the README says
        return []


def _worst(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the worst verdict of each rule, by the rule's name."""
    worst: dict[str, str] = {}
    for rule, verdict in sorted(pairs):
        worst[rule] = min(worst.get(rule, verdict), verdict, key=_rank)
    return worst


def _rank(verdict: str) -> int:
    return _ORDER.index(verdict) if verdict in _ORDER else len(_ORDER)
