"""JUnit XML of a `Difference`: a test case for each line of the headline and each rule of the gate.

With rules, broken rules are failures and headline lines are not, since the gate decides. Without
rules, lines that became worse are failures. Unjudged cases are skipped, with the reason.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final
from xml.etree import ElementTree

from kvtrace.converters.diff.gate import Gate
from kvtrace.converters.diff.model import Difference, HeadlineRow
from kvtrace.converters.diff.words import (
    answer_text,
    bounds_text,
    share_text,
    summary,
    sure_text,
    unjudged_rules,
    unjudged_sides,
    values_text,
)

#: Characters that XML 1.0 cannot hold, even escaped.
_ILLEGAL: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def difference_junit(difference: Difference, gate: Gate | None = None) -> str:
    """Return the JUnit document of a difference."""
    suites = {
        "merge": list(_answers(difference)),
        "headline": list(_headline(difference, gate)),
        "judged": list(_judged(difference)),
    }
    if gate is not None and gate.rules:
        suites["gate"] = list(_rules(gate))
    root = ElementTree.Element("testsuites", name="kvtrace diff")
    for name, cases in suites.items():
        suite = ElementTree.SubElement(root, "testsuite", name=name)
        suite.extend(cases)
        for outcome, tag in (("failures", "failure"), ("skipped", "skipped"), ("errors", "error")):
            suite.set(outcome, str(len(suite.findall(f"testcase/{tag}"))))
        suite.set("tests", str(len(cases)))
    for total in ("tests", "failures", "skipped", "errors"):
        root.set(total, str(sum(int(suite.get(total, "0")) for suite in root)))
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _answers(difference: Difference) -> Iterator[ElementTree.Element]:
    """Yield a case per question: "no" fails (except for speed), "not known" is skipped."""
    for answer in difference.answers:
        case = _case("merge", f"{answer.question}?")
        if answer.word == "no" and answer.question != "faster":
            _add(case, "failure", answer_text(answer), "no")
        elif answer.word == "not known":
            _add(case, "skipped", answer_text(answer))
        else:
            text = f"{answer.word}: {answer_text(answer)}"
            ElementTree.SubElement(case, "system-out").text = _legal(text)
        yield case


def _headline(difference: Difference, gate: Gate | None) -> Iterator[ElementTree.Element]:
    decided = gate is not None and bool(gate.rules)
    yield _case("kvtrace", summary(difference))
    for row in difference.headline:
        case = _case(row.kernel, f"{row.level}: {row.what}")
        text = _row_text(row)
        if row.direction == "worse" and not decided:
            _add(case, "failure", text, "worse")
        else:
            ElementTree.SubElement(case, "system-out").text = _legal(text)
        yield case


def _row_text(row: HeadlineRow) -> str:
    parts = (values_text(row), share_text(row), row.direction, sure_text(row))
    return f"{row.what}: {', '.join(filter(None, parts))}"


def _judged(difference: Difference) -> Iterator[ElementTree.Element]:
    """Yield a case for findings and one for bounds, skipped if they were not judged."""
    for name, reasons in (
        ("findings", [unjudged_sides(difference), *unjudged_rules(difference)]),
        ("bounds", [bounds_text(difference)]),
    ):
        case = _case("judged", name)
        if text := "; ".join(filter(None, reasons)):
            _add(case, "skipped", text)
        yield case


def _rules(gate: Gate) -> Iterable[ElementTree.Element]:
    missing = set(gate.missing())
    for rule in gate.rules:
        case = _case("gate", rule.text)
        if rule.text in missing:
            _add(case, "error", "it cannot be judged: no kernel has the figure, or a side was not")
        for broken in (failure for failure in gate.failures if failure.rule == rule.text):
            _add(case, "failure", f"{broken.what}: {broken.text}", "broken")
        yield case


def _case(of: str, name: str) -> ElementTree.Element:
    return ElementTree.Element("testcase", classname=_legal(of or "(no name)"), name=_legal(name))


def _add(case: ElementTree.Element, tag: str, message: str, kind: str | None = None) -> None:
    outcome = ElementTree.SubElement(case, tag, message=_legal(message))
    if kind is not None:
        outcome.set("type", kind)


def _legal(text: str) -> str:
    return _ILLEGAL.sub("\N{REPLACEMENT CHARACTER}", text)
