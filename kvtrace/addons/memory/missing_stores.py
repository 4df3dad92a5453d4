"""The reason that a store leaves bytes out: its mask, a branch around it, or the grid.

Asked for the bytes of a finding alone: the store's addresses are derived again without its mask,
and then without the branches around it. A lane that is masked off may lie in the next row, so that
few of many bytes seem to be a mask's: the reason is that of the most bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from kvtrace.addons.memory.access_bytes import TouchedBytes
from kvtrace.addons.memory.boxed_accesses import Boxing
from kvtrace.addons.memory.digit_forms import NoBoxes
from kvtrace.metrics.byte_ranges import ByteRanges, TooManyRanges
from kvtrace.symbolic.conditions import conjunction
from kvtrace.symbolic.summary import Access

if TYPE_CHECKING:
    from kvtrace.addons.memory.effects import StorageEffect
    from kvtrace.recorded_calls.recorded import Call

Why = Literal["mask", "branch", "grid"]


def missing_stores(call: Call, effect: StorageEffect, missing: ByteRanges) -> list[Why | None]:
    """Return for each op that may store to a storage why it does not store some bytes of it.

    "mask": its mask admits no lane that would store them; "branch": no program that would store
    them comes to the op, as after an early return; "grid": no lane of any program and trip has
    their address, so that the grid or a loop is too small; None: the reason is not derived.
    """
    boxing = Boxing(call)
    reasons: list[Why | None] = []
    for site in effect.stores:
        accesses = [
            access
            for access in boxing.accesses
            if access.op is site.op and (access.argument is None or access.argument in effect.args)
        ]
        try:
            reasons.append(_why(boxing, accesses, effect.size, missing))
        except (NoBoxes, TooManyRanges):
            reasons.append(None)
    return reasons


def _why(boxing: Boxing, accesses: list[Access], size: int, missing: ByteRanges) -> Why:
    """Return the reason of most missing bytes; raises NoBoxes or TooManyRanges."""
    unmasked, unbranched = TouchedBytes(), TouchedBytes()
    for access in accesses:
        trips = conjunction(loop.running for loop in access.loops)
        unmasked.include(boxing.touched(access, access.reached, by_contents=False))
        unbranched.include(boxing.touched(access, trips, by_contents=False))
    by_mask = missing & unmasked.listed(size)
    by_branch = (missing & unbranched.listed(size)) - by_mask
    sizes: dict[Why, int] = {"mask": by_mask.size, "branch": by_branch.size}
    sizes["grid"] = missing.size - by_mask.size - by_branch.size
    return max(sizes, key=lambda why: sizes[why])
