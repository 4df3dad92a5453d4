"""Memory that is used again: results of elementwise ops stored where an operand was.

An operand that no later op uses, and whose array nothing else refers to, gives its memory to the
result, or is forgotten. Fresh memory costs more than the arithmetic on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from sys import getrefcount
from typing import Any, Final

import numpy as np

from kvtrace.evaluate.dialects.arith_fused import fused_sums
from kvtrace.evaluate.sums import nests
from kvtrace.ir import Module, Op
from kvtrace.ir.model import once_per_module

_LEAST_BYTES: Final = 1 << 14
"""The smallest arrays that are worth a look."""


@dataclass(frozen=True)
class InPlace:
    """A ufunc that may overwrite one of the operands at `positions`, which no later op reads."""

    function: np.ufunc
    positions: tuple[int, ...]
    dtype: np.dtype[Any]

    def result(self, values: list[Any], slots: list[int], operands: list[Any]) -> Any:
        """Return the op's result in the memory of an operand; None if none can give its memory."""
        for position in self.positions:
            array = operands[position]
            if array.nbytes < _LEAST_BYTES or array.dtype != self.dtype or not array.flags.owndata:
                continue
            # The references: in `values`, in `operands`, `array`, and the argument of this call,
            # on CPython 3.11.7 and 3.14.8; a test has an operand that something else refers to.
            if getrefcount(array) == 4 and all(nests(x.shape, array.shape) for x in operands):
                values[slots[position]] = None
                return self.function(*operands, out=array)
        return None


def in_place(op: Op, module: Module, function: Any, dtype: np.dtype[Any]) -> InPlace | None:
    """Return how an op may store its result in an operand's memory; None: it may not."""
    positions = _dying_operands(op, module) if isinstance(function, np.ufunc) else ()
    return InPlace(function, positions, dtype) if positions else None


@once_per_module
def _users(module: Module) -> dict[int, list[Op]]:
    """Return the ops that use each value, in order; a fused sum uses its factors, too."""
    users: dict[int, list[Op]] = {}
    fused = fused_sums(module)
    for op in module.ops:
        terms = fused[op.index].terms if op.index in fused else ()
        for value in (*op.operands, *(value for value, _ in terms)):
            users.setdefault(value.id, []).append(op)
    return users


def dying_values(op: Op, module: Module) -> frozenset[int]:
    """Return the ids of operands that are made in an op's block, and not used after it."""
    users = _users(module)
    return frozenset(
        value.id
        for value in op.operands
        if (value.owner.block if isinstance(value.owner, Op) else value.owner) is op.block
        and users[value.id][-1] is op
        and all(user.block is op.block for user in users[value.id])
    )


def _dying_operands(op: Op, module: Module) -> tuple[int, ...]:
    """Return the positions of dying operands that the op has once."""
    ids = [value.id for value in op.operands]
    dying = dying_values(op, module)
    return tuple(i for i, number in enumerate(ids) if number in dying and ids.count(number) == 1)
