"""Shared memory with a radius beside each number; what nobody wrote may be anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kvtrace.evaluate.shadows.values import Uncertain, radius_of
from kvtrace.evaluate.shared_memory import SharedMemory
from kvtrace.evaluate.values import Unknown, actual, to_array

if TYPE_CHECKING:
    from kvtrace.evaluate.scope import Scope
    from kvtrace.evaluate.shadows.radius.tt_memory import FollowedMemory
    from kvtrace.evaluate.types import ValueType
    from kvtrace.evaluate.values import Array
    from kvtrace.ir import Op


class FollowedShared(SharedMemory):
    """The shared memory of a launch; copies bring the radii that its memory has for them."""

    def __init__(self, programs: int, memory: FollowedMemory) -> None:
        super().__init__(programs)
        self._memory = memory

    def copy(
        self, op: Op, scope: Scope, view: Any, value: Any, type_: ValueType, barrier: Any = None
    ) -> None:
        """Begin a copy of what has just been loaded."""
        radius = self._memory.loaded
        if radius is not None and not isinstance(value, Unknown):
            rank = len(type_.shape) + 1
            spread = radius if radius.ndim == rank else np.full((1,) * rank, radius.max())
            value = Uncertain(value, spread)
        super().copy(op, scope, view, value, type_, barrier)

    def _empty(self, count: int, type_: ValueType) -> list[Array]:
        return [*super()._empty(count, type_), np.full(count, np.inf)]

    def _planes(self, value: Any, type_: ValueType) -> list[Array]:
        return [to_array(actual(value), type_), radius_of(value, type_)]

    def _joined(self, planes: list[Array], early: Array) -> Any:
        number, radius = planes
        radius = np.where(early, np.inf, radius)
        return Uncertain(number, radius) if radius.any() else number
