"""Suites made from recorded runs: the heaviest calls, as files that launch them again."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kvtrace.addons.suite.alike import alike_calls
from kvtrace.addons.suite.choice import ChosenCalls, WeighedCall, WeighedCalls, weighed_calls
from kvtrace.addons.suite.facts import CallFacts, facts_of_calls
from kvtrace.addons.suite.model import (
    VERSION,
    Entry,
    LeftOut,
    Origin,
    Suite,
)
from kvtrace.addons.suite.readme import readme
from kvtrace.addons.suite.rows import CallRows
from kvtrace.addons.suite.touched import touched_before
from kvtrace.addons.suite.usual import usual_launches
from kvtrace.addons.suite.writing import (
    MOST_FILES,
    OTHER_FILES,
    check_folder,
    file_name,
    write_suite,
)
from kvtrace.converters.findings.invocation import invocation
from kvtrace.converters.scripts.repro import (
    DescriptorArgument,
    RecordedTime,
    Repro,
    device_text,
)
from kvtrace.figures.requested_part import STEADY, RequestedPart
from kvtrace.progress import Report, progress
from kvtrace.schema.errors import BadSetting
from kvtrace.text import plural, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kvtrace.schema.runs import Run
    from kvtrace.schema.trace import Selection

#: Groups of alike calls that may become entries; all but those that cannot be in a suite do.
_MOST_READ: Final = 1_000
#: Medians of alike calls of one entry differ by at most this factor.
_SAME_TIME: Final = 1.1
#: Calls that are compared with each other; lighter ones stay alone.
_MOST_COMPARED: Final = 5_000


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a suite should have.

    Attributes:
        share: of the run's weight that the calls should add up to, above 0 to 1.
        part: of the runs whose launches count.
        source: whether calls are launched from the kernel's Python source rather than its IR.
        limit_bytes: storages larger than this have no recorded contents in the suite.
    """

    share: float = 0.95
    part: RequestedPart = STEADY
    source: bool = False
    limit_bytes: int = 64 << 20


def make_suite(selection: Selection, folder: Path, wanted: Wanted = Wanted()) -> Suite:
    """Write a suite of the selected runs to a folder, and return its index.

    A suite that is in the folder already is replaced; other files in it stay.

    Raises:
        BadSetting: nothing was launched, no call can be in a suite, or the folder is not empty and
            no suite, or cannot be written.
    """
    if not 0 < wanted.share <= 1:
        raise BadSetting(f"--share is a number above 0 up to 1, as 0.95, not {wanted.share:g}")
    check_folder(folder)
    weighed = weighed_calls(selection, wanted.part)
    with progress("suite: choosing calls") as report:
        choice = _choose(selection, weighed, wanted, report)
    chosen = choice.calls
    if not chosen:
        why = choice.left_out[0].why
        raise BadSetting(f"no call of {selection.trace.path} can be in a suite: {why}")
    facts = facts_of_calls(selection, [one.calls for one in chosen])
    before = touched_before(selection, chosen, choice.usual)
    suite = _index(weighed, chosen, facts, before, choice.left_out)
    write_suite(
        folder,
        suite,
        [one.repro for one in chosen],
        readme(suite),
        lambda number: choice.rows.source(chosen[number].calls[0]),
    )
    return suite


# ---- The choice ----


@dataclass(frozen=True, slots=True)
class _Choice:
    """Rows of calls, the entries' calls, what is left out, and the usual launches of calls."""

    rows: CallRows
    calls: list[ChosenCalls]
    left_out: list[LeftOut]
    usual: Mapping[tuple[str, int], int]


def _choose(selection: Selection, weighed: WeighedCalls, wanted: Wanted, report: Report) -> _Choice:
    """Return the entries' calls up to the wanted share, and what is left out."""
    compared, lighter = weighed.calls[:_MOST_COMPARED], weighed.calls[_MOST_COMPARED:]
    alike = [one for calls in alike_calls(selection.trace, compared) for one in _as_fast(calls)]
    groups = [*alike, *([call] for call in lighter)]
    groups.sort(key=lambda calls: -sum(call.weight for call in calls))
    read = [calls[0] for calls in groups[:_MOST_READ]]
    usual = usual_launches(selection, read, wanted.part)
    rows = CallRows(selection.trace, read, usual)
    chosen: list[ChosenCalls] = []
    left_out: list[LeftOut] = []
    reasons: Counter[tuple[str, str]] = Counter()
    covered = 0
    for place, calls in enumerate(groups):
        is_enough = covered >= wanted.share * weighed.weight
        if is_enough or len(chosen) == MOST_FILES - OTHER_FILES or place == _MOST_READ:
            lighter = tuple(call for group in groups[place:] for call in group)
            left_out.append(_lighter(lighter, weighed, None if is_enough else len(chosen)))
            break
        try:
            entry = ChosenCalls(_call_data(rows, calls[0], wanted), calls)
        except BadSetting as problem:
            weight = sum(call.weight for call in calls)
            reasons[calls[0].kernel, _without_call(str(problem), calls[0])] += weight
            continue
        chosen.append(entry)
        covered += entry.weight
        report(covered, wanted.share * weighed.weight)
    refused = [
        LeftOut(kernel, weight / weighed.weight, why)
        for (kernel, why), weight in reasons.most_common()
    ]
    return _Choice(rows, chosen, [*refused, *left_out], usual)


def _as_fast(calls: list[WeighedCall]) -> list[list[WeighedCall]]:
    """Return calls that do the same work in groups that took the same time, or nearly.

    One may have found in the cache what another had to load: the first of them stands for neither.
    """
    groups: list[list[WeighedCall]] = []
    for call in sorted(calls, key=lambda call: call.median_ns or 0):
        fastest = groups[-1][0].median_ns if groups else None
        if groups and (call.median_ns or 0) <= _SAME_TIME * (fastest or 0):
            groups[-1].append(call)
        else:
            groups.append([call])
    return [sorted(group, key=lambda call: -call.weight) for group in groups]


def _call_data(rows: CallRows, call: WeighedCall, wanted: Wanted) -> Repro:
    """Return a call's data; from its source where Triton cannot launch its IR.

    Raises:
        BadSetting: it cannot be launched again.
    """
    try:
        repro = rows.data(call, wanted.source, wanted.limit_bytes)
    except BadSetting as problem:
        if wanted.source or rows.source(call) is None:
            raise
        repro = _from_source(rows, call, problem, wanted.limit_bytes)
    if call.median_ns is None:
        return repro
    time = RecordedTime(call.median_ns, device_text(call.run), call.launches)
    return replace(repro, recorded=time)


def _from_source(rows: CallRows, call: WeighedCall, problem: BadSetting, limit: int) -> Repro:
    """Return a call's data with the recorded source; raise the problem with its IR without one."""
    try:
        repro = rows.data(call, True, limit)
    except BadSetting:
        raise problem from None
    has_descriptor = any(isinstance(a, DescriptorArgument) for a in repro.arguments.values())
    why = "Triton cannot pass a descriptor to IR" if has_descriptor else "its IR was not recorded"
    note = f"launched from its Python source, since {why}"
    return replace(repro, notes=(*repro.notes, note))


def _lighter(calls: tuple[WeighedCall, ...], weighed: WeighedCalls, most: int | None) -> LeftOut:
    """Return the calls behind the last entry; `most` is the number of entries if that ended it."""
    share = sum(call.weight for call in calls) / weighed.weight
    why = "the entries have the wanted share of the weight without them"
    if most is not None:
        why = f"the suite has {most} entries, and {MOST_FILES} files at most"
    return LeftOut(plural(len(calls), "lighter call"), share, why)


def _without_call(text: str, call: WeighedCall) -> str:
    """Return a sentence without the number of its call, so that it is the same for all calls."""
    return text.replace(f"call {call.call_id} of kernel {call.kernel}", f"kernel {call.kernel}")


# ---- The index ----


def _index(
    weighed: WeighedCalls,
    chosen: list[ChosenCalls],
    facts: list[CallFacts],
    before: list[tuple[str, ...]],
    left_out: Iterable[LeftOut],
) -> Suite:
    width = len(str(len(chosen)))
    entries = tuple(
        replace(
            _entry(
                f"{number:0{max(3, width)}}-{file_name(one.repro.kernel)}", one, of_call, weighed
            ),
            before=touches,
        )
        for number, (one, of_call, touches) in enumerate(zip(chosen, facts, before, strict=True), 1)
    )
    return Suite(
        version=VERSION,
        source=_source(chosen[0].repro.run, weighed),
        weighed_by=weighed.weighed_by,
        weight=weighed.weight,
        device_ns=weighed.device_ns,
        entries=entries,
        left_out=tuple(left_out),
    )


def _entry(name: str, chosen: ChosenCalls, facts: CallFacts, weighed: WeighedCalls) -> Entry:
    repro, calls = chosen.repro, chosen.calls
    times = [call.device_ns for call in calls if call.device_ns is not None]
    inputs: dict[str, Origin] = {
        storage: "recorded" if memory.contents else "drawn" if memory.drawn else "random"
        for storage, memory in repro.storages.items()
    }
    return Entry(
        name=name,
        kernel=repro.kernel,
        title=invocation(repro.kernel, repro.grid, repro.rows) or repro.kernel,
        calls=tuple(f"{call.run.run_id}/{call.call_id}" for call in calls),
        launches=sum(call.launches for call in calls),
        device_ns=sum(times) if times else None,
        median_ns=calls[0].median_ns,
        share=chosen.weight / weighed.weight,
        inputs=inputs,
        checks=facts.checks,
        notes=(*repro.notes, *_notes(facts, inputs)),
        updated=facts.updated,
    )


def _notes(facts: CallFacts, inputs: Mapping[str, Origin]) -> Iterator[str]:
    """Yield sentences on what of the call's contents is not as recorded, and matters."""
    random = [name for name in facts.leading if inputs.get(name) == "random"]
    if random:
        yield (
            f"contents of {', '.join(random)} decide what work it does, and are random: "
            "KVTRACE_TENSORS=int records them"
        )
    if facts.updated:
        yield (
            f"it updates {', '.join(facts.updated)} in place: a launch finds there what the one "
            "before left"
        )


def _source(run: Run, weighed: WeighedCalls) -> dict[str, str]:
    """Return what a reader has to know of the recorded run, by name."""
    commit = run.git_commit and f"{run.git_commit}{' with changes' if run.git_dirty else ''}"
    devices = dict.fromkeys(str(device["name"]) for device in run.devices if device["name"])
    facts = {
        "command": run.command,
        "commit": commit,
        "device": ", ".join(devices),
        "part": weighed.part,
        "runs": ", ".join(dict.fromkeys(call.run.run_id for call in weighed.calls)),
        **{name: run.versions.get(name) for name in ("triton", "torch", "python", "cuda")},
    }
    return {name: printable(fact) for name, fact in facts.items() if fact}
