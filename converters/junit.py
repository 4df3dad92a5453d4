"""JUnit XML for continuous integration: suites of test cases with their outcomes.

The format has no standard; the elements written here are those that GitLab, GitHub and others read.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final
from xml.etree import ElementTree

#: Characters that XML 1.0 cannot contain, not even escaped.
_ILLEGAL: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def document(name: str, suites: Mapping[str, Iterable[ElementTree.Element]]) -> str:
    """Return an XML document with the test cases of each suite, counted by outcome."""
    root = ElementTree.Element("testsuites", name=name)
    for suite_name, cases in suites.items():
        suite = ElementTree.SubElement(root, "testsuite", name=xml_text(suite_name))
        suite.extend(cases)
        for outcome, tag in (("failures", "failure"), ("skipped", "skipped"), ("errors", "error")):
            suite.set(outcome, str(len(suite.findall(f"testcase/{tag}"))))
        suite.set("tests", str(len(suite)))
    for total in ("tests", "failures", "skipped", "errors"):
        root.set(total, str(sum(int(suite.get(total, "0")) for suite in root)))
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def passing_case(of: str, name: str) -> ElementTree.Element:
    """Return a test case that passes: the name of its class, and its own."""
    return ElementTree.Element(
        "testcase", classname=xml_text(of or "(no name)"), name=xml_text(name)
    )


def add_outcome(
    case: ElementTree.Element, tag: str, message: str, kind: str | None = None
) -> ElementTree.Element:
    """Add a failure, an error or a reason for skipping to a test case, and return it."""
    outcome = ElementTree.SubElement(case, tag, message=xml_text(message))
    if kind is not None:
        outcome.set("type", kind)
    return outcome


def add_output(case: ElementTree.Element, text: str) -> None:
    """Add what a test case printed."""
    ElementTree.SubElement(case, "system-out").text = xml_text(text)


def xml_text(text: str) -> str:
    """Return a text with replacements for characters that XML cannot contain."""
    return _ILLEGAL.sub("\N{REPLACEMENT CHARACTER}", text)
