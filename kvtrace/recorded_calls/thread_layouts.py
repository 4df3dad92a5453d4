"""Thread layouts: the lanes of a memory op by thread, and by instruction of a warp.

Layouts: https://triton-lang.org/main/dialects/TritonGPUAttrDefs.html. compiled_code.py finds the
layout that an op was compiled with.
"""

from functools import lru_cache
from math import prod
from typing import Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

VECTOR_BYTES: Final = 16
"""Limit of bytes that one thread moves with one instruction."""


class BlockedLayout(Struct, frozen=True):
    """Triton's blocked layout: lanes per thread, threads per warp and warps per block, by axis.

    `order` lists the axes, fastest first. `sliced` is an axis of the layout that the tensor lacks.
    One instruction moves up to `vector_bytes` for a thread.
    """

    per_thread: tuple[int, ...]
    threads: tuple[int, ...]
    warps: tuple[int, ...]
    order: tuple[int, ...]
    sliced: int | None = None
    vector_bytes: int = VECTOR_BYTES

    def digits(self, axis: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return the digits of the thread in its warp, and of the warp, in an axis's index.

        Each digit is a pair (divisor, modulus) to apply to the index.
        """
        size, threads, warps = self.per_thread[axis], self.threads[axis], self.warps[axis]
        return (size, threads), (size * threads, warps)

    def fits(self, block: tuple[int, ...]) -> bool:
        """Return whether a block of this shape has the layout's number of axes."""
        return len(block) + (self.sliced is not None) == len(self.order)

    def extents(self, block: tuple[int, ...]) -> tuple[int, ...]:
        """Return a block's extents along the layout's axes, 1 along the sliced axis."""
        if self.sliced is None:
            return block
        return (*block[: self.sliced], 1, *block[self.sliced :])

    def is_repeated(self, block: tuple[int, ...]) -> bool:
        """Return whether several threads hold the same lane of a block."""
        return any(
            size * threads * warps > max(extent, size)
            for size, threads, warps, extent in zip(
                self.per_thread, self.threads, self.warps, self.extents(block), strict=True
            )
        )


class LaneOrder(Struct, frozen=True, eq=False):
    """Lanes in the order of the instructions of a warp that move them, `width` per instruction."""

    lanes: NDArray[np.int64]
    width: int


@lru_cache(maxsize=32)
def lane_order(
    layout: BlockedLayout, block: tuple[int, ...], element_bytes: int
) -> LaneOrder | None:
    """Return the lanes of a block sorted by the instruction that moves them, None if irregular.

    An instruction of a warp moves, for each of its threads, some consecutive lanes along the
    fastest axis. Of several threads with the same lane, only one counts.

    Example: 512 lanes, 4 a thread, 32 threads a warp and 2 warps, with 2 lanes an instruction. Lane
    i is register i % 4 of thread i // 4 % 32 of warp i // 128 % 2, in repetition i // 256. The
    first instruction of warp 0 moves registers 0 and 1 of all its threads: lanes 0, 1, 4, 5 ….
    """
    if not layout.fits(block) or not block:
        return None
    extents = list(layout.extents(block))
    fastest = layout.order[0]
    lanes_per_instruction = min(
        layout.per_thread[fastest], max(1, layout.vector_bytes // element_bytes), extents[fastest]
    )
    instruction: NDArray[np.int64] = np.zeros(extents, np.int64)
    position: NDArray[np.int64] = np.zeros(extents, np.int64)
    for axis in reversed(layout.order):  # slowest first, so that the fastest one counts ones
        lanes_per_thread, threads, warps = (
            layout.per_thread[axis], layout.threads[axis], layout.warps[axis]
        )  # fmt: skip
        shape = [1] * len(extents)
        shape[axis] = extents[axis]
        index = np.arange(extents[axis]).reshape(shape)
        register = index % lanes_per_thread
        thread = index // lanes_per_thread % threads
        warp = index // (lanes_per_thread * threads) % warps
        repetition = index // (lanes_per_thread * threads * warps)
        lanes_in_chunk = lanes_per_instruction if axis == fastest else 1
        chunks = -(-lanes_per_thread // lanes_in_chunk)
        instruction = instruction * (int(repetition.max()) + 1) + repetition
        instruction = (instruction * chunks + register // lanes_in_chunk) * warps + warp
        position = (position * threads + thread) * lanes_in_chunk + register % lanes_in_chunk
    instruction_by_lane = np.broadcast_to(instruction, extents).reshape(-1)
    lanes = np.lexsort((np.broadcast_to(position, extents).reshape(-1), instruction_by_lane))
    _, counts = np.unique(instruction_by_lane, return_counts=True)
    width = int(counts[0])
    if (counts != width).any() or prod(block) % width:
        return None
    return LaneOrder(lanes.astype(np.int64), width)
