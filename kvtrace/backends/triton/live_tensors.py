"""Finds the tensors on the CPU that hold given addresses, among all that the program has.

No address is ever read on trust: it must lie in the storage of a tensor that Python's garbage
collector knows of, and that tensor is held while its storage is worked on.
"""

import gc
import sys
import weakref
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.backends.triton.runtime_arguments import memory_view
from kvtrace.capture.arguments import short_dtype
from kvtrace.capture.host_devices import memory_kind
from kvtrace.evaluate.arguments import Storage
from kvtrace.evaluate.reach import Held

#: Where a storage begins, its size in bytes, and a tensor that has it.
Memory = tuple[int, int, Any]

#: Tensors that addresses led to before, by where their storages begin.
_known: Final[dict[int, "weakref.ref[Any]"]] = {}


def storages_at(addresses: NDArray[np.int64]) -> list[Held]:
    """Find the storages that any of the ascending addresses lies in; they stay while they are used.

    The collector is asked only for what no storage found before holds.
    """
    return [
        Held(Storage(nbytes, memory_view(start, nbytes), start, tensor), short_dtype(tensor.dtype))
        for start, nbytes, tensor in _holding(addresses)
    ]


def _holding(addresses: NDArray[np.int64]) -> list[Memory]:
    """Find what holds addresses; where storages overlap, the largest is taken."""
    remembered = []
    for start, reference in list(_known.items()):
        memory = _memory_of(reference())
        if memory is None or memory[0] != start:
            _known.pop(start, None)
        else:
            remembered.append(memory)
    found, left = _matching(remembered, addresses)
    if not left.size:
        return found
    more, _ = _matching(_all_memory(), left)
    for start, _, tensor in more:
        _known[start] = weakref.ref(tensor)
    return found + more


def _matching(
    memories: list[Memory], addresses: NDArray[np.int64]
) -> tuple[list[Memory], NDArray[np.int64]]:
    """Return the storages that addresses lie in, and the addresses that lie in none."""
    found = []
    for memory in sorted(memories, key=lambda memory: -memory[1]):
        begin, end = np.searchsorted(addresses, (memory[0], memory[0] + memory[1]))
        if begin < end:
            found.append(memory)
            addresses = np.delete(addresses, slice(begin, end))
    return found, addresses


def _all_memory() -> list[Memory]:
    """List the storages of all tensors on the CPU that the program holds, each once.

    `gc.get_objects` is not used: it would hold what other threads are just making, and a tuple that
    someone else holds cannot be finished. Referrers of the classes are little more than tensors.
    """
    torch = sys.modules["torch"]
    kinds = {torch.Tensor}
    work = [torch.Tensor]
    while work:
        more = set(type.__subclasses__(work.pop())) - kinds
        kinds |= more
        work += more
    storages: dict[int, Memory] = {}
    for value in gc.get_referrers(*kinds):
        # by its type: asking an object for its class may run the program's code
        memory = _memory_of(value) if type(value) in kinds else None
        if memory is not None and memory[1] > storages.get(memory[0], (0, 0))[1]:
            storages[memory[0]] = memory
    return list(storages.values())


def _memory_of(tensor: Any) -> Memory | None:
    """Say where a tensor's storage lies; None if it is gone, elsewhere, or has no storage."""
    torch: Any = sys.modules["torch"]
    try:
        # a subclass may override anything but this
        if tensor is None or not torch._C._has_storage(tensor):
            return None
        with torch._C.DisableTorchFunctionSubclass():
            storage = tensor.untyped_storage()
        if memory_kind(storage) != "cpu":
            return None
        start = int(storage.data_ptr())
    except (RuntimeError, NotImplementedError):
        return None  # tensors of tracers and wrappers have no memory
    return (start, int(storage.nbytes()), tensor) if start else None
