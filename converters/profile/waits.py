"""Variants that launches waited for, over the processes of several traces, worst first."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from kvtrace.converters.profile.argument_classes import RecordedCall, calls_by_kernel, parameters_of
from kvtrace.converters.profile.recompiles import DelayedLaunch, delayed_launches
from kvtrace.converters.profile.unseen_sizes import UnseenSizes, unseen_sizes
from kvtrace.schema.errors import BadSetting
from kvtrace.schema.trace import Selection, open_trace

#: The mark after which a launch should find its kernel.
_SERVING: Final = "serve"


@dataclass(frozen=True, slots=True)
class WaitedVariant:
    """A variant that `launches` of `runs` processes waited for; times in ns.

    `compiled` of the launches compiled it; others loaded it from the cache on disk, or tuned.
    `trials`, launches by autotuners, are in no other figure. `reasons` are what differed from the
    most similar earlier variant of a process, with how often.
    """

    kernel: str
    reasons: dict[str, int]
    launches: int
    trials: int
    runs: int
    compiled: int
    waited_ns: int


@dataclass(frozen=True, slots=True)
class Waits:
    """Launches that waited, their variants with a call of each, and sizes that still would wait."""

    launches: tuple[DelayedLaunch, ...]
    variants: tuple[WaitedVariant, ...]
    examples: tuple[RecordedCall, ...]
    unseen: tuple[UnseenSizes, ...]


def with_traces(selection: Selection, folders: Iterable[str]) -> tuple[Selection, ...]:
    """Return a selection, and all further runs of some traces; errors as `open_trace`."""
    selections = [selection]
    for folder in folders:
        trace = open_trace(folder)
        selected_ids = {run.run_id for chosen in selections for run in chosen.runs}
        selections.append(
            Selection(trace, tuple(run for run in trace.runs if run.run_id not in selected_ids))
        )
    return tuple(selections)


def read_waits(selections: Sequence[Selection], since: str | None = None) -> Waits:
    """Return the variants that launches waited for; `since` and errors as `delayed_launches`."""
    launches = [
        launch
        for chosen in selections
        if chosen.runs
        for launch in delayed_launches(chosen.trace, chosen.runs, since)
    ]
    by_kernel = calls_by_kernel(selections)
    parameters = {key: parameters_of(calls) for key, calls in by_kernel.items()}
    calls = {(c.row["run"], c.row["call_id"]): c for every in by_kernel.values() for c in every}
    groups: dict[object, list[DelayedLaunch]] = {}
    for launch in launches:
        key, call = launch.variant.key, calls.get((launch.run, launch.call_id))
        variant = call and (
            tuple(sorted(call.facts.items())),
            *(int(parameters[key][n].classes(np.array(v))) for n, v in call.integers.items()),
        )
        groups.setdefault((key, variant), []).append(launch)
    ordered = sorted(groups.values(), key=lambda group: -_variant(group).waited_ns)
    examples = (calls.get((group[0].run, group[0].call_id)) for group in ordered)
    return Waits(
        tuple(launches),
        tuple(map(_variant, ordered)),
        tuple(call for call in examples if call is not None),
        tuple(
            sizes
            for key, kernel_calls in by_kernel.items()
            for sizes in unseen_sizes(key.name, kernel_calls, parameters[key])
        ),
    )


def waits_while_serving(selection: Selection) -> Counter[str] | None:
    """Return how many launches waited after the mark `serve`, by kernel; None if not known."""
    try:
        launches = delayed_launches(selection.trace, selection.runs, _SERVING)
    except BadSetting:
        return None
    return Counter(launch.variant.kernel for launch in launches if not launch.trial)


def _variant(group: Sequence[DelayedLaunch]) -> WaitedVariant:
    waiting = [launch for launch in group if not launch.trial]
    return WaitedVariant(
        kernel=group[0].variant.kernel,
        reasons=dict(Counter(launch.variant.reason(most=4) for launch in group)),
        launches=len(waiting),
        trials=len(group) - len(waiting),
        runs=len({launch.run for launch in group}),
        compiled=sum(launch.variant.cache_hit is False for launch in waiting),
        waited_ns=sum(launch.waited_ns for launch in waiting),
    )
