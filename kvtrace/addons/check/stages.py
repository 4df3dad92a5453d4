"""Which stage of the compiler a difference comes from: the TTGIR of the launch, computed too.

TTIR gives the expected values, the device its results. Where the TTGIR in between means what TTIR
does, the passes up to it are not at fault; where it means what the device left, they are.
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
    """Return what a launch leaves whose stores go past extents as its target's do.

    None: it has none that may, or what they leave cannot be computed.
    """
    module = launch.call().module
    if not stores_whole_chunks(module):
        return None
    try:
        return expected(launch, module, may_leave=True).known
    except KvtraceError:
        return None


def fault_of_descriptors(launch: CheckedLaunch, chunks: Sequence[Expected]) -> Fault | None:
    """Return the fault of stores past descriptors' extents; None: not all that differs is theirs.

    `chunks` is what they leave.
    """
    if not chunks or any(distances(each).beyond.any() for each in chunks):
        return None
    target = launch.call().module.target
    return Fault(
        "descriptor stores",
        f"{target} writes whole chunks of {CHUNK_BYTES} bytes, past a descriptor's inner extent; "
        "with these, memory is what the IR means",
    )


def stage_at_fault(launch: CheckedLaunch, meant: Sequence[Expected], ttgir: Module) -> Fault:
    """Compare what a launch that differs from `meant`, by its TTIR, left with what TTGIR means."""
    try:
        computed = expected(launch, ttgir)
    except KvtraceError as error:
        return Fault("unknown", f"its TTGIR could not be computed: {error}")
    if computed.faults:
        return Fault("ttgir", computed.faults[0])
    lower = {each.place: each for each in computed.known}
    differs = changed = left = open_ = 0
    for upper in meant:
        wrong = distances(upper).beyond
        if not wrong.any():
            continue
        other = lower.get(upper.place)
        if other is None or not _match(upper, other):
            return Fault("unknown", f"its TTGIR stores to {upper.tensor.name} in another way")
        by_ttgir = distances(other)
        differs += int(wrong.sum())
        left += int((wrong & by_ttgir.beyond).sum())
        open_ += int((wrong & by_ttgir.loose).sum())
        changed += int(distances(_between(upper, other)).beyond.sum())
    return _judged(differs, changed, left, open_)


def _judged(differs: int, changed: int, left: int, open_: int) -> Fault:
    """Judge by the elements that differ: of how many TTGIR means something else than TTIR does.

    `left` of them are not what TTGIR means either, of `open_` its bounds are too wide to say.
    """
    if left == differs and not changed:
        return Fault("behind ttgir", "the TTGIR means what the TTIR does")
    if left + open_ == 0 and changed:
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
    """Return TTIR's values as the expected ones, TTGIR's as the computed ones."""
    pieces = tuple(
        replace(first, got=second.expected, radii=first.radii + second.radii)
        for first, second in zip(upper.pieces, lower.pieces, strict=True)
    )
    return replace(upper, pieces=pieces)
