"""Values that do not depend on contents of tensors: computed once, for all launches of a module.

Addresses and masks are made of program ids, lane numbers, scalars and counters of loops. Such a
value is the same object whenever it is computed again: constants are by nature, ids and scalars are
looked up by number, and an op of known operands is looked up by the identity of its operands. So a
launch like an earlier one computes what depends on data, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

from kvtrace.evaluate.values import Mask, Pointer, Sum

_MOST_ENTRIES: Final = 1 << 14
_MOST_BYTES: Final = 4 << 20
"""Limits of what is kept of one module."""

_LARGEST: Final = 1 << 18
"""The largest value that is kept, in bytes."""

KNOWN_TRIPS: Final = 64
"""The trips of a loop whose counters are known values, the first ones."""

Key = tuple[Any, ...]
T = TypeVar("T")


class KnownValues:
    """Results of ops by op and operands, and all objects that are known values, by identity.

    Each entry holds its operands, too, so that no other object can have their identity.
    """

    __slots__ = ("_bytes", "_constants", "_objects", "results")

    def __init__(self) -> None:
        self.results: dict[Key, tuple[Any, Any]] = {}
        self._constants: dict[int, Any] = {id(flag): flag for flag in (False, True, None)}
        self._objects: dict[int, Any] = {}
        self._bytes = 0

    def constant(self, value: Any) -> Any:
        """Return a value of the IR, which is known as long as the module lives."""
        self._constants[id(value)] = value
        return value

    def once(self, key: Key, compute: Callable[[], T], operand: Any = None) -> T:
        """Return the result under a key; computed where missing, and kept if its operand is known.

        `operand` is an object whose identity is in the key; None: there is none.
        """
        entry = self.results.get(key)
        if entry is None and operand is not None and not self.holds(operand):
            return compute()
        result: T = entry[0] if entry else self.keep(key, compute(), operand)
        return result

    def holds(self, value: Any) -> bool:
        """Return whether a value is known."""
        return id(value) in self._objects or id(value) in self._constants

    def keep(self, key: Key, result: Any, operands: Any = None) -> Any:
        """Store a result under its key, unless it is large; return it.

        `operands` are the objects whose identity is in the key.
        """
        size = _bytes_of(result)
        if size is None or size > _LARGEST:
            return result
        if self._bytes + size > _MOST_BYTES or len(self.results) >= _MOST_ENTRIES:
            self.results.clear()
            self._objects.clear()
            self._bytes = 0
        self.results[key] = result, operands
        self._objects[id(result)] = result
        self._bytes += size
        return result


def _bytes_of(value: Any) -> int | None:
    """Return the bytes of a value's arrays; None for values that are not kept."""
    if type(value) is Pointer:
        value = value.offset
    if type(value) is bool:
        return 0
    if isinstance(value, Sum):
        return sum(term.nbytes for term in value.terms)
    if isinstance(value, Mask):
        return sum(factor.nbytes for factor in value.factors)
    size: int | None = getattr(value, "nbytes", None)
    return size
