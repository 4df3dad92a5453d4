"""Rules that a difference must not break: `--fail-on 'findings.new, spills>0, registers>+10%'`.

A rule is `findings.new`, or a figure and a bound: `registers>128` bounds what AFTER has,
`registers>+8` and `registers>+10%` by how much it may have grown, `bytes<-1%` by how much it may
have shrunk. One that ends in `?` is left out where its figure was not measured or judged; any other
is then an error, since a gate that looked at nothing is open.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from kvtrace.schema.errors import BadSetting
from kvtrace.text import count, duration, size

if TYPE_CHECKING:
    from kvtrace.converters.diff.model import FindingDifference, Totals
    from kvtrace.converters.diff.snapshot import Variant

FINDINGS: Final = "findings.new"


@dataclass(frozen=True, slots=True)
class _Figure:
    """A number of a variant, or of a kernel's totals, and how it is written."""

    form: Callable[[float | None], str]
    of_variant: Callable[["Variant"], float | None] | None = None
    of_kernel: Callable[["Totals"], float | None] | None = None


def _resource(name: str) -> Callable[["Variant"], float | None]:
    return lambda variant: variant.resources.get(name)


FIGURES: Final[Mapping[str, _Figure]] = {
    "registers": _Figure(count, of_variant=_resource("registers")),
    "spills": _Figure(count, of_variant=_resource("spills")),
    "shared": _Figure(size, of_variant=_resource("shared_bytes")),
    "time": _Figure(duration, of_kernel=lambda totals: totals.device_median_ns),
    "host": _Figure(duration, of_kernel=lambda totals: totals.host_median_ns),
    "compile": _Figure(duration, of_kernel=lambda totals: totals.compile_ns),
    "launches": _Figure(count, of_kernel=lambda totals: totals.launches),
    "bytes": _Figure(size, of_kernel=lambda totals: totals.bytes),
    "flops": _Figure(count, of_kernel=lambda totals: totals.flops),
}
"""`time` is the median on the device, `host` that of steady launches on the host."""

_RULE: Final = re.compile(
    r"(?P<figure>[\w.]+)\s*(?:(?P<sign>[<>])\s*(?P<change>[+-])?(?P<limit>\d+(?:\.\d+)?)"
    r"\s*(?P<percent>%)?)?\s*(?P<optional>\?)?"
)


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: `growth` tells a bound of the change (a share, if `share`) from one of AFTER."""

    text: str
    figure: str
    above: bool = True
    limit: float = 0.0
    growth: bool = False
    share: bool = False
    optional: bool = False

    def broken(self, before: float | None, after: float) -> bool | None:
        """Tell whether a pair of figures breaks it; None where BEFORE is needed and not known."""
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
    """A rule that is broken: by what, and how."""

    rule: str
    what: str
    text: str


@dataclass(slots=True)
class Gate:
    """Rules, and what breaks them; figures that no kernel has are `missing`."""

    rules: Sequence[Rule]
    failures: list[Failure] = field(default_factory=list)
    _looked_at: set[str] = field(default_factory=set)

    def compare_variants(
        self, kernel: str, pairs: Sequence[tuple["Variant | None", "Variant"]]
    ) -> None:
        """Judge the variants of a kernel that AFTER has, each with that of BEFORE, if any."""
        for rule, figure in self._rules_of("of_variant"):
            assert figure.of_variant is not None
            for before, after in pairs:
                first = None if before is None else figure.of_variant(before)
                label = f"{kernel} ({after.label})" if after.label else kernel
                self._compare(rule, figure, label, first, figure.of_variant(after))

    def compare_kernels(self, kernel: str, before: "Totals | None", after: "Totals") -> None:
        """Judge the sums over a kernel's launches."""
        for rule, figure in self._rules_of("of_kernel"):
            assert figure.of_kernel is not None
            first = None if before is None else figure.of_kernel(before)
            self._compare(rule, figure, kernel, first, figure.of_kernel(after))

    def compare_findings(self, findings: Sequence["FindingDifference"], *, judged: bool) -> None:
        """Judge the findings that only AFTER has."""
        for rule in self.rules:
            if rule.figure != FINDINGS or not judged:
                continue
            self._looked_at.add(rule.text)
            for found in findings:
                f = found.finding
                if found.status == "new" and f.verdict == "violation":
                    where = f"{f.file or '?'}:{f.line or '?'}"
                    self.failures.append(Failure(rule.text, f.kernel, f"{f.rule} at {where}"))

    def missing(self) -> list[str]:
        """Return the rules, but for optional ones, whose figures nothing has."""
        return [
            rule.text
            for rule in self.rules
            if not rule.optional and rule.text not in self._looked_at
        ]

    def _rules_of(self, kind: str) -> Iterator[tuple[Rule, _Figure]]:
        for rule in self.rules:
            figure = FIGURES.get(rule.figure)
            if figure is not None and getattr(figure, kind) is not None:
                yield rule, figure

    def _compare(
        self, rule: Rule, figure: _Figure, what: str, before: float | None, after: float | None
    ) -> None:
        broken = None if after is None else rule.broken(before, after)
        if broken is None:
            return
        self._looked_at.add(rule.text)
        if broken:
            text = f"{figure.form(before)} → {figure.form(after)}"
            if before and after is not None:
                text += f" ({after / before - 1:+.1%})"
            self.failures.append(Failure(rule.text, what, text))


def read_rules(texts: Sequence[str]) -> list[Rule]:
    """Read rules, several in a text separated by commas.

    Raises:
        BadSetting: a text is no rule.

    """
    parts = [part.strip() for text in texts for part in text.split(",") if part.strip()]
    return [_rule(part) for part in parts]


def _rule(text: str) -> Rule:
    found = _RULE.fullmatch(text)
    known = ", ".join((FINDINGS, *FIGURES))
    if found is None or found["figure"] not in (FINDINGS, *FIGURES):
        raise BadSetting(
            f"--fail-on {text!r} is no rule; one is of {known}, as spills>0 or bytes>+1%."
        )
    if (found["figure"] == FINDINGS) != (found["sign"] is None):
        raise BadSetting(
            f"--fail-on {text!r} is no rule: findings.new has no bound, and any other figure needs "
            "one, as registers>+10%."
        )
    above = found["sign"] != "<"
    if found["percent"] and not found["change"]:
        raise BadSetting(f"--fail-on {text!r} is no rule: a share is of a change, as time>+5%.")
    if found["change"] and (found["change"] == "+") != above:
        raise BadSetting(f"--fail-on {text!r} is no rule: write >+ for growth, <- for shrinking.")
    limit = float(found["limit"] or 0)
    return Rule(
        text,
        found["figure"],
        above=above,
        limit=limit / 100 if found["percent"] else limit,
        growth=found["change"] is not None,
        share=found["percent"] is not None,
        optional=found["optional"] is not None,
    )
