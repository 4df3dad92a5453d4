"""Storages on the CPU that contain given addresses, found among all tensors of the program.

An address is dereferenced only if it lies in the storage of a tensor that Python's garbage
collector tracks; that tensor is kept alive while its storage is used.
"""

import gc
import sys
import weakref
from itertools import chain
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.backends.triton.runtime_arguments import memory_view
from kvtrace.capture.arguments import short_dtype
from kvtrace.capture.collector import frozen_objects
from kvtrace.capture.host_devices import memory_kind
from kvtrace.evaluate.arguments import Storage
from kvtrace.evaluate.reach import LiveStorage

#: Start and size in bytes of a storage, and a tensor with this storage.
Memory = tuple[int, int, Any]

#: Tensors that earlier addresses led to, by start of their storage.
_earlier_tensors: Final[dict[int, "weakref.ref[Any]"]] = {}


def storages_at(addresses: NDArray[np.int64]) -> list[LiveStorage]:
    """Return the storages that contain any of the sorted addresses; they keep their tensors alive.

    Tensors are searched only for addresses outside of the storages found by earlier calls.
    """
    return [
        LiveStorage(
            Storage(nbytes, memory_view(start, nbytes), start, tensor), short_dtype(tensor.dtype)
        )
        for start, nbytes, tensor in _holding(addresses)
    ]


def _holding(addresses: NDArray[np.int64]) -> list[Memory]:
    """Return the storages that contain any of the addresses; of overlapping ones, the largest."""
    remembered = []
    for start, reference in list(_earlier_tensors.items()):
        memory = _memory_of(reference())
        if memory is None or memory[0] != start:
            _earlier_tensors.pop(start, None)
        else:
            remembered.append(memory)
    memories, remaining = _matching(remembered, addresses)
    if not remaining.size:
        return memories
    found_storages, _ = _matching(_all_memory(), remaining)
    for start, _, tensor in found_storages:
        _earlier_tensors[start] = weakref.ref(tensor)
    return memories + found_storages


def _matching(
    memories: list[Memory], addresses: NDArray[np.int64]
) -> tuple[list[Memory], NDArray[np.int64]]:
    """Return the storages that contain an address, and the addresses that are in no storage."""
    matches = []
    for memory in sorted(memories, key=lambda memory: -memory[1]):
        begin, end = np.searchsorted(addresses, (memory[0], memory[0] + memory[1]))
        if begin < end:
            matches.append(memory)
            addresses = np.delete(addresses, slice(begin, end))
    return matches, addresses


def _all_memory() -> list[Memory]:
    """Return the storages of all tensors on the CPU that the program holds, each once.

    They are found as referrers of the tensor classes. `gc.get_objects` would also return objects
    that other threads are just making, and a tuple that has a second owner cannot be completed.
    Tensors that the program froze (`gc.freeze`, as vLLM does) are no referrers, and stay frozen.
    """
    torch = sys.modules["torch"]
    kinds = {torch.Tensor}
    work = [torch.Tensor]
    while work:
        subclasses = set(type.__subclasses__(work.pop())) - kinds
        kinds |= subclasses
        work += subclasses
    storages: dict[int, Memory] = {}
    frozen = frozen_objects(torch.Tensor) if gc.get_freeze_count() else []
    for value in chain(gc.get_referrers(*kinds), frozen):
        # `type(value)`: reading `__class__` may run the program's code
        memory = _memory_of(value) if type(value) in kinds else None
        if memory is not None and memory[1] > storages.get(memory[0], (0, 0))[1]:
            storages[memory[0]] = memory
    return list(storages.values())


def _memory_of(tensor: Any) -> Memory | None:
    """Return the memory of a tensor's storage; None if the tensor is gone or not on the CPU."""
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
