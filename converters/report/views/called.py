"""Blocks `called/<grouping>`: call sites of kernels, as the tree of one grouping.

Runs and times are measured, bytes derived; see `converters/profile/call_tree.py`.
"""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Final, TypedDict

from kvtrace.converters.profile.call_paths import GROUPINGS, Grouping
from kvtrace.converters.profile.call_tree import (
    FIGURES,
    Branch,
    CallSums,
    call_notes,
    call_tree,
)
from kvtrace.converters.report.pack import json_block
from kvtrace.converters.report.sources import Block, BlockSource, Context
from kvtrace.figures.identity import KernelKey


class CalledFigures(TypedDict):
    """A list per figure, with the sum over all leaves below each step; None if not recorded."""

    runs: list[int] | None
    device_ns: list[int] | None
    forward_ns: list[int] | None
    backward_ns: list[int] | None
    host_ns: list[int] | None
    bytes: list[int] | None
    compile_ns: list[int] | None


class CalledBlock(TypedDict):
    """The block `called/<grouping>`: lists with an entry per step; parents come before children.

    Step 0 is the root, whose `parent` is -1. `kernel` has the index of a leaf's kernel in the
    report, and -1 for other steps.
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
    for grouping in GROUPINGS:
        yield Block(
            f"called/{grouping}",
            partial(_called_block, report.call_sums, grouping, kernels, source=context.source),
        )


def _called_block(
    call_sums: CallSums,
    grouping: Grouping,
    kernels: Mapping[KernelKey, int],
    *,
    source: bool,
) -> str:
    steps: list[tuple[int, Branch]] = []
    _add_steps(steps, call_tree(call_sums, grouping), -1)
    branches = [branch for _, branch in steps]
    figures = {
        name: [getattr(branch.figures, name) for branch in branches]
        if name in call_sums.known
        else None
        for name in FIGURES
    }
    return json_block(
        {
            "notes": call_notes(call_sums, grouping),
            "parent": [parent for parent, _ in steps],
            "label": [branch.step.label for branch in branches],
            "file": [branch.step.file for branch in branches],
            "line": [branch.step.line for branch in branches],
            # the note of a source step contains the program's code
            "note": [
                branch.step.note if source or grouping != "source" else None for branch in branches
            ],
            "kernel": [
                -1 if branch.step.kernel is None else kernels.get(branch.step.kernel, -1)
                for branch in branches
            ],
            "figures": figures,
        }
    )


def _add_steps(steps: list[tuple[int, Branch]], branch: Branch, parent: int) -> None:
    """Add the index of the parent and the branch, for `branch` and all branches below."""
    index = len(steps)
    steps.append((parent, branch))
    for child in branch.branches:
        _add_steps(steps, child, index)


SOURCE: Final = BlockSource(
    name="called",
    order=5,
    share=0.1,
    noun="trees of where kernels are called from",
    query="SELECT call_id, frames FROM calls JOIN stacks USING (stack_id)",
    blocks=_blocks,
)
