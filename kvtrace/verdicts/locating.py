"""Programs and lanes of a kernel that wrote wrong elements, and the pattern they have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.evaluate import Access, Observer, evaluate
from kvtrace.evaluate.errors import UNFIT
from kvtrace.evaluate.scope import MOST_STEPS
from kvtrace.schema.errors import KvtraceError
from kvtrace.verdicts.replaying import program_at

if TYPE_CHECKING:
    from kvtrace.ir import Op
    from kvtrace.recorded_calls.recorded import Call
    from kvtrace.recorded_calls.thread_layouts import BlockedLayout

_NAMED: Final = 4
"""Most indices that are listed one by one."""


@dataclass
class Places:
    """The op, programs (linear ids) and lanes that wrote wrong elements."""

    op: Op
    block: tuple[int, ...]
    programs: list[NDArray[np.int64]] = field(default_factory=list)
    lanes: list[NDArray[np.int64]] = field(default_factory=list)
    offsets: list[NDArray[np.int64]] = field(default_factory=list)

    def at(self, offset: int) -> tuple[int, tuple[int, ...]] | None:
        """Return the program and the lane that wrote a byte offset last."""
        for programs, lanes, offsets in zip(
            reversed(self.programs), reversed(self.lanes), reversed(self.offsets), strict=True
        ):
            matches = np.flatnonzero(offsets == offset)
            if matches.size:
                lane = np.unravel_index(int(lanes[matches[-1]]), self.block or (1,))
                return int(programs[matches[-1]]), tuple(map(int, lane))
        return None


class _Writers(Observer):
    """An observer that collects the writers of some bytes of tensors that share a storage."""

    def __init__(self, arguments: Sequence[int], offsets: NDArray[np.int64]) -> None:
        self._arguments = frozenset(arguments)
        self._offsets = np.unique(offsets)
        self.places: dict[int, Places] = {}

    def access(self, access: Access) -> None:
        """Note which lanes of a batch of stores write the bytes."""
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
    """Return where elements at byte offsets of a storage are written, by the op with most of them.

    None: no op writes them, or the writers are not known.
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
            planned=False,
            most_steps=MOST_STEPS,
        )
    except (KvtraceError, *UNFIT):  # stores observed up to the error count
        pass
    all_places = observer.places.values()
    return max(all_places, key=lambda places: sum(map(len, places.offsets)), default=None)


def pattern(call: Call, places: Places, all_programs: int) -> str:
    """Return a description of the programs, warps and lanes that the places have in common."""
    programs = np.unique(np.concatenate(places.programs))
    lanes = np.unique(np.concatenate(places.lanes))
    phrases = [_programs_text(call, programs, all_programs)]
    phrases += filter(None, [_warps_text(call, places, lanes), _lanes_text(places.block, lanes)])
    return ", ".join(phrases)


def _programs_text(call: Call, programs: NDArray[np.int64], count: int) -> str:
    if len(programs) == count:
        return "all programs" if count > 1 else "the one program"
    index = np.array([program_at(int(program), call.grid) for program in programs])
    for axis, extent in enumerate(call.grid):
        along = np.unique(index[:, axis])
        if extent > 1 and len(along) == 1 and along[0] == extent - 1:
            return f"{_count(len(programs), 'program')}, the last along axis {axis}"
    named = ", ".join(str(tuple(map(int, program))) for program in index[:_NAMED])
    more = "" if len(programs) <= _NAMED else " …"
    return f"{_count(len(programs), 'program')} of {count:,}: {named}{more}"


def _warps_text(call: Call, places: Places, lanes: NDArray[np.int64]) -> str:
    """Return a phrase if all lanes are of one warp in the compiled code, else ""."""
    layout = call.layouts.get(places.op.index)
    if layout is None or not places.block:
        return ""
    if int(np.prod(layout.warps)) < 2:
        return ""
    warps = _warp_of_lanes(layout, places.block)
    if warps is None:
        return ""
    distinct = np.unique(warps.reshape(-1)[lanes])
    return f"warp {int(distinct[0])} alone" if len(distinct) == 1 else ""


def _warp_of_lanes(layout: BlockedLayout, block: Sequence[int]) -> NDArray[np.int64] | None:
    """Return each lane's warp; warps are counted along the layout's fastest axis first."""
    if len(layout.per_thread) != len(block):
        return None
    warp: NDArray[np.int64] = np.zeros(tuple(block), np.int64)
    for axis in reversed(layout.order):
        shape = [1] * len(block)
        shape[axis] = block[axis]
        elements_per_warp = layout.per_thread[axis] * layout.threads[axis]
        along = np.arange(block[axis]) // elements_per_warp % layout.warps[axis]
        warp = warp * layout.warps[axis] + along.reshape(shape)
    return warp


def _lanes_text(block: tuple[int, ...], lanes: NDArray[np.int64]) -> str:
    total = int(np.prod(block)) if block else 1
    if total == 1:
        return ""
    if len(lanes) == total:
        return "all lanes"
    index = np.unravel_index(lanes, block)
    for axis, extent in enumerate(block):
        along = np.unique(index[axis])
        whole = len(lanes) == len(along) * total // extent
        if whole and len(along) < extent:
            word = ("row" if axis == 0 else "column") if len(block) == 2 else "lane"
            return (
                f"whole {word}s {_ranges_text(along)}"
                if len(block) > 1
                else f"lanes {_ranges_text(along)}"
            )
    return f"{_count(len(lanes), 'lane')} of {total:,}"


def _ranges_text(numbers: NDArray[np.int64]) -> str:
    """Return numbers as text: a range, a range in steps, or the first ones."""
    if len(numbers) == 1:
        return str(int(numbers[0]))
    steps = np.unique(np.diff(numbers))
    if len(steps) == 1:
        by = "" if steps[0] == 1 else f" in steps of {int(steps[0])}"
        return f"{int(numbers[0])} to {int(numbers[-1])}{by}"
    more = "" if len(numbers) <= _NAMED else " …"
    return ", ".join(str(int(number)) for number in numbers[:_NAMED]) + more


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"
