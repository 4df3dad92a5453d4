"""What ran at each recorded size of the batch: the grid, the variant, its layouts in TTGIR."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from kvtrace.recorded_calls.recorded import stage_artifact
from kvtrace.text import wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kvtrace.addons.invariance.results import OutputResult
    from kvtrace.schema.trace import Selection

_LAYOUT: Final = re.compile(r"^#\w+ = (#.*)$|(\"ttg\.num-warps\" = \d+)", re.MULTILINE)
_OPTIONS: Final = ("num_warps", "num_stages", "num_ctas")


@dataclass(frozen=True, slots=True)
class SizeVariant:
    """What ran at a size of the batch.

    Attributes:
        rows: The size.
        settings: The grid, constexprs and compile options, by name.
        tree: Which of the output's trees it has, from 1.
        layouts: The layouts and warps that its TTGIR names; None: it was not recorded.

    """

    rows: int
    settings: Mapping[str, str]
    tree: int
    layouts: frozenset[str] | None


@dataclass(frozen=True, slots=True)
class Variants:
    """What ran at the sizes of the batch that an output was compared at, the smallest first."""

    kernel: str
    output: str
    sizes: tuple[SizeVariant, ...]

    @property
    def changed(self) -> tuple[str, ...]:
        """The settings that are not the same at all sizes."""
        names = dict.fromkeys(name for each in self.sizes for name in each.settings)
        return tuple(n for n in names if len({each.settings.get(n) for each in self.sizes}) > 1)

    @property
    def same_tree(self) -> bool:
        """Whether all sizes have one tree."""
        return len({each.tree for each in self.sizes}) == 1

    @property
    def same_layouts(self) -> bool | None:
        """Whether all sizes have the same layouts in TTGIR; None where one was not recorded."""
        layouts = {each.layouts for each in self.sizes}
        return None if None in layouts else len(layouts) == 1


def variants_of(selection: Selection, outputs: Sequence[OutputResult]) -> tuple[Variants, ...]:
    """Return what ran at the sizes that outputs were compared at, of a trace of one run.

    Of several runs nothing is returned: a call does not say which run it is of.
    """
    if len(selection.runs) != 1:
        return ()
    trace, runs = selection.trace, selection.runs
    columns = ["kernel_id", "signature", "stages", *_OPTIONS]
    kernels = {row["kernel_id"]: row for row in trace.table("kernels", runs, columns).to_pylist()}
    calls = trace.table("calls", runs, ["call_id", "kernel_id"]).to_pylist()
    kernel_of = {
        row["call_id"]: kernels[row["kernel_id"]] for row in calls if row["kernel_id"] in kernels
    }
    layouts = {number: _layouts(selection, row) for number, row in kernels.items()}
    return tuple(
        Variants(each.kernel, each.output, tuple(_sizes(each, kernel_of, layouts)))
        for each in outputs
        if each.across is not None
    )


def _sizes(
    result: OutputResult,
    kernel_of: Mapping[int, Mapping[str, Any]],
    layouts: Mapping[int, frozenset[str] | None],
) -> Iterator[SizeVariant]:
    assert result.across is not None
    trees = {batch: n for n, own in enumerate(result.across.trees, 1) for batch in own}
    kept = {each.batch: each for own in result.kept.values() for each in own}
    for batch in sorted(trees, key=lambda each: (each.rows, each.variant)):
        row = kernel_of[kept[batch].call.call_id]
        settings = {"grid": "×".join(map(str, batch.grid))}
        settings |= {
            each["name"]: each["constexpr"]
            for each in row["signature"] or ()
            if each["constexpr"] is not None
        }
        settings |= {name: str(row[name]) for name in _OPTIONS if row[name] is not None}
        yield SizeVariant(batch.rows, settings, trees[batch], layouts[row["kernel_id"]])


def _layouts(selection: Selection, kernel: Mapping[str, Any]) -> frozenset[str] | None:
    """Return the layouts and the number of warps that a kernel's TTGIR names."""
    digest = stage_artifact(kernel, "ttgir")
    content = None if digest is None else selection.trace.artifact(digest)
    if content is None:
        return None
    found = _LAYOUT.findall(content.decode(errors="replace"))
    return frozenset(layout or warps for layout, warps in found)


def variant_lines(found: Sequence[Variants], width: int) -> list[str]:
    """Return for a terminal what changed with the batch, and whether the tree did."""
    lines: list[str] = []
    for each in found:
        if not each.changed:
            continue
        tree = "the tree is the same" if each.same_tree else "the tree changes"
        text = f"{each.kernel}, {each.output}: with the batch change {', '.join(each.changed)}; "
        lines += wrapped(f"{text}{tree}; TTGIR: {_LAYOUTS[each.same_layouts]}", width)
        for size in each.sizes:
            given = ", ".join(f"{name} {size.settings.get(name, '-')}" for name in each.changed)
            lines += wrapped(f"{size.rows} rows: {given}: tree {size.tree}", width, 4)
    return ["", *lines] if lines else []


_LAYOUTS: Final = {True: "same layouts", False: "layouts differ", None: "not recorded"}


def variant_objects(found: Sequence[Variants]) -> list[dict[str, Any]]:
    """Return the same for JSON, and what did not change."""
    return [
        {
            "kernel": each.kernel, "output": each.output, "changed": list(each.changed),
            "same_tree": each.same_tree, "same_layouts": each.same_layouts,
            "sizes": [
                {"rows": size.rows, "settings": dict(size.settings), "tree": size.tree}
                for size in each.sizes
            ],
        }
        for each in found
    ]  # fmt: skip
