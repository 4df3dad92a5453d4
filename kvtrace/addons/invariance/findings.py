"""The rule `not-invariant`: kernels with a contract, or all where the rule is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kvtrace.verdicts.rules.run_judges import RunJudge

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow as pa

    from kvtrace.addons.invariance.contracts import Contract
    from kvtrace.addons.invariance.over import Answer
    from kvtrace.addons.invariance.results import OutputResult
    from kvtrace.metrics.stacks import StackRows
    from kvtrace.recorded_calls.recorded import Call
    from kvtrace.schema.trace import Run, Trace

RULE: Final = "not-invariant"
RULES: Final = {
    RULE: {
        "severity": "error",
        "summary": "a row's result changes with the batch that it is in",
        "hint": "choose block sizes, splits and variants by what all batches have in common",
    }
}
_SECONDS: Final = 10.0
"""So long calls of one kernel are begun: `kvtrace invariance` has no such limit."""
_SEVERITIES: Final = {"violation": "error", "unknown": "warning", "proven": "note"}


def findings_of(trace: Trace, run: Run, asked: bool) -> Mapping[str, pa.Table] | None:
    """Return findings about a run's kernels that have a contract; of all if that is `asked` for.

    Each output of a kernel has a row: proven, a violation with two values of a row by the
    evaluator, or unknown with its reason. None where no kernel is judged.
    """
    import pyarrow as pa

    from kvtrace.addons.invariance.contracts import contracts_of
    from kvtrace.addons.invariance.results import invariance_of
    from kvtrace.metrics.stacks import StackRows
    from kvtrace.recorded_calls.recorded import UnreadyCall, calls_of
    from kvtrace.schema.tables import TABLES
    from kvtrace.schema.trace import Selection

    contracts = contracts_of(trace, (run,))
    if not contracts and not asked:
        return None
    calls: dict[str, Call] = {}
    unready: dict[str, UnreadyCall] = {}
    for call in calls_of(trace, run):
        if isinstance(call, UnreadyCall):
            unready.setdefault(call.kernel, call)
        else:
            calls.setdefault(call.kernel, call)
    kernels = () if asked else tuple(contracts)
    found = invariance_of(Selection(trace, (run,)), kernels, seconds=_SECONDS)
    stacks = StackRows()
    rows = [_row(each, calls[each.kernel], contracts, stacks) for each in found.outputs]
    rows += _unjudged(calls, unready, {each.kernel for each in found.outputs}, contracts)
    return {
        "findings": pa.Table.from_pylist(rows, TABLES["findings"].schema),
        "stacks": pa.Table.from_pylist(stacks.rows(), TABLES["stacks"].schema),
    }


def _row(
    result: OutputResult, call: Call, contracts: Mapping[str, Contract], stacks: StackRows
) -> dict[str, Any]:
    """Return a row of `findings` for an output."""
    from kvtrace.addons.invariance.over import ROWS, answer_over
    from kvtrace.ir import Frame

    contract = contracts.get(result.kernel)
    over = ROWS if contract is None else contract.over
    place = next((why.place for why in result.why if why.place.file), result.place)
    stack = None
    if place.file is not None and place.line is not None:
        stack = stacks.add((Frame(place.file, place.line, 1, result.kernel),))
    answer = answer_over(result, over, call)
    row = _finding(result.kernel, call.call_id, result.output, answer, over, contract)
    return row | {"stack_id": stack}


def _unjudged(
    calls: Mapping[str, Call],
    unready: Mapping[str, Any],
    judged: set[str],
    contracts: Mapping[str, Contract],
) -> Iterator[dict[str, Any]]:
    """Return a row for each kernel that has a contract and no output that was judged."""
    from kvtrace.addons.invariance.over import Answer

    for kernel, contract in contracts.items():
        call = calls.get(kernel) or unready.get(kernel)
        if call is None or kernel in judged:
            continue
        why = unready[kernel].reason if kernel in unready else "no output of it could be followed"
        yield _finding(kernel, call.call_id, None, Answer("unknown", why), contract.over, contract)


def _finding(
    kernel: str, call_id: int, output: str | None, answer: Answer, over: str,
    contract: Contract | None,
) -> dict[str, Any]:  # fmt: skip
    import hashlib

    what = f"{RULE} {kernel} {output} {over} {answer.verdict}"
    limits = f"; {answer.text}" if answer.text else ""
    asked = "" if contract is None else f", as line {contract.line} asks"
    rows = kernel if output is None else f"each row of {output}"
    messages = {
        "proven": f"{rows} has the same result over {over}{asked}, by TTIR{limits}",
        "violation": f"{rows} should have the same result over {over}{asked}: {answer.text}",
        "unknown": f"{rows} is not proven to have the same result over {over}{asked}",
    }
    return {
        "finding_id": hashlib.sha256(what.encode()).hexdigest()[:32],
        "call_id": call_id,
        "rule": RULE,
        "verdict": answer.verdict,
        "severity": _SEVERITIES[answer.verdict],
        "arg": output,
        "method": {"proven": "trees", "violation": "evaluated"}.get(answer.verdict),
        "reason": answer.text if answer.verdict == "unknown" else None,
        "message": messages[answer.verdict],
    }


JUDGE: Final = RunJudge(RULES, findings_of)
