"""Irregular calls: results that change, differ between calls, or are not those of the launches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from kvtrace.addons.judge.calling import CallResults, Result, array_of
from kvtrace.addons.judge.comparing import count_differences
from kvtrace.addons.judge.deriving import Work
from kvtrace.addons.judge.launches import Memory, launch_entries, memory_steps, run_launches
from kvtrace.addons.judge.outcomes import result_of
from kvtrace.addons.judge.problems import Problem
from kvtrace.addons.judge.request import CannotJudge, Folders
from kvtrace.inputs.cases import Case

Log = Sequence[Mapping[str, Any]]


def irregular_calls(
    log: Mapping[int, Log], answered: CallResults, cases: Sequence[Case]
) -> Iterator[Problem]:
    """Yield a problem for each difference between calls on the same inputs, and each odd result.

    Also for missing answers, later changes, random numbers, and other kernels.
    """
    if answered.malformed:
        text = f"the answers of the candidate's process were tampered with: {answered.malformed}"
        yield Problem("cannot-judge", "unjudged", text)
    elif not answered.whole:
        text = "the candidate's process ended before all calls were answered"
        yield Problem("cannot-judge", "unjudged", text)
    for text in answered.odd:
        yield Problem("result-kind", "error", text, "return plain tensors, as kernels write them")
    for rule, text in answered.differences:
        if rule == "call":
            yield Problem(
                "nondeterministic", "error",
                f"the same inputs give other results in another call: {text}",
                "let results depend on nothing but the inputs",
            )  # fmt: skip
        else:
            yield Problem(
                "result-changed", "error", f"a result changes after it was returned: {text}",
                "return a new tensor from each call, and do not change it later",
            )  # fmt: skip
    if answered.running:
        yield Problem(
            "result-changed", "unjudged",
            "a thread or a timer of the candidate runs on after its last call, or the "
            "candidate keeps its results: it may change them later",
            "end threads and timers before the function returns, and keep no results",
        )  # fmt: skip
    for name in answered.drew:
        text = f"the candidate draws random numbers ({name}): other calls may give other results"
        hint = "draw no random numbers, or pass a seed"
        yield Problem("nondeterministic", "unjudged", text, hint)
    first_call = {number: answered.order.index(number) for number in set(answered.order)}
    for call, number in enumerate(answered.order):
        first_kernels = {entry["ttir"] for entry in launch_entries(log.get(first_call[number], ()))}
        kernels = [entry["ttir"] for entry in launch_entries(log.get(call, ()))]
        if first_kernels and (not kernels or not first_kernels.issuperset(kernels)):
            kernel_text = "another kernel" if kernels else "no kernel"
            yield Problem(
                "nondeterministic", "error",
                f"call {call + 1} launches {kernel_text} for the same inputs: "
                f"{cases[number].label}",
                "launch the same kernels for the same inputs",
            )  # fmt: skip


def dependence_on_state(
    case: Case, log: Mapping[int, Log], answered: CallResults, folders: Folders, target: str,
    work: Work,
) -> Iterator[Problem]:  # fmt: skip
    """Yield a problem if results of the first case depend on memory left by earlier calls.

    Such memory follows neither from the inputs nor from the launches of a call, and differs between
    two calls on the same inputs. It is harmless if kernels overwrite it before they read it, so the
    launches are evaluated twice, the second time with changed contents.

    Raises:
        CannotJudge: the log contradicts itself.
    """
    calls = [log.get(call, ()) for call, number in enumerate(answered.order) if number == 0]
    if not calls:
        return
    first_steps, last_steps = (memory_steps(call) for call in (calls[0], calls[-1]))
    try:
        state_storages = _state_storages(first_steps, last_steps)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise CannotJudge(f"the log of launches was tampered with: {error!r}") from error
    returned = next((entry["returned"] for entry in calls[-1] if "returned" in entry), ())
    if not state_storages or not returned:
        return
    plain, disturbed = (
        run_launches(
            case, last_steps, folders.inputs, folders.child, target, work, disturbed=storages
        )
        for storages in (frozenset[int](), state_storages)
    )
    if plain.reason is None and (
        disturbed.reason is not None
        or any(_result_differs(result, plain, disturbed, folders.child) for result in returned)
    ):
        yield Problem(
            "state", "unjudged",
            "results depend on memory that earlier calls have left, which kernels read: after "
            "more calls the results may differ",
            "keep no state between calls, or reset the state in each call", case.label,
        )  # fmt: skip


def _state_storages(first: Log, last: Log) -> frozenset[int]:
    """Return the storages whose unexplained contents differ between two calls."""
    return frozenset(
        int(number)
        for first_step, last_step in zip(first, last, strict=False)
        for number, content in first_step["contents"].items()
        if content["file"] != last_step["contents"].get(number, content)["file"]
    )


def _result_differs(
    result: Mapping[str, Any], plain: Memory, disturbed: Memory, child: Path
) -> bool:
    plain_result, disturbed_result = (
        result_of(result, plain, child),
        result_of(result, disturbed, child),
    )
    return count_differences(plain_result, disturbed_result) > 0


def results_of_other_launches(
    case: Case, entries: Log, results: Sequence[Result], folders: Folders, target: str, work: Work
) -> Iterator[Problem]:  # fmt: skip
    """Yield a problem for each returned result that differs from that of the recorded launches."""
    returned = next((entry["returned"] for entry in entries if "returned" in entry), None)
    if returned is None:
        return
    memory = run_launches(case, memory_steps(entries), folders.inputs, folders.child, target, work)
    if work.is_over:
        return  # the case is reported as not tried
    if memory.reason is not None:
        yield Problem("cannot-judge", "unjudged", memory.reason, case=case.label)
        return
    views = returned or [
        {**asdict(tensor), "storage": number}
        for number, tensor in enumerate(case.inputs_of_tensors)
    ]
    launch_results = [result_of(view, memory, folders.child) for view in views]
    arrays = [array_of(result, folders.answered) for result in results]
    hint = "return what the kernels write; the file must not change the recording"
    for index, (launch_result, returned_result) in enumerate(
        zip(launch_results, arrays, strict=False)
    ):
        text = f"result {index} is not the result of the recorded launches"
        if (launch_result.shape, launch_result.dtype) == (
            returned_result.shape,
            returned_result.dtype,
        ):
            count = count_differences(launch_result, returned_result)
            if not count:
                continue
            text += f": {count:,} of {launch_result.size:,} elements differ"
        yield Problem("returned-otherwise", "error", text, hint, case.label)
    if len(launch_results) != len(arrays):
        text = f"{len(arrays)} results were returned, and the log has {len(launch_results)}"
        yield Problem("returned-otherwise", "error", text, case=case.label)
