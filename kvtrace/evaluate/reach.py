"""Storages that a kernel reaches through addresses in memory, without being passed them.

A table of addresses names tensors that are not arguments. They are found before the launch, as in a
conservative garbage collector: an integer in an integer tensor (or argument) that is an address
inside an existing storage is treated as a pointer to the storage. These storages follow the
kernel's own arguments as tensors of one axis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from kvtrace.evaluate.arguments import Argument, ScalarArgument, Storage, TensorArgument
from kvtrace.evaluate.errors import UnsupportedOp
from kvtrace.evaluate.types import element_of_short_name, value_type
from kvtrace.ir import Module
from kvtrace.ir.model import once_per_module
from kvtrace.ir.ops import READING, Kind, named

_TABLES = ("i64", "u64")
_LEAST_ADDRESS = 1 << 22
"""The lowest address that counts as a pointer: programs and their memory lie above."""
_LEAST_SCALAR_ADDRESS = 1 << 31
"""The same for scalar arguments: Triton passes smaller integers as 32 bits, never as pointers."""


_FROM_NUMBERS = READING | named(lambda row: row.kind is Kind.ADDRESS and row.has("source"))
"""Ops whose results, if they are pointers, come from memory or from an integer."""


class LiveStorage(Struct, frozen=True, eq=False):
    """A storage of a live tensor, and the short dtype of its contents."""

    storage: Storage
    dtype: str


Find = Callable[[NDArray[np.int64]], Sequence[LiveStorage]]
"""Finds the storages with data that contain addresses; other addresses are ignored."""


@once_per_module
def follows_addresses(module: Module) -> bool:
    """Return whether a kernel may access memory through pointers that it was not passed."""
    return any(
        op.name in _FROM_NUMBERS and bool(op.results) and value_type(op.results[0].type).pointer
        for op in module.ops
    )


def reached(arguments: Sequence[Argument], find: Find) -> list[TensorArgument]:
    """Return tensors for the storages whose addresses are in the arguments, or in these storages.

    A tensor is named by the first address that was found: `*table[3]`. Addresses inside an
    argument's own view lead to that argument, and add no tensor. `find` returns the storages at
    addresses.
    """
    added: list[TensorArgument] = []
    sources = list(arguments)
    views = [view for argument in arguments for view in _view(argument)]
    storages = {a.storage.start: a.storage for a in arguments if isinstance(a, TensorArgument)}
    for argument in sources:
        addresses = _addresses(argument)
        for low, high in views:
            addresses = addresses[(addresses < low) | (addresses >= high)]
        for live in find(np.unique(addresses)) if addresses.size else ():
            start = live.storage.start
            assert start is not None
            storage = storages.setdefault(start, live.storage)
            name = _name_of_reached(argument, start, start + storage.nbytes)
            dtype, size = _element(live)
            tensor = TensorArgument(name, storage, 0, dtype, (storage.nbytes // size,), (1,))
            added.append(tensor)
            sources.append(tensor)
            views.append((start, start + storage.nbytes))
    return added


def _element(stored: LiveStorage) -> tuple[str, int]:
    """Return dtype and bytes per element of a storage; u8 and 1 if kernels lack the dtype."""
    try:
        return stored.dtype, element_of_short_name(stored.dtype).bytes
    except UnsupportedOp:
        return "u8", 1


def _view(argument: Argument) -> list[tuple[int, int]]:
    """Return a list with the address range of a tensor's view; empty if it is unknown."""
    if not isinstance(argument, TensorArgument) or argument.storage.start is None:
        return []
    begin = argument.storage.start + argument.offset_bytes
    low, high = argument.view_bytes
    return [(begin + low, begin + high)]


def _integers(argument: Argument) -> NDArray[np.int64]:
    """Return the 64-bit integers of an integer tensor's storage, or a scalar argument as one."""
    if isinstance(argument, ScalarArgument):
        value = argument.value
        whole = isinstance(value, int) and abs(value) < 1 << 63
        return np.array([value] if whole else [], np.int64)
    data = argument.storage.data
    if data is None or argument.dtype not in _TABLES:
        return np.empty(0, np.int64)
    aligned_bytes = data[argument.offset_bytes % 8 :]
    return aligned_bytes[: aligned_bytes.size // 8 * 8].view(np.int64)


def _addresses(argument: Argument) -> NDArray[np.int64]:
    words = _integers(argument)
    is_scalar = isinstance(argument, ScalarArgument)
    return words[words >= (_LEAST_SCALAR_ADDRESS if is_scalar else _LEAST_ADDRESS)]


def _name_of_reached(argument: Argument, low: int, high: int) -> str:
    if isinstance(argument, ScalarArgument):
        return f"*{argument.name}"
    words = _integers(argument)
    position = int(((words >= low) & (words < high)).argmax()) - argument.offset_bytes // 8
    return f"*{argument.name}[{position}]"
