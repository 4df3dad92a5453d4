"""Memory of a launch, shared memory too, with planes for each element that was written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from msgspec import Struct

from kvtrace.evaluate.arguments import Storage, TensorArgument
from kvtrace.evaluate.errors import Undecided
from kvtrace.evaluate.memory import Memory
from kvtrace.evaluate.partitions import PartitionedMemory
from kvtrace.evaluate.rounding import from_memory
from kvtrace.evaluate.scope import Scope
from kvtrace.evaluate.shadows.errors.planes import (
    NumberWithPlanes,
    centers,
    combined_scale,
    is_blank,
    offset_from,
)
from kvtrace.evaluate.shadows.errors.roundings import FLOAT32, Roundings, rounding, smallest_of
from kvtrace.evaluate.shared_memory import SharedMemory
from kvtrace.evaluate.types import ElementType, ValueType
from kvtrace.evaluate.values import (
    Array,
    Descriptor,
    Pointer,
    PointerChoice,
    Unknown,
    actual,
    pointers_in,
    to_array,
)
from kvtrace.ir import Op

StoragePlanes = tuple[int, int, Array]
"""Planes of a storage: the elements' size, the first element's offset in bytes, and the planes."""


class _PlanesElement(ElementType, frozen=True):
    """The type of planes as an element: it counts `size` bytes, like the element they belong to."""

    size: int = 4

    @property
    def bytes(self) -> int:
        """Size in bytes of the element that the planes belong to."""
        return self.size


class PlaneMemory(Memory):
    r"""The planes of the elements of a launch's storages, at the elements' addresses.

    Attributes:
        by_storage: planes by the storage's id.
        summed: ids of storages with atomic additions of floats, whose planes are not final yet.
    """

    def __init__(
        self, arguments: Sequence[Any], written: frozenset[Storage], planes: np.dtype[Any]
    ) -> None:
        super().__init__(arguments, written)
        self.by_storage: dict[int, StoragePlanes] = {}
        self.summed: set[int] = set()
        self._dtype = planes

    def type_of(self, type_: ValueType, lanes: np.dtype[Any] | None = None) -> ValueType:
        """Return the type of the planes of a value's elements; `lanes` replaces their dtype."""
        size, dtype = type_.element.bytes, lanes or self._dtype
        name = f"planes of {size} bytes"
        element = _PlanesElement(name, "planes", 0, dtype, dtype, size)
        return ValueType("planes", type_.shape, element)

    def is_known(self, tensor: TensorArgument) -> bool:
        """Return whether a tensor's storage has data, and so planes."""
        return tensor.storage.data is not None

    def _elements(self, tensor: TensorArgument, element: ElementType) -> tuple[Array, int]:
        size = element.bytes
        phase = tensor.offset_bytes % size
        storage = tensor.storage
        entry = self.by_storage.get(id(storage))
        if entry is not None and entry[:2] != (size, phase):
            if id(storage) in self.summed or not is_blank(entry[2]):
                raise Undecided(
                    f"the memory of {tensor.name} is read and written as elements of several sizes"
                )
            entry = None
        if entry is None:
            count = max(0, (storage.nbytes - phase) // size)
            entry = self.by_storage[id(storage)] = (size, phase, np.zeros(count, self._dtype))
        return entry[2], (tensor.offset_bytes - phase) // size

    def bytes_of(self, storage: Storage) -> Array:
        """Refuse unaligned accesses, which alone need bytes: planes belong to whole elements.

        Raises:
            Undecided: always.
        """
        del storage
        raise Undecided("an access goes to addresses that are not multiples of the elements' size")


#: Fields that an atomic addition has besides planes: magnitude, and the number they lie around.
_SUMMED: Final = (("size", np.float64), ("number", np.float64))
#: What an atomic addition loses at most where it flushes denormals of the element, the addend and
#: the sum, as PTX's `atom.add.f32` does in global memory.
_FLUSHED: Final = {FLOAT32: 3 * smallest_of(FLOAT32)}


class _Sums(Struct, frozen=True):
    """Totals of the atomic additions to each element of a storage, and the storage's elements.

    `ops` has the indices of the ops that add.
    """

    ops: set[int]
    count: Array
    magnitude: Array
    exact: Array
    flat: Array
    element: ElementType


class BoundedMemory(Memory):
    r"""The launch's memory, which stores and loads planes along with the elements.

    Before an access the instrument passes the operands' planes (`prepare`); after a load the planes
    are in `loaded`.

    Attributes:
        planes: the planes of the storages.
        elements: the names of the types of stored elements, by the storage's id.
        loaded: the planes of the last load; None: the loaded elements are certain.
        narrow_sums: indices of ops that added more than once to a number in memory of 16 bits.
            Roundings of all but the last addition count as float32's, unless granted.
    """

    def __init__(
        self, arguments: Sequence[Any], written: frozenset[Storage], roundings: Roundings
    ) -> None:
        super().__init__(arguments, written)
        self.roundings = roundings
        self.planes = PlaneMemory(arguments, written, roundings.kind.planes)
        self.elements: dict[int, set[str]] = {}
        self.loaded: Array | None = None
        self.narrow_sums: set[int] = set()
        self._stored: Sequence[Any] = ()
        self._doubt: Array | None = None
        self._adds: ElementType | None = None
        self._sums: dict[int, _Sums] = {}

    def prepare(self, stored: Sequence[Any], doubt: Array | None, adds: ElementType | None) -> None:
        """Set the planes of the next access's operands.

        Args:
            stored: The data, with planes.
            doubt: The planes of the mask and the pointers; None: both are certain.
            adds: The type that an atomic addition of floats rounds to; None: for others.
        """
        self._stored, self._doubt, self._adds = stored, doubt, adds
        self.loaded = None

    def load(
        self, op: Op, scope: Scope, pointer: Any, mask: Any, other: Any, type_: ValueType
    ) -> Any:
        """Return the loaded elements; set `loaded` to their planes, None if they are certain."""
        value = super().load(op, scope, pointer, mask, other, type_)
        with_planes = [target for target in _targets(pointer) if self._has_planes(target)]
        filled = next(
            (value for value in self._stored if isinstance(value, NumberWithPlanes)), None
        )
        doubt = self._doubt
        if isinstance(value, Unknown) or not (with_planes or filled or doubt is not None):
            return value
        planes = self.roundings.zeros((1,) * (len(type_.shape) + 1))
        if with_planes or filled is not None:
            fill = planes if filled is None else filled.shadow
            planes = self.planes.load(
                op, scope, pointer, mask, fill, self.planes.type_of(type_)
            ).copy()
            if op.index in self.roundings.narrow:
                self._uncount_last_rounding(op, planes, to_array(value, type_), type_.element)
        if any(self._storage_of(target) in self._sums for target in with_planes):
            if self.roundings.all_count:
                raise Undecided("the launch reads memory that its own atomic additions write")
            planes = self.roundings.unbounded(np.ones(planes.shape))
        self.loaded = planes if doubt is None else self._unbounded_where_doubtful(planes, doubt)
        return value

    def _uncount_last_rounding(
        self, op: Op, planes: Array, value: Array, element: ElementType
    ) -> None:
        """Take back what storing a sum of 16 bits has counted, as more is added to it."""
        last = _last_rounding(value, element)
        if np.any(planes["worst"] >= last):
            self.narrow_sums.add(op.index)
        for plane in self.roundings.errors:
            planes[plane] = np.maximum(planes[plane] - last, 0.0)

    def _unbounded_where_doubtful(self, planes: Array, doubt: Array) -> Array:
        """Return planes that are infinite where those of the mask or pointer are above 0."""
        shape = np.broadcast_shapes(planes.shape, doubt.shape)
        planes = np.array(np.broadcast_to(planes, shape))
        for plane in self.roundings.open:
            planes[plane] = np.where(doubt[plane] > 0, np.inf, planes[plane])
        return planes

    def store(
        self, op: Op, scope: Scope, pointer: Any, value: Any, mask: Any, type_: ValueType
    ) -> None:
        """Store elements, and their planes if they or the present ones have any."""
        if isinstance(value, NumberWithPlanes):
            self._stored, value = [value], value.actual
        super().store(op, scope, pointer, value, mask, type_)
        if isinstance(pointer, PointerChoice):
            return  # the store to each pointer has stored the planes
        self._record_element_type(pointer, type_)
        stored = self._stored[0] if self._stored else None
        doubt = self._doubt
        if (
            not isinstance(stored, NumberWithPlanes)
            and doubt is None
            and not self._has_planes(pointer)
        ):
            return
        planes = self._to_memory(stored, type_)
        if doubt is not None:  # another value may stay, or come
            planes = self._unbounded_where_doubtful(planes, doubt)
            if mask is not None:
                lanes = np.asarray(mask) if isinstance(mask, bool) else to_array(actual(mask), None)
                mask = np.logical_or(lanes, doubt["worst"] > 0)
        self.planes.store(op, scope, pointer, planes, mask, self.planes.type_of(type_))

    def _to_memory(self, stored: Any, type_: ValueType) -> Array:
        """Return the planes of stored elements, with all random errors counted as common."""
        if not isinstance(stored, NumberWithPlanes):
            return self.roundings.zeros((1,) * (len(type_.shape) + 1))
        planes = stored.shared().shadow
        if stored.narrowed:  # it was counted as float32 until now
            last = _last_rounding(to_array(stored.actual, type_), type_.element)
            for plane in self.roundings.errors:
                planes[plane] += last
        return planes

    def atomic(
        self,
        op: Op,
        scope: Scope,
        pointer: Any,
        operands: Sequence[Any],
        mask: Any,
        type_: ValueType,
        update: Callable[[Array, Array, list[Array]], Array | None],
    ) -> Any:
        """Update elements and planes; `finish` bounds float sums. Return old contents."""
        if operands and isinstance(operands[0], NumberWithPlanes):
            self._stored, operands = [operands[0]], [operands[0].actual, *operands[1:]]
        simple = not isinstance(pointer, PointerChoice)
        if simple and self._adds is not None and pointer.argument is not None:
            self._begin_sums(op, pointer, self._adds)
        result = super().atomic(op, scope, pointer, operands, mask, type_, update)
        if not simple or isinstance(result, Unknown):
            return result
        self._record_element_type(pointer, type_)
        stored = self._stored[-1] if self._stored else None
        if self._adds is None and not isinstance(stored, NumberWithPlanes):
            return result
        sums = None if self._adds is None else self._sums.get(self._storage_of(pointer))
        value = to_array(operands[0], type_).astype(np.float64)
        planes = self._to_memory(stored, type_)
        dtype = np.dtype([*self.roundings.kind.planes.descr, *_SUMMED])
        lanes = np.zeros(value.shape, dtype)
        for plane in planes.dtype.names or ():
            lanes[plane] = planes[plane]
        lanes["size"], lanes["number"] = np.abs(value), centers(value, planes)
        of_lanes, update_planes = self.planes.type_of(type_, dtype), self._update(sums)
        self.planes.atomic(op, scope, pointer, [lanes], mask, of_lanes, update_planes)
        return result

    def _update(self, sums: _Sums | None) -> Callable[[Array, Array, list[Array]], None]:
        """Return a function that updates planes: adds them in sums, else keeps the larger."""
        widened = [plane for plane in self.roundings.kind.planes.names or () if plane != "off"]
        added = [plane for plane in widened if plane != "own"]
        all_count = self.roundings.all_count

        def update(flat: Array, index: Array, lanes: list[Array]) -> None:
            (lane,) = lanes
            if sums is None:
                off = np.abs(lane["off"]) if all_count else 0.0
                for plane in widened:
                    np.maximum.at(flat[plane], index, lane[plane] + off)
                return
            for plane in added:
                np.add.at(flat[plane], index, lane[plane])
            np.add.at(sums.exact, index, lane["number"])
            np.add.at(sums.magnitude, index, lane["size"])
            np.add.at(sums.count, index, 1)

        return update

    def _begin_sums(self, op: Op, pointer: Any, element: ElementType) -> None:
        """Begin to collect the float additions to a storage, from its present contents."""
        storage = self._storage_of(pointer)
        if storage in self._sums:
            self._sums[storage].ops.add(op.index)
            return
        flat, _ = self._elements(self._arguments[pointer.argument], element)
        present_values = from_memory(flat, element).astype(np.float64)
        size = np.abs(present_values)
        if storage in self.planes.by_storage:
            present_values = centers(present_values, self.planes.by_storage[storage][2])
        count = np.zeros(len(flat), np.int64)
        self.planes.summed.add(storage)
        self._sums[storage] = _Sums({op.index}, count, size, present_values, flat, element)

    def finish(self) -> None:
        """Add the roundings of collected float additions to the planes, for any order."""
        for storage, sums in self._sums.items():
            entry = self.planes.by_storage.get(storage)
            if entry is None:
                continue
            planes, count = entry[2], sums.count
            typed = from_memory(sums.flat, sums.element).astype(np.float64)
            counted = sums.element.name
            if sums.ops & self.roundings.narrow:
                counted = FLOAT32
                self.narrow_sums |= sums.ops if np.any(count > 1) else set()
                for plane in self.roundings.errors:
                    planes[plane] += np.where(count > 0, _last_rounding(typed, sums.element), 0.0)
            one_rounding = np.where(count > 0, rounding(counted, sums.magnitude), 0.0)
            if not self.roundings.all_count:  # for both orders, the device's and the evaluator's
                planes["worst"] += np.where(count > 1, 2 * count * one_rounding, 0.0)
                continue
            fresh = np.sqrt(count) * one_rounding
            flushed = count * _FLUSHED.get(sums.element.name, 0.0)
            planes["worst"] += count * one_rounding + flushed
            planes["near"] += flushed + np.minimum(
                count * one_rounding, self.roundings.deviations * fresh
            )
            parts = [(planes["common"], None), (fresh, self.roundings.birth())]
            planes["common"], _ = combined_scale(parts)
            planes["meaning"] += count * 2.0**-53 * sums.magnitude
            planes["off"] = np.where(count > 0, offset_from(sums.exact, typed)[0], planes["off"])

    def storages_of(self, pointer: Any) -> set[int]:
        """Return the ids of the storages that pointers, or a descriptor, point into."""
        return {
            self._storage_of(target) for target in _targets(pointer) if target.argument is not None
        }

    def _storage_of(self, pointer: Any) -> int:
        return id(self._arguments[pointer.argument].storage)

    def _has_planes(self, pointer: Any) -> bool:
        return pointer.argument is not None and self._storage_of(pointer) in self.planes.by_storage

    def _record_element_type(self, pointer: Any, type_: ValueType) -> None:
        if pointer.argument is not None:
            self.elements.setdefault(self._storage_of(pointer), set()).add(type_.element.name)


def _last_rounding(values: Array, element: ElementType) -> Array:
    size = np.abs(values.astype(np.float64))
    return rounding(element.name, np.where(np.isfinite(size), size, 0.0))


def _targets(pointer: Any) -> list[Any]:
    """Return the pointers, one per argument, that an access or a descriptor may use."""
    base = pointer.base if isinstance(pointer, Descriptor) else pointer
    return pointers_in(base) if isinstance(base, Pointer | PointerChoice) else []


class BoundedSharedMemory(SharedMemory):
    """The shared memory of a launch; asynchronous copies keep the planes of the loaded elements."""

    def __init__(self, programs: int, *, memory: BoundedMemory) -> None:
        super().__init__(programs)
        self._memory = memory
        self._roundings = memory.roundings

    def copy(
        self, op: Op, scope: Scope, view: Any, value: Any, type_: ValueType, *until: Any
    ) -> None:
        """Begin a copy of the elements of the last load, with their planes."""
        planes = self._memory.loaded
        if planes is not None and not isinstance(value, Unknown):
            shape = (1,) * (len(type_.shape) + 1)
            value = self._roundings.with_planes(value, self._roundings.fitted(planes, shape))
        super().copy(op, scope, view, value, type_, *until)

    def _unwritten_planes(self, count: int, type_: ValueType) -> list[Array]:
        return [*super()._unwritten_planes(count, type_), self._roundings.unbounded(np.ones(count))]

    def _planes(self, value: Any, type_: ValueType) -> list[Array]:
        return [to_array(actual(value), type_), self._roundings.kind.shadow_of(value, type_)]

    def _joined(self, planes: list[Array], early: Array) -> Any:
        number, shadow = planes
        if early.any():
            shadow = np.where(early, self._roundings.unbounded(np.ones((1,) * early.ndim)), shadow)
        return number if is_blank(shadow) else self._roundings.with_planes(number, shadow)


class BoundedPartitions(BoundedSharedMemory, PartitionedMemory):
    """The shared memory of partitions, with planes; products of the tensor core have no bounds."""

    follows_products = False
