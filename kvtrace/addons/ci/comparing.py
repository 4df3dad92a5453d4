"""The one place that asks for a difference, judges it by rules, and writes it in each form."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kvtrace import __version__
from kvtrace.converters.diff import Difference, compare
from kvtrace.converters.diff.gate import Gate, read_rules
from kvtrace.converters.diff.model import Answer
from kvtrace.converters.diff.outputs import Outputs, write_outputs
from kvtrace.converters.findings import read_findings, sarif, without_proven
from kvtrace.converters.output import whole_file
from kvtrace.schema.trace import Selection

if TYPE_CHECKING:
    from kvtrace.converters.findings.conditions import KernelConditions

#: The rules that hold where neither the command nor the project has some. What a side does not
#: know is left out. `bytes` and `flops` in all would fail a test that is added to a suite.
DEFAULT_RULES: Final = (
    "results?", "findings.new", "spills>+0?", "registers>+10%?", "bytes/launch>+5%?",
    "flops/launch>+5%?",
)  # fmt: skip

Sides = tuple[Selection, Selection]
Tell = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class Analyses:
    """What the command line hands in.

    Attributes:
        look: Runs the passes that runs lack, and gives what there is to say.
        conditions: Works out conditions for all sizes, for rules on them.

    """

    look: Callable[[Selection], Iterable[str]]
    conditions: Callable[[Sides], "tuple[list[KernelConditions], list[KernelConditions]]"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """A difference of two selections, and what of it violates rules."""

    difference: Difference
    gate: Gate
    sides: Sides

    @property
    def broken(self) -> bool:
        """Whether a rule is violated."""
        return bool(self.gate.failures)

    @property
    def headline(self) -> str:
        """One line: the first rule that is violated and by what, or that none is."""
        if not self.broken:
            return "no rule is violated"
        first = self.gate.failures[0]
        more = len(self.gate.failures) - 1
        text = f"{first.rule}: {first.what} {first.text}"
        return f"{text}, and {more} more" if more else text


def compared(
    before: Selection,
    after: Selection,
    labels: tuple[str, str],
    rules: Sequence[str],
    analyses: Analyses,
    *, problem: str | None = None, meaning: float | None = None,
) -> Comparison:  # fmt: skip
    """Compare two selections and judge what the second has.

    Args:
        before: The runs of the one side.
        after: Those of the other.
        labels: What to call the sides.
        rules: What is judged by.
        analyses: What the command line hands in.
        problem: What fails the comparison whatever the rules say.
        meaning: For how many seconds it is compared what changed kernels compute.

    Raises:
        BadSetting: a text is not a rule.
        DamagedFile, NewerFormat: as the reader of the trace.

    """
    gate = Gate(read_rules(rules), problem=problem)
    sides = before, after
    conditions = analyses.conditions(sides) if gate.wants_bounds else None
    found = compare(*sides, labels=labels, gate=gate, conditions=conditions, meaning=meaning)
    return Comparison(found, gate, sides)


def comparison_text(
    found: Comparison,
    width: int = 80,
    outputs: Outputs = Outputs(),  # noqa: B008 - it is frozen
    tell: Tell = print,
) -> list[str]:
    """Write the forms that are asked for, and return the lines for a terminal.

    Raises:
        BadSetting: a file cannot be written.

    """
    return write_outputs(
        found.difference, outputs, found.sides, gate=found.gate, width=width, tell=tell,
    )  # fmt: skip


def write_sarif(after: Selection, answers: Sequence[Answer], path: Path, tell: Tell) -> None:
    """Write the findings of runs, as services that scan code read them.

    Args:
        after: The runs.
        answers: Whether they may be merged: the log's property `answers`.
        path: The file.
        tell: Is given the line that says that it was written.

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
