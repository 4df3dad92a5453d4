"""Records of performance advice: what is wrong, where, what to try, and the figures behind it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal

from kvtrace.figures.identity import KernelKey
from kvtrace.text import duration, percent

How = Literal["measured", "derived", "assumed"]


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure behind a piece of advice: its label, its value as text, and how it was obtained."""

    name: str
    value: str
    how: How


@dataclass(frozen=True, slots=True)
class Advice:
    """A piece of advice: a loss of performance, its location, and what to try.

    `rule` is a slug; `kernel` is None for advice on the whole program. `cost_ns` is the largest
    possible saving, over the window of all runs; None if unknown. `module` and `source` are the
    kernel's, as in its key.
    """

    rule: str
    kernel: str | None
    file: str | None
    line: int | None
    text: str
    figures: tuple[Figure, ...]
    cost_ns: float | None = None
    module: str | None = None
    source: str | None = None

    @property
    def key(self) -> KernelKey | None:
        """The kernel's key; None for advice on the whole program."""
        if self.kernel is None:
            return None
        return KernelKey(self.module or "", self.kernel, self.source or "")

    @property
    def where(self) -> str | None:
        """The file's name, followed by the line if that is known."""
        name = PurePath(self.file).name if self.file else None
        return f"{name}:{self.line}" if name and self.line else name


def advice_lines(advice: Sequence[Advice], span_ns: int | None = None) -> list[str]:
    """Return a line of text per piece of advice: possible saving, rule, location, figures.

    Savings are shown as a share of `span_ns`; with None, shares are left out.
    """
    lines = []
    for entry in advice:
        figures = "; ".join(f"{f.name} {f.value} ({f.how})" for f in entry.figures)
        location = f" ({entry.where})" if entry.where else ""
        cost = ""
        if entry.cost_ns is not None:
            share = f", {percent(entry.cost_ns / span_ns)}" if span_ns else ""
            cost = f"up to {duration(entry.cost_ns)}{share}: "
        lines.append(
            f"{cost}{entry.rule}: {entry.kernel or 'the program'}{location}: "
            f"{entry.text} [{figures}]"
        )
    return lines
