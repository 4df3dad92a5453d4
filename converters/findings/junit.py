"""Findings as JUnit XML, as continuous integration services read it: a test for each verdict.

One suite for each kernel, and in it one test case for each access and rule, over all unique
calls: a failure where any of them is an error, skipped where one is a warning, unknown or
suppressed; with `strict` all but what is suppressed is a failure.
The format has no standard; this keeps to what the readers of GitLab, GitHub and others share.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final
from xml.etree import ElementTree

from kvtrace.converters.findings.findings_text import Printer
from kvtrace.converters.findings.model import UNUSED_IGNORE, Finding, Findings
from kvtrace.text import plural

#: What XML 1.0 cannot hold, however it is escaped.
_ILLEGAL: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

Case = tuple[str, str | None, int | None, int | None, str | None, str | None, str]


def junit(findings: Findings, *, strict: bool = False) -> str:
    """Return the document. `findings` should have been read with what is proven.

    Args:
        findings: what was read.
        strict: whether a warning or an unknown verdict is a failure.

    """
    suites: dict[str, dict[Case, list[Finding]]] = {}
    for found in findings.listed:
        if found.rule != UNUSED_IGNORE:
            suites.setdefault(found.kernel, {}).setdefault(_case(found), []).append(found)
    printer = Printer(findings.lines, width=100)
    root = ElementTree.Element("testsuites", name="kvtrace sanitize")
    for kernel in sorted(suites):
        root.append(_suite(kernel, suites[kernel], printer, strict))
    for name in ("tests", "failures", "skipped"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in root)))
    root.set("errors", "0")
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _case(found: Finding) -> Case:
    place = (found.file, found.line, found.column)
    return (found.kernel, *place, found.access, found.arg, found.rule)


def _suite(
    kernel: str, cases: Mapping[Case, Sequence[Finding]], printer: Printer, strict: bool
) -> ElementTree.Element:
    suite = ElementTree.Element("testsuite", name=_legal(kernel))
    for found in cases.values():
        suite.append(_testcase(found, printer, strict))
    suite.set("tests", str(len(cases)))
    suite.set("failures", str(len(suite.findall("testcase/failure"))))
    suite.set("errors", "0")
    suite.set("skipped", str(len(suite.findall("testcase/skipped"))))
    return suite


def _testcase(group: Sequence[Finding], printer: Printer, strict: bool) -> ElementTree.Element:
    first = group[0]
    what = f"{first.access or 'kernel'} of {first.arg}" if first.arg else first.access or "kernel"
    place = f"{first.file or '?'}:{first.line or '?'}"
    case = ElementTree.Element(
        "testcase",
        classname=_legal(first.kernel),
        name=_legal(f"{first.rule}: {what} at {place}"),
    )
    if first.file is not None:
        case.set("file", _legal(first.file))
    if first.line is not None:
        case.set("line", str(first.line))
    failing = [f for f in group if f.fails(strict=strict)]
    skipped = [f for f in group if f.suppressed or f.is_defect or f.verdict == "unknown"]
    if failing:
        case.append(_outcome("failure", failing, printer, failing[0].severity))
    elif skipped:
        case.append(_outcome("skipped", skipped, printer, None))
    return case


def _outcome(
    tag: str, group: Sequence[Finding], printer: Printer, severity: str | None
) -> ElementTree.Element:
    found = group[0]
    why = f"suppressed: {found.suppress_reason or 'no reason given'}" if found.suppressed else ""
    message = why or found.message or found.reason or found.rule
    outcome = ElementTree.Element(tag, message=_legal(f"{message} ({plural(len(group), 'call')})"))
    if severity is not None:
        outcome.set("type", f"{severity}.{found.rule}")
        outcome.text = _legal("\n".join(printer.defect(group)))
    return outcome


def _legal(text: str) -> str:
    return _ILLEGAL.sub("\N{REPLACEMENT CHARACTER}", text)
