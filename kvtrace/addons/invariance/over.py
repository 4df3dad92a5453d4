"""Verdicts whether rows have the same results for any number of rows, argument value or grid.

They are asked for by an option, or by contracts in kernels' source: `# kvtrace: invariant over M`,
in a kernel or right above it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from kvtrace.addons.invariance.output_results import OutputResult
from kvtrace.addons.invariance.text import (
    assumed_text,
    outcome_text,
    reason_text,
    unseen_text,
    witness_text,
)
from kvtrace.addons.invariance.witness import witness_of_float
from kvtrace.converters.findings.suppressions import marked_comments
from kvtrace.converters.source_lines import SourceLines
from kvtrace.evaluate.arguments import TensorArgument
from kvtrace.recorded_calls.recorded import Call, UnreadyCall, calls_of
from kvtrace.schema.trace import Run, Selection, Trace
from kvtrace.text import wrapped

ROWS: Final = "rows"
GRID: Final = "grid"
_OF_THE_GRID: Final = frozenset({"position", "grid", "update"})
_MOST_REASONS: Final = 3


@dataclass(frozen=True, slots=True)
class Answer:
    """The verdict whether an output's rows have the same results over a quantity, with a reason."""

    verdict: Literal["proven", "violation", "unknown"]
    text: str = ""


@dataclass(frozen=True, slots=True)
class OutputAnswer:
    """The answer for an output over a quantity, with the contract that names it, if any."""

    kernel: str
    output: str
    over: str
    answer: Answer
    contract: Contract | None


def output_answers(
    selection: Selection, outputs: Sequence[OutputResult], over: str | None
) -> tuple[OutputAnswer, ...]:
    """Return the answer for each output over a quantity, or over its kernel's contract if None.

    Outputs of kernels without a contract are then left out.
    """
    contracts = contracts_of(selection.trace, selection.runs) if over is None else {}
    if over is None and not contracts:
        return ()
    calls: dict[str, Call] = {}
    for call in _calls(selection):
        calls.setdefault(call.kernel, call)
    answers = []
    for result in outputs:
        contract = contracts.get(result.kernel)
        quantity = over or (contract and contract.over)
        if quantity:
            answer = answer_over(result, quantity, calls.get(result.kernel))
            answers.append(OutputAnswer(result.kernel, result.output, quantity, answer, contract))
    return tuple(answers)


def _calls(selection: Selection) -> Iterator[Call]:
    for run in selection.runs:
        for call in calls_of(selection.trace, run):
            if not isinstance(call, UnreadyCall):
                yield call


def answer_over(result: OutputResult, over: str, call: Call | None) -> Answer:
    """Return whether an output's rows have the same results over `rows`, `grid` or an argument.

    An output is invariant over an argument if its rows are invariant and its values do not depend
    on the argument; the argument need not count rows.

    Args:
        result: The output's result.
        over: `rows`, `grid` or an argument's name.
        call: A recorded call of the kernel, for the names of its arguments; None: there is none.

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
        witness = None if call is None else witness_of_float(call, result.output, over)
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
    return Answer("unknown", reasons or outcome_text(result.verdict))


def _not_a_number(over: str, call: Call | None) -> str | None:
    """Return the reason for which an argument cannot be a size of the batch, or None."""
    if call is None:
        return None
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
        text = f"{answer.kernel}, {answer.output}: over {answer.over}{contract}: {verdict}"
        lines += wrapped(text, width)
    return ["", *lines] if lines else []


def answer_objects(found: Sequence[OutputAnswer]) -> list[dict[str, object]]:
    """Return answers for JSON."""
    return [
        {
            "kernel": answer.kernel, "output": answer.output, "over": answer.over,
            "verdict": answer.answer.verdict, "text": answer.answer.text or None,
            "contract_line": None if answer.contract is None else answer.contract.line,
        }
        for answer in found
    ]  # fmt: skip


_CONTRACT: Final = re.compile(r"#\s*kvtrace:\s*invariant\s+over\s+(\w+)")
_COMMENT: Final = re.compile(r"\s*(#|$)")
_DEFINITION: Final = re.compile(r"\s*(?:async\s+)?(def|class)\b")


@dataclass(frozen=True, slots=True)
class Contract:
    """A quantity over which a kernel's rows must be invariant, and the comment's file and line.

    `over` is `rows`, `grid` or the name of an argument.
    """

    over: str
    file: str
    line: int


def contracts_of(trace: Trace, runs: Sequence[Run]) -> Mapping[str, Contract]:
    """Return the contracts of the runs' kernels, by kernel name.

    The first contract in a kernel counts. Empty if no source was recorded.
    """
    lines = SourceLines(trace, runs)
    kernels = trace.table("kernels", runs, ["name", "file", "line"]).to_pylist()
    contracts_by_kernel: dict[str, Contract] = {}
    for file in dict.fromkeys(kernel["file"] for kernel in kernels if kernel["file"]):
        contracts = list(_contracts_in(file, lines))
        if not contracts:
            continue
        for path, first, last in lines.definitions():
            contracts_in_definition = [
                contract
                for contract, last_line in contracts
                if path == file and contract.line <= last and first <= last_line
            ]
            for kernel in kernels if contracts_in_definition else ():
                if kernel["file"] == file and first <= (kernel["line"] or 0) <= last:
                    contracts_by_kernel.setdefault(kernel["name"], contracts_in_definition[0])
    return contracts_by_kernel


def _contracts_in(file: str, lines: SourceLines) -> Iterator[tuple[Contract, int]]:
    """Yield each contract in a file with the last line of the statement that it belongs to."""
    for first_line, block in lines.blocks(file):
        for line, first, last, text in marked_comments(block):
            match = _CONTRACT.search(text)
            if match is not None:
                counts_to = _definition_below(block, first, last)
                yield Contract(match[1], file, line + first_line - 1), counts_to + first_line - 1


def _definition_below(block: Sequence[str], first: int, last: int) -> int:
    """Return the line of the `def` below a decorator's comment, else the statement's last line.

    Args:
        block: Lines of source.
        first: Where the comment or its statement begins, a line counted from 1.
        last: Where the statement ends.
    """
    code_line = next((n for n in range(first, last + 1) if not _COMMENT.match(block[n - 1])), None)
    if code_line is None or not block[code_line - 1].lstrip().startswith("@"):
        return last
    below = ((n, _DEFINITION.match(block[n - 1])) for n in range(last + 1, len(block) + 1))
    definition = next(((n, match) for n, match in below if match is not None), None)
    return last if definition is None or definition[1][1] == "class" else definition[0]
