"""Unknown pointers, and pointers with a limited number of choices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kvtrace.symbolic.conditions import FALSE, TRUE
from kvtrace.symbolic.summary import BlockPointer, Pointer, PointerChoice
from kvtrace.symbolic.terms import ZERO

_MOST_CHOICES: Final = 16


def unknown_pointer(reason: str, shape: tuple[int, ...]) -> Pointer:
    """Return a pointer whose address is unknown."""
    return Pointer((PointerChoice(None, ZERO, TRUE, reason),), shape)


def unknown_block(reason: str, shape: tuple[int, ...]) -> BlockPointer:
    """Return a block pointer whose address is unknown."""
    zeros = (ZERO,) * len(shape)
    return BlockPointer(unknown_pointer(reason, ()), zeros, zeros, zeros)


def limited(choices: Sequence[PointerChoice], shape: tuple[int, ...]) -> Pointer:
    """Return a pointer with the possible choices, or an unknown pointer if there are too many."""
    possible = [choice for choice in choices if choice.condition is not FALSE]
    if len(possible) > _MOST_CHOICES:
        return unknown_pointer("a pointer chosen between too many", shape)
    return Pointer(tuple(possible), shape)
