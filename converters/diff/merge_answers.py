"""May this be merged? Four questions about a difference, each answered yes, no, or not known.

*Faster?*, *Same results?* and *Safe?* are answered by what was measured, compared and judged; what
was not is `not known`, never yes. *Merge?* follows from the last two and from the rules: whether a
change has to be faster is for a rule to say (`time>+0%`).
"""

from collections.abc import Iterable, Sequence
from typing import Final

from kvtrace.converters.diff.gate import FINDINGS, RESULTS, Gate
from kvtrace.converters.diff.model import Answer, Difference, KernelMeaning
from kvtrace.converters.diff.words import meaning_subject
from kvtrace.text import duration, plural

#: Kernels or outputs that a piece of evidence names.
_NAMED: Final = 2
_REASONS: Final = {"same results": "results differ", "safe": "a violation is new"}
_OPEN: Final = {"same results": "whether results differ", "safe": "whether it is safe"}
_BIT_FOR_BIT: Final = ("same", "equal")


def merge_answers(difference: Difference, gate: Gate | None = None) -> tuple[Answer, ...]:
    """Answer "faster", "same results", "safe" and "merge", in this order.

    Args:
        difference: What differs.
        gate: Rules that were judged; it is given the answer to "same results", too.

    """
    results, safety = _same_results(difference), _safety(difference)
    if gate is not None:
        gate.compare_results(results)
    return (_speed(difference), results, safety, _merge(results, safety, gate))


def _same_results(difference: Difference) -> Answer:
    """Answer whether every kernel that both sides launched computes what it did.

    What changed kernels mean decides; digests of results, where both sides have them, can only
    take a yes back, since roundings change digests.
    """
    question = "same results"
    changed = [kernel for kernel in difference.kernels if kernel.status == "changed"]
    meanings = difference.meanings
    wrong = [each for each in meanings or () if each.same == "no"]
    if wrong:
        more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
        return Answer(question, "no", f"{meaning_subject(wrong[0])}: {wrong[0].evidence}{more}")
    if not difference.before.kernels or not difference.after.kernels:
        return Answer(question, "not known", "a side has no kernel", "record it again")
    unknown = [each for each in meanings or () if each.same == "not known"]
    if changed and meanings is None:
        return Answer(
            question, "not known", f"{plural(len(changed), 'changed kernel')} not compared",
            "give --meaning a number of seconds",
        )  # fmt: skip
    if unknown:
        more = f" (and {len(unknown) - 1} more)" if len(unknown) > 1 else ""
        return Answer(
            question, "not known", f"{meaning_subject(unknown[0])}: {unknown[0].evidence}{more}",
            "record both with KVTRACE_CHECK=kernel:GLOB, or judge the kernel with kvtrace judge",
        )  # fmt: skip
    alone = [kernel.name for kernel in difference.kernels if kernel.status != "changed"]
    if alone:
        text = f"{_names(alone)} {'is' if len(alone) == 1 else 'are'} on one side alone"
        return Answer(question, "not known", text, "kvtrace judge compares with a reference")
    exactly = all(each.answer in _BIT_FOR_BIT for each in meanings or ())
    results = difference.results
    if results is not None and results.first is not None and (exactly or not meanings):
        return Answer(
            question, "not known",
            f"launch {results.first.order} of {results.first.kernel} left other bits, though no "
            "changed kernel explains it",
            "see results below",
        )  # fmt: skip
    return Answer(question, "yes", _kept(meanings or (), difference, exactly=exactly))


def _kept(meanings: Sequence[KernelMeaning], difference: Difference, *, exactly: bool) -> str:
    if not meanings:
        return f"no code or argument of {plural(difference.same_kernels, 'kernel')} changed"
    kept = [each for each in meanings if each.by_data]
    if kept:
        more = f" (and {len(kept) - 1} more)" if len(kept) > 1 else ""
        rest = "; all others are equal by IR" if len(kept) < len(meanings) else ""
        return f"{meaning_subject(kept[0])}: {kept[0].evidence}{more}{rest}"
    kernels = plural(len({each.kernel for each in meanings}), "changed kernel")
    how = "bit for bit" if exactly else "up to rounding"
    return f"results of {kernels} are equal {how}, by IR, at the recorded sizes"


def _safety(difference: Difference) -> Answer:
    question = "safe"
    unjudged = [side for side in (difference.before, difference.after) if side.judged_by is None]
    if unjudged:
        labels = " ".join(side.label for side in unjudged)
        text = f"not checked: {' and '.join(side.label for side in unjudged)}"
        return Answer(question, "not known", text, f"kvtrace sanitize {labels}")
    new = [found.finding for found in difference.findings if found.status == "new"]
    violations = [finding for finding in new if finding.verdict == "violation"]
    if violations:
        first = violations[0]
        more = f" (and {len(violations) - 1} more)" if len(violations) > 1 else ""
        place = f", line {first.line}" if first.line else ""
        return Answer(question, "no", f"new {first.rule} in {first.kernel}{place}{more}")
    open_ = [finding for finding in new if finding.verdict == "unknown"]
    if open_:
        text = f"{open_[0].rule} of {open_[0].kernel} is no longer proven"
        return Answer(question, "not known", text, f"kvtrace sanitize {difference.after.label}")
    still = sum(finding.verdict == "violation" for finding in difference.still)
    had = f"; {plural(still, 'violation')} on both sides" if still else ""
    return Answer(question, "yes", f"no new violation{had}")


def _speed(difference: Difference) -> Answer:
    """Answer by the kernels' medians on the device, weighed by the launches of BEFORE."""
    question = "faster"
    compared = [
        (time, one)
        for time in difference.times
        for one in time.compared
        if one.kind == "device" and one.ratio is not None
    ]
    if not compared:
        reasons = [one.reason for t in difference.times for one in t.compared if one.reason]
        text = f"GPU times are not compared: {reasons[0]}" if reasons else "no GPU time on a side"
        return Answer(question, "not known", text, "record both sides on one GPU")
    claimed = [pair for pair in compared if pair[1].claimed]
    launches = sum(time.after.launches for time, _ in compared)
    if not claimed:
        text = f"no kernel's GPU time changed, of {plural(launches, 'launch')}"
        return Answer(question, "no", text)
    before = sum(one.before_ns * time.before.launches for time, one in claimed)
    after = sum(one.after_ns * time.before.launches for time, one in claimed)
    faster = after < before
    ratio = before / after if faster else after / before
    changed = sum(time.before.launches for time, _ in claimed)
    text = (
        f"{ratio:.2f}× {'faster' if faster else 'slower'}, GPU time {duration(before)} → "
        f"{duration(after)} of {plural(changed, 'launch')}, p < 0.01"
    )
    against = [time.name for time, one in claimed if ((one.ratio or 0) > 1) == faster]
    if against:
        text += f"; {_names(against)} {'slower' if faster else 'faster'}"
    return Answer(question, "yes" if faster else "no", text)


def _merge(results: Answer, safety: Answer, gate: Gate | None) -> Answer:
    question = "merge"
    reasons = [_REASONS[each.question] for each in (results, safety) if each.word == "no"]
    if gate is not None:
        reasons += [gate.problem] if gate.problem else []
        violated = dict.fromkeys(failure.rule for failure in gate.failures)
        named = [rule for rule in violated if rule.rstrip("?") not in (RESULTS, FINDINGS)]
        reasons += [f"{rule} is violated" for rule in named]
    if reasons:
        return Answer(question, "no", "; ".join(reasons))
    unanswered = [each for each in (results, safety) if each.word == "not known"]
    reasons = [f"{_OPEN[each.question]} is not known" for each in unanswered]
    reasons += [f"{rule} cannot be judged" for rule in (gate.missing() if gate else ())]
    if reasons:
        return Answer(question, "not known", "; ".join(reasons))
    return Answer(question, "yes", "the same results, no new violation")


def _names(names: Iterable[str]) -> str:
    listed = list(dict.fromkeys(names))
    more = f" and {len(listed) - _NAMED} more" if len(listed) > _NAMED else ""
    return f"{', '.join(listed[:_NAMED])}{more}"
