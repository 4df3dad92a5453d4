"""Comparison of two selections of runs: their difference, judged by rules, and its output files."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from kvtrace.converters.diff import Difference, compare
from kvtrace.converters.diff.gate import Gate, read_rules
from kvtrace.converters.diff.model import Answer
from kvtrace.converters.diff.outputs import Outputs, write_outputs
from kvtrace.converters.findings import read_findings, sarif, without_proven
from kvtrace.converters.findings.conditions import KernelConditions
from kvtrace.converters.output import whole_file
from kvtrace.schema.trace import Selection
from kvtrace.version import __version__

#: The default rules, if neither the command nor the project has rules. `?` skips figures that a
#: side lacks. Rules on total bytes and FLOPs would fail whenever a suite gets another test.
DEFAULT_RULES: Final = (
    "results?", "findings.new", "spills>+0?", "registers>+10%?", "bytes/launch>+5%?",
    "flops/launch>+5%?",
)  # fmt: skip

Sides = tuple[Selection, Selection]
Tell = Callable[[str], object]


#: A function that returns the conditions on sizes of kernels of both sides.
Conditions = Callable[[Sides], "tuple[list[KernelConditions], list[KernelConditions]]"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """A difference of two selections, with the rules that it violates."""

    difference: Difference
    gate: Gate
    sides: Sides


def compare_runs(
    before: Selection,
    after: Selection,
    labels: tuple[str, str],
    rules: Sequence[str],
    conditions_of: Conditions,
    *, problem: str | None = None, meaning: float | None = None,
) -> Comparison:  # fmt: skip
    """Compare the runs `after` with the runs `before`, and judge the difference by rules.

    Args:
        before: The earlier runs.
        after: The runs to judge.
        labels: Names of both sides for the output.
        rules: Rules as `--fail-on` takes them.
        conditions_of: Called where a rule needs conditions on sizes.
        problem: A problem that fails the comparison even if no rule is violated.
        meaning: Limit in seconds for comparing the meanings of changed kernels.

    Raises:
        BadSetting: a text is not a rule.
        DamagedFile, NewerFormat: a file of a trace cannot be read.
    """
    gate = Gate(read_rules(rules), problem=problem)
    sides = before, after
    conditions = conditions_of(sides) if gate.wants_bounds else None
    difference = compare(*sides, labels=labels, gate=gate, conditions=conditions, meaning=meaning)
    return Comparison(difference, gate, sides)


def comparison_text(
    comparison: Comparison,
    width: int = 80,
    outputs: Outputs = Outputs(),  # noqa: B008 - it is frozen
    tell: Tell = print,
) -> list[str]:
    """Write a comparison into the files that `outputs` names, and return the lines to print.

    Raises:
        BadSetting: a file cannot be written.
    """
    return write_outputs(
        comparison.difference, outputs, comparison.sides, gate=comparison.gate, width=width,
        tell=tell,
    )  # fmt: skip


def write_sarif(after: Selection, answers: Sequence[Answer], path: Path, tell: Tell) -> None:
    """Write the findings of runs as a SARIF file, which code-scanning services read.

    `answers`, whether the runs may be merged, become the log's property `answers`. `tell` receives
    a line after writing.

    Raises:
        BadSetting: the file cannot be written.
    """
    findings = without_proven(read_findings(after.trace, after.runs))
    root = after.runs[0].git_root if after.runs else None
    log = sarif(findings, __version__, root=root)
    if answers:
        log["properties"] = {"answers": [asdict(answer) for answer in answers]}
    with whole_file(path) as file:
        file.write(json.dumps(log, indent=2).encode() + b"\n")
    tell(f"wrote {path}")
