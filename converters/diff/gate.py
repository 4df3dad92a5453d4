"""Rules that a difference must not violate: `--fail-on 'findings.new, spills>0, registers>+10%'`.

A rule is `findings.new`, `bounds.narrower`, `results` (results of changed kernels differ), or a
figure with a limit: `registers>128` limits the value in AFTER, `registers>+8` and `registers>+10%`
the growth, `bytes<-1%` the reduction. `bytes/launch` and `flops/launch` compare launches of the
same shapes and scalars, so they do not depend on the number of launches. A change of time violates
a rule only if its interval excludes "no change". If the figure was not measured or judged, a rule
that ends in `?` is skipped; any other is an error, since it would pass unchecked.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from kvtrace.converters.diff.figures import (
    BYTES,
    FLOPS,
    LAUNCHES,
    VARIANT_FIGURES,
    Compared,
    FigureKind,
    work_per_launch,
)
from kvtrace.project import read_project
from kvtrace.schema.errors import BadSetting
from kvtrace.text import duration, plural, quantity

if TYPE_CHECKING:
    from kvtrace.converters.diff.model import (
        Answer,
        BoundChange,
        FindingDifference,
        TimeComparison,
        Totals,
    )
    from kvtrace.converters.diff.variant import Variant

FINDINGS: Final = "findings.new"
BOUNDS: Final = "bounds.narrower"
RESULTS: Final = "results"
WARMUP: Final = "compiled_after_warmup"
_WITHOUT_BOUND: Final = (FINDINGS, BOUNDS, RESULTS)

#: Figures by their names in rules.
_OF_VARIANTS: Final = {figure.name.partition("_")[0]: figure for figure in VARIANT_FIGURES}
_OF_KERNELS: Final[Mapping[str, FigureKind["Totals"]]] = {
    "time": FigureKind("device time", "ns", lambda totals: totals.device_median_ns),
    "host": FigureKind("host time", "ns", lambda totals: totals.host_median_ns),
    "compile": FigureKind("compile time", "ns", lambda totals: totals.compile_ns),
    "launches": LAUNCHES,
    "bytes": BYTES,
    "flops": FLOPS,
}
"""`time` is the median on the device, `host` that of steady launches on the host."""
_PER_LAUNCH: Final = {"bytes/launch": BYTES, "flops/launch": FLOPS}
_KNOWN_FIGURES: Final = (*_WITHOUT_BOUND, *_OF_VARIANTS, *_OF_KERNELS, *_PER_LAUNCH, WARMUP)
#: Figures whose growth is judged by an interval → kind of time.
_TIMES: Final = {"time": "device", "host": "host"}

_RULE: Final = re.compile(
    r"(?P<figure>[\w./]+)\s*(?:(?P<sign>[<>])\s*(?P<change>[+-])?(?P<limit>\d+(?:\.\d+)?)"
    r"\s*(?P<percent>%)?)?\s*(?P<optional>\?)?"
)


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: the limit of a figure in AFTER, or with `growth`, of its change from BEFORE.

    `above`: larger values violate it, else smaller ones. `share`: the change is relative to BEFORE.
    An `optional` rule may go unjudged.
    """

    text: str
    figure: str
    above: bool = True
    limit: float = 0.0
    growth: bool = False
    share: bool = False
    optional: bool = False

    def broken(self, before: float | None, after: float) -> bool | None:
        """Return whether the values violate the rule; None if `before` is needed but unknown."""
        if not self.growth:
            return after > self.limit if self.above else after < self.limit
        if before is None:
            return None
        change = after - before
        if self.share:
            if before == 0:
                return change > 0 if self.above else False
            change /= before
        return change > self.limit if self.above else change < -self.limit


@dataclass(frozen=True, slots=True)
class Failure:
    """A violation of a rule: `what` is the kernel or variant, `text` has the values."""

    rule: str
    what: str
    text: str


@dataclass(slots=True)
class Gate:
    """Rules with their violations (`failures`), which the methods `compare_…` add.

    `problem` is a reason to fail besides the rules, for example a failed program.
    """

    rules: Sequence[Rule]
    failures: list[Failure] = field(default_factory=list)
    problem: str | None = None
    _checked: set[str] = field(default_factory=set)

    def compare_variants(
        self, kernel: str, pairs: Sequence[tuple["Variant | None", "Variant"]]
    ) -> None:
        """Judge the variants of a kernel of AFTER, each against its match in BEFORE, if any."""
        for rule, figure in self._rules_on(_OF_VARIANTS):
            for before, after in pairs:
                label = f"{kernel} ({after.label})" if after.label else kernel
                value_before = None if before is None else figure.read(before)
                self._judge(rule, figure.unit, label, value_before, figure.read(after))

    def compare_kernels(self, kernel: str, before: "Totals | None", after: "Totals") -> None:
        """Judge the sums over a kernel's launches, and values of its median times."""
        for rule, figure in self._rules_on(_OF_KERNELS):
            if not (rule.growth and rule.figure in _TIMES):
                values = None if before is None else figure.read(before), figure.read(after)
                cause = _launch_cause(before, after) if figure in (BYTES, FLOPS) else ""
                self._judge(rule, figure.unit, kernel, *values, cause)

    def compare_work(
        self, kernel: str, before: "Sequence[Variant] | None", after: "Sequence[Variant]"
    ) -> None:
        """Judge the bytes and FLOPs of a kernel's mean launch, at the same shapes and scalars."""
        for rule, figure in self._rules_on(_PER_LAUNCH):
            self._judge(rule, figure.unit, kernel, *work_per_launch(before, after, figure))

    def compare_findings(self, findings: Sequence["FindingDifference"], *, judged: bool) -> None:
        """Judge violations that only AFTER has; nothing is judged unless `judged`."""
        if judged:
            new = [change.finding for change in findings if change.status == "new"]
            self._judge_listed(FINDINGS, [
                (f.kernel, f"{f.rule} at {f.file or '?'}:{f.line or '?'}")
                for f in new
                if f.verdict == "violation"
            ])  # fmt: skip

    def compare_times(self, kernel: str, compared: Sequence["TimeComparison"]) -> None:
        """Judge the growth of a kernel's times, if their intervals exclude "no change"."""
        for rule in self.rules:
            for comparison in compared:
                interval = comparison.interval
                if (
                    not rule.growth
                    or _TIMES.get(rule.figure) != comparison.kind
                    or interval is None
                ):
                    continue
                self._checked.add(rule.text)
                is_certain = interval[0] > 1 or interval[1] < 1
                if is_certain and rule.broken(comparison.before_ns, comparison.after_ns):
                    change = f"{comparison.after_ns / comparison.before_ns - 1:+.1%}"
                    before, after = duration(comparison.before_ns), duration(comparison.after_ns)
                    text = f"{before} → {after} ({change})"
                    self.failures.append(Failure(rule.text, kernel, text))

    def compare_bounds(self, bounds: Sequence["BoundChange"], *, judged: bool) -> None:
        """Judge the bounds of size ranges that became narrower; nothing unless `judged`."""
        if judged:
            worse = [bound for bound in bounds if bound.direction == "worse"]
            limits = ["no limit" if b.before is None else f"{b.before:,}" for b in worse]
            self._judge_listed(BOUNDS, [
                (bound.kernel, f"{bound.what}: {limit} → {bound.after:,}")
                for bound, limit in zip(worse, limits, strict=True)
            ])  # fmt: skip

    def compare_results(self, answer: "Answer") -> None:
        """Judge the answer to "same results"; "not known" leaves the rule unjudged."""
        if answer.word != "not known":
            differ = [("results differ", answer.evidence)] if answer.word == "no" else []
            self._judge_listed(RESULTS, differ)

    def compare_waits(self, counts: "Callable[[], Counter[str] | None]") -> None:
        """Judge how many launches of AFTER waited after the mark `serve`, by kernel, if known."""
        rules = [rule for rule in self.rules if rule.figure == WARMUP]
        if not rules or (waits := counts()) is None:
            return
        for rule in rules:
            for kernel, number in (waits or {"": 0}).items():
                self._judge(rule, "count", kernel, None, number)

    @property
    def wants_bounds(self) -> bool:
        """A rule needs conditions for all sizes, which are expensive to derive."""
        return any(rule.figure == BOUNDS for rule in self.rules)

    def missing(self) -> list[str]:
        """Return the texts of required rules that were not judged."""
        return [
            rule.text for rule in self.rules if not rule.optional and rule.text not in self._checked
        ]

    def skipped(self) -> list[str]:
        """Return the texts of optional rules that were not judged."""
        return [r.text for r in self.rules if r.optional and r.text not in self._checked]

    @property
    def verdict(self) -> tuple[bool, str]:
        """True if the gate passes, and a phrase with the reason."""
        violated_count = len({failure.rule for failure in self.failures})
        reasons = [self.problem] if self.problem else []
        reasons += [f"{plural(violated_count, 'rule')} violated"] if violated_count else []
        if missing := self.missing():
            reasons.append(f"{plural(len(missing), 'rule')} not judged")
        if reasons:
            return False, ", ".join(reasons)
        total = len(self.rules)
        return (
            True,
            f"none of the {total} rules is violated" if total > 1 else "no rule is violated",
        )

    def complaint(self) -> str | None:
        """Return an error message on required rules that cannot be judged, or None."""
        missing = self.missing()
        if not missing:
            return None
        return (
            f"--fail-on {', '.join(missing)} cannot be judged: no kernel has the figure, a side "
            f"was not judged, or {WARMUP} lacks kvtrace.mark('serve') (a rule that ends in ? is "
            "skipped then)"
        )

    def _rules_on(
        self, figures: Mapping[str, FigureKind[Compared]]
    ) -> Iterator[tuple[Rule, FigureKind[Compared]]]:
        """Yield the rules on some figures, each with its figure."""
        for rule in self.rules:
            if rule.figure in figures:
                yield rule, figures[rule.figure]

    def _judge_listed(self, figure: str, violations: Sequence[tuple[str, str]]) -> None:
        """Judge the rules on a figure without a limit, which each violation breaks."""
        for rule in self.rules:
            if rule.figure == figure:
                self._checked.add(rule.text)
                self.failures += [Failure(rule.text, *violation) for violation in violations]

    def _judge(
        self,
        rule: Rule,
        unit: str,
        what: str,
        before: float | None,
        after: float | None,
        cause: str = "",
    ) -> None:
        broken = None if after is None else rule.broken(before, after)
        if broken is None:
            return
        self._checked.add(rule.text)
        if broken:
            text = f"{cause}{quantity(before, unit)} → {quantity(after, unit)}"
            if before and after is not None:
                text += f" ({after / before - 1:+.1%})"
            self.failures.append(Failure(rule.text, what, text))


def _launch_cause(before: "Totals | None", after: "Totals") -> str:
    """Return the change of a kernel's launches as text, to precede a sum over launches; else ""."""
    if before is None or before.launches == after.launches:
        return ""
    return f"launches {before.launches:,} → {after.launches:,}; "


def read_rules(texts: Sequence[str]) -> list[Rule]:
    """Return the rules in some texts; a text may have several, separated by commas.

    Raises:
        BadSetting: a text is not a rule.
    """
    parts = [part.strip() for text in texts for part in text.split(",") if part.strip()]
    return [_rule(part) for part in parts]


def project_rules() -> list[str]:
    """Return the texts of rules in `[tool.kvtrace.diff]` of the project; [] without the table.

    Raises:
        BadSetting: the file cannot be read, or does not hold a list of rules.
    """
    project = read_project()
    if project.problem:
        raise BadSetting(f"{project.problem}: fix it, or pass --fail-on")
    table = project.table.get("diff", {})
    rules = table.get("fail-on", []) if isinstance(table, dict) else table
    if isinstance(rules, str):
        return [rules]
    if not isinstance(rules, list) or not all(isinstance(rule, str) for rule in rules):
        raise BadSetting(f"fail-on in {project.file} must be a list of rules, such as ['spills>0']")
    return rules


def _rule(text: str) -> Rule:
    match = _RULE.fullmatch(text)
    figures = ", ".join(_KNOWN_FIGURES)
    if match is None or match["figure"] not in _KNOWN_FIGURES:
        raise BadSetting(
            f"--fail-on {text!r} is not a rule: write a figure ({figures}) and a limit, such as "
            "spills>0 or bytes>+1%"
        )
    if (match["figure"] in _WITHOUT_BOUND) != (match["sign"] is None):
        raise BadSetting(
            f"--fail-on {text!r} is not a rule: {FINDINGS}, {BOUNDS} and {RESULTS} have no limit, "
            "and any other figure needs one, such as registers>+10%"
        )
    above = match["sign"] != "<"
    if match["percent"] and not match["change"]:
        raise BadSetting(
            f"--fail-on {text!r} is not a rule: a percentage needs a sign, such as time>+5%"
        )
    if match["change"] and (match["change"] == "+") != above:
        raise BadSetting(
            f"--fail-on {text!r} is not a rule: write >+ for growth, <- for a reduction"
        )
    limit = float(match["limit"] or 0)
    return Rule(
        text,
        match["figure"],
        above=above,
        limit=limit / 100 if match["percent"] else limit,
        growth=match["change"] is not None,
        share=match["percent"] is not None,
        optional=match["optional"] is not None,
    )
