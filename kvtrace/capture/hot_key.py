"""Identity of a launch's call in Python: kernel, grid, and the exact metadata of each argument.

It is a tuple of values and types, never the `id` of an object that may die: kernels are numbered,
and a number is forgotten when its kernel dies. Example: `add[(8,)](x, 1024)` with kernel number 3
has the key (3, 8, 1, 1, x's shape, strides, dtype and device, x's address modulo 16, 0 as x is the
first distinct pointer, int, 1024). The distance of tensors that overlap is part of the key; a view
that moves through its storage, apart from all others, makes no new call.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from struct import Struct
from typing import Any

from kvtrace.capture.adapters import Describe
from kvtrace.capture.arguments import span_of

_double = Struct("=d")


@dataclass(slots=True)
class Pointer:
    """A distinct data pointer of a launch, and the range of bytes that its tensors span.

    `joined` is the index of the first pointer of those whose spans overlap, one by one, up to this
    one.
    """

    address: int
    begin: int
    end: int
    joined: int


class CallKeys:
    """Maker of calls' keys; `tensor_types` are the exact types that are read as torch tensors."""

    def __init__(self, tensor_types: Iterable[type], describe: Describe) -> None:
        self._tensor_types = frozenset(tensor_types)
        self._describe = describe

    def of(
        self,
        kernel_id: int,
        grid: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        pointers: list[Pointer],
    ) -> tuple[Any, ...]:
        """Return the key of a launch's call, and add its distinct data pointers to `pointers`."""
        key: list[Any] = [kernel_id, *_whole_grid(grid)]
        self._add_values(key, pointers, args)
        if kwargs:
            # Names distinguish keyword arguments; as values they cannot be mistaken for positional
            # ones, since no value's entry is a bare tuple.
            key.append(tuple(kwargs))
            self._add_values(key, pointers, kwargs.values())
        return tuple(key)

    def _add_values(self, key: list[Any], pointers: list[Pointer], values: Iterable[Any]) -> None:
        """Append each value's metadata to `key`, and its new data pointers to `pointers`.

        The entries of a value begin with a shape, a type, or bytes, which determine their number.
        """
        tensor_types = self._tensor_types
        for value in values:
            kind = type(value)
            if kind in tensor_types:
                pointer, shape, strides = value.data_ptr(), value.shape, value.stride()
                index = _add_pointer(key, pointers, *span_of(pointer, shape, strides, value))
                key += (shape, strides, value.dtype, value.device, pointer & 15, index)
            elif kind is int or kind is bool or kind is str or value is None:
                key += (kind, value)
            elif kind is float:
                key += (kind, _double.pack(value))
            else:
                self._add_uncommon(key, pointers, value)

    def _add_uncommon(self, key: list[Any], pointers: list[Pointer], value: Any) -> None:
        identity, spans = self._describe(value)[:2]
        key.append(identity)
        for span in spans or ():
            index = _add_pointer(key, pointers, *span)
            key.append(index)


def _add_pointer(
    key: list[Any], pointers: list[Pointer], address: int, begin: int, end: int
) -> int:
    """Return the index of a data pointer in `pointers`, to which it is added if it is new.

    Its tensor spans the bytes from `begin` to `end`. If spans of other pointers overlap, their
    tensors share memory, and where they meet decides races: an entry with the distance is appended
    to `key`. One distance suffices for all pointers that are joined by overlaps. Tensors of one
    storage that do not overlap may move apart.
    """
    index = next((i for i, p in enumerate(pointers) if p.address == address), len(pointers))
    if index == len(pointers):
        pointers.append(Pointer(address, begin, end, index))
    own = pointers[index]
    own.begin, own.end = min(own.begin, begin), max(own.end, end)
    for other in pointers:
        if other.joined == own.joined or begin >= other.end or other.begin >= end:
            continue
        first = pointers[other.joined]
        key.append(
            ("overlap", other.joined, own.joined, pointers[own.joined].address - first.address)
        )
        ends = {own.joined, other.joined}
        for pointer in pointers:
            if pointer.joined in ends:
                pointer.joined = min(ends)
    return index


def _whole_grid(grid: Any) -> tuple[int, int, int]:
    """Return a grid of one to three numbers as three integers, with 1 for missing numbers."""
    x = grid[0]
    count = len(grid)
    y = grid[1] if count > 1 else 1
    z = grid[2] if count > 2 else 1
    return (x.__index__(), y.__index__(), z.__index__())
