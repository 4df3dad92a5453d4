"""Lines of the program by the GPU time of what they launch, for the page's first screen."""

from dataclasses import dataclass, replace
from typing import Final, Self

from kvtrace.converters.profile.call_tree import CallSums, call_tree

#: Most lines on the first screen.
_MOST: Final = 3


@dataclass(frozen=True, slots=True)
class CostlyLine:
    """A line of the program, or several whose work was fused, with the GPU time of its kernels."""

    label: str
    """Files, lines and functions, as in `profile --by source`."""
    code: str | None
    """The lines' text, each after its number; None if not recorded."""
    device_ns: int


@dataclass(frozen=True, slots=True)
class CostlyLines:
    """The lines with most GPU time, of the `known_ns` whose line is known, of `device_ns` in all.

    `device_ns` is the measured GPU time of the report's window.
    """

    lines: tuple[CostlyLine, ...]
    known_ns: int
    device_ns: int

    def without_code(self) -> Self:
        """Return the lines without their text."""
        return replace(self, lines=tuple(replace(line, code=None) for line in self.lines))


def costly_lines(sums: CallSums) -> CostlyLines | None:
    """Return the costliest lines of the program; None if no GPU time or no line is known."""
    if sums.cost != "device_ns":
        return None
    root = call_tree(sums, "source")
    # Below a file are lines, and kernels without a known line.
    below_files = (branch for file in root.branches for branch in file.branches)
    branches = [b for b in below_files if b.step.kernel is None and b.step.line is not None]
    branches.sort(key=lambda line: -line.figures.device_ns)
    lines = tuple(
        CostlyLine(line.step.label, line.step.note, line.figures.device_ns)
        for line in branches[:_MOST]
        if line.figures.device_ns
    )
    known_ns = sum(line.figures.device_ns for line in branches)
    return CostlyLines(lines, known_ns, root.figures.device_ns) if lines else None
