"""Memory of the simulated GPU: host memory, in tensors that report the device "cuda".

A tensor on the device has a special storage, which keeps the host's memory alive and reports the
device "cuda". DLPack makes that storage: a tensor on the CPU is exported as a capsule, the device
in the capsule is overwritten, and torch imports the capsule again. Nothing is copied. Views share
the storage, as on a GPU.

Format: `DLManagedTensor`, https://dmlc.github.io/dlpack/latest/c_api.html
"""

import ctypes
import weakref
from typing import Any, Final

import torch

HOST: Final = torch.device("cpu")
_CPU_KERNELS: Final = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
#: `DLDeviceType` of CUDA, and where in a `DLManagedTensor` device type and index are.
_DL_CUDA: Final = 2
_DL_DEVICE: Final = ctypes.sizeof(ctypes.c_void_p)

_pointer_of: Any = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype = ctypes.c_void_p
_pointer_of.argtypes = (ctypes.py_object, ctypes.c_char_p)


class _MemoryUse:
    """Bytes and counts of the tensors on the device, as an allocator of a GPU would count them."""

    def __init__(self) -> None:
        self.now = 0
        self.peak = 0
        self.allocated = 0
        self.count = 0
        self.most = 0
        self.live: dict[int, weakref.ref[Any]] = {}


use: Final = _MemoryUse()


def is_on_device(value: object) -> bool:
    """Return whether a value is a tensor that reports a device "cuda"."""
    return isinstance(value, torch.Tensor) and value.device.type == "cuda"


def on_device(tensor: Any) -> Any:
    """Return a tensor on the device that has the given tensor's memory and elements.

    Args:
        tensor: A strided tensor on the CPU, any shape and type, that nobody else uses.

    """
    storage = tensor.untyped_storage()
    size = storage.nbytes()
    all_bytes = torch.empty(0, dtype=torch.uint8, device=HOST).set_(storage, 0, (size,), (1,))
    capsule = torch._C._to_dlpack(all_bytes)
    kind = ctypes.c_int32.from_address(_pointer_of(capsule, b"dltensor") + _DL_DEVICE)
    kind.value = _DL_CUDA
    device_tensor = torch._C._from_dlpack(capsule)
    _count(device_tensor.untyped_storage(), size)
    return alias(device_tensor, tensor)


def alias(base: Any, like: Any) -> Any:
    """Return a view of `base`'s storage with type, shape, strides and offset of `like`."""
    if like.dtype != base.dtype:
        empty = strided(base, (0,), (1,), 0)
        base = torch.ops.aten.view.dtype(empty, like.dtype)
    view = strided(base, like.size(), like.stride(), like.storage_offset())
    return _as_lazy(view, like)


def _as_lazy(view: Any, like: Any) -> Any:
    """Return `view`, marked as conjugated or negated on reading if `like` is marked so."""
    if like.is_conj():
        view = torch._conj(view)
    return torch._neg_view(view) if like.is_neg() else view


def strided(tensor: Any, size: Any, strides: Any, offset: int) -> Any:
    """Return a view of a device tensor's storage, by torch's function for the CPU."""
    kernel = torch.ops.aten.as_strided.default
    return kernel.redispatch(_CPU_KERNELS, tensor, size, strides, offset)


def on_host(tensor: Any) -> Any:
    """Return a CPU tensor that views the memory of a device tensor, without keeping it alive."""
    storage = tensor.untyped_storage()
    memory = torch._C._construct_storage_from_data_pointer(
        storage.data_ptr(), HOST, storage.nbytes()
    )
    view = torch.empty(0, dtype=tensor.dtype, device=HOST).set_(
        memory, tensor.storage_offset(), tensor.size(), tensor.stride()
    )
    return _as_lazy(view, tensor)


def _count(storage: Any, size: int) -> None:
    use.now += size
    use.allocated += size
    use.count += 1
    use.peak = max(use.peak, use.now)
    key = id(storage)

    def freed(_reference: Any) -> None:
        use.now -= size
        use.live.pop(key, None)

    use.live[key] = weakref.ref(storage, freed)
    use.most = max(use.most, len(use.live))
