"""Keys that tell calls apart, in Python, to which the hot path is held.

A key is a tuple of values and types, never the `id` of an object that may die: kernels have
numbers, and a number is forgotten when its kernel dies. Example: `add[(8,)](x, 1024)` with kernel
number 3 has the key (3, 8, 1, 1, x's shape, strides, dtype and device, x's address modulo 16, 0 as
x is the first distinct pointer, int, 1024). The distance of tensors that overlap is part of the
key; a view that moves through its storage, apart from all others, makes no new call.
"""

from collections.abc import Iterable, Iterator
from struct import Struct
from typing import Any

from kvtrace.capture.adapters import Describe
from kvtrace.capture.arguments import span_of

_double = Struct("=d")


#: Of each distinct data pointer of a launch: its index, from 0, and the range of bytes that its
#: tensors span.
Pointers = dict[int, tuple[int, int, int]]


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
        pointers: Pointers,
    ) -> tuple[Any, ...]:
        """Return the key of a launch's call, and add its distinct data pointers to `pointers`."""
        key: list[Any] = [kernel_id, *_whole_grid(grid)]
        self._add_values(key, pointers, args)
        if kwargs:
            # Names distinguish keyword arguments; as values they cannot be mistaken for positional
            # ones, since no value's entry is a bare tuple.
            key.append(tuple(kwargs))
            self._add_values(key, pointers, kwargs.values())
        return (*key, *_overlaps(pointers))

    def _add_values(self, key: list[Any], pointers: Pointers, values: Iterable[Any]) -> None:
        """Append each value's metadata to `key`, and its new data pointers to `pointers`.

        The entries of a value begin with a shape, a type, or bytes, which determine their number.
        """
        tensor_types = self._tensor_types
        for value in values:
            kind = type(value)
            if kind in tensor_types:
                pointer, shape, strides = value.data_ptr(), value.shape, value.stride()
                index = _add_pointer(pointers, *span_of(pointer, shape, strides, value))
                key += (shape, strides, value.dtype, value.device, pointer & 15, index)
            elif kind is int or kind is bool or kind is str or value is None:
                key += (kind, value)
            elif kind is float:
                key += (kind, _double.pack(value))
            else:
                self._add_uncommon(key, pointers, value)

    def _add_uncommon(self, key: list[Any], pointers: Pointers, value: Any) -> None:
        identity, spans = self._describe(value)[:2]
        key.append(identity)
        key += [_add_pointer(pointers, *span) for span in spans or ()]


def _add_pointer(pointers: Pointers, address: int, begin: int, end: int) -> int:
    """Return the index of a data pointer, after its tensor's span has been added to `pointers`."""
    index, earliest, latest = pointers.get(address, (len(pointers), begin, end))
    pointers[address] = index, min(earliest, begin), max(latest, end)
    return index


def _overlaps(pointers: Pointers) -> Iterator[tuple[int, int, int]]:
    """Yield the distances of pointers whose spans overlap: (index of the first, index, distance).

    Such tensors share memory, and where they meet decides races. One distance suffices for each
    pointer of a group that is joined by overlaps. Tensors of one storage that do not overlap may
    move apart. Spans in the order of their begins are a group up to the first that begins where no
    earlier one reaches.
    """
    groups: list[list[tuple[int, int]]] = []
    reach = last = -1
    for begin, end, index, address in sorted(
        (begin, end, index, address) for address, (index, begin, end) in pointers.items()
    ):
        if begin >= reach and begin != last:
            groups.append([])
            reach = end
        groups[-1].append((index, address))
        reach, last = max(reach, end), begin
    for group in groups:
        first, origin = min(group)
        yield from ((first, index, at - origin) for index, at in sorted(group) if index != first)


def _whole_grid(grid: Any) -> tuple[int, int, int]:
    """Return a grid of one to three numbers as three integers, with 1 for missing numbers."""
    x = grid[0]
    count = len(grid)
    y = grid[1] if count > 1 else 1
    z = grid[2] if count > 2 else 1
    return (x.__index__(), y.__index__(), z.__index__())
