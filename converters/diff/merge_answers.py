"""Answers to "may this be merged?": four questions about a difference, each yes, no or not known.

*Faster?*, *Same results?* and *Safe?* are answered from measurements, comparisons and verdicts; the
answer is `not known` if something was not measured, compared or judged. *Merge?* follows from
*Same results?*, *Safe?* and the rules; a rule such as `time>+0%` can demand speed.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Final

from kvtrace.converters.diff.callers import UNKNOWN, Change
from kvtrace.converters.diff.gate import FINDINGS, RESULTS, Gate
from kvtrace.converters.diff.model import Answer, Difference, KernelDifference, KernelMeaning
from kvtrace.converters.diff.words import meaning_subject
from kvtrace.converters.findings.model import SEVERITIES, Finding, counted_as
from kvtrace.text import duration, listed, plural

#: Most kernels or outputs that a piece of evidence names.
_NAMED: Final = 2
_REASONS: Final = {"same results": "results differ", "safe": "a finding is new"}
_UNKNOWN_REASONS: Final = {"same results": "whether results differ", "safe": "whether it is safe"}
_BIT_FOR_BIT: Final = ("same", "equal")
#: Rules whose violations make a kernel's results depend on the order of accesses.
_RACES: Final = ("race", "race-within-program", "lane-conflict")


def merge_answers(
    difference: Difference,
    gate: Gate,
    other_inputs: Sequence[str],
    order: str | None,
    other_callers: Callable[[], Sequence[Change]],
) -> tuple[Answer, ...]:
    """Return the answers to "faster", "same results", "safe" and "merge", in this order.

    Args:
        difference: The difference.
        gate: Judged rules; the answer to "same results" is added to its judgments.
        other_inputs: Differences of inputs, as "recorded contents of x_ptr of add differ".
        order: A sentence on the launch at which only the order of launches differs, if any.
        other_callers: Returns why launches may be given other values than before; () if they are
            given the same.

    """
    results = _results_answer(difference, other_inputs, order, other_callers)
    safety = _safety_answer(difference)
    gate.compare_results(results)
    merge = _merge_answer(difference, results, safety, gate)
    return (_speed_answer(difference), results, safety, merge)


def _results_answer(
    difference: Difference,
    other_inputs: Sequence[str],
    order: str | None,
    other_callers: Callable[[], Sequence[Change]],
) -> Answer:
    """Return the answer to whether every kernel computes the same results on both sides.

    A "yes" is about equal inputs: it is "not known" where recorded contents of inputs differ.
    Meanings of changed kernels decide. Digests of results can only turn a "yes" into "not known",
    since another rounding changes digests. They also show that launches were given the same, as
    the program's text does.
    """
    question = "same results"
    meanings = difference.meanings or ()
    wrong = [meaning for meaning in meanings if meaning.same == "no"]
    if wrong:
        more = f" (and {plural(len(wrong) - 1, 'other output')})" if len(wrong) > 1 else ""
        text = f"{meaning_subject(wrong[0])}: {wrong[0].evidence}{more}"
        if _has_equal_digests(difference):
            text = f"the recorded results are equal by digest; on other inputs, {text}"
            return Answer(question, "not known", text)
        return Answer(question, "no", text)
    reason = next(_reasons_against_yes(difference, other_inputs, order, other_callers), None)
    all_by_data = meanings and all(meaning.by_data for meaning in meanings)
    is_compared = all_by_data and not difference.same_kernels
    has_digests = _has_equal_digests(difference)
    if reason is None and not is_compared:
        other = other_callers()
        if other and not has_digests:
            reason = (other[0].text, "record both with KVTRACE_CHECK=digest")
        elif following := [change.text for change in other if change.follows]:
            change = following[0].removeprefix(f"{UNKNOWN}: ")
            text = f"{change}; what it changes may be used after the last launch"
            reason = (text, "all results of launches are equal by digest")
    if reason is not None:
        return Answer(question, "not known", *reason)
    exactly = all(meaning.answer in _BIT_FOR_BIT for meaning in meanings)
    around = _change(", though ", other_callers) if has_digests else ""
    around += " (streams are not compared)" if "stream" in around.lower() else ""
    return Answer(question, "yes", _evidence(meanings, difference, exactly=exactly) + around)


def _change(conjunction: str, other_callers: Callable[[], Sequence[Change]]) -> str:
    """Return the change of the program around its launches, after a conjunction; "" if unknown."""
    other = next((change.text for change in other_callers()), UNKNOWN)
    return "" if other.startswith(UNKNOWN) else f"{conjunction}{other}"


def _reasons_against_yes(
    difference: Difference,
    other_inputs: Sequence[str],
    order: str | None,
    other_callers: Callable[[], Sequence[Change]],
) -> Iterator[tuple[str, str]]:
    """Yield why it is not known whether results are the same, each reason with advice."""
    sides = (difference.before, difference.after)
    meanings = difference.meanings or ()
    changed = [kernel for kernel in difference.kernels if kernel.status == "changed"]
    if not all(side.kernels for side in sides):
        yield "a side has no kernel", "record it again"
    if changed and difference.meanings is None:
        text = f"{plural(len(changed), 'changed kernel')} not compared"
        yield text, "pass a number of seconds to --meaning"
    unknown = [meaning for meaning in meanings if meaning.same == "not known"]
    if unknown:
        text = f"{meaning_subject(unknown[0])}: {unknown[0].evidence}{_more(unknown)}"
        yield (
            text + _change("; ", other_callers),
            "record both with KVTRACE_CHECK=kernel:GLOB, or use kvtrace.testing",
        )
    one_sided = [kernel.name for kernel in difference.kernels if kernel.status != "changed"]
    if one_sided:
        text = f"{_names(one_sided)} {'is' if len(one_sided) == 1 else 'are'} on one side alone"
        yield text, "kvtrace.testing compares with a reference"
    exactly = all(meaning.answer in _BIT_FOR_BIT for meaning in meanings)
    first = difference.results.first if difference.results is not None else None
    if first is not None and (exactly or not meanings):
        text = f"{first.title} wrote different bits, which no changed kernel explains"
        yield text + _change("; ", other_callers), "see results below"
    without_code = dict.fromkeys(name for side in sides for name in side.without_code)
    if without_code:
        yield _without(without_code, "code to compare"), ""
    if relaunched := _relaunched(changed):
        yield (
            relaunched + _change("; ", other_callers),
            "record both with the same number of launches",
        )
    without_args = dict.fromkeys(name for side in sides for name in side.without_args)
    if without_args:
        yield _without(without_args, "arguments to compare"), ""
    if other_inputs:
        text = f"the sides have other inputs: {other_inputs[0]}{_more(other_inputs)}"
        change = _change("; ", other_callers)
        yield text + change, "" if change else "record both with the same inputs"
    if racing := _racing(difference, {meaning.kernel for meaning in meanings}):
        text = f"there is a race in {_names(racing)}, so results depend on the order of accesses"
        yield text, "order the accesses, and compare again"
    if order and (difference.results is None or first is not None):
        yield order, "record both with KVTRACE_CHECK=digest"


def _has_equal_digests(difference: Difference) -> bool:
    """Return whether outputs of all launches of both sides have digests, which are equal."""
    results = difference.results
    if results is None or results.differing or any(results.unpaired):
        return False
    totals = (side.totals for side in (difference.before, difference.after))
    return all(results.compared == side.launches + side.tuning_launches for side in totals)


def _relaunched(changed: Sequence[KernelDifference]) -> str:
    """Return the text of the first kernel with other numbers of launches; "" without one.

    A kernel that updates its output gives another result for each number, and so does one that is
    launched on its own results: addresses of other launches are not recorded.
    """
    for kernel in changed:
        before, after = (side.launches if side else 0 for side in (kernel.before, kernel.after))
        if before != after:
            return f"{kernel.name} is launched {plural(after, 'time')}, was {before:,}"
        works = (change.what for variant in kernel.variants for change in variant.work)
        if what := next((what for what in works if what.startswith("launches of ")), None):
            return f"{kernel.name} has other numbers of launches ({what})"
    return ""


def _racing(difference: Difference, compared: Collection[str]) -> list[str]:
    """Return which of the compared kernels have a proven race on a side."""
    findings = (*(change.finding for change in difference.findings), *difference.still)
    racing = dict.fromkeys(
        finding.kernel
        for finding in findings
        if finding.rule in _RACES and finding.verdict == "violation" and not finding.suppressed
    )
    return [name for name in racing if name in compared]


def _evidence(meanings: Sequence[KernelMeaning], difference: Difference, *, exactly: bool) -> str:
    if not meanings:
        if _has_equal_digests(difference):
            return "all results are equal by digest"
        kernels = plural(difference.same_kernels, "kernel")
        return f"for equal inputs: no code or argument of {kernels} changed"
    by_data = [meaning for meaning in meanings if meaning.by_data]
    if by_data:
        others_text = "; all others are equal by IR" if len(by_data) < len(meanings) else ""
        return f"{meaning_subject(by_data[0])}: {by_data[0].evidence}{_more(by_data)}{others_text}"
    number = len({meaning.kernel for meaning in meanings})
    kernels = f"{plural(number, 'kernel')} (the same code, other calls)"
    if any(kernel.has_other_code for kernel in difference.kernels):
        kernels = plural(number, "changed kernel")
    if exactly:
        return f"results of {kernels} are equal bit for bit, by IR, at the recorded sizes"
    rounded = [meaning for meaning in meanings if meaning.answer not in _BIT_FOR_BIT]
    recorded = "all results are equal by digest; " if _has_equal_digests(difference) else ""
    return (
        f"{recorded}results of {kernels} are equal up to rounding, by IR, at the recorded sizes; "
        f"{meaning_subject(rounded[0])}: {rounded[0].evidence}{_more(rounded)}"
    )


def _safety_answer(difference: Difference) -> Answer:
    question = "safe"
    if not difference.before.kernels or not difference.after.kernels:
        return Answer(question, "not known", "a side has no kernel", "record it again")
    unjudged = [side for side in (difference.before, difference.after) if side.judged_by is None]
    if unjudged:
        judgeable = [side.label for side in unjudged if side.judgeable]
        if not judgeable:
            names = dict.fromkeys(name for side in unjudged for name in side.without_ir)
            return Answer(question, "not known", _without(names, "IR to judge"))
        text = f"not checked: {' and '.join(side.label for side in unjudged)}"
        return Answer(question, "not known", text, f"kvtrace sanitize {' '.join(judgeable)}")
    new = [change.finding for change in difference.findings if change.status == "new"]
    worsenings = sorted(
        (finding for finding in new if finding.verdict == "violation"),
        key=lambda finding: SEVERITIES.index(_severity(finding)),
    )
    if worsenings:
        first = worsenings[0]
        location = f", line {first.line}" if first.line else ""
        text = f"new {_severity(first)}: {first.rule} in {first.kernel}{location}"
        return Answer(question, "no", text + _more(worsenings))
    unjudged_calls = [
        finding for finding in (*new, *difference.still) if finding.is_of_unjudged_call
    ]
    if difference.after.without_ir:
        return Answer(question, "not known", _without(difference.after.without_ir, "IR to judge"))
    if unjudged_calls:
        unjudged_names = _names(finding.kernel for finding in unjudged_calls)
        text = f"{unjudged_names} cannot be judged: {unjudged_calls[0].reason}"
        return Answer(question, "not known", text)
    new_unknowns = [finding for finding in new if finding.verdict == "unknown"]
    if new_unknowns:
        text = f"{new_unknowns[0].rule} of {new_unknowns[0].kernel} is no longer proven"
        return Answer(question, "not known", text, f"kvtrace sanitize {difference.after.label}")
    still = Counter(_severity(f) for f in difference.still if f.verdict == "violation")
    counts = ", ".join(plural(still[name], name) for name in SEVERITIES if still[name])
    text = f"no new finding{_extent(difference)}"
    if conditions := sum(bound.is_condition for bound in difference.bounds):
        text += f"; for others, conditions of {plural(conditions, 'access')} changed (-v)"
    return Answer(question, "yes", text + (f"; {counts} on both sides" if counts else ""))


def _extent(difference: Difference) -> str:
    """Return a text on the sizes that an answer on changed kernels holds for; "" without any."""
    changed = any(kernel.status == "changed" for kernel in difference.kernels)
    return " at the recorded sizes" if changed else ""


def _severity(finding: Finding) -> str:
    """Return error, warning or note."""
    return counted_as("violation", finding.severity, suppressed=False)


def _speed_answer(difference: Difference) -> Answer:
    """Return the answer to "faster", from median device times weighted by launches of BEFORE."""
    question = "faster"
    compared = [
        (time, comparison)
        for time in difference.times
        for comparison in time.compared
        if comparison.kind == "device" and comparison.ratio is not None
    ]
    if not compared:
        reasons = [
            comparison.reason
            for t in difference.times
            for comparison in t.compared
            if comparison.reason
        ]
        text = f"GPU times not compared: {reasons[0]}" if reasons else "no GPU time on a side"
        return Answer(question, "not known", text, "record both sides on one GPU")
    claimed = [pair for pair in compared if pair[1].claimed]
    launches = sum(time.after.launches for time, _ in compared)
    if not claimed:
        text = f"no kernel's GPU time changed, of {plural(launches, 'launch')}"
        return Answer(question, "no", text)
    before = sum(comparison.before_ns * time.before.launches for time, comparison in claimed)
    after = sum(comparison.after_ns * time.before.launches for time, comparison in claimed)
    faster = after < before
    ratio = before / after if faster else after / before
    changed = sum(time.before.launches for time, _ in claimed)
    text = (
        f"{ratio:.2f}× {'faster' if faster else 'slower'}, GPU time {duration(before)} → "
        f"{duration(after)} of {plural(changed, 'launch')}, p < 0.01"
    )
    opposite_kernels = [
        time.name for time, comparison in claimed if ((comparison.ratio or 0) > 1) == faster
    ]
    if opposite_kernels:
        text += f"; {_names(opposite_kernels)} {'slower' if faster else 'faster'}"
    return Answer(question, "yes" if faster else "no", text)


def _merge_answer(difference: Difference, results: Answer, safety: Answer, gate: Gate) -> Answer:
    question = "merge"
    reasons = [_REASONS[answer.question] for answer in (results, safety) if answer.word == "no"]
    reasons += [gate.problem] if gate.problem else []
    violated_rules = dict.fromkeys(failure.rule for failure in gate.failures)
    named_rules = [rule for rule in violated_rules if rule.rstrip("?") not in (RESULTS, FINDINGS)]
    reasons += [f"{rule} is violated" for rule in named_rules]
    if reasons:
        return Answer(question, "no", "; ".join(reasons))
    unanswered = [answer for answer in (results, safety) if answer.word == "not known"]
    reasons = [f"{_UNKNOWN_REASONS[answer.question]} is not known" for answer in unanswered]
    reasons += [f"{rule} cannot be judged" for rule in gate.missing()]
    if reasons:
        return Answer(question, "not known", "; ".join(reasons))
    return Answer(question, "yes", f"the same results, no new finding{_extent(difference)}")


def _without(names: Iterable[str], what: str) -> str:
    """Return that the trace has no code, arguments or IR of some kernels."""
    return f"the trace has no {what} of {_names(names)}"


def _more(values: Sequence[object]) -> str:
    """Return how many values there are beside the first one, as " (and 2 more)"."""
    return f" (and {len(values) - 1} more)" if len(values) > 1 else ""


def _names(names: Iterable[str]) -> str:
    return listed(list(dict.fromkeys(names)), _NAMED)
