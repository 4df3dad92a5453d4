"""Shared memory with planes for each number; bytes that were never written may be any number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kvtrace.evaluate.shadows.errors.planes import is_blank
from kvtrace.evaluate.shared_memory import SharedMemory
from kvtrace.evaluate.values import Unknown, actual, to_array

if TYPE_CHECKING:
    from kvtrace.evaluate.scope import Scope
    from kvtrace.evaluate.shadows.errors.tt_memory import BoundedMemory
    from kvtrace.evaluate.types import ValueType
    from kvtrace.evaluate.values import Array
    from kvtrace.ir import Op


class BoundedSharedMemory(SharedMemory):
    """The shared memory of a launch; asynchronous copies keep the planes of the loaded elements."""

    def __init__(self, programs: int, memory: BoundedMemory) -> None:
        super().__init__(programs)
        self._memory = memory
        self._roundings = memory.roundings

    def copy(
        self, op: Op, scope: Scope, view: Any, value: Any, type_: ValueType, barrier: Any = None
    ) -> None:
        """Begin a copy of the elements of the last load, with their planes."""
        planes = self._memory.loaded
        if planes is not None and not isinstance(value, Unknown):
            shape = (1,) * (len(type_.shape) + 1)
            value = self._roundings.with_planes(value, self._roundings.fitted(planes, shape))
        super().copy(op, scope, view, value, type_, barrier)

    def _unwritten_planes(self, count: int, type_: ValueType) -> list[Array]:
        return [*super()._unwritten_planes(count, type_), self._roundings.unbounded(np.ones(count))]

    def _planes(self, value: Any, type_: ValueType) -> list[Array]:
        return [to_array(actual(value), type_), self._roundings.kind.shadow_of(value, type_)]

    def _joined(self, planes: list[Array], early: Array) -> Any:
        number, shadow = planes
        if early.any():
            shadow = np.where(early, self._roundings.unbounded(np.ones((1,) * early.ndim)), shadow)
        return number if is_blank(shadow) else self._roundings.with_planes(number, shadow)
