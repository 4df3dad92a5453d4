"""Lines of the program by the GPU time of what they launch, for the page's first screen."""

from dataclasses import dataclass, replace
from typing import Final, Self

from kvtrace.converters.profile.call_tree import Branch, CallSums, call_tree

__all__ = ["CostlyLine", "CostlyLines", "costly_lines"]

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
    branches = [line for file in root.branches for line in file.branches if _is_line(line)]
    branches.sort(key=lambda line: -line.figures.device_ns)
    lines = tuple(
        CostlyLine(line.step.label, line.step.note, line.figures.device_ns)
        for line in branches[:_MOST]
        if line.figures.device_ns
    )
    known_ns = sum(line.figures.device_ns for line in branches)
    return CostlyLines(lines, known_ns, root.figures.device_ns) if lines else None


def _is_line(branch: Branch) -> bool:
    """Return whether a branch below a file is a line; else it is a kernel without a known line."""
    return branch.step.kernel is None and branch.step.line is not None
