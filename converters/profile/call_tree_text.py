"""Text of call trees: a table for a terminal."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from kvtrace.converters.profile.call_paths import Grouping
from kvtrace.converters.profile.call_tree import Branch, CallSums, call_notes, call_tree
from kvtrace.figures.window import nothing_sentence
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
#: Characters of a column of figures, and terminals in which there is room for all columns.
_FIGURE_WIDTH: Final = 10
_WIDE: Final = 100
_SEPARATOR: Final = " > "


def call_tree_text(
    sums: CallSums, grouping: Grouping, *, full: bool = False, width: int = 80
) -> list[str]:
    """Return lines for a terminal: the tree, the costliest branches first, and notes on it.

    Without `full`, small branches are left out.
    """
    root = call_tree(sums, grouping)
    if not root.branches:
        return [nothing_sentence(sums.window, imported=sums.imported)]
    header = _header(sums, grouping, width)
    label_width = width - _FIGURE_WIDTH * len(header)
    rows = []
    ranked = [sums.cost, *(["compile_ns"] if "compile" in header else [])]
    least = {name: 0 if full else _LEAST * getattr(root.figures, name) for name in ranked}
    for label, branch in _lines(root, 0, least, label_width):
        cells = _cells(sums, root, branch)
        rows.append([label, *(cells[name] for name in header)])
    lines = columns([_TITLES[grouping], *header], rows, width)
    if not full:
        names = " and compile time" if "compile" in header else ""
        lines.append(f"--full shows branches below {percent(_LEAST)} of time{names}, too")
    if sums.window is not None and sums.window.how != "whole":
        lines += wrapped(sums.window.sentence, width)
    for note in call_notes(sums, grouping):
        lines += wrapped(note, width)
    return lines


def _lines(
    branch: Branch, depth: int, least: Mapping[str, float], room: int
) -> Iterator[tuple[str, Branch]]:
    """Yield label and branch of each line below `branch`, indented by depth.

    A chain of branches with one child each is one line. Branches of which no figure exceeds the one
    in `least` are left out, unless all of these are 0; a label has at most `room` characters.
    """
    for child in branch.branches:
        figures = child.figures
        if any(least.values()) and all(getattr(figures, name) <= least[name] for name in least):
            continue
        steps, end_of_chain = [printable(child.step.label)], child
        while len(end_of_chain.branches) == 1 and end_of_chain.branches[0].branches:
            (end_of_chain,) = end_of_chain.branches
            steps.append(printable(end_of_chain.step.label))
        yield "  " * depth + _fitting_label(steps, max(room, 20)), end_of_chain
        yield from _lines(end_of_chain, depth + 1, least, room - 2)


def _fitting_label(steps: Sequence[str], room: int) -> str:
    """Return the labels joined by " > "; if they exceed `room`, those in the middle become "…"."""
    shorter_texts = [
        _SEPARATOR.join([steps[0], "…", *steps[last:]]) for last in range(2, len(steps))
    ]
    for text in (_SEPARATOR.join(steps), *shorter_texts, _SEPARATOR.join(["…", steps[-1]])):
        if display_width(text) <= room:
            return text
    return shorten(text, room)


def _header(sums: CallSums, grouping: Grouping, width: int) -> list[str]:
    """Return the headers of the figures: of modules, both passes before their sum."""
    names = {"runs": "executions", "bytes": "bytes", "compile_ns": "compile"}
    further = [header for name, header in names.items() if name in sums.known]
    if sums.cost != "device_ns" or grouping != "module":
        cost = {"device_ns": "device", "host_ns": "host", "runs": "executions"}[sums.cost]
        return [cost, "share", *(name for name in further if name != cost)]
    passes = ["forward", "backward", "sum", "share"]
    return [*passes, *further] if width >= _WIDE else passes


def _cells(sums: CallSums, root: Branch, branch: Branch) -> dict[str, str]:
    """Return all figures of a branch as text, by header."""
    figures = branch.figures
    cost_ns, total_ns = getattr(figures, sums.cost), getattr(root.figures, sums.cost)
    cost = duration(cost_ns)
    return {
        "forward": duration(figures.forward_ns or None),
        "backward": duration(figures.backward_ns or None),
        "sum": cost,
        "device": cost,
        "host": cost,
        "share": percent(cost_ns / total_ns if total_ns else None),
        "executions": count(figures.runs),
        "bytes": size(figures.bytes or None),
        "compile": duration(figures.compile_ns or None),
    }
