"""When devices began the steps of a program, whose begins on the host are known."""

from typing import Final

import numpy as np

from kvtrace.figures.columns import Integers
from kvtrace.figures.execution_blocks import ExecutionBlock, ExecutionBlocks

#: Nanoseconds between executions that separate two pieces of work.
_PAUSE: Final = 200_000
_NEVER: Final = np.iinfo(np.int64).max


class DeviceSteps:
    """The begins of steps on devices, from all executions of a run, which are added in blocks."""

    def __init__(self, bounds: Integers) -> None:
        """Start with no execution; `bounds`: when steps began on the host, as `Steps.bounds`."""
        self._bounds = bounds
        # Item n is of the times from bound n - 1 on, and before bound n.
        self._first_requested, self._first_begun = (
            np.full(bounds.size + 1, _NEVER) for _ in range(2)
        )
        #: By number of a block: the latest end of all executions before it.
        self._ended_before: dict[int, int] = {}
        self._ended = -_NEVER

    def add(self, number: int, block: ExecutionBlock) -> None:
        """Add a block; the numbers of blocks ascend."""
        self._ended_before[number] = self._ended
        self._ended = max(self._ended, int(block.end.max()))
        is_known = block.asked >= 0
        step = np.searchsorted(self._bounds, block.asked[is_known], "right")
        np.minimum.at(self._first_requested, step, block.start[is_known])
        step = np.searchsorted(self._bounds, block.start, "right")
        np.minimum.at(self._first_begun, step, block.start)

    def begins(self, blocks: ExecutionBlocks) -> tuple[Integers, bool]:
        """Return when devices began each step, and whether any step's requests are known.

        As `device_begins` of `steps.py` does. All `blocks` have been added.
        """
        bounds = self._bounds
        # Of a step's request and all later ones: streams may execute in another order.
        begins = np.minimum.accumulate(self._first_requested[:0:-1])[::-1]
        has_none = self._first_requested[1:] == _NEVER
        are_known = not has_none[:-1].all()
        has_none[-1] = begins[-1] == _NEVER
        # A step without a request begins with the first execution from the step's time on.
        next_begin = np.minimum.accumulate(self._first_begun[:0:-1])[::-1]
        begins = np.where(has_none, np.where(next_begin < _NEVER, next_begin, bounds), begins)
        if has_none[-1]:
            begins[-1] = self._idle_from(blocks, int(bounds[-1]), int(begins[-2]))
        return np.maximum.accumulate(begins), are_known

    def _idle_from(self, blocks: ExecutionBlocks, bound: int, begin: int) -> int:
        """Return when the last step, which the host ended at `bound`, left the devices idle.

        `begin` is when the devices began the step. The first pause longer than `_PAUSE` counts
        whose end is after `bound`; without one, the end of the last execution.
        """
        has_begun = False
        ended = -_NEVER
        for number, block in blocks.since(begin):
            reached = np.maximum.accumulate(np.append(self._ended_before[number], block.end))
            # The executions after the first of the step, and when those before them had ended.
            first = 0 if has_begun else int(np.searchsorted(block.start, begin)) + 1
            start, before = block.start[first:], reached[:-1][first:]
            pauses = np.flatnonzero((start - before > _PAUSE) & (start > bound))
            if pauses.size:
                return int(before[pauses[0]])
            has_begun = has_begun or first <= block.start.size
            ended = int(reached[-1])
        return ended if has_begun else max(bound, begin)
