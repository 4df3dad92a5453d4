"""Instructions on floats that variants of a kernel have at some sizes of the batch alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from kvtrace.addons.invariance.batches import calls_of_most_sizes
from kvtrace.ir.locations import triton_of, without_inner_places
from kvtrace.recorded_calls.compiled_barriers import instructions
from kvtrace.recorded_calls.reading import stage_artifact
from kvtrace.text import wrapped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kvtrace.addons.invariance.output_results import OutputResult
    from kvtrace.schema.trace import Selection

_ON_FLOATS: Final = re.compile(r"(?!ld|st|mov|selp|\.).*\.(?:bf|tf|f|e\dm)\d+")
_MOST_LINES: Final = 4


def other_arithmetic(
    selection: Selection, outputs: Sequence[OutputResult]
) -> dict[tuple[str, str], tuple[int, ...] | None]:
    """Return lines whose float instructions in PTX differ between sizes, by kernel and output.

    A product that one variant joins with a sum (`fma`) and another does not is rounded once more in
    the other. None: a PTX was not recorded. Only outputs that were compared at several sizes are
    listed; none for several runs, as a call does not say to which run it belongs.
    """
    if len(selection.runs) != 1:
        return {}
    columns = ["kernel_id", "stages", "options"]
    kernels = selection.trace.table("kernels", selection.runs, columns).to_pylist()
    arithmetic = {row["kernel_id"]: _arithmetic(selection, row) for row in kernels}
    calls = selection.trace.table("calls", selection.runs, ["call_id", "kernel_id"]).to_pylist()
    kernel_of = {row["call_id"]: row["kernel_id"] for row in calls}
    return {
        (result.kernel, result.output): _differing_lines(
            {
                kernel_of[call.call.call_id]
                for call in calls_of_most_sizes(result.compared_calls.values())
            },
            arithmetic,
        )
        for result in outputs
        if result.size_comparison is not None
    }


def _differing_lines(
    kernels: set[int], arithmetic: Mapping[int, frozenset[tuple[int, int, str]] | None]
) -> tuple[int, ...] | None:
    variants = [ops for number in kernels if (ops := arithmetic[number]) is not None]
    if len(variants) < len(kernels):
        return None
    differing = frozenset().union(*variants) - frozenset.intersection(*variants)
    return tuple(sorted({line for line, _, _ in differing}))


def _arithmetic(
    selection: Selection, kernel: Mapping[str, Any]
) -> frozenset[tuple[int, int, str]] | None:
    """Return the instructions on floats in a kernel's PTX, with source lines and columns."""
    ptx = selection.trace.artifact(stage_artifact(kernel, "ptx"))
    if ptx is None:
        return None
    text = without_inner_places(ptx.decode(errors="replace"))
    triton = triton_of(kernel, selection.runs[0].versions)
    return frozenset(
        (*place, name) for place, _, name, _ in instructions(text, triton) if _ON_FLOATS.match(name)
    )


def arithmetic_lines(
    found: Mapping[tuple[str, str], tuple[int, ...] | None], width: int
) -> list[str]:
    """Return lines for a terminal on instructions that differ between sizes of the batch."""
    lines: list[str] = []
    for (kernel, output), differing in found.items():
        if differing:
            more = len(differing) - _MOST_LINES
            places = ", ".join(map(str, differing[:_MOST_LINES]))
            text = (
                f"{kernel}, {output}: other instructions on floats at another size of the batch, "
                f"for line {places}{f' and {more} more' if more > 0 else ''}: bits may differ"
            )
            lines += wrapped(text, width)
    return ["", *lines] if lines else []
