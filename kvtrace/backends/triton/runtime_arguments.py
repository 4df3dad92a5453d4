"""Arguments of a launch for the evaluator, on a machine without a GPU.

Tensors are not copied: the evaluator works on the memory that torch allocated.
"""

import ctypes
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kvtrace.backends.triton.absent_gpu import on_host
from kvtrace.capture.arguments import flattened, shape_of, short_dtype, strides_of
from kvtrace.capture.host_devices import memory_kind
from kvtrace.evaluate.arguments import Argument, ScalarArgument, Storage, TensorArgument
from kvtrace.evaluate.errors import BadArguments


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
    # Triton's reinterpreted tensors wrap a tensor, and have another dtype.
    viewed = value.base if type(value).__name__ == "TensorWrapper" else value
    if not hasattr(viewed, "untyped_storage"):
        return _pointed_at(name, value)
    if memory_kind(viewed) != "cpu":
        raise BadArguments(
            f"argument {name} is on device {viewed.device}; without a GPU a kernel can work on "
            "tensors on the CPU only"
        )
    if viewed.device.type == "cpu" and on_host() and not viewed.is_pinned():
        # the error of Triton's launcher on a machine with a GPU
        raise ValueError(
            f"Pointer argument {name} cannot be accessed from Triton (cpu tensor?): torch reports "
            "a GPU (KVTRACE_DEVICE=cpu), and the tensor is not on it"
        )
    memory = viewed.untyped_storage()
    start = memory.data_ptr()
    storage = storages.get(start)
    if storage is None:
        nbytes = memory.nbytes()
        storage = storages[start] = Storage(nbytes, memory_view(start, nbytes), start)
    offset = viewed.data_ptr() - start if storage.nbytes else 0
    dtype = short_dtype(value.dtype)
    return TensorArgument(name, storage, offset, dtype, tuple(viewed.shape), viewed.stride())


def _pointed_at(name: str, value: Any) -> TensorArgument:
    """Return the argument for an object that has only an address, which lies in a live tensor."""
    from kvtrace.backends.triton.live_tensors import storages_at

    address = int(value.data_ptr())
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
