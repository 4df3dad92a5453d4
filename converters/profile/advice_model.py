"""What an advice is: what is wrong, where, what to try, and with which figures."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal

from kvtrace.text import duration, percent

How = Literal["measured", "derived", "assumed"]


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure that an advice is based on."""

    name: str
    value: str
    how: How


@dataclass(frozen=True, slots=True)
class Advice:
    """What is wrong with performance, where, and what to try.

    `rule` is a slug; `kernel` is None where it is about the whole program. `cost_ns` is what could
    be saved at most, over the window of all runs, where that is known.
    """

    rule: str
    kernel: str | None
    file: str | None
    line: int | None
    text: str
    figures: tuple[Figure, ...]
    cost_ns: float | None = None

    @property
    def where(self) -> str | None:
        """The file's name, with the line where it is known."""
        name = PurePath(self.file).name if self.file else None
        return f"{name}:{self.line}" if name and self.line else name


def advice_lines(advice: Sequence[Advice], span_ns: int | None = None) -> list[str]:
    """Return a sentence for each: the time to be won first, of so many ns, then place and figures.

    A span of None: shares are left out.
    """
    lines = []
    for one in advice:
        figures = "; ".join(f"{f.name} {f.value} ({f.how})" for f in one.figures)
        place = f" ({one.where})" if one.where else ""
        cost = ""
        if one.cost_ns is not None:
            share = f", {percent(one.cost_ns / span_ns)}" if span_ns else ""
            cost = f"up to {duration(one.cost_ns)}{share}: "
        lines.append(
            f"{cost}{one.rule}: {one.kernel or 'the program'}{place}: {one.text} [{figures}]"
        )
    return lines
