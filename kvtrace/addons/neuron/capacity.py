"""On-chip memory over time: buffers in use at the same time, and whether they fit.

A buffer is in use from the first to the last op that accesses it: the least that a compiler
needs, since it may reuse memory after the last use. Python names that live longer do not count.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.neuron.findings import PSUM_CAPACITY, SBUF_CAPACITY, Finding
from kvtrace.addons.neuron.machine import Run
from kvtrace.addons.neuron.memory import BufferLife
from kvtrace.addons.neuron.targets import PSUM_BANK_BYTES, PSUM_BANKS

_RULES: Final = {"sbuf": SBUF_CAPACITY, "psum": PSUM_CAPACITY}


def accessed_buffers(lives: list[BufferLife], space: str) -> list[tuple[int, int, BufferLife]]:
    """Return (first op, last op, buffer) of each buffer in `space` that ops accessed."""
    return [
        (life.first, life.last, life)
        for life in lives
        if life.space == space and life.first >= 0 and not life.elided
    ]


def usage(
    lives: list[BufferLife], space: str, count: int, *, fused: bool = False
) -> NDArray[np.int64]:
    """Return the amount in use at each of `count` ops: bytes per partition of SBUF, banks of PSUM.

    A buffer with blocks counts block by block, each from its first to its last use. With `fused`,
    a buffer whose blocks are used only in `affine_range` counts as one block: a compiler may fuse
    such loops, and finish a block before it begins the next.
    """
    changes = np.zeros(count + 1, np.int64)
    for first_op, last_op, life in accessed_buffers(lives, space):
        if life.blocks and not (fused and life.reorderable):
            blocks = _blocks_in_use(life, first_op, last_op)
            amounts = blocks if space == "sbuf" else -(-blocks // PSUM_BANK_BYTES)
            steps = np.diff(amounts, prepend=0, append=0)
            changes[first_op : min(last_op, count - 1) + 2] += steps[: count + 1 - first_op]
            continue
        nbytes = life.block_bytes if life.blocks else life.partition_bytes
        amount = nbytes if space == "sbuf" else -(-nbytes // PSUM_BANK_BYTES)
        changes[first_op] += amount
        changes[min(last_op, count - 1) + 1] -= amount
    return np.cumsum(changes)[:count]


def _blocks_in_use(life: BufferLife, first: int, last: int) -> NDArray[np.int64]:
    changes_by_op = np.zeros(last - first + 2, np.int64)
    for first_use, last_use in life.blocks.values():
        changes_by_op[first_use - first] += life.block_bytes
        changes_by_op[last_use - first + 1] -= life.block_bytes
    return np.cumsum(changes_by_op)[:-1]


def find_overflows(run: Run) -> None:
    """Add a finding to the recorder for SBUF, and for PSUM, if live buffers do not fit."""
    recorder = run.recorder
    limits = {"sbuf": run.target.sbuf_usable_bytes, "psum": PSUM_BANKS}
    units = {"sbuf": "bytes", "psum": "banks"}
    for space, limit in limits.items():
        amounts = usage(recorder.buffers, space, recorder.count, fused=space == "psum")
        if not amounts.size or int(amounts.max()) <= limit:
            continue
        first_overflow = int(np.argmax(amounts > limit))
        live_buffers = [
            life
            for first_op, last_op, life in accessed_buffers(recorder.buffers, space)
            if first_op <= first_overflow <= last_op
        ]
        newest = max(live_buffers, key=lambda life: life.first)
        message = (
            f"{len(live_buffers)} buffers in use at once need {int(amounts[first_overflow]):,} "
            f"{units[space]} per partition of {space.upper()}, later up to {int(amounts.max()):,}; "
            f"{run.target.name} has {limit:,}"
        )
        recorder.add_finding(Finding(_RULES[space], newest.site, message))
