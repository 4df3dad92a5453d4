"""Verdicts whether rows have the same results for any number of rows, argument value or grid.

They are asked for by an option, or by contracts in kernels' source (`contracts.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal

from msgspec import Struct

from kvtrace.addons.invariance.contracts import Contract
from kvtrace.addons.invariance.output_results import Invariance, OutputResult
from kvtrace.addons.invariance.text import (
    VERDICTS,
    assumed_text,
    reason_text,
    unseen_text,
    witness_text,
)
from kvtrace.addons.invariance.witness import witness_of_float
from kvtrace.evaluate.arguments import TensorArgument
from kvtrace.recorded_calls.recorded import Call
from kvtrace.text import wrapped

ROWS: Final = "rows"
GRID: Final = "grid"
_OF_THE_GRID: Final = frozenset({"position", "grid", "update"})
_MOST_REASONS: Final = 3


class Answer(Struct, frozen=True):
    """The verdict whether an output's rows have the same results over a quantity, with a reason."""

    verdict: Literal["proven", "violation", "unknown"]
    text: str = ""


class OutputAnswer(Struct, frozen=True):
    """The answer for an output over a quantity, with the contract that names it, if any."""

    result: OutputResult
    over: str
    answer: Answer
    contract: Contract | None


def output_answers(
    invariance: Invariance, contracts: Mapping[str, Contract], over: str | None
) -> tuple[OutputAnswer, ...]:
    """Return the answer for each output over what its kernel's contract names.

    Those of kernels without a contract are over `over`, or left out if that is None.
    """
    answers = []
    for result in invariance.outputs:
        contract = contracts.get(result.kernel)
        quantity = over if contract is None else contract.over
        if quantity is not None:
            answer = _answer_over(result, quantity, invariance.calls[result.kernel])
            answers.append(OutputAnswer(result, quantity, answer, contract))
    return tuple(answers)


def _answer_over(result: OutputResult, over: str, call: Call) -> Answer:
    """Return whether an output's rows have the same results over `rows`, `grid` or an argument.

    An output is invariant over an argument if its rows are invariant and its values do not depend
    on the argument; the argument need not count rows.

    Args:
        result: The output's result.
        over: `rows`, `grid` or an argument's name.
        call: A recorded call of the kernel, for the names of its arguments.

    """
    problem = None if over in (ROWS, GRID) else _not_a_number(over, call)
    if problem is not None:
        return Answer("unknown", problem)
    if result.verdict == "proven" and result.determinism.answer != "proven":
        return Answer("unknown", f"repeated launches may differ: {result.determinism.reason}")
    if result.verdict == "proven" and over not in result.scalars:
        assumed = assumed_text(result)
        remarks = (unseen_text(result), assumed and f"assumed: {assumed}")
        return Answer("proven", "; ".join(filter(None, remarks)))
    if result.verdict == "proven":
        dependence = f"a row's value depends on {over}"
        witness = witness_of_float(call, result.output, over)
        if witness is None:
            return Answer("unknown", f"{dependence}; no row with two values was found")
        return Answer("violation", f"{dependence}; {witness_text(witness)}")
    if over == GRID and not any(why.cause in _OF_THE_GRID for why in result.reasons):
        return Answer("unknown", "rows are not proven invariant, so the grid alone is not judged")
    reasons = "; ".join(reason_text(why, through=False) for why in result.reasons[:_MOST_REASONS])
    if result.witness is not None:
        values_text = witness_text(result.witness)
        return Answer("violation", f"{reasons}; {values_text}" if reasons else values_text)
    if result.verdict == "depends":
        return Answer("unknown", f"{reasons}; no row with two values was found")
    return Answer("unknown", reasons or VERDICTS[result.verdict])


def _not_a_number(over: str, call: Call) -> str | None:
    """Return the reason for which an argument cannot be a size of the batch, or None."""
    parameters: Mapping[str, object] = {argument.name: argument for argument in call.arguments}
    if over not in parameters:
        return (
            f"{over} is not an argument at run time; each value of a constexpr is another variant, "
            "and only recorded sizes of the batch are compared"
        )
    if isinstance(parameters[over], TensorArgument):
        return f"{over} is a tensor, not a number"
    return None


def answer_lines(found: Sequence[OutputAnswer], width: int) -> list[str]:
    """Return answers for a terminal."""
    lines: list[str] = []
    for answer in found:
        contract = "" if answer.contract is None else f" (contract in line {answer.contract.line})"
        stage = ", by its IR as written" if answer.answer.verdict == "proven" else ""
        reason = f": {answer.answer.text}" if answer.answer.text else ""
        verdict = f"{answer.answer.verdict}{stage}{reason}"
        subject = f"{answer.result.kernel}, {answer.result.output}"
        lines += wrapped(f"{subject}: over {answer.over}{contract}: {verdict}", width)
    return ["", *lines] if lines else []


def answer_objects(found: Sequence[OutputAnswer]) -> list[dict[str, object]]:
    """Return answers for JSON."""
    return [
        {
            "kernel": answer.result.kernel, "output": answer.result.output, "over": answer.over,
            "verdict": answer.answer.verdict, "text": answer.answer.text or None,
            "contract_line": None if answer.contract is None else answer.contract.line,
        }
        for answer in found
    ]  # fmt: skip
