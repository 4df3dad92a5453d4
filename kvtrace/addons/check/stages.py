"""Compiler stage at fault for a difference, found by evaluating the launch's TTGIR too.

TTIR gives the expected values, the device its results. If the TTGIR in between means the same as
TTIR, the passes up to TTGIR are not at fault; if it means the device's results, they are.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kvtrace.addons.check.comparing import Expected, distances, expected
from kvtrace.ir.tensor_maps import CHUNK_BYTES, stores_whole_chunks
from kvtrace.schema.errors import KvtraceError
from kvtrace.schema.faults import Fault

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kvtrace.addons.check.kept import CheckedLaunch
    from kvtrace.ir import Module


def in_whole_chunks(launch: CheckedLaunch) -> Sequence[Expected] | None:
    """Return the expected memory if descriptor stores write whole chunks past extents.

    None if the launch has no such stores, or cannot be computed.
    """
    module = launch.call().module
    if not stores_whole_chunks(module):
        return None
    try:
        return expected(launch, module, may_leave=True).known
    except KvtraceError:
        return None


def fault_of_descriptors(launch: CheckedLaunch, chunks: Sequence[Expected]) -> Fault | None:
    """Return the fault "descriptor stores" if such stores explain all differences, else None.

    `chunks` is the expected memory with stores of whole chunks.
    """
    if not chunks or any(distances(output).beyond.any() for output in chunks):
        return None
    target = launch.call().module.target
    return Fault(
        "descriptor stores",
        f"{target} writes whole chunks of {CHUNK_BYTES} bytes, past a descriptor's inner extent; "
        "apart from these, memory is what the IR means",
    )


def stage_at_fault(launch: CheckedLaunch, meant: Sequence[Expected], ttgir: Module) -> Fault:
    """Return the stage at fault, from the values of TTIR (`meant`), TTGIR and the device."""
    try:
        computed = expected(launch, ttgir)
    except KvtraceError as error:
        return Fault("unknown", f"its TTGIR could not be computed: {error}")
    if computed.faults:
        return Fault("ttgir", computed.faults[0])
    lower = {output.place: output for output in computed.known}
    differs = changed = beyond_ttgir = undecided = 0
    for upper in meant:
        wrong = distances(upper).beyond
        if not wrong.any():
            continue
        other = lower.get(upper.place)
        if other is None or not _match(upper, other):
            return Fault("unknown", f"its TTGIR stores to {upper.tensor.name} in another way")
        by_ttgir = distances(other)
        differs += int(wrong.sum())
        beyond_ttgir += int((wrong & by_ttgir.beyond).sum())
        undecided += int((wrong & by_ttgir.loose).sum())
        changed += int(distances(_between(upper, other)).beyond.sum())
    return _judged(differs, changed, beyond_ttgir, undecided)


def _judged(differs: int, changed: int, beyond_ttgir: int, undecided: int) -> Fault:
    """Return the fault, from numbers of elements.

    Of the `differs` elements, `beyond_ttgir` differ from TTGIR's values too, and for `undecided`
    TTGIR's bounds are too wide. For `changed` elements TTGIR's values differ from TTIR's.
    """
    if beyond_ttgir == differs and not changed:
        return Fault("behind ttgir", "the TTGIR means what the TTIR does")
    if beyond_ttgir + undecided == 0 and changed:
        return Fault("ttgir", "the device left what the TTGIR means, which is not what TTIR does")
    if changed:
        return Fault(
            "unknown", "the TTGIR means neither what the TTIR does nor what the device left"
        )
    return Fault("unknown", "the bounds of what its TTGIR means are too wide")


def _match(first: Expected, second: Expected) -> bool:
    return first.element == second.element and [
        (piece.offset, len(piece.radii)) for piece in first.pieces
    ] == [(piece.offset, len(piece.radii)) for piece in second.pieces]


def _between(upper: Expected, lower: Expected) -> Expected:
    """Return a comparison of TTIR's values, as expected, with TTGIR's values."""
    pieces = tuple(
        replace(first, got=second.expected, radii=first.radii + second.radii)
        for first, second in zip(upper.pieces, lower.pieces, strict=True)
    )
    return replace(upper, pieces=pieces)
