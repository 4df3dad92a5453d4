"""Findings as JUnit XML for continuous integration: a test case for each access and rule.

Each kernel is a suite. A test case covers all unique calls: it fails if a finding of any call is an
error, and is skipped if one is a warning, unknown or suppressed. With `strict`, warnings and
unknown verdicts fail, too.
"""

from collections.abc import Sequence
from xml.etree import ElementTree

from kvtrace.converters.findings.findings_text import Printer
from kvtrace.converters.findings.model import UNUSED_IGNORE, Finding, Findings
from kvtrace.converters.junit import add_outcome, document, passing_case, xml_text
from kvtrace.text import plural

Case = tuple[str | None, int | None, int | None, str | None, str | None, str]
"""File, line, column, access, argument and rule of the findings of a test case."""


def junit(findings: Findings, *, strict: bool = False) -> str:
    """Return the XML document.

    Args:
        findings: the findings, read with proven ones so that these are test cases, too.
        strict: warnings and unknown verdicts are failures.

    """
    suites: dict[str, dict[Case, list[Finding]]] = {}
    for f in findings.listed:
        if f.rule != UNUSED_IGNORE:
            case = (f.file, f.line, f.column, f.access, f.arg, f.rule)
            suites.setdefault(f.kernel, {}).setdefault(case, []).append(f)
    printer = Printer(findings.lines, width=100)
    return document("kvtrace sanitize", {
        kernel: [_testcase(group, printer, strict) for group in suites[kernel].values()]
        for kernel in sorted(suites)
    })  # fmt: skip


def _testcase(group: Sequence[Finding], printer: Printer, strict: bool) -> ElementTree.Element:
    first = group[0]
    access = f"{first.access or 'kernel'} of {first.arg}" if first.arg else first.access or "kernel"
    place = f"{first.file or '?'}:{first.line or '?'}"
    case = passing_case(first.kernel, f"{first.rule}: {access} at {place}")
    if first.file is not None:
        case.set("file", xml_text(first.file))
    if first.line is not None:
        case.set("line", str(first.line))
    failing = [f for f in group if f.fails(strict=strict)]
    skipped = [f for f in group if f.suppressed or f.is_defect or f.verdict == "unknown"]
    if failing:
        kind = f"{failing[0].severity}.{failing[0].rule}"
        outcome = add_outcome(case, "failure", _message(failing), kind)
        outcome.text = xml_text("\n".join(printer.defect(failing)))
    elif skipped:
        add_outcome(case, "skipped", _message(skipped))
    return case


def _message(group: Sequence[Finding]) -> str:
    finding = group[0]
    reason = (
        f"suppressed: {finding.suppress_reason or 'no reason given'}" if finding.suppressed else ""
    )
    message = reason or finding.message or finding.reason or finding.rule
    return f"{message} ({plural(len(group), 'call')})"
