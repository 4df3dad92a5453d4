"""Memories of tensors: bytes of a buffer, which elements are defined, and when ops accessed them.

A memory in which no element is unwritten has no record of written elements.
"""

from typing import Any, Literal

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from kvtrace.addons.neuron import dtypes
from kvtrace.addons.neuron.targets import PARTITIONS, PSUM_BANK_BYTES

Space = Literal["hbm", "sbuf", "psum"]


class BufferLife(Struct, eq=False):
    """A buffer's size, name, allocation site, and first and last use; it outlives the bytes."""

    space: Space
    bytes: int
    partitions: int
    name: str
    site: int
    #: The buffer was never needed: the op's result was written to the tensor assigned to.
    elided: bool = False
    #: Blocks of a tensor with dimensions before the partitions: bytes per partition of a block, and
    #: block number → orders of the first and last op that accessed the block. A compiler places the
    #: blocks one by one, so each is in use only from its first to its last access.
    block_bytes: int = 0
    blocks: dict[int, list[int]] = {}
    #: All ops that accessed blocks were in loops whose iterations may run in any order.
    reorderable: bool = True
    #: Orders of the first and last op that accessed the buffer; -1 if none did.
    first: int = -1
    last: int = -1

    @property
    def partition_bytes(self) -> int:
        """Bytes of one partition."""
        return self.bytes // max(self.partitions, 1)

    @property
    def banks(self) -> int:
        """Number of PSUM banks that the buffer needs in each partition."""
        return -(-self.partition_bytes // PSUM_BANK_BYTES)


class Memory(Struct, eq=False):
    """A buffer's bytes, element type and partition dimension."""

    space: Space
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    partition: int
    life: BufferLife
    raw: NDArray[np.uint8]
    #: Which elements an op has written; None: all.
    written_elements: NDArray[np.bool_] | None = None
    #: Name of the kernel's parameter, if the memory is an argument; else empty.
    argument: str = ""
    number: int = 0
    #: The kernel has written at least one element.
    written: bool = False
    #: Order of the op that made the memory as its result; -1 if the program allocated it.
    producer_order: int = -1
    #: A reduction left one dimension, to which an axis of size 1 was added.
    has_added_axis: bool = False
    #: The compiler chooses the engine of the op that made the memory, and so SBUF or PSUM.
    placed_by_compiler: bool = False
    #: Elements that the op of `producer_order` wrote, if its mask left some out.
    produced_lanes: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        if self.partition > 0:
            blocks = size_of(self.shape[: self.partition])
            self.life.block_bytes = self.life.partition_bytes // blocks

    def put(self, dtype: np.dtype[Any], positions: NDArray[np.int64], values: NDArray[Any]) -> None:
        """Write values to elements at positions, rounded to `dtype`."""
        self.raw.view(dtype)[positions] = dtypes.rounded(values, dtype)
        self.written = True


def garbage(
    shape: tuple[int, ...], dtype: np.dtype[Any]
) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
    """Return the bytes of elements that were never written, and that none is written."""
    count = size_of(shape)
    raw = np.full(count, dtypes.poison(dtype), dtype).view(np.uint8)
    return raw, np.zeros(count, np.bool_)


def size_of(shape: tuple[int, ...]) -> int:
    """Return the number of elements of a shape."""
    element_count = 1
    for size in shape:
        element_count *= size
    return element_count


def partitions_of(shape: tuple[int, ...], partition: int) -> int:
    """Return the number of partitions that a shape spans, at most 128; 1 without partitions."""
    return min(shape[partition], PARTITIONS) if shape and partition >= 0 else 1


def contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides, in elements, of a contiguous tensor of a shape."""
    strides = []
    step = 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


def reshaped_strides(
    shape: tuple[int, ...], strides: tuple[int, ...], target: tuple[int, ...]
) -> tuple[int, ...] | None:
    """Return the strides of a reshaped view, or None if reshaping needs a copy."""
    if strides == contiguous(shape):
        return contiguous(target)
    probe = np.ndarray(shape, np.uint8, np.zeros(1, np.uint8), 0, (0,) * len(shape))
    probe = np.lib.stride_tricks.as_strided(probe, shape, strides)
    view = probe.view()
    try:
        view.shape = target
    except AttributeError:
        return None
    return tuple(view.strides)
