"""Arguments of an evaluation: storages, tensors that view them, scalars."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from kvtrace.evaluate.errors import BadArguments
from kvtrace.evaluate.types import ElementType, element_of_short_name
from kvtrace.schema.cached_property import cached_property

_MADE_UP_ADDRESSES = 1 << 62


class Storage(Struct, eq=False):
    """One allocation. Tensors that share it see each other's writes.

    `data` is a uint8 array of `nbytes`, or None where the contents are unknown. Evaluation writes
    to it in place, or, if it is read-only, to a copy that lives as long as the launch. `address` is
    the first byte's address for the kernel, if known: pointers in memory may point into the
    storage. `owner` is an object that keeps the memory allocated, if needed. `is_live` is true of
    memory of the running program, in which the kernel is executed, and not judged or replayed.
    """

    nbytes: int
    data: NDArray[np.uint8] | None = None
    address: int | None = None
    owner: Any = None
    is_live: bool = False

    def __post_init__(self) -> None:
        if self.data is not None and self.data.nbytes != self.nbytes:
            raise BadArguments(
                f"a storage is declared with {self.nbytes} bytes, but its data has "
                f"{self.data.nbytes} bytes"
            )

    @property
    def start(self) -> int | None:
        """Address of the first byte; None if neither the address nor the data is known.

        If only the data is known, the address is made up, beyond all real memory, so that no
        address in recorded contents equals it.
        """
        if self.address is not None or self.data is None:
            return self.address
        return _MADE_UP_ADDRESSES + int(self.data.ctypes.data)


class OutsideNumbers(Struct, frozen=True):
    """Numbers that loads read outside a storage, by the position of the element.

    Position p reads `first + p * step % count`; `step` -1 makes the numbers fall with the position.
    """

    first: int = 0
    count: int = 1
    step: int = 1

    def at(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number at each position (an element index from the data pointer)."""
        return self.first + positions * self.step % self.count


NOTHING: Final = OutsideNumbers()
"""The default numbers outside a storage: zeros."""


class TensorArgument(Struct, frozen=True, eq=False, dict=True):
    """A tensor passed to a kernel: a strided view of a storage.

    `offset_bytes` is where its data pointer lies in the storage; `strides` count elements;
    `dtype` is Triton's short form (fp32, bf16, i64, u8, i1 …). `padding_nan`: as a tensor
    descriptor, floats beyond its extents are NaN instead of zero. `outside` are the numbers
    that loads get in lanes out of bounds, where a device reads other memory. `storage_phase` is the
    storage's address modulo 16. `unknown` has the fields of a recorded argument that are null, in
    whose place something was assumed: the end of its last view for `storage_bytes`, a storage of
    its own for `alias_group`, 0 for `storage_phase` (`alignment`), the storage for the view
    (`shape`, `strides`).
    """

    name: str
    storage: Storage
    offset_bytes: int
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    padding_nan: bool = False
    outside: OutsideNumbers = NOTHING
    storage_phase: int = 0
    unknown: frozenset[str] = frozenset()

    @property
    def address(self) -> int:
        """The data pointer, counted from a multiple of 16 at or below the storage's start."""
        return self.storage_phase + self.offset_bytes

    @cached_property
    def element(self) -> ElementType:
        """The element type that `dtype` names; a kernel's pointer type may differ."""
        return element_of_short_name(self.dtype)

    @cached_property
    def view_bytes(self) -> tuple[int, int]:
        """First and one-past-last byte of the view, counted from the data pointer."""
        if any(size == 0 for size in self.shape):
            return (0, 0)
        reaches = [
            (size - 1) * stride for size, stride in zip(self.shape, self.strides, strict=True)
        ]
        first = sum(reach for reach in reaches if reach < 0)
        last = sum(reach for reach in reaches if reach > 0)
        size = self.element.bytes
        return (first * size, (last + 1) * size)

    @cached_property
    def storage_bytes(self) -> tuple[int, int]:
        """First and one-past-last byte of the storage, counted from the data pointer."""
        return (-self.offset_bytes, self.storage.nbytes - self.offset_bytes)


class ScalarArgument(Struct, frozen=True):
    """A number passed to a kernel. None: the number was not captured."""

    name: str
    value: int | float | bool | None


Argument = TensorArgument | ScalarArgument
"""The argument of a kernel's parameter."""


def with_storages(
    arguments: Iterable[Argument], replacement: Callable[[Storage], Storage]
) -> tuple[Argument, ...]:
    """Return arguments on replaced storages; tensors that shared a storage still share one.

    `replacement` is called once for each storage.
    """
    arguments = tuple(arguments)
    storages = dict.fromkeys(a.storage for a in arguments if isinstance(a, TensorArgument))
    replaced = {storage: replacement(storage) for storage in storages}
    return tuple(
        replace(argument, storage=replaced[argument.storage])
        if isinstance(argument, TensorArgument)
        else argument
        for argument in arguments
    )


__all__ = [
    "NOTHING", "Argument", "OutsideNumbers", "ScalarArgument", "Storage", "TensorArgument",
    "with_storages",
]  # fmt: skip
