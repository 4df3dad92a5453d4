"""Pointers that are not followed, and those that may be one of several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kvtrace.symbolic.conditions import FALSE, TRUE
from kvtrace.symbolic.summary import BlockPointer, Pointer, PointerChoice
from kvtrace.symbolic.terms import ZERO

_MOST_CHOICES: Final = 16


def unknown_pointer(reason: str, shape: tuple[int, ...]) -> Pointer:
    """Return a pointer to nobody knows where."""
    return Pointer((PointerChoice(None, ZERO, TRUE, reason),), shape)


def unknown_block(reason: str, shape: tuple[int, ...]) -> BlockPointer:
    """Return a block pointer to nobody knows where."""
    zeros = (ZERO,) * len(shape)
    return BlockPointer(unknown_pointer(reason, ()), zeros, zeros, zeros)


def limited(choices: Sequence[PointerChoice], shape: tuple[int, ...]) -> Pointer:
    """Return a pointer of these choices, or an unknown one if there are too many."""
    possible = [choice for choice in choices if choice.condition is not FALSE]
    if len(possible) > _MOST_CHOICES:
        return unknown_pointer("a pointer chosen between too many", shape)
    return Pointer(tuple(possible), shape)
