"""Memories of tensors: bytes of a buffer, which elements are defined, and when ops accessed them.

The state of an element is one byte: never written, garbage (a lane that a mask left out), or
defined. All elements of a memory without states are defined.
"""

from dataclasses import dataclass, field
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.neuron import dtypes
from kvtrace.addons.neuron.targets import PARTITIONS, PSUM_BANK_BYTES

Space = Literal["hbm", "sbuf", "psum"]

#: States of an element, ordered: an op's result has the least of its operands' states.
NEVER_WRITTEN: Final = 0
GARBAGE: Final = 1
DEFINED: Final = 2


@dataclass(slots=True, eq=False)
class BufferLife:
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
    blocks: dict[int, list[int]] = field(default_factory=dict)
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


class Memory:
    """A buffer's bytes, element states, element type and partition dimension."""

    __slots__ = (
        "allocation_serials",
        "argument",
        "dtype",
        "has_added_axis",
        "life",
        "number",
        "partition",
        "placed_by_compiler",
        "produced_lanes",
        "producer_order",
        "raw",
        "readers",
        "shape",
        "shared",
        "space",
        "states",
        "writer_iterations",
        "writers",
        "written",
    )

    def __init__(
        self,
        space: Space,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        partition: int,
        life: BufferLife,
        raw: NDArray[np.uint8] | None = None,
    ) -> None:
        """Make a buffer of bytes `raw`, or of garbage that counts as never written."""
        self.space = space
        self.shape = shape
        self.dtype = dtype
        self.partition = partition
        self.life = life
        if partition > 0:
            life.block_bytes = life.partition_bytes // size_of(shape[:partition])
        #: Name of the kernel's parameter, if the memory is an argument; else empty.
        self.argument = ""
        #: All programs of a launch see the memory.
        self.shared = False
        #: Serials of the loop iterations around the allocation, outermost first.
        self.allocation_serials: tuple[int, ...] = ()
        self.number = 0
        #: The kernel has written at least one element.
        self.written = False
        #: Order of the op that made the memory as its result; -1 if the program allocated it.
        self.producer_order = -1
        #: A reduction left one dimension, to which an axis of size 1 was added.
        self.has_added_axis = False
        #: The compiler chooses the engine of the op that made the memory, and so SBUF or PSUM.
        self.placed_by_compiler = False
        #: Elements that the op of `producer_order` wrote, if its mask left some out.
        self.produced_lanes: NDArray[np.bool_] | None = None
        #: Per element: 1 + the program that wrote it last, 1 + the program that read it first, and
        #: the serial of the iteration that wrote it last; 0 for none. Allocated on first use.
        self.writers: NDArray[np.int32] | None = None
        self.readers: NDArray[np.int32] | None = None
        self.writer_iterations: NDArray[np.int32] | None = None
        self.states: NDArray[np.uint8] | None
        if raw is not None:
            self.raw = raw
            self.states = None
            return
        element_count = size_of(shape)
        self.raw = np.full(element_count, dtypes.poison(dtype), dtype).view(np.uint8)
        self.states = np.zeros(element_count, np.uint8)

    def put(self, dtype: np.dtype[Any], positions: NDArray[np.int64], values: NDArray[Any]) -> None:
        """Write values to elements at positions, rounded to `dtype`."""
        self.raw.view(dtype)[positions] = dtypes.rounded(values, dtype)
        self.written = True

    def state_array(self) -> NDArray[np.uint8]:
        """Return the states of all elements as an array, created on the first call."""
        if self.states is None:
            self.states = np.full(self.raw.size // self.dtype.itemsize, DEFINED, np.uint8)
        return self.states


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
