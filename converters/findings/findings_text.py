"""Findings for a terminal, as a good compiler tells them: place, source, caret, witness, hint.

Lines fit the width that is asked for and need no color. Findings of one cause are reported once,
and what needs no attention is counted.
"""

import os
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from kvtrace.converters.findings.causes import by_cause, lines_behind
from kvtrace.converters.findings.model import (
    CONTEXT,
    UNUSED_IGNORE,
    VERDICTS,
    Finding,
    Findings,
    StackFrame,
    grouped,
)
from kvtrace.schema.layout import OBSERVED
from kvtrace.text import WIDTH, display_width, percent, plural, printable, wrapped

#: Terminal codes of what is highlighted; every other text is plain.
_CODES: Final = {
    "error": "1;31",
    "warning": "1;35",
    "unknown": "1;33",
    "note": "1;36",
    "proven": "1;32",
    "suppressed": "2",
    "place": "1",
    "caret": "1;32",
    "gutter": "34",
}
_LABEL: Final = 10
_REASONS: Final = 12
#: Kernels whose verdicts are counted one by one, and what makes one of them.
_KERNELS: Final = 12
_TOLD: Final = ("violation", "unknown", "suppressed")
#: Lines of the program behind generated code, and other places of a cause, that are named.
_SHOWN: Final = 3
_OTHERS: Final = 6
_VERBS: Final = {"load": "reads", "store": "writes", "atomic": "updates"}


def findings_text(
    findings: Findings, *, color: bool = False, width: int = WIDTH, base: str | None = None
) -> list[str]:
    """Return lines for a terminal: each defect with its source, then counts for each kernel.

    Args:
        findings: what was read.
        color: whether the terminal shows colors.
        width: columns of the terminal.
        base: folder that paths below it are shown relative to.

    """
    printer = Printer(findings.lines, color=color, width=width, base=base)
    caused = by_cause(findings)
    lines: list[str] = []
    above = None
    for group in caused.groups:
        lines += [*printer.defect(group, above), ""]
        above = group[0]
    for line in caused.lint_lines():
        lines += [*wrapped(line, width), ""]
    return lines + printer.summary(findings, caused.lints)


def findings_lines(findings: Findings, *, base: str | None = None) -> list[str]:
    """Return a line a finding, as compilers' are: `path:line:column: severity[rule]: text`.

    Those of one place are one line; lints of generated code are one line at the end.
    """
    printer = Printer({}, base=base)
    caused = by_cause(findings)
    listed = [found for group in caused.groups for found in group]
    return [*(printer.line(group[0]) for group in grouped(listed)), *caused.lint_lines()]


class Printer:
    """Prints findings in one way; `lines` are source lines by file and number."""

    def __init__(
        self,
        lines: Mapping[tuple[str, int], str],
        *,
        color: bool = False,
        width: int = WIDTH,
        base: str | None = None,
    ) -> None:
        self._lines = lines
        self._color = color
        self._width = width
        self._base = base

    def defect(self, group: Sequence[Finding], above: Finding | None = None) -> list[str]:
        """Return the lines of one defect; a group is of one cause, in several unique calls.

        `above` is the finding that is printed before: a launch of both is printed once.
        """
        found = group[0]
        lines = self._heading(group)
        lines += self.excerpt(found)
        for label, text in self.told(group):
            if label == "launch" and above is not None and text == self._launch(above):
                text = "as above"
            lines += self._labelled(label, text)
        return lines

    def summary(self, findings: Findings, lints: Sequence[Finding] = ()) -> list[str]:
        """Return how many verdicts there are, their shares, and why some are unknown.

        `lints` are the violations that are not defects: lints of generated code.
        """
        if not findings.analysed and not findings.tallies:
            return ["not analyzed yet: kvtrace sanitize fills the findings"]
        apart = Counter(dict.fromkeys(findings.counts, 0))
        for found in lints:
            apart[found.kernel] += found.calls
        total = findings.total
        total["violation"] -= apart.total()
        total["lint"] = apart.total()
        lines = wrapped(f"verdicts on unique calls: {_shares(total)}", self._width)
        kernels = {
            kernel: {**sums, "violation": sums["violation"] - apart[kernel]}
            for kernel, sums in findings.counts.items()
        }
        for text in _by_kernel(kernels):
            lines += wrapped(text, self._width, indent=2)
        if findings.reasons:
            lines.append("unknown because:")
        for reason, count in list(findings.reasons.items())[:_REASONS]:
            lines += wrapped(f"{count:>6,} × {reason}", self._width, indent=2)
        left = len(findings.reasons) - _REASONS
        return lines + ([f"  … and {plural(left, 'other reason')}"] if left > 0 else [])

    # -- one defect ---------------------------------------------------------------------------

    def line(self, found: Finding) -> str:
        """Return a finding as one line, however long it is."""
        place, label, _ = self.named((found,))
        behind = next((f" (from {what})" for what, _ in self._behind(found)), "")
        return printable(f"{place}: {label}: {message_of(found)}{behind}")

    def named(self, group: Sequence[Finding]) -> tuple[str, str, str]:
        """Return where the first of a group is, its label, and the kind that it begins with."""
        found = group[0]
        kind = found.severity if found.verdict == "violation" else found.verdict
        if found.suppressed:
            kind = "suppressed"
        place = self._place(StackFrame(found.file, found.line, found.column, None))
        rules = ", ".join(dict.fromkeys(each.rule for each in group))
        return place, f"{kind}[{rules}]", kind

    def _heading(self, group: Sequence[Finding]) -> list[str]:
        place, label, kind = self.named(group)
        lines = wrapped(f"{place}: {label}: {message_of(group[0])}", self._width)
        at = next((i for i, line in enumerate(lines) if label in line), 0)
        lines[at] = lines[at].replace(label, self._paint(label, kind), 1)
        if lines[0].startswith(place):
            lines[0] = self._paint(place, "place") + lines[0][len(place) :]
        return lines

    def excerpt(self, found: Finding) -> Iterator[str]:
        """Return the source line between its neighbors, and a caret under the column."""
        file, line, column = found.file, found.line, found.column
        if file is None or line is None or (file, line) not in self._lines:
            return
        gutter = len(str(line + CONTEXT))
        for number in range(line - CONTEXT, line + CONTEXT + 1):
            text = self._lines.get((file, number))
            if text is None or (number != line and not text.strip()):
                continue
            shown, caret = _window(text.rstrip(), column, self._width - gutter - 5)
            bar = self._paint(f"  {number:>{gutter}} |", "gutter")
            yield f"{bar} {shown}".rstrip()
            if number == line and caret is not None:
                bar = self._paint(f"  {'':>{gutter}} |", "gutter")
                yield f"{bar} {' ' * caret}{self._paint('^', 'caret')}"

    def told(self, group: Sequence[Finding]) -> Iterator[tuple[str, str]]:
        """Give what there is to say besides heading and source, each with its label."""
        found = group[0]
        yield (
            "in",
            f"kernel {found.kernel}"
            if not _function(found)
            else (f"{_function(found)}, of kernel {found.kernel}"),
        )
        for frame in found.stack[1:]:
            yield "called at", f"{self._place(frame)} {frame.function or ''}".rstrip()
        behind = list(self._behind(found))
        for what, code in behind[:_SHOWN]:
            yield "from", f"{what}: {code}" if code else what
        if len(behind) > _SHOWN:
            yield "from", f"… and {plural(len(behind) - _SHOWN, 'other line')} of the program"
        facts = (
            ("witness", witness(found)),
            ("against", self._other(found)),
            ("address", found.expression),
            ("nearest", found.nearest),
            ("because", _unless_told(found.reason, found)),
            ("safe if", _unless_told(found.assumption, found)),
            ("decided", _decided(found)),
            ("ignored", (found.suppress_reason or "no reason given") if found.suppressed else None),
            ("launch", self._launch(found)),
            ("seen in", None if found.run is None else reach(group)),
            ("also in", self._others(group)),
            ("hint", None if found.suppressed else found.hint),
        )
        for label, text in facts:
            if text:
                yield label, text

    def _labelled(self, label: str, text: str) -> list[str]:
        head = f"  {label + ':':<{_LABEL}} "
        return textwrap.wrap(
            printable(text),
            self._width,
            initial_indent=head,
            subsequent_indent=" " * len(head),
            break_long_words=False,
            break_on_hyphens=False,
        )

    def _behind(self, found: Finding) -> Iterator[tuple[str, str | None]]:
        """Return the operators that generated code comes from and the code of each line."""
        for line, operators in lines_behind(found).items():
            names = ", ".join(dict.fromkeys(each.op for each in operators)) or "no operator"
            if line is None:
                yield names, None
                continue
            at = "at" if any(each.file for each in operators) else "launched at"
            code = next((each.code for each in operators if each.code), None)
            yield f"{names} {at} {self._place(StackFrame(*line, None, None))}", code

    def _others(self, group: Sequence[Finding]) -> str | None:
        """Name the other places that have the finding by the same cause, by kernel or file.

        What is first is named in the heading.
        """
        first, *rest = (self._name(found, group[0]) for found in group)
        names: dict[str, list[str]] = {}
        for where, line in dict.fromkeys(name for name in rest if name != first):
            names.setdefault(where, []).append(line)
        if not names:
            return None
        return _some([f"{where}{_some(lines, ',')}" for where, lines in names.items()], ", ")

    def _name(self, found: Finding, first: Finding) -> tuple[str, str]:
        if found.generated:
            return f"{found.kernel}:", str(found.line or "?")
        if found.file is None:
            return found.kernel, ""
        column = f":{found.column}" if found.column else ""
        kernel = "" if found.kernel == first.kernel else f" ({found.kernel})"
        return f"{self._path(found.file)}:", f"{found.line or '?'}{column}{kernel}"

    def _other(self, found: Finding) -> str | None:
        if found.other_program is None and not found.other_stack:
            return None
        program = "" if found.other_program is None else f"program {found.other_program}"
        place = f"at {self._place(found.other_stack[0])}" if found.other_stack else ""
        return f"{program} {place}".strip()

    def _launch(self, found: Finding) -> str | None:
        if found.invocation is None or found.rule == UNUSED_IGNORE:
            return None
        at = found.launched_at
        return found.invocation + (f" at {self._place(at)}" if at is not None else "")

    def _place(self, frame: StackFrame) -> str:
        parts = [self._path(frame.file), str(frame.line or "?")]
        return printable(":".join(parts + ([str(frame.column)] if frame.column else [])))

    def _path(self, path: str | None) -> str:
        if path is None:
            return "?"
        if self._base is not None and path.startswith(self._base.rstrip(os.sep) + os.sep):
            return os.path.relpath(path, self._base)
        return path

    def _paint(self, text: str, style: str) -> str:
        return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if self._color and style in _CODES else text


def witness(found: Finding) -> str | None:
    """Describe which lane of which program it is, and what it accesses."""
    if found.program is None:
        return None
    text = f"program {found.program}"
    if found.lane:
        index = found.lane[0] if len(found.lane) == 1 else list(found.lane)
        text = f"lane {index} of {text}"
    if found.grid is not None:
        text += f" in grid {found.grid}"
    if found.iteration is not None:
        text += f", in iteration {found.iteration} of its loop"
        text += "," if found.address_offset is not None else ""
    if found.address_offset is not None:
        verb = _VERBS.get(found.access or "", "is at")
        kind = f" ({found.tensor})" if found.tensor else ""
        text += f" {verb} byte {found.address_offset:,} of {found.arg or 'its tensor'}{kind}"
    if (
        found.lanes is not None
        and found.lanes > 1
        and f"{found.lanes:,} lanes" not in message_of(found)
    ):
        text += f"; {plural(found.lanes or 0, 'lane')} over the grid"
    return text.rstrip(",")


def calls_and_launches(group: Sequence[Finding]) -> tuple[int, int]:
    """Return in how many unique calls, and launches of them, findings of one cause are."""
    once = {(found.run, found.call): found for found in group}.values()
    return sum(found.calls for found in once), sum(found.launches for found in once)


def reach(group: Sequence[Finding]) -> str:
    """Say in how many calls and launches it is."""
    calls, launches = calls_and_launches(group)
    if group[0].method == OBSERVED and launches > calls:
        return f"{plural(calls, 'unique call')}, in one or more of {launches:,} launches"
    return f"{plural(calls, 'unique call')}, {plural(launches, 'launch')}"


def _decided(found: Finding) -> str | None:
    if found.method == OBSERVED:
        return "seen while the program ran"
    return found.method if found.verdict == "proven" else None


def message_of(found: Finding) -> str:
    """Return what the heading says."""
    return found.message or found.reason or f"{found.access or 'access'} in {found.kernel}"


def _function(found: Finding) -> str | None:
    """Name the function that it is in, where that is not the kernel itself."""
    function = found.stack[0].function if found.stack else None
    return None if function is None or function.rpartition(".")[2] == found.kernel else function


def _unless_told(text: str | None, found: Finding) -> str | None:
    told = text is not None and (text in message_of(found) or text in (found.hint or ""))
    return None if told else text


def _window(text: str, column: int | None, width: int) -> tuple[str, int | None]:
    """Return the part of a line that fits, and where in it the caret is, in columns."""
    whole = printable(text.expandtabs(4))
    caret = None
    if column is not None and column <= len(text) + 1:
        caret = display_width(printable(text[: column - 1].expandtabs(4)))
    if display_width(whole) <= width:
        return whole, caret
    start = 0 if caret is None or caret < 2 * width // 3 else caret - width // 3
    if start == 0:
        return whole[: width - 1] + "…", caret
    assert caret is not None
    left = len(whole) - start
    shown = whole[start : start + width - 1] if left < width else whole[start : start + width - 2]
    return "…" + shown + ("" if left < width else "…"), caret - start + 1


def _shares(total: Mapping[str, int]) -> str:
    count = sum(total.values())
    names = [*VERDICTS, *(name for name in ("suppressed", "lint") if total.get(name))]
    parts = [
        f"{plural_verdict(total.get(name, 0), name)} ({percent(total.get(name, 0) / count)})"
        if count
        else plural_verdict(total.get(name, 0), name)
        for name in names
    ]
    return ", ".join(parts)


def _some(names: Sequence[str], between: str) -> str:
    """Join names, and count those that are too many."""
    more = f"{between}and {len(names) - _OTHERS:,} more" if len(names) > _OTHERS else ""
    return between.join(names[:_OTHERS]) + more


def _by_kernel(kernels: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    """Return a line for each kernel that has more than proofs, and one for all of the others."""
    told = {k: sums for k, sums in kernels.items() if any(map(sums.get, _TOLD))}
    worst = sorted(told, key=lambda kernel: [-told[kernel].get(name, 0) for name in _TOLD])
    for kernel in sorted(worst[:_KERNELS]):
        yield f"{kernel}: {_counts(told[kernel])}"
    left: Counter[str] = Counter()
    for kernel in worst[_KERNELS:]:
        left.update(told[kernel])
    if left:
        yield f"… and {plural(len(worst) - _KERNELS, 'other kernel')}: {_counts(left)}"
    quiet = [sums["proven"] for kernel, sums in kernels.items() if kernel not in told]
    if quiet:
        yield f"{plural(len(quiet), 'kernel')} with nothing to report: {sum(quiet):,} proven"


def _counts(sums: Mapping[str, int]) -> str:
    names: Iterable[str] = VERDICTS if not sums.get("suppressed") else (*VERDICTS, "suppressed")
    return ", ".join(plural_verdict(sums.get(name, 0), name) for name in names)


def plural_verdict(number: int, verdict: str) -> str:
    """Return `1 violation`, `2 violations`, `3 proven`."""
    if verdict == "lint":
        return f"{plural(number, verdict)} of generated code"
    return plural(number, verdict) if verdict == "violation" else f"{number:,} {verdict}"
