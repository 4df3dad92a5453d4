"""A launch's memory with planes beside each element that the kernel has written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from kvtrace.evaluate.arguments import Storage, TensorArgument
from kvtrace.evaluate.errors import Undecided
from kvtrace.evaluate.memory import Memory
from kvtrace.evaluate.rounding import from_memory
from kvtrace.evaluate.scope import Scope
from kvtrace.evaluate.shadows.errors.planes import (
    Deviating,
    centers,
    is_blank,
    offset_from,
    together,
)
from kvtrace.evaluate.shadows.errors.roundings import Roundings, rounding
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

Kept = tuple[int, int, Array]
"""Planes beside a storage: the elements' size, where the first begins, and the planes."""


@dataclass(frozen=True)
class _PlanesElement(ElementType):
    """Planes beside an element, addressed as an element of so many bytes."""

    size: int = 4

    @property
    def bytes(self) -> int:
        """Size of the element that planes are kept beside."""
        return self.size


class KeptPlanes(Memory):
    """The planes beside the elements of a launch's storages, addressed as the elements are.

    Attributes:
        kept: by the storage's id.
        summed: the storages that atomic additions of floats go to, whose planes are not final yet.

    """

    def __init__(
        self, arguments: Sequence[Any], written: frozenset[Storage], planes: np.dtype[Any]
    ) -> None:
        super().__init__(arguments, written)
        self.kept: dict[int, Kept] = {}
        self.summed: set[int] = set()
        self._dtype = planes

    def type_of(self, type_: ValueType, lanes: np.dtype[Any] | None = None) -> ValueType:
        """Return the type of the planes beside a value's elements, and of what updates them."""
        size, dtype = type_.element.bytes, lanes or self._dtype
        name = f"planes of {size} bytes"
        element = _PlanesElement(name, "planes", 0, dtype, dtype, size)
        return ValueType("planes", type_.shape, element)

    def is_known(self, tensor: TensorArgument) -> bool:
        """Whether the contents of a tensor's storage, and so the planes beside them, are."""
        return tensor.storage.data is not None

    def _elements(self, tensor: TensorArgument, element: ElementType) -> tuple[Array, int]:
        size = element.bytes
        phase = tensor.offset_bytes % size
        storage = tensor.storage
        kept = self.kept.get(id(storage))
        if kept is not None and kept[:2] != (size, phase):
            if id(storage) in self.summed or not is_blank(kept[2]):
                raise Undecided(
                    f"the memory of {tensor.name} is read and written as elements of several sizes"
                )
            kept = None
        if kept is None:
            count = max(0, (storage.nbytes - phase) // size)
            kept = self.kept[id(storage)] = (size, phase, np.zeros(count, self._dtype))
        return kept[2], (tensor.offset_bytes - phase) // size

    def _data(self, storage: Storage) -> Array:
        del storage
        raise Undecided("it goes to addresses that are not multiples of their elements' size")


#: What an update of a sum brings besides planes: its size, and the number that they lie around.
_SUMMED: Final = (("size", np.float64), ("number", np.float64))


@dataclass(frozen=True, slots=True)
class _Sums:
    """What atomic additions brought to each element of a storage, and what it holds."""

    count: Array
    magnitude: Array
    exact: Array
    flat: Array
    element: ElementType


class BoundedMemory(Memory):
    """The launch's own memory, which keeps planes of what is stored and has them for loads.

    The instrument says before an access what is beside its operands (`prepare`); `loaded` is then
    what a load gave.

    Attributes:
        planes: those of the storages.
        elements: the types of what was stored, by the storage's id.
        loaded: the planes of the last load; None: it is certain.

    """

    def __init__(
        self, arguments: Sequence[Any], written: frozenset[Storage], roundings: Roundings
    ) -> None:
        super().__init__(arguments, written)
        self.roundings = roundings
        self.planes = KeptPlanes(arguments, written, roundings.kind.planes)
        self.elements: dict[int, set[str]] = {}
        self.loaded: Array | None = None
        self._stored: Sequence[Any] = ()
        self._doubt: Array | None = None
        self._adds: ElementType | None = None
        self._sums: dict[int, _Sums] = {}

    def prepare(self, stored: Sequence[Any], doubt: Array | None, adds: ElementType | None) -> None:
        """Say what is beside the operands of the access that comes.

        Args:
            stored: The data, with planes.
            doubt: The planes of its mask and its pointers; None: both are certain.
            adds: The type that an atomic addition of floats rounds to; None: it adds none.

        """
        self._stored, self._doubt, self._adds = stored, doubt, adds
        self.loaded = None

    def load(
        self, op: Op, scope: Scope, pointer: Any, mask: Any, other: Any, type_: ValueType
    ) -> Any:
        """Load, and set `loaded` to the planes."""
        value = super().load(op, scope, pointer, mask, other, type_)
        touched = [each for each in _targets(pointer) if self._has_planes(each)]
        filled = next((each for each in self._stored if isinstance(each, Deviating)), None)
        doubt = self._doubt
        if isinstance(value, Unknown) or not (touched or filled or doubt is not None):
            return value
        planes = self.roundings.zeros((1,) * (len(type_.shape) + 1))
        if touched or filled is not None:
            fill = planes if filled is None else filled.shadow
            planes = self.planes.load(
                op, scope, pointer, mask, fill, self.planes.type_of(type_)
            ).copy()
        if any(self._storage_of(each) in self._sums for each in touched):
            if self.roundings.all_count:
                raise Undecided("what atomic additions leave in memory is read by the same launch")
            planes = self.roundings.opened(np.ones(planes.shape))
        self.loaded = planes if doubt is None else self._doubted(planes, doubt)
        return value

    def _doubted(self, planes: Array, doubt: Array) -> Array:
        """Return planes that are open wherever something is in doubt."""
        shape = np.broadcast_shapes(planes.shape, doubt.shape)
        planes = np.array(np.broadcast_to(planes, shape))
        for plane in self.roundings.open:
            planes[plane] = np.where(doubt[plane] > 0, np.inf, planes[plane])
        return planes

    def store(
        self, op: Op, scope: Scope, pointer: Any, value: Any, mask: Any, type_: ValueType
    ) -> None:
        """Store, with planes; those of what comes from shared memory are beside it."""
        if isinstance(value, Deviating):
            self._stored, value = [value], value.actual
        super().store(op, scope, pointer, value, mask, type_)
        if isinstance(pointer, PointerChoice):
            return  # each of them has been stored by itself
        self._note(pointer, type_)
        held = self._stored[0] if self._stored else None
        doubt = self._doubt
        if not isinstance(held, Deviating) and doubt is None and not self._has_planes(pointer):
            return
        planes = self._to_memory(held, type_)
        if doubt is not None:  # another value may stay, or come
            planes = self._doubted(planes, doubt)
            if mask is not None:
                lanes = np.asarray(mask) if isinstance(mask, bool) else to_array(actual(mask), None)
                mask = np.logical_or(lanes, doubt["worst"] > 0)
        self.planes.store(op, scope, pointer, planes, mask, self.planes.type_of(type_))

    def _to_memory(self, held: Any, type_: ValueType) -> Array:
        """Return the planes of what is stored: all that is random in one."""
        if not isinstance(held, Deviating):
            return self.roundings.zeros((1,) * (len(type_.shape) + 1))
        planes = held.shared().shadow
        if held.narrowed:  # it was counted as float32 until now
            size = np.abs(to_array(held.actual, type_).astype(np.float64))
            last = rounding(type_.element.name, np.where(np.isfinite(size), size, 0.0))
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
        """Update, with planes: sums of floats are bounded in the end, for any order."""
        if operands and isinstance(operands[0], Deviating):
            self._stored, operands = [operands[0]], [operands[0].actual, *operands[1:]]
        simple = not isinstance(pointer, PointerChoice)
        if simple and self._adds is not None and pointer.argument is not None:
            self._begin_sums(pointer, self._adds)
        result = super().atomic(op, scope, pointer, operands, mask, type_, update)
        if not simple or isinstance(result, Unknown):
            return result
        self._note(pointer, type_)
        held = self._stored[-1] if self._stored else None
        if self._adds is None and not isinstance(held, Deviating):
            return result
        sums = None if self._adds is None else self._sums.get(self._storage_of(pointer))
        value = to_array(operands[0], type_).astype(np.float64)
        planes = self._to_memory(held, type_)
        dtype = np.dtype([*self.roundings.kind.planes.descr, *_SUMMED])
        lanes = np.zeros(value.shape, dtype)
        for plane in planes.dtype.names or ():
            lanes[plane] = planes[plane]
        lanes["size"], lanes["number"] = np.abs(value), centers(value, planes)
        of_lanes, kept = self.planes.type_of(type_, dtype), self._update(sums)
        self.planes.atomic(op, scope, pointer, [lanes], mask, of_lanes, kept)
        return result

    def _update(self, sums: _Sums | None) -> Callable[[Array, Array, list[Array]], None]:
        """Return what keeps the planes of values that go to elements: all sums, or the widest."""
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

    def _begin_sums(self, pointer: Any, element: ElementType) -> None:
        storage = self._storage_of(pointer)
        if storage in self._sums:
            return
        flat, _ = self._elements(self._arguments[pointer.argument], element)
        first = from_memory(flat, element).astype(np.float64)
        size = np.abs(first)
        if storage in self.planes.kept:
            first = centers(first, self.planes.kept[storage][2])
        count = np.zeros(len(flat), np.int64)
        self.planes.summed.add(storage)
        self._sums[storage] = _Sums(count, size, first, flat, element)

    def finish(self) -> None:
        """Add the roundings of atomic additions, in any order."""
        for storage, sums in self._sums.items():
            kept = self.planes.kept.get(storage)
            if kept is None:
                continue
            planes, count = kept[2], sums.count
            each = np.where(count > 0, rounding(sums.element.name, sums.magnitude), 0.0)
            if not self.roundings.all_count:  # of both orders, the device's and the evaluator's
                planes["worst"] += np.where(count > 1, 2 * count * each, 0.0)
                continue
            fresh = np.sqrt(count) * each
            planes["worst"] += count * each
            planes["near"] += np.minimum(count * each, self.roundings.deviations * fresh)
            parts = [(planes["common"], None), (fresh, self.roundings.birth())]
            planes["common"], _ = together(parts)
            planes["meaning"] += count * 2.0**-53 * sums.magnitude
            held = from_memory(sums.flat, sums.element).astype(np.float64)
            planes["off"] = np.where(count > 0, offset_from(sums.exact, held)[0], planes["off"])

    def storages_of(self, pointer: Any) -> set[int]:
        """Return the storages that pointers, or a descriptor, lead into."""
        return {self._storage_of(each) for each in _targets(pointer) if each.argument is not None}

    def _storage_of(self, pointer: Any) -> int:
        return id(self._arguments[pointer.argument].storage)

    def _has_planes(self, pointer: Any) -> bool:
        return pointer.argument is not None and self._storage_of(pointer) in self.planes.kept

    def _note(self, pointer: Any, type_: ValueType) -> None:
        if pointer.argument is not None:
            self.elements.setdefault(self._storage_of(pointer), set()).add(type_.element.name)


def _targets(pointer: Any) -> list[Any]:
    """Return the pointers, one for each argument, that an access or a descriptor goes through."""
    base = pointer.base if isinstance(pointer, Descriptor) else pointer
    return pointers_in(base) if isinstance(base, Pointer | PointerChoice) else []
