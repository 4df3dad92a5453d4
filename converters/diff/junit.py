"""JUnit XML of a `Difference`: a test case for each line of the headline and each rule of the gate.

With rules, broken rules are failures and headline lines are not, since the gate decides. Without
rules, lines that became worse are failures. Unjudged cases are skipped, with the reason.
"""

from collections.abc import Iterable, Iterator
from xml.etree import ElementTree

from kvtrace.converters.diff.gate import Gate
from kvtrace.converters.diff.model import Difference
from kvtrace.converters.diff.words import (
    answer_text,
    bounds_text,
    row_cells,
    summary,
    unjudged_rules,
    unjudged_sides,
)
from kvtrace.converters.junit import add_outcome, add_output, document, passing_case


def difference_junit(difference: Difference, gate: Gate | None = None) -> str:
    """Return the JUnit XML document of a difference, and of a judged gate if given."""
    suites = {
        "merge": list(_answer_cases(difference)),
        "headline": list(_headline_cases(difference, gate)),
        "judged": list(_judged_cases(difference)),
    }
    if gate is not None and gate.rules:
        suites["gate"] = list(_rule_cases(gate))
    return document("kvtrace diff", suites)


def _answer_cases(difference: Difference) -> Iterator[ElementTree.Element]:
    """Yield a case per answer: "no" fails (except to "faster"), "not known" is skipped."""
    for answer in difference.answers:
        case = passing_case("merge", f"{answer.question}?")
        if answer.word == "no" and answer.question != "faster":
            add_outcome(case, "failure", answer_text(answer), "no")
        elif answer.word == "not known":
            add_outcome(case, "skipped", answer_text(answer))
        else:
            text = f"{answer.word}: {answer_text(answer)}"
            add_output(case, text)
        yield case


def _headline_cases(difference: Difference, gate: Gate | None) -> Iterator[ElementTree.Element]:
    has_rules = gate is not None and bool(gate.rules)
    yield passing_case("kvtrace", summary(difference))
    for row in difference.headline:
        case = passing_case(row.kernel, f"{row.level}: {row.what}")
        what, *parts = row_cells(row)
        text = f"{what}: {', '.join(filter(None, parts))}"
        if row.direction == "worse" and not has_rules:
            add_outcome(case, "failure", text, "worse")
        else:
            add_output(case, text)
        yield case


def _judged_cases(difference: Difference) -> Iterator[ElementTree.Element]:
    """Yield a case for findings and one for size conditions; skipped if they were not judged."""
    sides = difference.before, difference.after
    for name, reasons in (
        ("findings", [unjudged_sides(difference), *unjudged_rules(*sides)]),
        ("bounds", [bounds_text(difference)]),
    ):
        case = passing_case("judged", name)
        if text := "; ".join(filter(None, reasons)):
            add_outcome(case, "skipped", text)
        yield case


def _rule_cases(gate: Gate) -> Iterable[ElementTree.Element]:
    missing = set(gate.missing())
    for rule in gate.rules:
        case = passing_case("gate", rule.text)
        if rule.text in missing:
            text = "the rule cannot be judged: no kernel has the figure, or a side was not judged"
            add_outcome(case, "error", text)
        for failure_of_rule in (failure for failure in gate.failures if failure.rule == rule.text):
            add_outcome(
                case, "failure", f"{failure_of_rule.what}: {failure_of_rule.text}", "broken"
            )
        yield case
