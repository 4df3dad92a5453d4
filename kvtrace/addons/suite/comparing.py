"""Comparison of two results of suites: call by call, beyond the noise of their rounds."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kvtrace.addons.suite.results import Measured, Result, Times, Verdict, change, duration


@dataclass(frozen=True, slots=True)
class Comparison:
    """A call in two results.

    Attributes:
        name: of the call in the newer result.
        before: its times in the other result, and `after` in the newer one.
        launches: in the recorded run.
        verdict: what `change` says; not known, too, if two clocks took the times.
        same_bytes: whether equal inputs gave the same bytes; None if inputs may differ.
    """

    name: str
    before: Times
    after: Times
    launches: int
    verdict: Verdict
    same_bytes: bool | None

    @property
    def ratio(self) -> float:
        """The newer median, relative to that of the other result."""
        return self.after.median_ns / self.before.median_ns

    def is_regression(self, threshold: float) -> bool:
        """Return whether the call is slower by more than a share of its time."""
        return self.verdict == "slower" and self.ratio > 1 + threshold


def compare(before: Result, after: Result) -> list[Comparison]:
    """Return the calls that were timed in both results, in the order of `after`.

    Calls are the same if their names, kernels and arguments are; in suites of two recordings, the
    only ones with equal kernels and arguments are.
    """
    pairs = ((call, _counterpart(call, before.calls)) for call in after.calls)
    same_inputs = before.settings.get("seed") == after.settings.get("seed")
    return [
        Comparison(
            call.name, other.time, call.time, call.launches,
            change(other.time, call.time) if other.clock == call.clock else "not known",
            call.results == other.results if same_inputs and call.name == other.name else None,
        )
        for call, other in pairs
        if other is not None and other.time and call.time and other.time.median_ns
    ]  # fmt: skip


def _counterpart(call: Measured, calls: Sequence[Measured]) -> Measured | None:
    alike = [other for other in calls if (other.kernel, other.title) == (call.kernel, call.title)]
    named = [other for other in alike if other.name == call.name]
    return (named or alike)[0] if len(named or alike) == 1 else None


def comparison_lines(comparisons: Sequence[Comparison], label: str) -> Iterator[str]:
    """Yield lines on calls that are faster or slower than in the result `label`, and a sum."""
    yield ""
    if not comparisons:
        yield f"No call was timed here and in {label}, so nothing is compared"
        return
    changed = [one for one in comparisons if one.verdict in ("faster", "slower")]
    for one in sorted(changed, key=lambda one: one.ratio):
        yield (
            f"{one.name} is {one.verdict} than in {label}: {duration(one.before.median_ns)} to "
            f"{duration(one.after.median_ns)} ({one.ratio:.3f} times)"
        )
    before_ns, after_ns = (
        sum(one.launches * times.median_ns for one, times in pairs)
        for pairs in (
            [(one, one.before) for one in comparisons], [(one, one.after) for one in comparisons],
        )
    )  # fmt: skip
    counts = {
        verdict: sum(one.verdict == verdict for one in comparisons)
        for verdict in ("faster", "slower", "same", "not known")
    }
    text = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
    yield (
        f"Against {label}: {text} of {len(comparisons)} calls; weighted by launches "
        f"{duration(before_ns)} to {duration(after_ns)} ({after_ns / before_ns:.3f} times)"
    )
    others = [one.name for one in comparisons if one.same_bytes is False]
    if others:
        yield f"Other bytes than in {label}: {', '.join(others)}"
