"""Comparison of recorded results of a changed kernel for `kvtrace diff`, within derived bounds.

Recorded launches of both sides (KVTRACE_CHECK) are paired by equal inputs: tensors of the same
layouts and bytes, and the same scalars. Memory that neither version reads may differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from time import thread_time
from typing import TYPE_CHECKING, Final

import numpy as np

from kvtrace.addons.check.kept import CheckedLaunch, checked_launches
from kvtrace.addons.check.kept_elements import (
    LaunchPair,
    OutputAnswer,
    have_equal_bytes,
    reads,
    spans,
)
from kvtrace.converters.diff.model import KernelMeaning
from kvtrace.evaluate.arguments import ScalarArgument
from kvtrace.recorded_calls.reading import kernels_of_calls
from kvtrace.schema.errors import KvtraceError
from kvtrace.schema.launch_flags import are_trials
from kvtrace.text import plural

if TYPE_CHECKING:
    from kvtrace.converters.diff.model import Word
    from kvtrace.schema.trace import Selection

    _Key = tuple[object, ...]
    _CallId = tuple[str, int]
    _Kept = tuple[_CallId, CheckedLaunch]

_FINITE: Final = "finite"
_LIMIT: Final = "the time limit was reached (--meaning)"
_UNPAIRED: Final = "no kept launch has the same inputs on both sides"


def kept_meanings(
    before: Selection,
    after: Selection,
    kernels: Mapping[str, str],
    outputs: Mapping[str, AbstractSet[str] | None],
    seconds: float,
) -> tuple[KernelMeaning, ...]:
    """Return for each output whether recorded results of both sides are the same.

    An output is the same if every launch of AFTER was recorded and compared, and none is in doubt:
    a launch that was not recorded may be the one with revealing numbers. Kernels without recorded
    launches on both sides are left out.

    `kernels` has names of kernels in AFTER, each with the name in BEFORE; `outputs` the outputs to
    compare of each kernel, by names in BEFORE (None: all). `seconds` limits the CPU time; outputs
    of launches not compared by then are "not known".
    """
    deadline = thread_time() + seconds
    recorded = (
        _recorded_launches(before, set(kernels.values())),
        _recorded_launches(after, set(kernels)),
    )
    meanings: list[KernelMeaning] = []
    for name, old_name in kernels.items():
        launches = recorded[0].get(old_name, []), recorded[1].get(name, [])
        if not all(launches):
            continue
        kernel = _KernelAnswers(name, outputs[name], deadline)
        for call, pair in _pairs(*launches):
            kernel.compare(call, pair)
        meanings += kernel.meanings(_launches_by_call(after, name))
    return tuple(meanings)


class _KernelAnswers:
    """Answers of all compared launches of a kernel, by output, and the conclusion from them."""

    def __init__(self, name: str, outputs: AbstractSet[str] | None, deadline: float) -> None:
        self._name, self._outputs, self._deadline = name, outputs, deadline
        self._answers: dict[str, list[tuple[_CallId, OutputAnswer]]] = {}

    def compare(self, call: _CallId, pair: LaunchPair) -> None:
        """Compare the outputs of a launch recorded on both sides, and store the answers."""
        names = pair.outputs() if self._outputs is None else self._outputs
        for output in sorted(names):
            self._answers.setdefault(output, []).append((call, self._output_answer(pair, output)))

    def _output_answer(self, pair: LaunchPair, output: str) -> OutputAnswer:
        position = pair.position_of(output)
        if position is None:
            return OutputAnswer("not known", 0, f"BEFORE's launch has no tensor {output}")
        if thread_time() > self._deadline:
            return OutputAnswer("not known", 0, _LIMIT)
        try:
            answer = pair.compare(position)
        except KvtraceError as error:
            text = f"bounds of launch {pair.after.seq} cannot be derived: {error}"
            return OutputAnswer("not known", 0, text.removesuffix("."))
        programs = pair.after.programs
        if programs is None or answer.same != "yes":
            return answer
        text = (
            f"launch {pair.after.seq} was kept only in part: the memory of "
            f"{plural(len(programs), 'program')}"
        )
        return OutputAnswer("not known", answer.elements, text)

    def meanings(self, calls: Mapping[_CallId, int]) -> Iterator[KernelMeaning]:
        """Yield the conclusion for each output; `calls` has each call of AFTER and its launches."""
        if not self._answers:
            for output in (None,) if self._outputs is None else sorted(self._outputs):
                yield self._kernel_meaning(output, "unknown", "not known", _UNPAIRED)
        for output, answers in self._answers.items():
            yield self._conclusion(output, answers, calls)

    def _conclusion(
        self,
        output: str,
        answers: Sequence[tuple[_CallId, OutputAnswer]],
        calls: Mapping[_CallId, int],
    ) -> KernelMeaning:
        output_answers = [answer for _, answer in answers]
        different = [answer for answer in output_answers if answer.same == "no"]
        if different:
            return self._kernel_meaning(output, "violation", "no", different[0].evidence)
        same_answers = [(call, answer) for call, answer in answers if answer.same == "yes"]
        doubts = [answer for answer in output_answers if answer.same != "yes" and answer.changed]
        if doubts or not same_answers:
            return self._kernel_meaning(
                output, "unknown", "not known", (doubts or output_answers)[0].evidence
            )
        missing = len(calls.keys() - {call for call, _ in same_answers})
        if missing:
            text = f"{missing:,} of {plural(len(calls), 'call')} have no kept launch to compare"
            return self._kernel_meaning(output, "unknown", "not known", text)
        launched = sum(calls.values())
        if len(answers) < launched:
            text = f"{len(answers):,} of {plural(launched, 'launch')} were kept on both sides"
            return self._kernel_meaning(output, "unknown", "not known", text)
        is_equal_throughout = all(answer.equal for _, answer in same_answers)
        elements = plural(sum(answer.elements for _, answer in same_answers), "element")
        how = "equal bit for bit" if is_equal_throughout else "within the derived bound"
        launches = plural(len(same_answers), "kept launch")
        text = f"{elements} of {launches} are {how} (recorded inputs alone)"
        return self._kernel_meaning(
            output, "equal" if is_equal_throughout else "close", "yes", text
        )

    def _kernel_meaning(
        self, output: str | None, answer: str, same: Word, evidence: str
    ) -> KernelMeaning:
        text = f"unknown: {evidence}" if same == "not known" else f"{evidence} (by kept results)"
        return KernelMeaning(self._name, output, answer, text, same, evidence, by_data=True)


def _recorded_launches(selection: Selection, kernels: AbstractSet[str]) -> dict[str, list[_Kept]]:
    """Return the launches of the named kernels whose memory was recorded, by kernel.

    Launches recorded by the setting `finite` are left out.
    """
    by_kernel: dict[str, list[_Kept]] = {}
    for run in selection.runs:
        for launch in checked_launches(selection.trace, run, kernels):
            if isinstance(launch, CheckedLaunch) and launch.why != _FINITE:
                call = run.run_id, launch.call_id
                by_kernel.setdefault(launch.kernel, []).append((call, launch))
    return by_kernel


def _launches_by_call(selection: Selection, kernel: str) -> dict[_CallId, int]:
    """Return each call's number of launches, without those of autotuners and warm-ups."""
    counts: dict[_CallId, int] = {}
    for run in selection.runs:
        kernels = kernels_of_calls(selection.trace, run, ["name"])
        launches = selection.trace.table("launches", (run,), ["call_id", "phase"])
        counted = launches["call_id"].to_numpy()[~are_trials(launches).to_numpy()]
        ids_and_counts = zip(*np.unique(counted, return_counts=True), strict=True)
        counts |= {
            (run.run_id, int(call)): int(count)
            for call, count in ids_and_counts
            if kernels.get(call, {}).get("name") == kernel
        }
    return counts


def _pairs(before: Sequence[_Kept], after: Sequence[_Kept]) -> Iterator[tuple[_CallId, LaunchPair]]:
    """Yield the pairs of launches with the same inputs, each with the call of AFTER's launch.

    Of several launches of BEFORE with the same inputs, the first unused one is taken; if all were
    used, the first.
    """
    by_key: dict[_Key, list[CheckedLaunch]] = {}
    for _, launch in before:
        by_key.setdefault(_pairing_key(launch), []).append(launch)
    used_launches: set[int] = set()
    for call, launch in after:
        partners = [
            candidate
            for candidate in by_key.get(_pairing_key(launch), ())
            if _have_same_inputs(candidate, launch)
        ]
        unused = [candidate for candidate in partners if id(candidate) not in used_launches]
        if partners:
            partner = (unused or partners)[0]
            used_launches.add(id(partner))
            yield call, LaunchPair(partner, launch)


def _pairing_key(launch: CheckedLaunch) -> _Key:
    """Return a launch's scalars, tensor layouts, sharing of storages, and recorded spans.

    Only launches with equal keys can be paired.
    """
    call = launch.call()
    storage_bytes = tuple(
        argument.storage.nbytes
        for argument in call.arguments
        if not isinstance(argument, ScalarArgument)
    )
    recorded_spans = tuple(
        (location, *spans(pieces)) for location, pieces in sorted(launch.before.items())
    )
    programs = None if launch.programs is None else (launch.programs, call.grid)
    return tuple(call.argument_layouts), storage_bytes, recorded_spans, programs


def _have_same_inputs(before: CheckedLaunch, after: CheckedLaunch) -> bool:
    """Return whether memory that either version may read has the same bytes before the launch."""
    modules = before.call().module, after.call().module
    return all(
        have_equal_bytes(before.before[position], pieces)
        for position, pieces in after.before.items()
        if any(reads(module, after.call(), position) for module in modules)
    )
