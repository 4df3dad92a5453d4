"""Findings on unwritten memory that matter: the program is run for each line of them.

Only what the line of a finding allocates is filled (`confirming.py`). The answers are kept with the
trace, and its findings are judged again: those that are confirmed become errors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from msgspec import Struct

from kvtrace.addons.memory.confirmations import is_recorded, keep_confirmations
from kvtrace.addons.memory.confirming import Confirmation, confirmations
from kvtrace.addons.memory.judged import unwritten_memory
from kvtrace.addons.memory.rules import RULES
from kvtrace.analysis.judging import judge_by_kernel
from kvtrace.converters.chosen_kernels import names_of_calls
from kvtrace.schema.errors import BadSetting
from kvtrace.schema.trace import Selection
from kvtrace.text import plural


class UnwrittenLine(Struct):
    """A line that allocates memory of which a run has findings.

    Attributes:
        line: as model.py:12; "": the values are from beyond a tensor, or no line is known.
        runs: ids of the runs that have the findings.
        findings: the rule and the kernel of each finding, without repetitions.
        reads: launches and operators that read what nobody wrote, over all findings.
        confirmation: what filling the line's memory changed; None: it was not asked.
    """

    line: str
    runs: set[str] = set()
    findings: dict[tuple[str, str], None] = {}
    reads: int = 0
    confirmation: Confirmation | None = None


def confirm_findings(
    selection: Selection,
    command: Sequence[str],
    most: int,
    tell: Callable[[UnwrittenLine], object],
) -> list[UnwrittenLine]:
    """Run a program for each line of the findings, most reads first, and keep the answers.

    Args:
        selection: the runs whose findings are asked for.
        command: the program and its arguments, as it was recorded.
        most: how many lines are filled; each takes one run of the program, or two.
        tell: called with each line, once its answer is known.

    Raises:
        BadSetting: what happened to memory was not recorded.
        NotConfirmed: the command cannot be started.
        TraceWriteError: the answers cannot be written to the trace.
    """
    lines = sorted(_unwritten_lines(selection), key=lambda each: (-each.reads, each.line))
    asked = [each for each in lines if each.line][:most]
    if asked:
        answers = confirmations(command, [each.line for each in asked])
        for each, answer in zip(asked, answers, strict=True):
            each.confirmation = answer
            tell(each)
        _keep(selection, asked)
    for each in lines:
        if each.confirmation is None:
            tell(each)
    return lines


def _unwritten_lines(selection: Selection) -> Iterator[UnwrittenLine]:
    trace = selection.trace
    recorded = [run for run in selection.runs if is_recorded(trace, run)]
    if not recorded:
        raise BadSetting(
            f"{trace.path} does not have what happened to memory; record it with KVTRACE_MEMORY=on"
        )
    kernels = names_of_calls(Selection(trace, tuple(recorded)))
    lines: dict[str, UnwrittenLine] = {}
    for run in recorded:
        for judged in unwritten_memory(trace, run):
            line = lines.setdefault(judged.line, UnwrittenLine(judged.line))
            line.runs.add(run.run_id)
            call_id = judged.row["call_id"]
            kernel = "PyTorch" if call_id is None else kernels.get((run.run_id, call_id), "?")
            line.findings[judged.row["rule"], kernel] = None
            line.reads += judged.reads
    yield from lines.values()


def _keep(selection: Selection, asked: Sequence[UnwrittenLine]) -> None:
    for run in selection.runs:
        answers = {
            each.line: each.confirmation
            for each in asked
            if each.confirmation is not None and run.run_id in each.runs
        }
        if answers:
            keep_confirmations(selection.trace, run, answers)
            judge_by_kernel(selection.trace, run, tuple(RULES), tuple(RULES))


_TEXTS: Final = {
    "changes": "confirmed: ",
    "same": "not seen: output and exit code are the same with NaN there and with zeros, which "
    "proves nothing about what is not printed, nor about other inputs",
    "varies": "not known: the output also varies between two runs with the same filling: ",
    "unfilled": "not known: the program allocated nothing there this time, or not by torch.empty "
    "and its like, which alone are filled",
    "failed": "not known: the program failed in each run: ",
}


def line_text(line: UnwrittenLine) -> str:
    """Return the sentence on a line and its findings."""
    rules: dict[str, list[str]] = {}
    for rule, kernel in line.findings:
        rules.setdefault(rule, []).append(kernel)
    where = "; ".join(f"{rule} in {', '.join(kernels)}" for rule, kernels in rules.items())
    if not line.line:
        return f"not asked: no line is known that made this memory empty ({where})"
    answer = line.confirmation
    text = "not asked" if answer is None else f"{_TEXTS[answer.answer]}{answer.evidence}"
    return f"{line.line} ({where}): {text}"


def count_text(lines: Sequence[UnwrittenLine]) -> str:
    """Return the sentence on how many lines were confirmed."""
    if not lines:
        return "No finding of uninitialized-read or unwritten-result."
    confirmed = sum(
        e.confirmation is not None and e.confirmation.answer == "changes" for e in lines
    )
    unknown = sum(e.confirmation is not None and not e.confirmation.is_known for e in lines)
    unasked = sum(each.confirmation is None for each in lines)
    rest = f"; {unknown} not known" if unknown else ""
    rest += f"; {unasked} not asked" if unasked else ""
    return f"{confirmed} of {plural(len(lines), 'line')} confirmed{rest}."


def exit_code(lines: Sequence[UnwrittenLine]) -> int:
    """Return 1 if a line is confirmed, 2 if one asked for is not known or none was, else 0."""
    answers = [each.confirmation for each in lines if each.confirmation is not None]
    if any(answer.answer == "changes" for answer in answers):
        return 1
    return 2 if lines and not (answers and all(answer.is_known for answer in answers)) else 0
