"""A launch's memory with something kept beside each element that the kernel has written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from kvtrace.evaluate.arguments import Storage, TensorArgument
from kvtrace.evaluate.errors import Undecided
from kvtrace.evaluate.memory import Memory
from kvtrace.evaluate.types import ElementType, ValueType
from kvtrace.evaluate.values import (
    Array,
    Descriptor,
    Pointer,
    PointerChoice,
    actual,
    pointers_in,
    to_array,
)

Kept = tuple[int, int, Array]
"""What is kept beside a storage: the elements' size, where the first begins, and what is kept."""


@dataclass(frozen=True)
class _KeptElement(ElementType):
    """What is kept beside an element, addressed as an element of so many bytes."""

    size: int = 4

    @property
    def bytes(self) -> int:
        """Size of the element that it is kept beside."""
        return self.size


class KeptBeside(Memory):
    """What is kept beside the elements of a launch's storages, and addressed as they are.

    Attributes:
        kept: by the storage's id.

    """

    what: ClassVar[str]
    dtype: ClassVar[npt.DTypeLike]
    kind: ClassVar[str]
    bits: ClassVar[int]

    def __init__(self, arguments: Sequence[Any], written: frozenset[Storage]) -> None:
        super().__init__(arguments, written)
        self.kept: dict[int, Kept] = {}

    def type_of(self, type_: ValueType) -> ValueType:
        """Return the type of what is kept beside a value's elements."""
        size, dtype = type_.element.bytes, np.dtype(self.dtype)
        name = f"{self.what} of {size} bytes"
        element = _KeptElement(name, self.kind, self.bits, dtype, dtype, size)
        return ValueType(self.what, type_.shape, element)

    def is_known(self, tensor: TensorArgument) -> bool:
        """Whether the contents of a tensor's storage, and so what is beside them, are."""
        return tensor.storage.data is not None

    def is_blank(self, kept: Array) -> bool:
        """Whether what is kept may be dropped, and begun with elements of another size."""
        del kept
        return False

    def _elements(self, tensor: TensorArgument, element: ElementType) -> tuple[Array, int]:
        size = element.bytes
        phase = tensor.offset_bytes % size
        storage = tensor.storage
        kept = self.kept.get(id(storage))
        if kept is not None and kept[:2] != (size, phase):
            if not self.is_blank(kept[2]):
                raise Undecided(
                    f"the memory of {tensor.name} is read and written as elements of several sizes"
                )
            kept = None
        if kept is None:
            count = max(0, (storage.nbytes - phase) // size)
            kept = self.kept[id(storage)] = (size, phase, np.zeros(count, self.dtype))
        return kept[2], (tensor.offset_bytes - phase) // size

    def _data(self, storage: Storage) -> Array:
        del storage
        raise Undecided("it goes to addresses that are not multiples of their elements' size")


class ShadowMemory(Memory):
    """The launch's own memory, which finds storages for those that keep something beside them."""

    def storages_of(self, pointer: Any) -> set[int]:
        """Return the storages that pointers, or a descriptor, lead into."""
        return {self._storage_of(each) for each in targets(pointer) if each.argument is not None}

    def _storage_of(self, pointer: Any) -> int:
        return id(self._arguments[pointer.argument].storage)


def actual_mask(mask: Any) -> Array:
    """Materialize a mask."""
    return np.asarray(mask) if isinstance(mask, bool) else to_array(actual(mask), None)


def targets(pointer: Any) -> list[Any]:
    """Return the pointers, one for each argument, that an access or a descriptor goes through."""
    base = pointer.base if isinstance(pointer, Descriptor) else pointer
    return pointers_in(base) if isinstance(base, Pointer | PointerChoice) else []
