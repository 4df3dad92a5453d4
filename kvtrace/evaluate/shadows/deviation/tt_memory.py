"""A launch's memory with planes beside each element that the kernel has written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kvtrace.evaluate.arguments import Storage
from kvtrace.evaluate.errors import Undecided
from kvtrace.evaluate.rounding import from_memory
from kvtrace.evaluate.scope import Scope
from kvtrace.evaluate.shadows.deviation.planes import (
    BOUNDS,
    OPEN,
    PLANES,
    Deviating,
    exact_from,
    offset_from,
    together,
)
from kvtrace.evaluate.shadows.deviation.roundings import Noise, rounding
from kvtrace.evaluate.shadows.shadow_memory import (
    KeptBeside,
    ShadowMemory,
    actual_mask,
    targets,
)
from kvtrace.evaluate.types import ElementType, ValueType
from kvtrace.evaluate.values import (
    Array,
    PointerChoice,
    Unknown,
    to_array,
)
from kvtrace.ir import Op


class _Planes(KeptBeside):
    """The planes of a launch's storages."""

    what, dtype, kind, bits = "planes", PLANES, "planes", 0


@dataclass(frozen=True, slots=True)
class _Sums:
    """What atomic additions brought to each element of a storage, and what it holds."""

    count: Array
    magnitude: Array
    exact: Array
    flat: Array
    element: ElementType
    name: str


class DeviatingMemory(ShadowMemory):
    """The launch's own memory, which keeps planes of what is stored and has them for loads.

    The instrument sets `stored` before an access to the data with planes, `doubt` to where its mask
    or its pointers are not certain; `loaded` is then what a load gave.
    """

    def __init__(self, arguments: Sequence[Any], written: frozenset[Storage], noise: Noise) -> None:
        super().__init__(arguments, written)
        self.planes = _Planes(arguments, written)
        self.stored: Sequence[Any] = ()
        self.doubt: Array | None = None
        self.adds: str | None = None
        self.loaded: Array | None = None
        self._noise = noise
        self._sums: dict[int, _Sums] = {}

    def load(
        self, op: Op, scope: Scope, pointer: Any, mask: Any, other: Any, type_: ValueType
    ) -> Any:
        """Load, and set `loaded` to the planes."""
        value = super().load(op, scope, pointer, mask, other, type_)
        self.loaded = None
        touched = [
            each for each in targets(pointer)
            if each.argument is not None and self._storage_of(each) in self.planes.kept
        ]  # fmt: skip
        filled = next((each for each in self.stored if isinstance(each, Deviating)), None)
        if isinstance(value, Unknown) or not (touched or filled or self.doubt is not None):
            return value
        rank = len(type_.shape) + 1
        fill = np.zeros((1,) * rank, PLANES) if filled is None else filled.shadow
        if touched or filled is not None:
            found = self.planes.load(
                op, scope, pointer, mask, fill, self.planes.type_of(type_)
            ).copy()
        else:
            found = np.zeros((1,) * rank, PLANES)
        if any(self._storage_of(each) in self._sums for each in touched):
            raise Undecided("what atomic additions leave in memory is read by the same launch")
        if self.doubt is not None:
            shape = np.broadcast_shapes(found.shape, self.doubt.shape)
            found = np.array(np.broadcast_to(found, shape))
            for plane in OPEN:
                found[plane] = np.where(self.doubt[plane] > 0, np.inf, found[plane])
        self.loaded = found
        return value

    def store(
        self, op: Op, scope: Scope, pointer: Any, value: Any, mask: Any, type_: ValueType
    ) -> None:
        """Store, with planes."""
        super().store(op, scope, pointer, value, mask, type_)
        if isinstance(pointer, PointerChoice):
            return  # each of them has been stored by itself
        held = self.stored[0] if self.stored else None
        touched = pointer.argument is not None and self._storage_of(pointer) in self.planes.kept
        if not isinstance(held, Deviating) and self.doubt is None and not touched:
            return
        planes = self._to_memory(held, type_)
        if self.doubt is not None:  # another value may stay, or come
            shape = np.broadcast_shapes(planes.shape, self.doubt.shape)
            planes = np.array(np.broadcast_to(planes, shape))
            for plane in OPEN:
                planes[plane] = np.where(self.doubt[plane] > 0, np.inf, planes[plane])
            if mask is not None:
                mask = np.logical_or(actual_mask(mask), self.doubt["worst"] > 0)
        self.planes.store(op, scope, pointer, planes, mask, self.planes.type_of(type_))

    def _to_memory(self, held: Any, type_: ValueType) -> Array:
        """Return the planes of what is stored: all that is random in one."""
        if not isinstance(held, Deviating):
            return np.zeros((1,) * (len(type_.shape) + 1), PLANES)
        planes = held.shared().shadow
        if held.narrowed:  # it was counted as float32 until now
            name = type_.element.name
            size = np.abs(to_array(held.actual, type_).astype(np.float64))
            last = rounding(name, np.where(np.isfinite(size), size, 0.0))
            for plane in ("worst", "near", "bias"):
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
        if self.adds is not None and pointer.argument is not None:
            self._begin_sums(pointer, type_, self.adds)
        result = super().atomic(op, scope, pointer, operands, mask, type_, update)
        if isinstance(pointer, PointerChoice) or isinstance(result, Unknown):
            return result
        held = self.stored[-1] if self.stored else None
        if self.adds is None and not isinstance(held, Deviating):
            return result
        sums = self._sums.get(self._storage_of(pointer))
        value = to_array(operands[0], type_).astype(np.float64)
        given = np.array(np.broadcast_to(self._to_memory(held, type_), value.shape))
        if sums is not None:  # until `finish`
            given["off"] = exact_from(value, given["off"])
            given["own"] = np.abs(value)

        def add(flat: Array, index: Array, lanes: list[Array]) -> Array | None:
            (lane,) = lanes
            if sums is None:
                for plane in BOUNDS:
                    np.maximum.at(flat[plane], index, lane[plane] + np.abs(lane["off"]))
                return None
            for plane in ("worst", "meaning", "near", "bias", "common"):
                np.add.at(flat[plane], index, lane[plane])
            np.add.at(sums.exact, index, lane["off"])
            np.add.at(sums.magnitude, index, lane["own"])
            np.add.at(sums.count, index, 1)
            return None

        self.planes.atomic(op, scope, pointer, [given], mask, self.planes.type_of(type_), add)
        return result

    def _begin_sums(self, pointer: Any, type_: ValueType, name: str) -> None:
        storage = self._storage_of(pointer)
        if storage in self._sums:
            return
        flat, _ = self._elements(self._arguments[pointer.argument], type_.element)
        first = from_memory(flat, type_.element).astype(np.float64)
        size = np.abs(first)
        if storage in self.planes.kept:
            first = exact_from(first, self.planes.kept[storage][2]["off"])
        count = np.zeros(len(flat), np.int64)
        self._sums[storage] = _Sums(count, size, first, flat, type_.element, name)

    def finish(self) -> None:
        """Add the roundings of atomic additions, in any order."""
        for storage, sums in self._sums.items():
            kept = self.planes.kept.get(storage)
            if kept is None:
                continue
            planes, count = kept[2], sums.count
            each = np.where(count > 0, rounding(sums.name, sums.magnitude), 0.0)
            fresh = np.sqrt(count) * each
            planes["worst"] += count * each
            planes["near"] += np.minimum(count * each, self._noise.deviations * fresh)
            parts = [(planes["common"], None), (fresh, self._noise.birth())]
            planes["common"], _ = together(parts)
            planes["meaning"] += count * 2.0**-53 * sums.magnitude
            held = from_memory(sums.flat, sums.element).astype(np.float64)
            planes["off"] = np.where(count > 0, offset_from(sums.exact, held)[0], planes["off"])
