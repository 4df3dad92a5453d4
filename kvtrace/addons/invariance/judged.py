"""Findings of the rule `not-invariant`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from kvtrace.addons.invariance.contracts import Contract
from kvtrace.addons.invariance.findings import RULE
from kvtrace.addons.invariance.output_results import Invariance
from kvtrace.addons.invariance.over import ROWS, Answer, OutputAnswer, output_answers
from kvtrace.addons.invariance.results import invariance_of
from kvtrace.ir import Frame
from kvtrace.recorded_calls.recorded import Call
from kvtrace.schema.content import StackRows
from kvtrace.schema.tables import TABLES
from kvtrace.schema.trace import Run, Selection, Trace

_SECONDS: Final = 10.0
"""Time limit for judging one kernel: `kvtrace invariance --seconds` has a longer default."""
_SEVERITIES: Final = {"violation": "error", "unknown": "warning", "proven": "note"}


def findings_of(
    trace: Trace, run: Run, contracts: Mapping[str, Contract], kernels: Sequence[str]
) -> Mapping[str, pa.Table]:
    """Return findings about some of a run's kernels, or about all of them if none is named.

    Each output has a row in `findings`: proven, a violation with two values of an element, or
    unknown with a reason. Source lines are in `stacks`.
    """
    invariance = invariance_of(Selection(trace, (run,)), kernels, seconds=_SECONDS)
    stacks = StackRows()
    answers = output_answers(invariance, contracts, ROWS)
    rows = [_row(answer, invariance.calls[answer.result.kernel], stacks) for answer in answers]
    rows += _unjudged(invariance, contracts)
    return {
        name: pa.Table.from_pylist(listed, TABLES[name].schema)
        for name, listed in (("findings", rows), ("stacks", stacks.rows()))
    }


def _row(answer: OutputAnswer, call: Call, stacks: StackRows) -> dict[str, Any]:
    """Return the row of `findings` for an output."""
    result = answer.result
    source = next((why.source for why in result.reasons if why.source.file), result.source)
    stack = None
    if source.file is not None and source.line is not None:
        stack = stacks.add((Frame(source.file, source.line, 1, result.kernel),))
    row = _finding(
        result.kernel, call.call_id, result.output, answer.answer, answer.over, answer.contract
    )
    return row | {"stack_id": stack}


def _unjudged(
    invariance: Invariance, contracts: Mapping[str, Contract]
) -> Iterator[dict[str, Any]]:
    """Yield a finding for each kernel with a contract but without a judged output."""
    judged = {result.kernel for result in invariance.outputs}
    for kernel, contract in contracts.items():
        unready = invariance.unready.get(kernel)
        call = invariance.calls.get(kernel) or unready
        if call is None or kernel in judged:
            continue
        reason = "no output of the kernel could be followed" if unready is None else unready.reason
        answer = Answer("unknown", reason)
        yield _finding(kernel, call.call_id, None, answer, contract.over, contract)


def _finding(
    kernel: str, call_id: int, output: str | None, answer: Answer, quantity: str,
    contract: Contract | None,
) -> dict[str, Any]:  # fmt: skip
    identity = f"{RULE} {kernel} {output} {quantity} {answer.verdict}"
    remarks = f"; {answer.text}" if answer.text else ""
    contract_line = "" if contract is None else f" (contract in line {contract.line})"
    subject = kernel if output is None else f"each row of {output}"
    scope = f"{quantity}{contract_line}"
    messages = {
        "proven": f"{subject} has the same result over {scope}, by its IR{remarks}",
        "violation": f"{subject} changes over {scope}: {answer.text}",
        "unknown": f"{subject} is not proven to be the same over {scope}",
    }
    return {
        "finding_id": hashlib.sha256(identity.encode()).hexdigest()[:32],
        "call_id": call_id,
        "rule": RULE,
        "verdict": answer.verdict,
        "severity": _SEVERITIES[answer.verdict],
        "arg": output,
        "method": {"proven": "trees", "violation": "evaluated"}.get(answer.verdict),
        "reason": answer.text if answer.verdict == "unknown" else None,
        "message": messages[answer.verdict],
    }
