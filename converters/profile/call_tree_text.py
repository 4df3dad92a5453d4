"""Text of call trees: a table for a terminal."""

from collections.abc import Iterator, Sequence
from typing import Final

from kvtrace.converters.profile.call_paths import Grouping
from kvtrace.converters.profile.call_tree import Branch, CallSums, call_notes, call_tree
from kvtrace.text import (
    columns,
    count,
    display_width,
    duration,
    percent,
    printable,
    shorten,
    size,
    wrapped,
)

_TITLES: Final[dict[Grouping, str]] = {
    "stack": "by call stack",
    "frames": "by call stack, every frame",
    "module": "by module",
    "source": "by source line",
    "op": "by operator",
}
#: Branches with a smaller share of the time and of the compile time are hidden without `full`.
_LEAST: Final = 0.01
#: Most characters of a line that figures take, without and with bytes.
_FIGURES_WIDTH: Final = (37, 47)
_SEPARATOR: Final = " > "


def call_tree_text(
    sums: CallSums, grouping: Grouping, *, full: bool = False, width: int = 80
) -> list[str]:
    """Return lines for a terminal: the tree, the costliest branches first, and notes on it.

    Without `full`, small branches are left out.
    """
    root = call_tree(sums, grouping)
    if not root.branches:
        return ["no kernel was launched"]
    on_device, bytes_known = sums.cost == "device_ns", "bytes" in sums.known
    header = [_TITLES[grouping], "device" if on_device else "host", "share", "runs"]
    header += ["bytes"] if bytes_known else []
    label_width = width - _FIGURES_WIDTH[bytes_known]
    rows = [
        _row(sums, root, branch, label)
        for label, branch in _lines(sums, root, root, 0, 0.0 if full else _LEAST, label_width)
    ]
    lines = columns([*header, "compile"], rows, width)
    if not full:
        lines.append(f"--full shows branches below {percent(_LEAST)} of time and compile time, too")
    if sums.window is not None and sums.window.how != "whole":
        lines += wrapped(sums.window.sentence, width)
    for note in call_notes(sums):
        lines += wrapped(note, width)
    return lines


def _lines(
    sums: CallSums, root: Branch, branch: Branch, depth: int, least: float, room: int
) -> Iterator[tuple[str, Branch]]:
    """Yield label and branch of each line below `branch`, indented by depth.

    A chain of branches with one child each is one line. Branches with at most the share `least` of
    the root's time and compile time are left out; a label has at most `room` characters.
    """
    for child in branch.branches:
        if not _is_large(sums, root, child, least):
            continue
        steps, end_of_chain = [printable(child.step.label)], child
        while len(end_of_chain.branches) == 1 and end_of_chain.branches[0].branches:
            (end_of_chain,) = end_of_chain.branches
            steps.append(printable(end_of_chain.step.label))
        yield "  " * depth + _fitting_label(steps, max(room, 20)), end_of_chain
        yield from _lines(sums, root, end_of_chain, depth + 1, least, room - 2)


def _fitting_label(steps: Sequence[str], room: int) -> str:
    """Return the labels joined by " > "; if they exceed `room`, those in the middle become "…"."""
    shorter_texts = [
        _SEPARATOR.join([steps[0], "…", *steps[last:]]) for last in range(2, len(steps))
    ]
    for text in (_SEPARATOR.join(steps), *shorter_texts, _SEPARATOR.join(["…", steps[-1]])):
        if display_width(text) <= room:
            return text
    return shorten(text, room)


def _is_large(sums: CallSums, root: Branch, branch: Branch, least: float) -> bool:
    return (
        any(
            getattr(branch.figures, name) > least * getattr(root.figures, name)
            for name in (sums.cost, "compile_ns")
        )
        or not least
    )


def _row(sums: CallSums, root: Branch, branch: Branch, label: str) -> list[str]:
    figures = branch.figures
    cost_ns, total_ns = getattr(figures, sums.cost), getattr(root.figures, sums.cost)
    row = [
        label,
        duration(cost_ns),
        percent(cost_ns / total_ns if total_ns else None),
        count(figures.runs),
    ]
    row += [size(figures.bytes or None)] if "bytes" in sums.known else []
    return [*row, duration(figures.compile_ns or None)]
