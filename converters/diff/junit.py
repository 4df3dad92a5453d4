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
    """Return the JUnit XML document of a difference, and of a judged gate if given."""
    suites = {
        "merge": list(_answer_cases(difference)),
        "headline": list(_headline_cases(difference, gate)),
        "judged": list(_judged_cases(difference)),
    }
    if gate is not None and gate.rules:
        suites["gate"] = list(_rule_cases(gate))
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


def _answer_cases(difference: Difference) -> Iterator[ElementTree.Element]:
    """Yield a case per answer: "no" fails (except to "faster"), "not known" is skipped."""
    for answer in difference.answers:
        case = _case("merge", f"{answer.question}?")
        if answer.word == "no" and answer.question != "faster":
            _add_outcome(case, "failure", answer_text(answer), "no")
        elif answer.word == "not known":
            _add_outcome(case, "skipped", answer_text(answer))
        else:
            text = f"{answer.word}: {answer_text(answer)}"
            ElementTree.SubElement(case, "system-out").text = _xml_text(text)
        yield case


def _headline_cases(difference: Difference, gate: Gate | None) -> Iterator[ElementTree.Element]:
    has_rules = gate is not None and bool(gate.rules)
    yield _case("kvtrace", summary(difference))
    for row in difference.headline:
        case = _case(row.kernel, f"{row.level}: {row.what}")
        text = _row_text(row)
        if row.direction == "worse" and not has_rules:
            _add_outcome(case, "failure", text, "worse")
        else:
            ElementTree.SubElement(case, "system-out").text = _xml_text(text)
        yield case


def _row_text(row: HeadlineRow) -> str:
    parts = (values_text(row), share_text(row), row.direction, sure_text(row))
    return f"{row.what}: {', '.join(filter(None, parts))}"


def _judged_cases(difference: Difference) -> Iterator[ElementTree.Element]:
    """Yield a case for findings and one for size conditions; skipped if they were not judged."""
    for name, reasons in (
        ("findings", [unjudged_sides(difference), *unjudged_rules(difference)]),
        ("bounds", [bounds_text(difference)]),
    ):
        case = _case("judged", name)
        if text := "; ".join(filter(None, reasons)):
            _add_outcome(case, "skipped", text)
        yield case


def _rule_cases(gate: Gate) -> Iterable[ElementTree.Element]:
    missing = set(gate.missing())
    for rule in gate.rules:
        case = _case("gate", rule.text)
        if rule.text in missing:
            text = "the rule cannot be judged: no kernel has the figure, or a side was not judged"
            _add_outcome(case, "error", text)
        for failure_of_rule in (failure for failure in gate.failures if failure.rule == rule.text):
            _add_outcome(
                case, "failure", f"{failure_of_rule.what}: {failure_of_rule.text}", "broken"
            )
        yield case


def _case(of: str, name: str) -> ElementTree.Element:
    return ElementTree.Element(
        "testcase", classname=_xml_text(of or "(no name)"), name=_xml_text(name)
    )


def _add_outcome(
    case: ElementTree.Element, tag: str, message: str, kind: str | None = None
) -> None:
    outcome = ElementTree.SubElement(case, tag, message=_xml_text(message))
    if kind is not None:
        outcome.set("type", kind)


def _xml_text(text: str) -> str:
    return _ILLEGAL.sub("\N{REPLACEMENT CHARACTER}", text)
