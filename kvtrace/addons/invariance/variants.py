"""Variants at each recorded size of the batch: the grid, the settings and the compiled code."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from kvtrace.ir.locations import triton_of, without_inner_places
from kvtrace.recorded_calls.compiled_barriers import instructions
from kvtrace.recorded_calls.recorded import stage_artifact
from kvtrace.text import wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kvtrace.addons.invariance.output_results import OutputResult
    from kvtrace.schema.trace import Selection

_LAYOUT: Final = re.compile(r"^#\w+ = (#.*)$|(\"ttg\.num-warps\" = \d+)", re.MULTILINE)
_ON_FLOATS: Final = re.compile(r"(?!ld|st|mov|selp|\.).*\.(?:bf|tf|f|e\dm)\d+")
_OPTIONS: Final = ("num_warps", "num_stages", "num_ctas")


_Compiled: TypeAlias = "tuple[frozenset[str] | None, frozenset[tuple[int, int, str]] | None]"


@dataclass(frozen=True, slots=True)
class SizeVariant:
    """The variant that ran at a size of the batch.

    Attributes:
        rows: The number of rows.
        settings: The grid, constexprs and compile options, by name.
        tree: The number of the variant's tree among the output's trees, from 1.
        layouts: The layouts and the number of warps in TTGIR; None: TTGIR was not recorded.
        arithmetic: The instructions on floats in PTX, each with its source line and column; None:
            PTX was not recorded.

    """

    rows: int
    settings: Mapping[str, str]
    tree: int
    layouts: frozenset[str] | None
    arithmetic: frozenset[tuple[int, int, str]] | None


@dataclass(frozen=True, slots=True)
class Variants:
    """The variants at the batch sizes at which an output was compared, the smallest first."""

    kernel: str
    output: str
    sizes: tuple[SizeVariant, ...]

    @property
    def changed(self) -> tuple[str, ...]:
        """The names of the settings that differ between sizes."""
        names = dict.fromkeys(name for size in self.sizes for name in size.settings)
        return tuple(n for n in names if len({size.settings.get(n) for size in self.sizes}) > 1)

    @property
    def same_tree(self) -> bool:
        """All sizes have the same tree."""
        return len({size.tree for size in self.sizes}) == 1

    @property
    def same_layouts(self) -> bool | None:
        """All sizes have the same layouts in TTGIR; None: a TTGIR was not recorded."""
        layouts = {size.layouts for size in self.sizes}
        return None if None in layouts else len(layouts) == 1

    @property
    def other_lines(self) -> tuple[int, ...] | None:
        """Lines whose float instructions differ between sizes; None: a PTX was not recorded.

        A product that one variant joins with a sum (`fma`) and another does not is rounded once
        more in the other.
        """
        arithmetic_ops = [size.arithmetic for size in self.sizes if size.arithmetic is not None]
        if len(arithmetic_ops) < len(self.sizes):
            return None
        differing = frozenset().union(*arithmetic_ops) - frozenset.intersection(*arithmetic_ops)
        return tuple(sorted({line for line, _, _ in differing}))


def variants_of(selection: Selection, outputs: Sequence[OutputResult]) -> tuple[Variants, ...]:
    """Return the variants at the sizes at which outputs were compared, for a trace of one run.

    Empty for several runs: a call does not say to which run it belongs.
    """
    if len(selection.runs) != 1:
        return ()
    trace, runs = selection.trace, selection.runs
    columns = ["kernel_id", "signature", "stages", "options", *_OPTIONS]
    kernels = {row["kernel_id"]: row for row in trace.table("kernels", runs, columns).to_pylist()}
    calls = trace.table("calls", runs, ["call_id", "kernel_id"]).to_pylist()
    kernel_of = {
        row["call_id"]: kernels[row["kernel_id"]] for row in calls if row["kernel_id"] in kernels
    }
    compiled = {number: _compiled(selection, row) for number, row in kernels.items()}
    return tuple(
        Variants(result.kernel, result.output, tuple(_sizes(result, kernel_of, compiled)))
        for result in outputs
        if result.size_comparison is not None
    )


def _sizes(
    result: OutputResult,
    kernel_of: Mapping[int, Mapping[str, Any]],
    compiled: Mapping[int, _Compiled],
) -> Iterator[SizeVariant]:
    assert result.size_comparison is not None
    trees = {
        batch: n for n, batches in enumerate(result.size_comparison.trees, 1) for batch in batches
    }
    calls = {call.batch: call for batches in result.compared_calls.values() for call in batches}
    for batch in sorted(trees, key=lambda call: (call.rows, call.variant)):
        row = kernel_of[calls[batch].call.call_id]
        settings = {"grid": "×".join(map(str, batch.grid))}
        settings |= {
            call["name"]: call["constexpr"]
            for call in row["signature"] or ()
            if call["constexpr"] is not None
        }
        settings |= {name: str(row[name]) for name in _OPTIONS if row[name] is not None}
        yield SizeVariant(batch.rows, settings, trees[batch], *compiled[row["kernel_id"]])


def _compiled(selection: Selection, kernel: Mapping[str, Any]) -> _Compiled:
    """Return a kernel's layouts and warps in TTGIR, and its instructions on floats in PTX."""
    ttgir, ptx = (_stage(selection, kernel, stage) for stage in ("ttgir", "ptx"))
    layouts = arithmetic = None
    if ttgir is not None:
        layouts = frozenset(layout or warps for layout, warps in _LAYOUT.findall(ttgir))
    if ptx is not None:
        triton = triton_of(kernel, selection.runs[0].versions)
        named_instructions = (
            (*line_and_column, name)
            for line_and_column, _, name, _ in instructions(without_inner_places(ptx), triton)
        )
        arithmetic = frozenset(
            instruction for instruction in named_instructions if _ON_FLOATS.match(instruction[-1])
        )
    return layouts, arithmetic


def _stage(selection: Selection, kernel: Mapping[str, Any], stage: str) -> str | None:
    content = selection.trace.artifact(stage_artifact(kernel, stage))
    return None if content is None else content.decode(errors="replace")


def variant_lines(found: Sequence[Variants], width: int) -> list[str]:
    """Return lines for a terminal: settings, trees and code that differ between batch sizes."""
    lines: list[str] = []
    for variants in found:
        if not variants.changed:
            continue
        tree = "the tree is the same" if variants.same_tree else "the tree changes"
        changed = ", ".join(variants.changed)
        text = f"{variants.kernel}, {variants.output}: differ between batch sizes: {changed}; "
        compiled = (
            f"TTGIR: {_LAYOUTS[variants.same_layouts]}; PTX: {_arithmetic(variants.other_lines)}"
        )
        lines += wrapped(f"{text}{tree}; {compiled}", width)
        for size in variants.sizes:
            changes = ", ".join(
                f"{name} {size.settings.get(name, '-')}" for name in variants.changed
            )
            lines += wrapped(f"{size.rows} rows: {changes}: tree {size.tree}", width, 4)
    return ["", *lines] if lines else []


_MOST_LINES: Final = 4
_LAYOUTS: Final = {True: "same layouts", False: "layouts differ", None: "not recorded"}


def _arithmetic(other_lines: Sequence[int] | None) -> str:
    if other_lines is None:
        return "not recorded"
    if not other_lines:
        return "the same instructions on floats"
    lines = ", ".join(map(str, other_lines[:_MOST_LINES]))
    more = len(other_lines) - _MOST_LINES
    return f"other instructions on floats for line {lines}{f' and {more} more' if more > 0 else ''}"


def variant_objects(found: Sequence[Variants]) -> list[dict[str, Any]]:
    """Return the variants for JSON, with all settings."""
    return [
        {
            "kernel": variants.kernel, "output": variants.output, "changed": list(variants.changed),
            "same_tree": variants.same_tree, "same_layouts": variants.same_layouts,
            "other_arithmetic": variants.other_lines,
            "sizes": [
                {"rows": size.rows, "settings": dict(size.settings), "tree": size.tree}
                for size in variants.sizes
            ],
        }
        for variants in found
    ]  # fmt: skip
