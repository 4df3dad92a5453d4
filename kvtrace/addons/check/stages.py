"""Compiler stage at fault for a difference, found by evaluating the launch's TTGIR too.

TTIR gives the expected values, the device its results. If the TTGIR in between means the same as
TTIR, the passes up to TTGIR are not at fault; if it means the device's results, they are.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kvtrace.addons.check.comparing import Expected, distances, expected
from kvtrace.addons.check.stage_faults import Fault
from kvtrace.ir.tensor_maps import CHUNK_BYTES, stores_whole_chunks
from kvtrace.schema.errors import KvtraceError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kvtrace.addons.check.kept import CheckedLaunch
    from kvtrace.ir import Module


def in_whole_chunks(launch: CheckedLaunch) -> Sequence[Expected] | None:
    """Return a launch's expected memory if its descriptor stores write whole chunks.

    Such stores go past the descriptor's inner extent, as the target's hardware does. Returns None
    if the kernel has none, or if the launch cannot be computed.
    """
    module = launch.call().module
    if not stores_whole_chunks(module):
        return None
    try:
        return expected(launch, module, may_leave=True).known
    except KvtraceError:
        return None


def fault_of_descriptors(launch: CheckedLaunch, chunks: Sequence[Expected]) -> Fault | None:
    """Return the fault "descriptor stores" if stores of whole chunks explain all differences.

    `chunks` is the expected memory by `in_whole_chunks`. Returns None if an element differs from it
    too, or if it is empty.
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
    """Evaluate the launch's TTGIR, and return the compiler stage at fault.

    `meant` has the values of the TTIR and of the device. The fault is "unknown" if the TTGIR cannot
    be computed, or if bounds are too wide.
    """
    try:
        computed = expected(launch, ttgir)
    except KvtraceError as error:
        return Fault("unknown", f"the TTGIR could not be computed: {error}")
    if computed.faults:
        return Fault("ttgir", computed.faults[0])
    ttgir_outputs = {output.position: output for output in computed.known}
    differs = changed = beyond_ttgir = undecided = 0
    for ttir_output in meant:
        wrong = distances(ttir_output).beyond
        if not wrong.any():
            continue
        ttgir_output = ttgir_outputs.get(ttir_output.position)
        if ttgir_output is None or not _have_same_pieces(ttir_output, ttgir_output):
            return Fault(
                "unknown",
                f"the TTGIR stores other elements to {ttir_output.tensor.name} than the TTIR",
            )
        by_ttgir = distances(ttgir_output)
        differs += int(wrong.sum())
        beyond_ttgir += int((wrong & by_ttgir.beyond).sum())
        undecided += int((wrong & by_ttgir.loose).sum())
        changed += int(distances(_between(ttir_output, ttgir_output)).beyond.sum())
    return _fault_by_counts(differs, changed, beyond_ttgir, undecided)


def _fault_by_counts(differs: int, changed: int, beyond_ttgir: int, undecided: int) -> Fault:
    """Return the stage at fault, from numbers of elements.

    For `differs` elements, the device's values differ from TTIR's; for `beyond_ttgir` of these they
    differ from TTGIR's too, and for `undecided` of these TTGIR's bounds are too wide. For `changed`
    elements TTGIR's values differ from TTIR's.
    """
    if beyond_ttgir == differs and not changed:
        return Fault("behind ttgir", "the TTGIR has the same values as the TTIR")
    if beyond_ttgir + undecided == 0 and changed:
        return Fault(
            "ttgir", "the device's results are the TTGIR's values, which differ from the TTIR's"
        )
    if changed:
        return Fault(
            "unknown",
            "the TTGIR's values differ both from the TTIR's and from the device's results",
        )
    return Fault("unknown", "the error bounds of the TTGIR's values are too wide")


def _have_same_pieces(left: Expected, right: Expected) -> bool:
    return left.element == right.element and [
        (piece.offset, len(piece.radii)) for piece in left.pieces
    ] == [(piece.offset, len(piece.radii)) for piece in right.pieces]


def _between(ttir_output: Expected, ttgir_output: Expected) -> Expected:
    """Return TTIR's values as expected, with TTGIR's in place of the device's; radii are added."""
    pieces = tuple(
        replace(ttir, got=ttgir.expected, radii=ttir.radii + ttgir.radii)
        for ttir, ttgir in zip(ttir_output.pieces, ttgir_output.pieces, strict=True)
    )
    return replace(ttir_output, pieces=pieces)
