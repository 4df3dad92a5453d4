"""What tensors lie in: the bytes of a buffer, what of them is defined, and how long it was used.

The state of an element is one byte: never written, garbage (a lane that a mask left out), or
defined. A memory without states is defined throughout.
"""

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


class Life:
    """What is kept of a buffer after it is gone: the rows of `buffers` are made from it."""

    __slots__ = (
        "block_bytes",
        "blocks",
        "bytes",
        "first",
        "last",
        "name",
        "partition_bytes",
        "partitions",
        "reorderable",
        "settled",
        "site",
        "space",
    )

    def __init__(self, space: Space, nbytes: int, partitions: int, name: str, site: int) -> None:
        self.space = space
        self.bytes = nbytes
        self.partitions = partitions
        self.name = name
        self.site = site
        #: Whether it never was: the op's result was written where it was assigned to.
        self.settled = False
        self.partition_bytes = nbytes // max(partitions, 1)
        #: With dimensions before the partitions: bytes a partition of one of their blocks, and the
        #: orders of the first and the last op that used each, by its number. A compiler places the
        #: blocks one by one, and may fill them no sooner than they are used.
        self.block_bytes = 0
        self.blocks: dict[int, list[int]] = {}
        #: Whether all of these ops were in loops whose iterations may run in any order.
        self.reorderable = True
        #: Orders of the first and of the last op that used it; -1: none did.
        self.first = -1
        self.last = -1

    @property
    def banks(self) -> int:
        """PSUM banks of a partition that it takes."""
        return -(-self.partition_bytes // PSUM_BANK_BYTES)


class Memory:
    """A buffer: its bytes, states, element type, and which dimension partitions are."""

    __slots__ = (
        "argument",
        "born",
        "dtype",
        "flat",
        "fresh",
        "lanes",
        "life",
        "number",
        "partition",
        "placed_later",
        "raw",
        "readers",
        "shape",
        "shared",
        "space",
        "stamps",
        "states",
        "unrounded",
        "writers",
        "written",
    )

    def __init__(
        self,
        space: Space,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        partition: int,
        life: Life,
        raw: NDArray[np.uint8] | None = None,
    ) -> None:
        """Make a buffer; without `raw`, of garbage that was never written."""
        self.space = space
        self.shape = shape
        self.dtype = dtype
        self.partition = partition
        self.life = life
        if partition > 0:
            life.block_bytes = life.partition_bytes // size_of(shape[:partition])
        #: Name of the kernel's parameter that it is; empty for others.
        self.argument = ""
        #: Whether every program of a launch sees it.
        self.shared = False
        #: Number of the loop iterations around its allocation, for what loops carry.
        self.born: tuple[int, ...] = ()
        self.number = 0
        #: Whether anything was written to it.
        self.written = False
        #: Order of the op whose result it is, -1 for what was allocated by name.
        self.fresh = -1
        #: Whether a reduction left one dimension, to which a column's second was added.
        self.flat = False
        #: Whether the program leaves to the compiler which engine makes it, and where it lies.
        self.placed_later = False
        #: Which of its elements that op has made, if a mask left some out.
        self.lanes: NDArray[np.bool_] | None = None
        #: Per element, which program wrote it (1 is the first), which one read it first, and the
        #: iteration that wrote it; made when they are first needed.
        self.writers: NDArray[np.int32] | None = None
        self.readers: NDArray[np.int32] | None = None
        self.stamps: NDArray[np.int32] | None = None
        #: With `NKI_PRECISE_FP=0`, elements of a narrow float before they were rounded.
        self.unrounded: NDArray[np.float32] | None = None
        self.states: NDArray[np.uint8] | None
        if raw is not None:
            self.raw = raw
            self.states = None
            return
        count = size_of(shape)
        self.raw = np.full(count, dtypes.poison(dtype), dtype).view(np.uint8)
        self.states = np.zeros(count, np.uint8)

    def keep_unrounded(self) -> None:
        """Keep elements of a narrow float from here on as they are before they are rounded."""
        if self.dtype in dtypes.NARROW_FLOATS:
            self.unrounded = self.raw.view(self.dtype).astype(np.float32)

    def read_as(self, dtype: np.dtype[Any]) -> np.dtype[Any]:
        """Return what elements of a type are read in: it, or float32 where they are unrounded."""
        return dtypes.float32 if self.unrounded is not None and dtype == self.dtype else dtype

    def elements(self, dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return all elements as ops read them."""
        if self.unrounded is not None and dtype == self.dtype:
            return self.unrounded
        return self.raw.view(dtype)

    def put(self, dtype: np.dtype[Any], places: NDArray[np.int64], values: NDArray[Any]) -> None:
        """Write single elements of a type, rounded to it, and unrounded where that is kept."""
        self.raw.view(dtype)[places] = dtypes.rounded(values, dtype)
        if self.unrounded is not None and dtype == self.dtype:
            self.unrounded[places] = values
        self.written_as(dtype)

    def written_as(self, dtype: np.dtype[Any]) -> None:
        """Note that elements were written as some type; another one's bytes are all there is."""
        self.written = True
        if self.unrounded is not None and dtype != self.dtype:
            self.keep_unrounded()

    def state_array(self) -> NDArray[np.uint8]:
        """Return the states of all elements, made if there are none yet."""
        if self.states is None:
            self.states = np.full(self.raw.size // self.dtype.itemsize, DEFINED, np.uint8)
        return self.states


def size_of(shape: tuple[int, ...]) -> int:
    """Return the number of elements of a shape."""
    total = 1
    for size in shape:
        total *= size
    return total


def partitions_of(shape: tuple[int, ...], partition: int) -> int:
    """Return how many partitions a shape spans."""
    return min(shape[partition], PARTITIONS) if shape and partition >= 0 else 1
