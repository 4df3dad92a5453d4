"""On-chip memory over time: which buffers are in use at once, and whether they fit.

A buffer is in use from the first op that touches it to the last one: what a compiler, which may
reuse memory after the last use, needs at the least. Names that a program holds longer do not count.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.neuron.findings import PSUM_CAPACITY, SBUF_CAPACITY, Finding
from kvtrace.addons.neuron.machine import Run
from kvtrace.addons.neuron.memory import Life
from kvtrace.addons.neuron.targets import PSUM_BANK_BYTES, PSUM_BANKS

_RULES: Final = {"sbuf": SBUF_CAPACITY, "psum": PSUM_CAPACITY}


def in_use(lives: list[Life], space: str) -> list[tuple[int, int, Life]]:
    """Return the buffers of a memory that ops used, each with the orders of first and last use."""
    return [
        (life.first, life.last, life)
        for life in lives
        if life.space == space and life.first >= 0 and not life.settled
    ]


def usage(lives: list[Life], space: str, count: int, *, fused: bool = False) -> NDArray[np.int64]:
    """Return what is in use at each of `count` ops: bytes a partition of SBUF, banks of PSUM.

    Of a buffer in blocks, only the blocks between their own first and last use count. With `fused`,
    one of them where all are used in `affine_range`: a compiler may fuse such loops, and finish a
    block before it begins the next.
    """
    steps = np.zeros(count + 1, np.int64)
    for first, last, life in in_use(lives, space):
        if life.blocks and not (fused and life.reorderable):
            blocks = _blocks_in_use(life, first, last)
            amounts = blocks if space == "sbuf" else -(-blocks // PSUM_BANK_BYTES)
            changes = np.diff(amounts, prepend=0, append=0)
            steps[first : min(last, count - 1) + 2] += changes[: count + 1 - first]
            continue
        held = life.block_bytes if life.blocks else life.partition_bytes
        amount = held if space == "sbuf" else -(-held // PSUM_BANK_BYTES)
        steps[first] += amount
        steps[min(last, count - 1) + 1] -= amount
    return np.cumsum(steps)[:count]


def _blocks_in_use(life: Life, first: int, last: int) -> NDArray[np.int64]:
    """Return the bytes a partition of the blocks that are in use at each op from first to last."""
    steps = np.zeros(last - first + 2, np.int64)
    for begin, end in life.blocks.values():
        steps[begin - first] += life.block_bytes
        steps[end - first + 1] -= life.block_bytes
    return np.cumsum(steps)[:-1]


def find_overflows(run: Run) -> None:
    """Find memories that are too small for what is in use at once; the largest need is reported."""
    recorder = run.recorder
    limits = {"sbuf": run.target.sbuf_usable_bytes, "psum": PSUM_BANKS}
    units = {"sbuf": "bytes", "psum": "banks"}
    for space, limit in limits.items():
        used = usage(recorder.buffers, space, recorder.count, fused=space == "psum")
        if not used.size or int(used.max()) <= limit:
            continue
        order = int(np.argmax(used > limit))
        at_once = [
            life for first, last, life in in_use(recorder.buffers, space) if first <= order <= last
        ]
        newest = max(at_once, key=lambda life: life.first)
        text = (
            f"{len(at_once)} buffers in use at once need {int(used[order]):,} {units[space]} a "
            f"partition of {space.upper()}, up to {int(used.max()):,} later; {run.target.name} has "
            f"{limit:,}"
        )
        recorder.find(Finding(_RULES[space], newest.site, text))
