"""The one place that asks for a difference, judges it by rules, and writes it in each form."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Final

from kvtrace import __version__
from kvtrace.converters.diff import (
    Difference,
    compare,
    difference_markdown,
    difference_object,
    difference_text,
)
from kvtrace.converters.diff.gate import Gate, read_rules
from kvtrace.converters.diff.page import write_comparison
from kvtrace.converters.diff.render import gate_markdown, gate_object, gate_text
from kvtrace.converters.findings import junit, read_findings, sarif, without_proven
from kvtrace.converters.output import whole_file
from kvtrace.schema.trace import Selection

#: The rule that holds where neither the command nor the project has one.
DEFAULT_RULES: Final = ("findings.new",)


@dataclass(frozen=True, slots=True)
class Outputs:
    """A file for each form; None where it is not asked for."""

    markdown: Path | None = None
    html: Path | None = None
    json: Path | None = None
    junit: Path | None = None
    sarif: Path | None = None

    @property
    def of_comparison(self) -> list[str]:
        """The forms that are asked for and cannot be written without a second side."""
        forms = (each.name for each in fields(self) if each.name != "sarif")
        return [name for name in forms if getattr(self, name) is not None]


@dataclass(frozen=True, slots=True)
class Comparison:
    """A difference of two selections, and what of it breaks rules."""

    difference: Difference
    gate: Gate
    sides: tuple[Selection, Selection]

    @property
    def broken(self) -> bool:
        """Whether a rule is broken."""
        return bool(self.gate.failures)

    @property
    def headline(self) -> str:
        """One line: the first rule that is broken and by what, or that none is."""
        if not self.broken:
            return "no rule is broken"
        first = self.gate.failures[0]
        more = len(self.gate.failures) - 1
        text = f"{first.rule}: {first.what} {first.text}"
        return f"{text}, and {more} more" if more else text


def compared(
    before: Selection, after: Selection, labels: tuple[str, str], rules: Sequence[str]
) -> Comparison:
    """Compare two selections and judge what the second has.

    Raises:
        BadSetting: a text is no rule.
        DamagedFile, NewerFormat: as the reader of the trace.

    """
    gate = Gate(read_rules(rules))
    return Comparison(compare(before, after, labels=labels, gate=gate), gate, (before, after))


def comparison_text(found: Comparison, width: int = 80) -> list[str]:
    """Return lines for a terminal."""
    lines = difference_text(found.difference, times=False, width=width)
    return [*lines, *gate_text(found.gate)]


def write_forms(found: Comparison, outputs: Outputs, tell: Callable[[str], object]) -> None:
    """Write each form of a comparison that is asked for.

    Raises:
        BadSetting: a file cannot be written.

    """
    difference, gate = found.difference, found.gate
    if outputs.markdown is not None:
        lines = [*difference_markdown(difference), *gate_markdown(gate)]
        _write(outputs.markdown, "\n".join(lines), tell)
    if outputs.json is not None:
        form = difference_object(difference) | {"gate": gate_object(gate)}
        _write(outputs.json, json.dumps(form, indent=2), tell)
    if outputs.junit is not None:
        after = found.sides[1]
        _write(outputs.junit, junit(read_findings(after.trace, after.runs, proven=True)), tell)
    if outputs.html is not None:
        written = write_comparison(difference, found.sides[1], outputs.html)
        tell(f"wrote {outputs.html} ({written.size_bytes / 1e6:,.1f} MB)")
        for entry in written.dropped:
            tell(f"  {entry.text} {entry.command}")


def write_sarif(after: Selection, outputs: Outputs, tell: Callable[[str], object]) -> None:
    """Write the findings of runs, as services that scan code read them, if that is asked for.

    Raises:
        BadSetting: the file cannot be written.

    """
    if outputs.sarif is None:
        return
    findings = without_proven(read_findings(after.trace, after.runs))
    root = after.runs[0].git_root if after.runs else None
    _write(outputs.sarif, json.dumps(sarif(findings, __version__, root=root), indent=2), tell)


def _write(path: Path, text: str, tell: Callable[[str], object]) -> None:
    with whole_file(path) as file:
        file.write(f"{text}\n".encode())
    tell(f"wrote {path}")
