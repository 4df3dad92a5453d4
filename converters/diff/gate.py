"""Rules that a difference must not violate: `--fail-on 'findings.new, spills>0, registers>+10%'`.

A rule is `findings.new`, `bounds.narrower`, `results` (changed kernels compute something else), or
a figure and a bound: `registers>128` bounds the value in AFTER, `registers>+8` and `registers>+10%`
the growth, `bytes<-1%` the reduction. `bytes/launch` and `flops/launch` compare launches of the
same shapes and scalars, so they do not depend on the number of launches. A change of time violates
a rule if the interval excludes "no change". A rule that ends in `?` is skipped if its figure was
not measured or judged; any other is then an error, since a gate must not pass what it did not
check.
"""

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Generic, Literal, TypeVar

from kvtrace.converters.diff.figures import variant_occupancy, work_per_launch
from kvtrace.schema.errors import BadSetting
from kvtrace.text import count, duration, percent, plural, size

if TYPE_CHECKING:
    from kvtrace.converters.diff.model import (
        Answer,
        BoundChange,
        FindingDifference,
        TimeComparison,
        Totals,
    )
    from kvtrace.converters.diff.snapshot import Variant

FINDINGS: Final = "findings.new"
BOUNDS: Final = "bounds.narrower"
RESULTS: Final = "results"
_WITHOUT_BOUND: Final = (FINDINGS, BOUNDS, RESULTS)
_Of = TypeVar("_Of")
_Form = Callable[[float | None], str]


@dataclass(frozen=True, slots=True)
class _Figure(Generic[_Of]):
    """The reader of a number from a variant or from a kernel's totals, and its text form."""

    form: _Form
    read: Callable[[_Of], float | None]


OF_VARIANTS: Final[Mapping[str, _Figure["Variant"]]] = {
    "registers": _Figure(count, lambda variant: variant.resources.get("registers")),
    "spills": _Figure(count, lambda variant: variant.resources.get("spills")),
    "shared": _Figure(size, lambda variant: variant.resources.get("shared_bytes")),
    "occupancy": _Figure(percent, variant_occupancy),
}
OF_KERNELS: Final[Mapping[str, _Figure["Totals"]]] = {
    "time": _Figure(duration, lambda totals: totals.device_median_ns),
    "host": _Figure(duration, lambda totals: totals.host_median_ns),
    "compile": _Figure(duration, lambda totals: totals.compile_ns),
    "launches": _Figure(count, lambda totals: totals.launches),
    "bytes": _Figure(size, lambda totals: totals.bytes),
    "flops": _Figure(count, lambda totals: totals.flops),
}
"""`time` is the median on the device, `host` that of steady launches on the host."""
_PER_LAUNCH: Final[Mapping[str, tuple[Literal["bytes", "flops"], _Form]]] = {
    "bytes/launch": ("bytes", size),
    "flops/launch": ("flops", count),
}
_KNOWN: Final = (*_WITHOUT_BOUND, *OF_VARIANTS, *OF_KERNELS, *_PER_LAUNCH)
#: Figures whose growth is judged by a confidence interval, and their kind of time.
_TIMES: Final = {"time": "device", "host": "host"}

_RULE: Final = re.compile(
    r"(?P<figure>[\w./]+)\s*(?:(?P<sign>[<>])\s*(?P<change>[+-])?(?P<limit>\d+(?:\.\d+)?)"
    r"\s*(?P<percent>%)?)?\s*(?P<optional>\?)?"
)


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: a bound of AFTER, or with `growth` of the change (a share of BEFORE, if `share`)."""

    text: str
    figure: str
    above: bool = True
    limit: float = 0.0
    growth: bool = False
    share: bool = False
    optional: bool = False

    def broken(self, before: float | None, after: float) -> bool | None:
        """Return whether two values break the rule; None if BEFORE is needed and unknown."""
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
    """A violation of a rule: the kernel or variant, and the values as text."""

    rule: str
    what: str
    text: str


@dataclass(slots=True)
class Gate:
    """Rules and their violations; rules whose figures no kernel has are `missing`.

    `problem` fails the comparison whatever the rules say, for example a failed program.
    """

    rules: Sequence[Rule]
    failures: list[Failure] = field(default_factory=list)
    problem: str | None = None
    _checked: set[str] = field(default_factory=set)

    def compare_variants(
        self, kernel: str, pairs: Sequence[tuple["Variant | None", "Variant"]]
    ) -> None:
        """Judge the variants of a kernel of AFTER, each against that of BEFORE, if any."""
        for rule in self.rules:
            figure = OF_VARIANTS.get(rule.figure)
            if figure is None:
                continue
            for before, after in pairs:
                label = f"{kernel} ({after.label})" if after.label else kernel
                first = None if before is None else figure.read(before)
                self._judge(rule, figure.form, label, first, figure.read(after))

    def compare_kernels(self, kernel: str, before: "Totals | None", after: "Totals") -> None:
        """Judge the sums over a kernel's launches."""
        for rule in self.rules:
            figure = OF_KERNELS.get(rule.figure)
            if figure is not None and not (rule.growth and rule.figure in _TIMES):
                numbers = None if before is None else figure.read(before), figure.read(after)
                cause = _launch_cause(before, after) if rule.figure in ("bytes", "flops") else ""
                self._judge(rule, figure.form, kernel, *numbers, cause)

    def compare_work(
        self, kernel: str, before: "Sequence[Variant] | None", after: "Sequence[Variant]"
    ) -> None:
        """Judge a kernel's mean launch, compared at the same shapes and scalars."""
        for rule in self.rules:
            if rule.figure in _PER_LAUNCH:
                name, form = _PER_LAUNCH[rule.figure]
                self._judge(rule, form, kernel, *work_per_launch(before, after, name))

    def compare_findings(self, findings: Sequence["FindingDifference"], *, judged: bool) -> None:
        """Judge the findings of AFTER only."""
        for rule in self.rules:
            if rule.figure != FINDINGS or not judged:
                continue
            self._checked.add(rule.text)
            for change in findings:
                f = change.finding
                if change.status == "new" and f.verdict == "violation":
                    where = f"{f.file or '?'}:{f.line or '?'}"
                    self.failures.append(Failure(rule.text, f.kernel, f"{f.rule} at {where}"))

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
                certain = interval[0] > 1 or interval[1] < 1
                if certain and rule.broken(comparison.before_ns, comparison.after_ns):
                    change = f"{comparison.after_ns / comparison.before_ns - 1:+.1%}"
                    before, after = duration(comparison.before_ns), duration(comparison.after_ns)
                    text = f"{before} → {after} ({change})"
                    self.failures.append(Failure(rule.text, kernel, text))

    def compare_bounds(self, bounds: Sequence["BoundChange"], *, judged: bool) -> None:
        """Judge the bounds of size ranges that became narrower."""
        for rule in self.rules:
            if rule.figure != BOUNDS or not judged:
                continue
            self._checked.add(rule.text)
            for bound in bounds:
                if bound.direction == "worse":
                    before = "no limit" if bound.before is None else f"{bound.before:,}"
                    text = f"{bound.what}: {before} → {bound.after:,}"
                    self.failures.append(Failure(rule.text, bound.kernel, text))

    def compare_results(self, answer: "Answer") -> None:
        """Judge whether changed kernels compute the same results; "not known" is not judged."""
        for rule in self.rules:
            if rule.figure == RESULTS and answer.word != "not known":
                self._checked.add(rule.text)
                if answer.word == "no":
                    self.failures.append(Failure(rule.text, "results differ", answer.evidence))

    @property
    def wants_bounds(self) -> bool:
        """A rule is about conditions for all sizes, which are expensive to derive."""
        return any(rule.figure == BOUNDS for rule in self.rules)

    def missing(self) -> list[str]:
        """Return the required rules without a figure."""
        return [
            rule.text for rule in self.rules if not rule.optional and rule.text not in self._checked
        ]

    def skipped(self) -> list[str]:
        """Return the optional rules without a figure."""
        return [r.text for r in self.rules if r.optional and r.text not in self._checked]

    @property
    def verdict(self) -> tuple[bool, str]:
        """Whether the gate passes, and a sentence with the reason."""
        violated = len({failure.rule for failure in self.failures})
        wrong = [self.problem] if self.problem else []
        wrong += [f"{plural(violated, 'rule')} violated"] if violated else []
        if missing := self.missing():
            wrong.append(f"{plural(len(missing), 'rule')} not judged")
        if wrong:
            return False, ", ".join(wrong)
        total = len(self.rules)
        return (
            True,
            f"none of the {total} rules is violated" if total > 1 else "no rule is violated",
        )

    def complaint(self) -> str | None:
        """Return a sentence on the rules that cannot be judged, or None."""
        missing = self.missing()
        if not missing:
            return None
        return (
            f"--fail-on {', '.join(missing)} cannot be judged: no kernel has the figure, or a side "
            "was not judged; end a rule in ? to leave it out then."
        )

    def _judge(
        self,
        rule: Rule,
        form: _Form,
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
            text = f"{cause}{form(before)} → {form(after)}"
            if before and after is not None:
                text += f" ({after / before - 1:+.1%})"
            self.failures.append(Failure(rule.text, what, text))


def _launch_cause(before: "Totals | None", after: "Totals") -> str:
    """Return the change of launches as text, to precede that of sums over launches."""
    if before is None or before.launches == after.launches:
        return ""
    return f"launches {before.launches:,} → {after.launches:,}; "


def read_rules(texts: Sequence[str]) -> list[Rule]:
    """Read rules; a text may have several, separated by commas.

    Raises:
        BadSetting: a text is not a rule.
    """
    parts = [part.strip() for text in texts for part in text.split(",") if part.strip()]
    return [_rule(part) for part in parts]


def project_rules(path: Path = Path("pyproject.toml")) -> list[str]:
    """Return the rules in `[tool.kvtrace.diff]` of a project's file; none without that file.

    Raises:
        BadSetting: the file cannot be read, or does not hold a list of rules.
    """
    if not path.is_file():
        return []
    try:
        settings = tomllib.loads(path.read_text(encoding="utf-8"))
        rules = settings.get("tool", {}).get("kvtrace", {}).get("diff", {}).get("fail-on", [])
    except (tomllib.TOMLDecodeError, OSError, UnicodeDecodeError) as error:
        raise BadSetting(f"{path} cannot be read ({error}); fix it, or give --fail-on.") from error
    if isinstance(rules, str):
        return [rules]
    if not isinstance(rules, list) or not all(isinstance(rule, str) for rule in rules):
        raise BadSetting(f"fail-on in {path} is not a list of rules, as ['spills>0'].")
    return rules


def _rule(text: str) -> Rule:
    match = _RULE.fullmatch(text)
    figures = ", ".join(_KNOWN)
    if match is None or match["figure"] not in _KNOWN:
        raise BadSetting(
            f"--fail-on {text!r} is not a rule; one is of {figures}, as spills>0 or bytes>+1%."
        )
    if (match["figure"] in _WITHOUT_BOUND) != (match["sign"] is None):
        raise BadSetting(
            f"--fail-on {text!r} is not a rule: {FINDINGS}, {BOUNDS} and {RESULTS} have no bound, "
            "and any other figure needs one, as registers>+10%."
        )
    above = match["sign"] != "<"
    if match["percent"] and not match["change"]:
        raise BadSetting(f"--fail-on {text!r} is not a rule: a share is of a change, as time>+5%.")
    if match["change"] and (match["change"] == "+") != above:
        raise BadSetting(f"--fail-on {text!r} is not a rule: write >+ for growth, <- for less.")
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
