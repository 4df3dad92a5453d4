"""`called/<grouping>`: where kernels are called from, as the tree of one grouping.

Runs and times were measured, bytes were derived; `converters/profile/call_tree.py` says of what.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from typing import Final, TypedDict

from kvtrace.converters.profile.call_paths import GROUPINGS, Grouping
from kvtrace.converters.profile.call_tree import (
    FIGURES,
    Branch,
    CallSums,
    call_notes,
    call_tree,
    read_call_sums,
)
from kvtrace.converters.report.pack import json_block
from kvtrace.converters.report.sources import Block, BlockSource, Context
from kvtrace.figures.identity import KernelKey

__all__ = ["SOURCE", "CalledBlock"]


class CalledFigures(TypedDict):
    """A value for each step, all that is below it among them; None: not known of any."""

    runs: list[int] | None
    device_ns: list[int] | None
    host_ns: list[int] | None
    bytes: list[int] | None
    compile_ns: list[int] | None


class CalledBlock(TypedDict):
    """The block `called/<grouping>`: steps in order, each before those below it; 0 is all.

    `kernel` is a kernel of the report, -1 of steps that represent none.
    """

    notes: list[str]
    parent: list[int]
    label: list[str]
    file: list[str | None]
    line: list[int | None]
    note: list[str | None]
    kernel: list[int]
    figures: CalledFigures


def _blocks(context: Context) -> Iterable[Block]:
    report = context.report
    if not report.calls and not report.device_names:
        return
    kernels = {key: index for index, key in enumerate(report.kernel_keys)}
    sums = cache(partial(read_call_sums, context.trace, context.runs))
    for grouping in GROUPINGS:
        yield Block(
            f"called/{grouping}", partial(_packed, sums, grouping, kernels, source=context.source)
        )


def _packed(
    sums: Callable[[], CallSums],
    grouping: Grouping,
    kernels: Mapping[KernelKey, int],
    *,
    source: bool,
) -> str:
    read = sums()
    steps = list(_steps(call_tree(read, grouping), -1, [0]))
    branches = [branch for _, branch in steps]
    figures = {
        name: [getattr(each.figures, name) for each in branches] if name in read.known else None
        for name in FIGURES
    }
    return json_block(
        {
            "notes": call_notes(read),
            "parent": [parent for parent, _ in steps],
            "label": [each.step.label for each in branches],
            "file": [each.step.file for each in branches],
            "line": [each.step.line for each in branches],
            # the lines of a source step are the program's code
            "note": [
                each.step.note if source or grouping != "source" else None for each in branches
            ],
            "kernel": [
                -1 if each.step.kernel is None else kernels.get(each.step.kernel, -1)
                for each in branches
            ],
            "figures": figures,
        }
    )


def _steps(branch: Branch, parent: int, count: list[int]) -> Iterator[tuple[int, Branch]]:
    """Yield each branch with the place of the one above it; `count` is how many there were."""
    yield parent, branch
    place = count[0]
    count[0] += 1
    for each in branch.branches:
        yield from _steps(each, place, count)


SOURCE: Final = BlockSource(
    name="called",
    order=5,
    share=0.1,
    noun="trees of where kernels are called from",
    query="SELECT call_id, frames FROM calls JOIN stacks USING (stack_id)",
    blocks=_blocks,
)
