"""Findings as terminal text in the style of a compiler: location, source, caret, witness, hint.

Lines fit a given width and are readable without color. Findings of one cause are reported once.
Proofs are counted, not listed.
"""

import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from kvtrace.converters.findings.causes import by_cause, source_operators
from kvtrace.converters.findings.model import (
    CONTEXT,
    COUNTED,
    FOLLOWED,
    OF_CONTENTS,
    SEVERITIES,
    UNUSED_IGNORE,
    Finding,
    Findings,
    StackFrame,
    grouped,
    others_text,
)
from kvtrace.schema.layout import OBSERVED
from kvtrace.text import WIDTH, display_width, percent, plural, printable, shown_path, wrapped

#: Terminal codes of highlighted parts.
_COLOR_CODES: Final = {
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
#: Most kernels with a line of counts each.
_KERNELS: Final = 12
#: What is counted even if there is none of it.
_ALWAYS: Final = ("error", "unknown", "proven")
#: What selects and sorts the kernels with a line of counts each.
_NOTABLE: Final = ("error", "warning", "unknown", "suppressed")
#: Most source lines of generated code, and most other locations of a cause, that are listed.
_SHOWN: Final = 3
_OTHERS: Final = 6
_VERBS: Final = {"load": "reads", "store": "writes", "atomic": "updates"}


def findings_text(
    findings: Findings, *, color: bool = False, width: int = WIDTH, base: str | None = None
) -> list[str]:
    """Return lines for a terminal: each defect with its source, then counts for each kernel.

    Args:
        findings: the findings, as read from the table.
        color: whether to use the terminal's colors.
        width: columns of the terminal.
        base: a folder; paths of files in it are shown relative to it.

    """
    printer = Printer(findings.lines, color=color, width=width, base=base)
    causes = by_cause(findings)
    lines: list[str] = []
    above = None
    for group in causes.groups:
        lines += [*printer.defect(group, above), ""]
        above = group[0]
    for line in causes.lint_lines():
        lines += [*wrapped(line, width), ""]
    return lines + printer.summary(findings)


def findings_lines(findings: Findings, *, base: str | None = None) -> list[str]:
    """Return one line for each location with a finding: `path:line:column: severity[rule]: text`.

    Calls that were not judged for one reason share a line, and lints of generated code one at the
    end.
    """
    printer = Printer({}, base=base)
    causes = by_cause(findings)
    listed = [finding for group in causes.groups for finding in group]
    groups = grouped(listed)
    kernels: dict[str | None, dict[str, None]] = {}
    for first, *_ in groups:
        if first.is_of_unjudged_call:
            kernels.setdefault(first.reason, {})[first.kernel] = None
    lines = []
    for first, *_ in groups:
        if not first.is_of_unjudged_call:
            lines.append(printer.line(first))
        elif named := kernels.pop(first.reason, None):
            others = f" (also {plural(len(named) - 1, 'other kernel')})" if len(named) > 1 else ""
            lines.append(printer.line(first) + others)
    return [*lines, *causes.lint_lines()]


def source_excerpt(
    text_of: Callable[[int], str | None],
    line: int,
    column: int | None,
    *,
    width: int = WIDTH,
    colored: Callable[[str, str], str] = lambda text, _: text,
) -> Iterator[str]:
    """Yield a source line with its neighbors, and a caret under the column; nothing without it.

    `text_of` returns the line of a number, None if it was not recorded. `colored` colors a text as
    a part of that name.
    """
    if text_of(line) is None:
        return
    number_width = len(str(line + CONTEXT))
    for number in range(line - CONTEXT, line + CONTEXT + 1):
        text = text_of(number)
        if text is None or (number != line and not text.strip()):
            continue
        visible_text, caret = _visible_part(text.rstrip(), column, width - number_width - 5)
        bar = colored(f"  {number:>{number_width}} |", "gutter")
        yield f"{bar} {visible_text}".rstrip()
        if number == line and caret is not None:
            bar = colored(f"  {'':>{number_width}} |", "gutter")
            yield f"{bar} {' ' * caret}{colored('^', 'caret')}"


class Printer:
    """Formatter of findings for a width and color; `lines` has source lines by file and line."""

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
        """Return the lines of a group of findings with one cause.

        `above` is the first finding of the previous group; a launch equal to its launch is "as
        above".
        """
        finding = group[0]
        lines = self._heading(group)
        lines += self.excerpt(finding)
        for label, text in self.labeled_facts(group):
            if label == "launch" and above is not None and text == self._launch(above):
                text = "as above"
            lines += self._labeled(label, text)
        return lines

    def summary(self, findings: Findings) -> list[str]:
        """Return lines with the counts and shares of verdicts, and the reasons of unknown ones."""
        lines = wrapped(counts_text(findings), self._width)
        for text in _kernel_lines(findings.counts):
            lines += wrapped(text, self._width, indent=2)
        is_listed = findings.judges_nothing and len(findings.reasons) == 1
        reasons = [] if is_listed else list(findings.reasons.items())
        if reasons:
            lines.append("unknown because:")
        for reason, count in reasons[:_REASONS]:
            lines += wrapped(f"{count:>6,} × {reason}", self._width, indent=2)
        hidden_count = len(reasons) - _REASONS
        return lines + (
            [f"  … and {plural(hidden_count, 'other reason')}"] if hidden_count > 0 else []
        )

    # -- one defect ---------------------------------------------------------------------------

    def line(self, finding: Finding) -> str:
        """Return a finding as one line, however long: location, severity, rule, message."""
        location, label, _ = self.heading_parts((finding,))
        source = next((f" (from {names})" for names, _ in self._source_lines(finding)), "")
        return printable(f"{location}: {label}: {message_of(finding)}{source}")

    def heading_parts(self, group: Sequence[Finding]) -> tuple[str, str, str]:
        """Return the location of a group's first finding, the label `kind[rules]`, and the kind.

        The kind is what the finding counts as.
        """
        finding = group[0]
        kind = finding.counts_as
        location = self._location_text(StackFrame(finding.file, finding.line, finding.column, None))
        rules = ", ".join(dict.fromkeys(finding.rule for finding in group))
        return location, f"{kind}[{rules}]", kind

    def _heading(self, group: Sequence[Finding]) -> list[str]:
        location, label, kind = self.heading_parts(group)
        lines = wrapped(f"{location}: {label}: {message_of(group[0])}", self._width)
        label_line = next((i for i, line in enumerate(lines) if label in line), 0)
        lines[label_line] = lines[label_line].replace(label, self._colored(label, kind), 1)
        if lines[0].startswith(location):
            lines[0] = self._colored(location, "place") + lines[0][len(location) :]
        return lines

    def excerpt(self, finding: Finding) -> Iterator[str]:
        """Yield the source line with its neighbors, and a caret under the column, if recorded."""
        if finding.file is not None and finding.line is not None:
            yield from source_excerpt(
                lambda number: self._lines.get((finding.file or "", number)),
                finding.line,
                finding.column,
                width=self._width,
                colored=self._colored,
            )

    def labeled_facts(self, group: Sequence[Finding]) -> Iterator[tuple[str, str]]:
        """Yield the facts below heading and source, as pairs of a label and a text."""
        finding = group[0]
        yield (
            "in",
            f"kernel {finding.kernel}"
            if not _function_name(finding)
            else (f"{_function_name(finding)}, of kernel {finding.kernel}"),
        )
        for frame in finding.stack[1:]:
            yield "called at", f"{self._location_text(frame)} {frame.function or ''}".rstrip()
        sources = list(self._source_lines(finding))
        for names, code in sources[:_SHOWN]:
            yield "from", f"{names}: {code}" if code else names
        if len(sources) > _SHOWN:
            yield "from", f"… and {plural(len(sources) - _SHOWN, 'other line')} of the program"
        facts = (
            ("witness", witness(finding)),
            ("against", self._second_access(finding)),
            ("address", finding.expression),
            ("nearest", finding.nearest),
            ("because", _none_if_repeated(finding.reason, finding)),
            ("safe if", _none_if_repeated(finding.assumption, finding)),
            ("decided", _method_text(finding)),
            (
                "ignored",
                (finding.suppress_reason or "no reason given") if finding.suppressed else None,
            ),
            ("launch", self._launch(finding)),
            ("seen in", None if finding.run is None else calls_and_launches_text(group)),
            ("also in", self._other_locations(group)),
            ("hint", None if finding.suppressed else finding.hint),
        )
        for label, text in facts:
            if text:
                yield label, text

    def _labeled(self, label: str, text: str) -> list[str]:
        head = f"  {label + ':':<{_LABEL}} "
        return textwrap.wrap(
            printable(text),
            self._width,
            initial_indent=head,
            subsequent_indent=" " * len(head),
            break_long_words=False,
            break_on_hyphens=False,
        )

    def _source_lines(self, finding: Finding) -> Iterator[tuple[str, str | None]]:
        """Yield a text and the source code for each line of the program behind generated code.

        The text has operators and location; the code is None if it is not recorded.
        """
        for line, operators in source_operators(finding).items():
            names = ", ".join(dict.fromkeys(operator.op for operator in operators)) or "no operator"
            if line is None:
                yield names, None
                continue
            at = "at" if any(operator.file for operator in operators) else "launched at"
            code = next((operator.code for operator in operators if operator.code), None)
            yield f"{names} {at} {self._location_text(StackFrame(*line, None, None))}", code

    def _other_locations(self, group: Sequence[Finding]) -> str | None:
        """Return the locations of a group's findings besides the first as text, or None.

        They are grouped by kernel or file.
        """
        first_location, *locations = (self._file_and_line(finding, group[0]) for finding in group)
        lines_by_file: dict[str, list[str]] = {}
        for file_text, line in dict.fromkeys(name for name in locations if name != first_location):
            lines_by_file.setdefault(file_text, []).append(line)
        if not lines_by_file:
            return None
        return _joined_start(
            [
                f"{file_text}{_joined_start(lines, ',')}"
                for file_text, lines in lines_by_file.items()
            ],
            ", ",
        )

    def _file_and_line(self, finding: Finding, first: Finding) -> tuple[str, str]:
        if finding.generated:
            return f"{finding.kernel}:", str(finding.line or "?")
        if finding.file is None:
            return finding.kernel, ""
        column = f":{finding.column}" if finding.column else ""
        kernel = "" if finding.kernel == first.kernel else f" ({finding.kernel})"
        return f"{shown_path(finding.file, self._base)}:", f"{finding.line or '?'}{column}{kernel}"

    def _second_access(self, finding: Finding) -> str | None:
        if finding.method == FOLLOWED or not (finding.other_program or finding.other_stack):
            return None
        program = "" if finding.other_program is None else f"program {finding.other_program}"
        location = (
            f"at {self._location_text(finding.other_stack[0])}" if finding.other_stack else ""
        )
        return f"{program} {location}".strip()

    def _launch(self, finding: Finding) -> str | None:
        if finding.invocation is None or finding.rule == UNUSED_IGNORE:
            return None
        launch_frame = finding.launched_at
        return finding.invocation + (
            f" at {self._location_text(launch_frame)}" if launch_frame is not None else ""
        )

    def _location_text(self, frame: StackFrame) -> str:
        path = "?" if frame.file is None else shown_path(frame.file, self._base)
        parts = [path, str(frame.line or "?")]
        return printable(":".join(parts + ([str(frame.column)] if frame.column else [])))

    def _colored(self, text: str, style: str) -> str:
        return (
            f"\x1b[{_COLOR_CODES[style]}m{text}\x1b[0m"
            if self._color and style in _COLOR_CODES
            else text
        )


def witness(finding: Finding) -> str | None:
    """Return the witness of a finding as text: lane, program, grid, and accessed byte; or None."""
    if finding.program is None:
        return None
    text = f"program {finding.program}"
    if finding.lane:
        index = finding.lane[0] if len(finding.lane) == 1 else list(finding.lane)
        text = f"lane {index} of {text}"
    if finding.grid is not None:
        text += f" in grid {finding.grid}"
    if finding.iteration is not None:
        text += f", in iteration {finding.iteration} of its loop"
        text += "," if finding.address_offset is not None else ""
    if finding.address_offset is not None:
        verb = _VERBS.get(finding.access or "", "is at")
        kind = f" ({finding.tensor})" if finding.tensor else ""
        text += f" {verb} byte {finding.address_offset:,} of {finding.arg or 'its tensor'}{kind}"
    if (
        finding.lanes is not None
        and finding.lanes > 1
        and f"{finding.lanes:,} lanes" not in message_of(finding)
    ):
        text += f"; {plural(finding.lanes or 0, 'lane')} over the grid"
    return text.rstrip(",")


def calls_and_launches(group: Sequence[Finding]) -> tuple[int, int]:
    """Return the number of unique calls with a finding of the group, and that of their launches."""
    by_call = {(finding.run, finding.call): finding for finding in group}.values()
    return sum(f.calls for f in by_call), sum(f.launches for f in by_call)


def calls_and_launches_text(group: Sequence[Finding]) -> str:
    """Return a text with the number of unique calls and launches that have a group's findings."""
    calls, launches = calls_and_launches(group)
    if launches > calls and any(finding.is_of_some_launches for finding in group):
        return f"{plural(calls, 'unique call')}, in one or more of {launches:,} launches"
    return f"{plural(calls, 'unique call')}, {plural(launches, 'launch')}"


def _method_text(finding: Finding) -> str | None:
    if finding.method == OBSERVED:
        return "seen while the program ran"
    return finding.method if finding.verdict == "proven" else None


def message_of(finding: Finding) -> str:
    """Return the message of a finding, else its reason, else access and kernel."""
    return finding.message or finding.reason or f"{finding.access or 'access'} in {finding.kernel}"


def _function_name(finding: Finding) -> str | None:
    """Return the function that contains the finding; None if it is the kernel itself."""
    function = finding.stack[0].function if finding.stack else None
    return None if function is None or function.rpartition(".")[2] == finding.kernel else function


def _none_if_repeated(text: str | None, finding: Finding) -> str | None:
    """Return `text`, or None if the finding's message or hint contains it."""
    if text is None:
        return None
    claim = OF_CONTENTS.sub("", text)
    return None if claim in message_of(finding) or claim in (finding.hint or "") else text


def _visible_part(text: str, column: int | None, width: int) -> tuple[str, int | None]:
    """Return the part of a line that fits into `width`, and the caret's index in that part."""
    full_text = printable(text.expandtabs(4))
    caret = None
    if column is not None and column <= len(text) + 1:
        caret = display_width(printable(text[: column - 1].expandtabs(4)))
    if display_width(full_text) <= width:
        return full_text, caret
    start = 0 if caret is None or caret < 2 * width // 3 else caret - width // 3
    if start == 0:
        return full_text[: width - 1] + "…", caret
    assert caret is not None
    fits = len(full_text) - start < width
    visible_text = full_text[start : start + width - (1 if fits else 2)]
    return "…" + visible_text + ("" if fits else "…"), caret - start + 1


def counts_text(findings: Findings) -> str:
    """Return a line with the counts and shares of all verdicts, for the end of an output."""
    if not findings.analyzed and not findings.tallies and not findings.named:
        return "not analyzed yet: kvtrace sanitize fills the findings"
    total = findings.total
    counts = "none, as no rule had anything to judge"
    if total.total():
        counts = verdict_counts(total, shares=True)
    others = f"; not judged: {others_text(findings.others)}" if findings.others else ""
    return f"verdicts on unique calls: {counts}{others}"


def verdict_counts(counts: Mapping[str, int], *, shares: bool = False) -> str:
    """Return counts by the names in `COUNTED` as text, such as "2 errors, 0 unknown, 3 proven".

    Warnings, notes and suppressed findings are left out if there are none. `shares` adds the share
    of each in percent.
    """
    count = sum(counts.values())
    parts = []
    for name in COUNTED:
        number = counts.get(name, 0)
        if number or name in _ALWAYS:
            share = f" ({percent(number / count)})" if shares else ""
            parts.append(plural_verdict(number, name) + share)
    return ", ".join(parts)


def _joined_start(names: Sequence[str], between: str) -> str:
    """Return the first six names joined by `between`, and the number of the others."""
    rest_text = f"{between}and {len(names) - _OTHERS:,} more" if len(names) > _OTHERS else ""
    return between.join(names[:_OTHERS]) + rest_text


def _kernel_lines(kernels: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    """Yield lines of counts for kernels with errors, warnings, unknowns or suppressed findings.

    Those with most errors come first. One more line counts such kernels beyond the first
    `_KERNELS`, one the kernels with notes alone, and one all other kernels.

    `kernels` has the counts of verdicts by kernel.
    """
    notable = [kernel for kernel, sums in kernels.items() if any(map(sums.get, _NOTABLE))]
    notable.sort(key=lambda kernel: [-kernels[kernel][name] for name in _NOTABLE])
    others = [kernel for kernel in kernels if kernel not in notable]
    noted = [kernel for kernel in others if kernels[kernel]["note"]]
    proven = [kernel for kernel in others if not kernels[kernel]["note"]]
    for kernel in notable[:_KERNELS]:
        yield f"{kernel}: {verdict_counts(kernels[kernel])}"
    if len(notable) > _KERNELS:
        number = plural(len(notable) - _KERNELS, "other kernel")
        yield f"… and {number}: {_summed(kernels, notable[_KERNELS:])}"
    if noted:
        yield f"{plural(len(noted), 'kernel')} with notes alone: {_summed(kernels, noted)}"
    if proven:
        proven_count = sum(kernels[kernel]["proven"] for kernel in proven)
        yield f"{plural(len(proven), 'kernel')} with nothing to report: {proven_count:,} proven"


def _summed(kernels: Mapping[str, Mapping[str, int]], names: Iterable[str]) -> str:
    sums: Counter[str] = Counter()
    for name in names:
        sums.update(kernels[name])
    return verdict_counts(sums)


def plural_verdict(number: int, name: str) -> str:
    """Return a number of verdicts of a name in `COUNTED` as text: "1 error", "3 proven"."""
    return plural(number, name) if name in SEVERITIES else f"{number:,} {name}"
