"""Storages on the simulated GPU, and host memory that reports to be pinned.

In torch, both need a build for CUDA. Here a pinned tensor is ordinary host memory whose storage is
marked.
"""

import functools
from collections.abc import Callable
from typing import Any, Final

import torch
from torch.jit import _builtins

from kvtrace.backends.replacements import Replacements
from kvtrace.backends.triton.absent_gpu.device_memory import HOST, is_on_device, on_device
from kvtrace.backends.triton.absent_gpu.device_requests import device_requests

Function = Callable[..., Any]

#: Attribute of storages whose memory reports to be pinned.
_PINNED: Final = "_kvtrace_pinned"
#: Tensor factories that are not in torch's own list of functions with a default device.
_MORE_FACTORIES: Final = (
    "empty_like", "full_like", "normal", "ones_like", "rand_like", "randint_like", "randn_like",
    "zeros_like",
)  # fmt: skip
_NEW_METHODS: Final = (
    "new_empty",
    "new_empty_strided",
    "new_full",
    "new_ones",
    "new_tensor",
    "new_zeros",
)


def install_host_tensors(replaced: Replacements) -> None:
    """Replace torch's functions that make storages on the device and pinned memory."""
    from torch.utils import _device

    # listed before they are replaced: a later list would have the replacements
    constructors = _device._device_constructors()
    for owner in (torch, torch.fft):
        for name, original in list(vars(owner).items()):
            if name in _MORE_FACTORIES or _is_among(original, constructors):
                replaced.put(owner, name, _pinning(original))
    for name in _NEW_METHODS:
        replaced.put(torch.Tensor, name, _pinning(getattr(torch.Tensor, name)))
    tensor: Any = torch.Tensor
    replaced.put(tensor, "pin_memory", functools.wraps(tensor.pin_memory)(_pinned))
    replaced.put(tensor, "is_pinned", functools.wraps(tensor.is_pinned)(_is_pinned))
    replaced.put(tensor, "record_stream", functools.wraps(tensor.record_stream)(_nothing))
    storage: Any = torch.UntypedStorage
    replaced.put(storage, "__new__", _storage_constructor(storage.__new__))
    replaced.put(storage, "resize_", _resizing(storage.resize_))


def _is_among(function: object, functions: Any) -> bool:
    try:
        return callable(function) and function in functions
    except TypeError:  # it has no hash
        return False


def _pinning(original: Function) -> Function:
    """Return `original` with an argument `pin_memory`, which marks the new tensor as pinned."""

    @functools.wraps(original)
    def make(*arguments: Any, **named: Any) -> Any:
        if not named.get("pin_memory"):
            return original(*arguments, **named)
        result = original(*arguments, **named | {"pin_memory": False})
        if is_on_device(result):
            raise RuntimeError("Only dense CPU tensors can be pinned")
        return _mark(result)

    in_scripts = _builtins._find_builtin(original)
    if in_scripts is not None:  # torch.jit.script knows functions by their identity
        _builtins._register_builtin(make, in_scripts)
    return make


def _pinned(tensor: Any, _device: Any = None) -> Any:
    if is_on_device(tensor):
        raise RuntimeError(f"cannot pin '{tensor.type()}' only dense CPU tensors can be pinned")
    return tensor if _is_pinned(tensor) else _mark(tensor.clone())


def _is_pinned(tensor: Any, _device: Any = None) -> bool:
    return bool(torch._C._has_storage(tensor)) and hasattr(tensor.untyped_storage(), _PINNED)


def _mark(tensor: Any) -> Any:
    if torch._C._has_storage(tensor):
        setattr(tensor.untyped_storage(), _PINNED, True)
    return tensor


def _nothing(*_: Any) -> None:
    """Do nothing."""


def _storage_constructor(original: Function) -> Any:
    """Return a constructor of storages that also makes storages on the device."""

    def new(cls: Any, *arguments: Any, device: Any = None, **named: Any) -> Any:
        if device is None or torch.device(device).type != "cuda":
            device_argument = {} if device is None else {"device": device}
            return original(cls, *arguments, **device_argument, **named)
        host_storage = original(cls, *arguments, **named)
        device_tensor = on_device(torch.empty(0, dtype=torch.uint8, device=HOST).set_(host_storage))
        return device_tensor.untyped_storage()

    return staticmethod(new)


def _resizing(original: Function) -> Function:
    """Return a `resize_` that refuses to change a device storage's size, as views share it."""

    @functools.wraps(original)
    def resize_(storage: Any, size: int) -> Any:
        if storage.device.type != "cuda":
            return original(storage, size)
        if size == storage.nbytes():
            return storage
        device_requests.refused["UntypedStorage.resize_"] = None
        raise NotImplementedError(
            f"a storage of {storage.nbytes()} bytes on the absent GPU cannot be resized "
            f"to {size}: kvtrace cannot move its memory."
        )

    return resize_
