"""JUnit XML of a suite's result: a test case for each call, candidate and comparison.

A call passes if it can be launched; otherwise it is an error. A candidate that is wrong and a call
that is slower than allowed are failures.
"""

from collections.abc import Iterator, Sequence
from xml.etree import ElementTree

from kvtrace.addons.suite.comparing import Comparison
from kvtrace.addons.suite.results import Measured, Result, Trial, percent
from kvtrace.converters.junit import add_outcome, add_output, document, passing_case
from kvtrace.text import duration


def result_junit(result: Result, comparisons: Sequence[Comparison], threshold: float) -> str:
    """Return the XML document; a call may be slower by the share `threshold`."""
    suites = {"calls": list(map(_call_case, result.calls))}
    tried = [(call, call.candidate) for call in result.calls if call.candidate is not None]
    if tried:
        suites["candidate"] = [_trial_case(call, trial) for call, trial in tried]
    if comparisons:
        suites["against"] = list(_comparison_cases(comparisons, threshold))
    return document("kvtrace suite run", suites)


def _call_case(call: Measured) -> ElementTree.Element:
    case = passing_case(call.kernel, call.name)
    if call.status == "failed":
        add_outcome(case, "error", call.why or "it cannot be launched")
    elif call.time is None:
        add_output(case, "launched without a GPU: no time was taken")
    else:
        case.set("time", f"{call.time.median_ns / 1e9:.9f}")
        text = f"{duration(call.time.median_ns)}, ±{percent(call.time.noise)} over the rounds"
        if call.recorded_ns:
            text += f"; recorded {duration(call.recorded_ns)}"
        add_output(case, text)
    return case


def _trial_case(call: Measured, trial: Trial) -> ElementTree.Element:
    case = passing_case(trial.function, call.name)
    if trial.verdict != "right":
        add_outcome(case, "failure", trial.why or trial.verdict, trial.verdict)
    elif trial.time is not None:
        case.set("time", f"{trial.time.median_ns / 1e9:.9f}")
        add_output(case, f"{duration(trial.time.median_ns)}")
    return case


def _comparison_cases(
    comparisons: Sequence[Comparison], threshold: float
) -> Iterator[ElementTree.Element]:
    for one in comparisons:
        case = passing_case("against", one.name)
        text = (
            f"{duration(one.before.median_ns)} to {duration(one.after.median_ns)} "
            f"({one.ratio:.3f} times): {one.verdict}"
        )
        if one.is_regression(threshold):
            add_outcome(case, "failure", text, "slower")
        elif one.verdict == "not known":
            add_outcome(case, "skipped", text)
        else:
            add_output(case, text)
        yield case
