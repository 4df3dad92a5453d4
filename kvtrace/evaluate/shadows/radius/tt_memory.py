"""A launch's memory with a radius beside each element that the kernel has written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from kvtrace.evaluate.arguments import Storage
from kvtrace.evaluate.scope import Scope
from kvtrace.evaluate.shadows.shadow_memory import (
    KeptBeside,
    ShadowMemory,
    actual_mask,
    targets,
)
from kvtrace.evaluate.shadows.values import Uncertain
from kvtrace.evaluate.types import ValueType
from kvtrace.evaluate.values import (
    Array,
    PointerChoice,
    Unknown,
)
from kvtrace.ir import Op

#: More than rounding a radius to float32 takes from it.
_UPWARDS: Final = 1 + 2.0**-20


@dataclass
class Sums:
    """What atomic additions brought to each element of a storage: how many, and how large."""

    count: Array
    magnitude: Array
    first: Array
    half_ulp: float


class _Radii(KeptBeside):
    """The radii of a launch's storages.

    `sums` has the storages that atomic additions of floats go to.
    """

    what, dtype, kind, bits = "radius", np.float32, "f", 32

    def __init__(self, arguments: Sequence[Any], written: frozenset[Storage]) -> None:
        super().__init__(arguments, written)
        self.sums: dict[int, Sums] = {}

    def is_blank(self, kept: Array) -> bool:
        """Whether all are certain."""
        return not kept.any()


class FollowedMemory(ShadowMemory):
    """The launch's own memory, which keeps radii of what is stored and has them for what is loaded.

    The instrument says before an access what is beside its operands: `stored`, the radii of data;
    `masked`, where its mask is not certain; `astray`, where its pointers are not. `loaded` is then
    the radius of what it gave.
    """

    def __init__(self, arguments: Sequence[Any], written: frozenset[Storage]) -> None:
        super().__init__(arguments, written)
        self.radii = _Radii(arguments, written)
        self.elements: dict[int, set[str]] = {}  # storage: types of what was stored
        self.stored: list[Array | None] = []
        self.masked: Array | None = None
        self.astray: Array | None = None
        self.loaded: Array | None = None
        self.half_ulp: float | None = None  # of an atomic addition of floats

    def prepare(
        self,
        stored: Sequence[Array | None],
        masked: Array | None,
        astray: Array | None,
        half_ulp: float | None,
    ) -> None:
        """Say what is beside the operands of the access that comes."""
        self.stored, self.masked = list(stored), masked
        self.astray, self.half_ulp = astray, half_ulp
        self.loaded = None

    def load(
        self, op: Op, scope: Scope, pointer: Any, mask: Any, other: Any, type_: ValueType
    ) -> Any:
        """Load, and set `loaded`."""
        value = super().load(op, scope, pointer, mask, other, type_)
        self.loaded = self._radius_of_load(op, scope, pointer, mask, value, type_)
        for doubt in (self.masked, self.astray):
            if doubt is not None:
                lost = np.where(doubt > 0, np.inf, 0.0)
                self.loaded = lost if self.loaded is None else np.maximum(self.loaded, lost)
        return value

    def _radius_of_load(
        self, op: Op, scope: Scope, pointer: Any, mask: Any, value: Any, type_: ValueType
    ) -> Array | None:
        touched = [self._is_touched(each) for each in targets(pointer)]
        filled = self.stored[0] if self.stored else None
        if isinstance(value, Unknown) or not (any(touched) or filled is not None):
            return None
        fill = None if filled is None else filled.astype(np.float32)
        radius = self.radii.load(op, scope, pointer, mask, fill, self.radii.type_of(type_))
        if "summed" in touched:
            radius = np.full_like(radius, np.inf)
        found: Array = radius.astype(np.float64)
        return found

    def store(
        self, op: Op, scope: Scope, pointer: Any, value: Any, mask: Any, type_: ValueType
    ) -> None:
        """Store, with radii; those of what comes from shared memory are beside it."""
        if isinstance(value, Uncertain):
            self.stored, value = [value.shadow], value.actual
        super().store(op, scope, pointer, value, mask, type_)
        if isinstance(pointer, PointerChoice):
            return  # each of them has been stored by itself
        (radius,) = self.stored or (None,)
        self._note(pointer, type_)
        if radius is None and self.masked is None and not self._is_touched(pointer):
            return
        if radius is None:
            radius = np.zeros((1,) * (len(type_.shape) + 1))
        if self.masked is not None:  # another value may stay, or come
            radius = np.where(self.masked > 0, np.inf, radius)
            mask = None if mask is None else np.logical_or(actual_mask(mask), self.masked > 0)
        rounded = (radius * _UPWARDS).astype(np.float32)
        self.radii.store(op, scope, pointer, rounded, mask, self.radii.type_of(type_))

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
        """Update, with radii: sums of floats are bounded in the end, for any order."""
        if operands and isinstance(operands[0], Uncertain):
            self.stored, operands = [operands[0].shadow], [operands[0].actual, *operands[1:]]
        simple = not isinstance(pointer, PointerChoice)
        half_ulp = self.half_ulp
        if simple and half_ulp is not None and pointer.argument is not None:
            self._begin_sums(pointer, type_, half_ulp)
        result = super().atomic(op, scope, pointer, operands, mask, type_, update)
        if not simple or isinstance(result, Unknown):
            return result
        self._note(pointer, type_)
        radius = self.stored[-1] if self.stored else None
        if half_ulp is None and radius is None:
            return result
        given = [np.zeros((1,) * (len(type_.shape) + 1)) if radius is None else radius]
        if half_ulp is not None:
            given.append(np.abs(np.asarray(operands[0], np.float64)))
        sums = self.radii.sums.get(self._storage_of(pointer))

        def add(flat: Array, index: Array, lanes: list[Array]) -> Array | None:
            if half_ulp is None or sums is None:
                np.maximum.at(flat, index, lanes[0])
            else:
                np.add.at(flat, index, lanes[0])
                np.add.at(sums.count, index, 1)
                np.add.at(sums.magnitude, index, lanes[1])
            return None

        rounded = [(each * _UPWARDS).astype(np.float32) for each in given]
        self.radii.atomic(op, scope, pointer, rounded, mask, self.radii.type_of(type_), add)
        return result

    def _begin_sums(self, pointer: Any, type_: ValueType, half_ulp: float) -> None:
        storage = self._storage_of(pointer)
        if storage in self.radii.sums:
            return
        tensor = self._arguments[pointer.argument]
        flat, _ = self._elements(tensor, type_.element)
        first = np.abs(flat.astype(np.float64))
        self.radii.sums[storage] = Sums(
            np.zeros(len(flat), np.int64), np.zeros(len(flat)), first, half_ulp
        )

    def finish(self) -> None:
        """Turn what atomic additions brought into radii: of both orders, the device's and ours."""
        for storage, sums in self.radii.sums.items():
            kept = self.radii.kept.get(storage)
            if kept is None:
                continue
            bound = 2 * sums.count * sums.half_ulp * (sums.first + sums.magnitude)
            kept[2][:] += (np.where(sums.count > 1, bound, 0) * _UPWARDS).astype(np.float32)

    def _is_touched(self, pointer: Any) -> str:
        """Say whether a storage has radii, or sums of which nothing is known yet."""
        if pointer.argument is None:
            return ""
        storage = self._storage_of(pointer)
        return "summed" if storage in self.radii.sums else "kept" * (storage in self.radii.kept)

    def _note(self, pointer: Any, type_: ValueType) -> None:
        if pointer.argument is not None:
            self.elements.setdefault(self._storage_of(pointer), set()).add(type_.element.name)
