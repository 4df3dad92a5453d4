"""Programs and lanes of a kernel that wrote wrong elements, and the pattern they have in common.

Two add-ons ask this, `check` and `tolerance`; the core does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from kvtrace.evaluate import Access, Observer, evaluate
from kvtrace.evaluate.errors import UNFIT
from kvtrace.evaluate.scope import MOST_STEPS, program_at
from kvtrace.ir import Op
from kvtrace.recorded_calls.recorded import Call
from kvtrace.recorded_calls.thread_layouts import BlockedLayout
from kvtrace.schema.errors import KvtraceError

_MOST_LISTED: Final = 4
"""Maximum number of indices that are listed one by one."""


class Places(Struct):
    """The programs and lanes of one op that wrote wrong elements, with byte offsets, by batch."""

    op: Op
    block: tuple[int, ...]
    programs: list[NDArray[np.int64]] = []
    lanes: list[NDArray[np.int64]] = []
    offsets: list[NDArray[np.int64]] = []

    def at(self, offset: int) -> tuple[int, tuple[int, ...]] | None:
        """Return the program and lane that last wrote the element at a byte offset, else None."""
        for programs, lanes, offsets in zip(
            reversed(self.programs), reversed(self.lanes), reversed(self.offsets), strict=True
        ):
            matches = np.flatnonzero(offsets == offset)
            if matches.size:
                lane = np.unravel_index(int(lanes[matches[-1]]), self.block or (1,))
                return int(programs[matches[-1]]), tuple(map(int, lane))
        return None


class _Writers(Observer):
    """An observer that records the stores to some byte offsets of tensors that share a storage."""

    def __init__(self, arguments: Sequence[int], offsets: NDArray[np.int64]) -> None:
        self._arguments = frozenset(arguments)
        self._offsets = np.unique(offsets)
        self.places: dict[int, Places] = {}

    def access(self, access: Access) -> None:
        """Record the programs and lanes of a batch of stores that write one of the byte offsets."""
        if access.kind == "load" or access.argument not in self._arguments:
            return
        parts = access.parts
        if parts is None:
            return
        offsets = np.broadcast_to(parts.offsets() + parts.origin_bytes, parts.shape)
        positions = np.nonzero(parts.active_of(np.isin(offsets, self._offsets)))
        if not positions[0].size:
            return
        places = self.places.setdefault(access.op.index, Places(access.op, parts.block))
        places.programs.append(parts.programs[positions[0]])
        lanes = (
            np.ravel_multi_index(positions[1:], parts.block) if parts.block else 0 * positions[0]
        )
        places.lanes.append(np.asarray(lanes, np.int64))
        places.offsets.append(offsets[positions])


def writers(
    call: Call,
    arguments: Sequence[int],
    offsets: NDArray[np.int64],
    programs: NDArray[np.int64] | None,
) -> Places | None:
    """Return the programs and lanes that wrote byte offsets, for the op with most of them.

    Returns None if no known store writes there.
    """
    observer = _Writers(arguments, offsets)
    try:
        evaluate(
            call.module,
            call.arguments,
            call.grid,
            observers=(observer,),
            kernel=call.kernel,
            programs=programs,
            most_steps=MOST_STEPS,
        )
    except (KvtraceError, *UNFIT):  # stores observed up to the error count
        pass
    all_places = observer.places.values()
    return max(all_places, key=lambda places: sum(map(len, places.offsets)), default=None)


def pattern(call: Call, places: Places, all_programs: int) -> str:
    """Return a phrase for the programs, warps and lanes of wrong elements ("all lanes")."""
    programs = np.unique(np.concatenate(places.programs))
    lanes = np.unique(np.concatenate(places.lanes))
    phrases = [_programs_text(call, programs, all_programs)]
    phrases += filter(None, [_warps_text(call, places, lanes), _lanes_text(places.block, lanes)])
    return ", ".join(phrases)


def _programs_text(call: Call, programs: NDArray[np.int64], count: int) -> str:
    if len(programs) == count:
        return "all programs" if count > 1 else "the one program"
    program_indices = np.array([program_at(int(program), call.grid) for program in programs])
    for axis, extent in enumerate(call.grid):
        indices_on_axis = np.unique(program_indices[:, axis])
        if extent > 1 and len(indices_on_axis) == 1 and indices_on_axis[0] == extent - 1:
            return f"{_count(len(programs), 'program')}, the last along axis {axis}"
    listed = ", ".join(str(tuple(map(int, program))) for program in program_indices[:_MOST_LISTED])
    more = "" if len(programs) <= _MOST_LISTED else " …"
    return f"{_count(len(programs), 'program')} of {count:,}: {listed}{more}"


def _warps_text(call: Call, places: Places, lanes: NDArray[np.int64]) -> str:
    """Return "warp N alone" if all lanes are in one warp of the compiled code, else ""."""
    layout = call.layouts.get(places.op.index)
    if layout is None or not places.block:
        return ""
    if int(np.prod(layout.warps)) < 2:
        return ""
    warp_by_lane = _warp_of_lanes(layout, places.block)
    if warp_by_lane is None:
        return ""
    distinct_warps = np.unique(warp_by_lane.reshape(-1)[lanes])
    return f"warp {int(distinct_warps[0])} alone" if len(distinct_warps) == 1 else ""


def _warp_of_lanes(layout: BlockedLayout, block: Sequence[int]) -> NDArray[np.int64] | None:
    """Return the warp of each lane of a block; None if the layout has another rank."""
    if len(layout.per_thread) != len(block):
        return None
    warp: NDArray[np.int64] = np.zeros(tuple(block), np.int64)
    for axis in reversed(layout.order):
        shape = [1] * len(block)
        shape[axis] = block[axis]
        elements_per_warp = layout.per_thread[axis] * layout.threads[axis]
        warp_on_axis = np.arange(block[axis]) // elements_per_warp % layout.warps[axis]
        warp = warp * layout.warps[axis] + warp_on_axis.reshape(shape)
    return warp


def _lanes_text(block: tuple[int, ...], lanes: NDArray[np.int64]) -> str:
    """Return a phrase for lanes of a block: all, whole rows or columns, or a count."""
    total = int(np.prod(block)) if block else 1
    if total == 1:
        return ""
    if len(lanes) == total:
        return "all lanes"
    lane_indices = np.unravel_index(lanes, block)
    for axis, extent in enumerate(block):
        indices_on_axis = np.unique(lane_indices[axis])
        covers_slices = len(lanes) == len(indices_on_axis) * total // extent
        if covers_slices and len(indices_on_axis) < extent:
            slice_name = ("row" if axis == 0 else "column") if len(block) == 2 else "lane"
            return (
                f"whole {slice_name}s {_ranges_text(indices_on_axis)}"
                if len(block) > 1
                else f"lanes {_ranges_text(indices_on_axis)}"
            )
    return f"{_count(len(lanes), 'lane')} of {total:,}"


def _ranges_text(numbers: NDArray[np.int64]) -> str:
    """Return sorted numbers as text: a range with its step, or the first few."""
    if len(numbers) == 1:
        return str(int(numbers[0]))
    steps = np.unique(np.diff(numbers))
    if len(steps) == 1:
        step_text = "" if steps[0] == 1 else f" in steps of {int(steps[0])}"
        return f"{int(numbers[0])} to {int(numbers[-1])}{step_text}"
    more = "" if len(numbers) <= _MOST_LISTED else " …"
    return ", ".join(str(int(number)) for number in numbers[:_MOST_LISTED]) + more


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"
