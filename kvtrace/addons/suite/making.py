"""Suites made from recorded runs: the heaviest calls, as files that launch them again."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.addons.suite.choice import (
    ChosenCalls,
    WeighedCall,
    WeighedCalls,
    alike_calls,
    weighed_calls,
)
from kvtrace.addons.suite.model import (
    VERSION,
    Entry,
    OmittedShare,
    Origin,
    Suite,
)
from kvtrace.addons.suite.readme import CallFacts, facts_of_calls, readme
from kvtrace.addons.suite.touched import touched_before
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
    Repro,
    device_text,
    repro_of_call,
    source_of_kernel,
)
from kvtrace.figures.columns import integers
from kvtrace.figures.requested_part import STEADY, RequestedPart
from kvtrace.figures.window import windowed
from kvtrace.progress import Report, progress
from kvtrace.schema.contents import first_contents
from kvtrace.schema.errors import BadSetting
from kvtrace.schema.runs import plain_rows
from kvtrace.text import plural, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from kvtrace.schema.runs import Run
    from kvtrace.schema.trace import Selection, Trace

#: Groups of alike calls that may become entries; all but those that cannot be in a suite do.
_MOST_READ: Final = 1_000
#: Medians of alike calls of one entry differ by at most this factor.
_SAME_TIME: Final = 1.1
#: Calls that are compared with each other; lighter ones stay alone.
_MOST_COMPARED: Final = 5_000


@dataclass(frozen=True, slots=True)
class SuiteSettings:
    """Settings of a suite to make.

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


def make_suite(
    selection: Selection, folder: Path, settings: SuiteSettings = SuiteSettings()
) -> Suite:
    """Write a suite of the selected runs to a folder, and return its index.

    A suite that is in the folder already is replaced; other files in it stay.

    Raises:
        BadSetting: nothing was launched, no call can be in a suite, or the folder is not empty and
            no suite, or cannot be written.
    """
    if not 0 < settings.share <= 1:
        raise BadSetting(f"--share is a number above 0 up to 1, as 0.95, not {settings.share:g}")
    check_folder(folder)
    weighed = weighed_calls(selection, settings.part)
    with progress("suite: choosing calls") as report:
        choice = _choose(selection, weighed, settings, report)
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
    left_out: list[OmittedShare]
    usual: Mapping[tuple[str, int], int]


def _choose(
    selection: Selection, weighed: WeighedCalls, settings: SuiteSettings, report: Report
) -> _Choice:
    """Return the entries' calls up to the wanted share, and what is left out."""
    compared, lighter = weighed.calls[:_MOST_COMPARED], weighed.calls[_MOST_COMPARED:]
    alike = [one for calls in alike_calls(selection.trace, compared) for one in _as_fast(calls)]
    groups = [*alike, *([call] for call in lighter)]
    groups.sort(key=lambda calls: -sum(call.weight for call in calls))
    read = [calls[0] for calls in groups[:_MOST_READ]]
    usual = usual_launches(selection, read, settings.part)
    rows = CallRows(selection.trace, read, usual)
    chosen: list[ChosenCalls] = []
    left_out: list[OmittedShare] = []
    reasons: Counter[tuple[str, str]] = Counter()
    covered = 0
    for place, calls in enumerate(groups):
        is_enough = covered >= settings.share * weighed.weight
        if is_enough or len(chosen) == MOST_FILES - OTHER_FILES or place == _MOST_READ:
            lighter = tuple(call for group in groups[place:] for call in group)
            left_out.append(_lighter(lighter, weighed, None if is_enough else len(chosen)))
            break
        try:
            entry = ChosenCalls(_call_data(rows, calls[0], settings), calls)
        except BadSetting as problem:
            weight = sum(call.weight for call in calls)
            reasons[calls[0].kernel, _without_call(str(problem), calls[0])] += weight
            continue
        chosen.append(entry)
        covered += entry.weight
        report(covered, settings.share * weighed.weight)
    refused = [
        OmittedShare(kernel, weight / weighed.weight, why)
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


def _call_data(rows: CallRows, call: WeighedCall, settings: SuiteSettings) -> Repro:
    """Return a call's data; from its source where Triton cannot launch its IR.

    Raises:
        BadSetting: it cannot be launched again.
    """
    try:
        repro = rows.data(call, settings.source, settings.limit_bytes)
    except BadSetting as problem:
        if settings.source or rows.source(call) is None:
            raise
        repro = _from_source(rows, call, problem, settings.limit_bytes)
    if call.median_ns is None:
        return repro
    time = (call.median_ns / 1e6, device_text(call.run), call.launches)
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


def _lighter(
    calls: tuple[WeighedCall, ...], weighed: WeighedCalls, most: int | None
) -> OmittedShare:
    """Return the calls behind the last entry; `most` is the number of entries if that ended it."""
    share = sum(call.weight for call in calls) / weighed.weight
    why = "the entries have the wanted share of the weight without them"
    if most is not None:
        why = f"the suite has {most} entries, and {MOST_FILES} files at most"
    return OmittedShare(plural(len(calls), "lighter call"), share, why)


def _without_call(text: str, call: WeighedCall) -> str:
    """Return a sentence without the number of its call, so that it is the same for all calls."""
    return text.replace(f"call {call.call_id} of kernel {call.kernel}", f"kernel {call.kernel}")


# ---- The index ----


def _index(
    weighed: WeighedCalls,
    chosen: list[ChosenCalls],
    facts: list[CallFacts],
    before: list[tuple[str, ...]],
    left_out: Iterable[OmittedShare],
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
        title=invocation(repro.kernel, repro.grid, repro.rows),
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


# -- rows of calls ---------------------------------------------------------------------------------


_Key = tuple[str, int]


class CallRows:
    """Rows of calls and of their kernels, with artifacts of contents."""

    def __init__(
        self, trace: Trace, calls: Sequence[WeighedCall], usual: Mapping[_Key, int]
    ) -> None:
        """Read the rows of some calls, and contents at their usual launches.

        Errors as `Trace.table`.
        """
        self._trace = trace
        runs = list(dict.fromkeys(call.run for call in calls))
        self._calls: dict[_Key, Mapping[str, Any]] = {}
        self._kernels: dict[_Key, Mapping[str, Any]] = {}
        self._contents = first_contents(trace, runs, usual)
        for run in runs:
            ids = [call.call_id for call in calls if call.run == run]
            for row in _rows(trace, "calls", run, "call_id", ids):
                self._calls[run.run_id, row["call_id"]] = row
            kernel_ids = {row["kernel_id"] for row in self._calls.values()}
            for row in _rows(trace, "kernels", run, "kernel_id", kernel_ids):
                self._kernels[run.run_id, row["kernel_id"]] = row

    def data(self, weighed: WeighedCall, source: bool, limit_bytes: int) -> Repro:
        """Return a call's data, without its recorded time.

        Raises:
            BadSetting: it cannot be launched again.
        """
        key = weighed.run.run_id, weighed.call_id
        call, kernel = self._calls[key], self._kernel(weighed)
        contents = self._contents.get(key, {})
        return repro_of_call(self._trace, weighed.run, call, kernel, contents, source, limit_bytes)

    def source(self, weighed: WeighedCall) -> str | None:
        """Return the Python source of a call's kernel as a module, None if not recorded."""
        return source_of_kernel(self._trace, self._kernel(weighed))

    def _kernel(self, weighed: WeighedCall) -> Mapping[str, Any]:
        call = self._calls[weighed.run.run_id, weighed.call_id]
        return self._kernels[weighed.run.run_id, call["kernel_id"]]


def _rows(trace: Trace, table: str, run: Run, key: str, ids: Iterable[int]) -> list[dict[str, Any]]:
    rows = trace.table(table, (run,))
    return plain_rows(rows.filter(pc.is_in(rows[key], pa.array(sorted(ids), pa.int64()))))


# -- the usual launch of a call --------------------------------------------------------------------


def usual_launches(
    selection: Selection, calls: Sequence[WeighedCall], part: RequestedPart
) -> dict[tuple[str, int], int]:
    """Return the `seq` of the usual launch of each call, by run id and call id.

    It is the launch of the part whose time on the device is nearest to the call's median, among
    those with recorded contents if there are any: what a kernel does may depend on them. Calls
    without a launch in the part are absent. Errors as `windowed`.
    """
    trace, _ = windowed(selection.trace, selection.runs, part)
    usual: dict[tuple[str, int], int] = {}
    for run in dict.fromkeys(call.run for call in calls):
        launches = _launches(trace, run)
        times = _times(trace, run)
        with_contents = set(trace.table("contents", (run,), ["seq"])["seq"].to_pylist())
        for call in calls:
            seqs = launches.get(call.call_id, []) if call.run == run else []
            seqs = [seq for seq in seqs if seq in with_contents] or seqs
            if seqs:
                usual[run.run_id, call.call_id] = _nearest(seqs, times, call.median_ns)
    return usual


def _launches(trace: Trace, run: Run) -> dict[int, list[int]]:
    """Return the launches of each call, without trials of autotuners."""
    rows = trace.table("launches", (run,), ["seq", "call_id", "phase"])
    rows = rows.filter(pc.not_equal(rows["phase"], "autotune"))
    launches: dict[int, list[int]] = {}
    for seq, call_id in zip(rows["seq"].to_pylist(), rows["call_id"].to_pylist(), strict=True):
        launches.setdefault(call_id, []).append(seq)
    return launches


def _times(trace: Trace, run: Run) -> dict[int, float]:
    """Return the time of each launch on the device, ns; of a replayed one the median."""
    rows = trace.table("gpu_kernels", (run,), ["launch_seq", "start", "end"])
    rows = rows.filter(pc.is_valid(rows["launch_seq"]))
    times: dict[int, list[int]] = {}
    durations = (integers(rows["end"]) - integers(rows["start"])).tolist()
    for seq, ns in zip(rows["launch_seq"].to_pylist(), durations, strict=True):
        times.setdefault(seq, []).append(ns)
    return {seq: median(of_launch) for seq, of_launch in times.items()}


def _nearest(seqs: list[int], times: Mapping[int, float], median_ns: float | None) -> int:
    """Return the launch whose time is nearest to the median; the middle one if it has no time."""
    timed = [seq for seq in seqs if seq in times]
    if median_ns is None or not timed:
        return seqs[len(seqs) // 2]
    return min(timed, key=lambda seq: abs(times[seq] - median_ns))
