"""Meanings of ops in the walk, one file per dialect (`tt` is split by subject).

To add an op, write in its dialect's file a function of the walk and the op that sets the formulas
of the op's results, and register the function with `@meaning`. Without a meaning, results are
unknown.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kvtrace.ir import Op
    from kvtrace.symbolic.walk import Walk

    Meaning = Callable[[Walk, Op], None]

_FILES = (
    "arith",
    "arith_casts",
    "scf",
    "cf",
    "tt_program",
    "tt_shape",
    "tt_memory",
    "tt_blocks",
    "tt_reduce",
)
_meanings: dict[str, Meaning] = {}
_loaded = False


def meaning(*names: str) -> Callable[[Meaning], Meaning]:
    """Return a decorator that registers a function as the meaning of the named ops."""

    def register(function: Meaning) -> Meaning:
        for name in names:
            _meanings[name] = function
        return function

    return register


def meaning_of(name: str) -> Meaning | None:
    """Return the registered function of an op's name, or None. The first call imports all files."""
    global _loaded
    if not _loaded:
        _loaded = True
        for file in _FILES:
            import_module(f"{__name__}.{file}")
    return _meanings.get(name)
