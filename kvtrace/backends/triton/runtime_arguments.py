"""Arguments of a launch for the evaluator, on a machine without a GPU.

Tensors are not copied: the evaluator works on the memory that torch allocated.
"""

import ctypes
import gc
import sys
import weakref
from collections.abc import Sequence
from itertools import chain
from typing import Any, Final

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from kvtrace.backends.triton.absent_gpu import on_host
from kvtrace.capture.arguments import (
    address_of,
    flattened,
    shape_of,
    short_dtype,
    strides_of,
    unseen,
)
from kvtrace.capture.collector import frozen_objects
from kvtrace.capture.host_devices import memory_kind
from kvtrace.evaluate.arguments import Argument, ScalarArgument, Storage, TensorArgument
from kvtrace.evaluate.errors import BadArguments
from kvtrace.evaluate.reach import LiveStorage

#: Start and size in bytes of a storage, and a tensor with this storage.
Memory = tuple[int, int, Any]

#: Tensors that earlier addresses led to, by start of their storage.
_earlier_tensors: Final[dict[int, "weakref.ref[Any]"]] = {}


def evaluator_arguments(
    signature: Sequence[tuple[str, Any]],
    values: Sequence[Any],
    *,
    pointers_for_descriptors: bool = False,
) -> list[Argument]:
    """Return the values of a kernel's parameters as arguments of its IR function.

    Args:
        signature: Name and Triton type of every parameter, in order; a tuple's type is a tuple.
            Parameters of type constexpr are left out of the result, tuples flattened.
        values: The values, one for each parameter.
        pointers_for_descriptors: Whether the compiler has lowered descriptors to pointers, as it
            does for targets that have none.

    Raises:
        BadArguments: A value's type cannot be passed to the evaluator.

    """
    storages: dict[int, Storage] = {}
    arguments: list[Argument] = []
    for (parameter, form), passed in zip(signature, values, strict=True):
        if form == "constexpr":
            continue
        for name, kind, value in flattened(parameter, form, passed):
            if kind.startswith("tensordesc"):
                expand = _lowered_descriptor if pointers_for_descriptors else _descriptor
                arguments += expand(name, value, storages)
            elif kind != "constexpr":
                arguments.append(_argument(name, kind, value, storages))
    return arguments


def _descriptor(name: str, value: Any, storages: dict[int, Storage]) -> list[Argument]:
    """Return the arguments of a host descriptor as in TTIR: tensor, shape, strides."""
    tensor = _tensor(name, value.base, storages)
    shape, strides = tuple(map(int, value.shape)), tuple(map(int, value.strides))
    padding_nan = getattr(value, "padding", "zero") == "nan"
    described = replace(tensor, shape=shape, strides=strides, padding_nan=padding_nan)
    return [described, *_extents(name, shape, strides)]


def _lowered_descriptor(name: str, value: Any, storages: dict[int, Storage]) -> list[Argument]:
    """Return a lowered descriptor's arguments: pointer, shape, strides, flags, shape, strides."""
    shape, strides = tuple(map(int, value.shape)), tuple(map(int, value.strides))
    flags: list[Argument] = [ScalarArgument(f"{name}.padding", value.padding == "nan")]
    if hasattr(value, "round_f32_to_tf32"):  # as Triton passes it from 3.7 on
        flags.append(ScalarArgument(f"{name}.round", bool(value.round_f32_to_tf32)))
    extents = _extents(name, shape, strides)
    return [_tensor(name, value.base, storages), *extents, *flags, *extents]


def _extents(name: str, shape: tuple[int, ...], strides: tuple[int, ...]) -> list[Argument]:
    return [
        *(ScalarArgument(f"{name}.shape.{axis}", size) for axis, size in enumerate(shape)),
        *(ScalarArgument(f"{name}.stride.{axis}", step) for axis, step in enumerate(strides)),
    ]


def _argument(name: str, kind: str, value: Any, storages: dict[int, Storage]) -> Argument:
    if kind[0] == "*":
        return _tensor(name, value, storages)
    if isinstance(value, bool | int | float):
        return ScalarArgument(name, value)
    if hasattr(value, "__index__"):  # NumPy's integers and torch's symbolic ones
        return ScalarArgument(name, int(value))
    raise BadArguments(
        f"argument {name} is a {type(value).__name__}, which cannot be passed to a kernel on a "
        "machine without a GPU"
    )


def _tensor(name: str, value: Any, storages: dict[int, Storage]) -> TensorArgument:
    # the pointer is all that Triton's launcher asks for on a machine with a GPU
    return _tensor_at(int(value.data_ptr()), name, value, storages)


@unseen
def _tensor_at(pointer: int, name: str, value: Any, storages: dict[int, Storage]) -> TensorArgument:
    # Triton's reinterpreted tensors wrap a tensor, and have another dtype.
    viewed = value.base if type(value).__name__ == "TensorWrapper" else value
    if not hasattr(viewed, "untyped_storage"):
        return _pointed_at(pointer, name, value)
    address_of(viewed)  # wrappers answer from here on
    if memory_kind(viewed) != "cpu":
        raise BadArguments(
            f"argument {name} is on device {viewed.device}; without a GPU a kernel can work on "
            "tensors on the CPU only"
        )
    if viewed.device.type == "cpu" and on_host() and not viewed.is_pinned():
        # the error of Triton's launcher on a machine with a GPU
        raise ValueError(
            f"Pointer argument {name} cannot be accessed from Triton (cpu tensor?): torch reports "
            "a GPU (KVTRACE_DEVICE=cpu), and the tensor is not; move it, or unset the variable"
        )
    memory = viewed.untyped_storage()
    start = memory.data_ptr()
    storage = storages.get(start)
    if storage is None:
        nbytes = memory.nbytes()
        storage = storages[start] = Storage(nbytes, memory_view(start, nbytes), start, is_live=True)
    offset = pointer - start if storage.nbytes else 0
    dtype = short_dtype(value.dtype)
    return TensorArgument(name, storage, offset, dtype, tuple(viewed.shape), viewed.stride())


def _pointed_at(address: int, name: str, value: Any) -> TensorArgument:
    """Return the argument for an object that has only an address, which lies in a live tensor."""
    storages = storages_at(np.array([address], np.int64)) if address else []
    if not storages:
        raise BadArguments(
            f"argument {name} is a {type(value).__name__} whose data_ptr() leads into no tensor "
            "that the program holds; a machine without a GPU can follow pointers into tensors only"
        )
    storage, dtype = storages[0].storage, short_dtype(value.dtype)
    assert storage.address is not None
    offset = address - storage.address
    shape, strides = shape_of(value), strides_of(value)
    if shape is None or strides is None:  # up to the end of the storage
        shape, strides = ((storage.nbytes - offset) // _bytes_of(value),), (1,)
    return TensorArgument(name, storage, offset, dtype, shape, strides)


def _bytes_of(value: Any) -> int:
    return int(getattr(value.dtype, "itemsize", 0) or value.element_size())


def memory_view(address: int, nbytes: int) -> NDArray[np.uint8]:
    """Return an array of bytes that views memory, which the caller keeps allocated."""
    if nbytes == 0:
        return np.empty(0, np.uint8)
    buffer: Any = (ctypes.c_uint8 * nbytes).from_address(address)
    return np.ndarray((nbytes,), np.uint8, buffer)


# Storages on the CPU that contain given addresses, found among all tensors of the program.
#
# An address is dereferenced only if it lies in the storage of a tensor that Python's garbage
# collector tracks; that tensor is kept alive while its storage is used.


@unseen
def storages_at(addresses: NDArray[np.int64]) -> list[LiveStorage]:
    """Return the storages that contain any of the sorted addresses; they keep their tensors alive.

    Tensors are searched only for addresses outside of the storages found by earlier calls.
    """
    return [
        LiveStorage(
            Storage(nbytes, memory_view(start, nbytes), start, tensor, is_live=True),
            short_dtype(tensor.dtype),
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
        storage = tensor.untyped_storage()
        if memory_kind(storage) != "cpu":
            return None
        start = int(storage.data_ptr())
    except (RuntimeError, NotImplementedError):
        return None  # tensors of tracers and wrappers have no memory
    return (start, int(storage.nbytes()), tensor) if start else None
