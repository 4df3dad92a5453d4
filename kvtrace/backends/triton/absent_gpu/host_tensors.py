"""Storages on the GPU that is not there, and memory of the host that reports to be pinned.

Both are made by functions of torch that ask a build for CUDA for memory. Pinned memory is the
host's as it is; its storages are marked.
"""

import functools
from collections.abc import Callable
from typing import Any, Final

import torch
from torch.jit import _builtins

from kvtrace.backends.replacements import Replacements
from kvtrace.backends.triton.absent_gpu.asked import asked
from kvtrace.backends.triton.absent_gpu.device_memory import HOST, is_on_device, on_device

Function = Callable[..., Any]

#: Attribute of storages whose memory reports to be pinned.
_PINNED: Final = "_kvtrace_pinned"
#: Functions beside those that torch itself gives a default device to.
_MORE_FACTORIES: Final = (
    "empty_like", "full_like", "normal", "ones_like", "rand_like", "randint_like", "randn_like",
    "zeros_like",
)  # fmt: skip
_NEW: Final = ("new_empty", "new_empty_strided", "new_full", "new_ones", "new_tensor", "new_zeros")


def install_host_tensors(replaced: Replacements) -> None:
    """Replace what makes storages on the device, and pinned memory."""
    from torch.utils import _device

    # asked for before they are replaced, as they are what a default device is given to
    constructors = _device._device_constructors()
    for owner in (torch, torch.fft):
        for name, original in list(vars(owner).items()):
            if name in _MORE_FACTORIES or _among(original, constructors):
                replaced.put(owner, name, _pinning(original))
    for name in _NEW:
        replaced.put(torch.Tensor, name, _pinning(getattr(torch.Tensor, name)))
    tensor: Any = torch.Tensor
    replaced.put(tensor, "pin_memory", functools.wraps(tensor.pin_memory)(_pinned))
    replaced.put(tensor, "is_pinned", functools.wraps(tensor.is_pinned)(_is_pinned))
    replaced.put(tensor, "record_stream", functools.wraps(tensor.record_stream)(_nothing))
    storage: Any = torch.UntypedStorage
    replaced.put(storage, "__new__", _made(storage.__new__))
    replaced.put(storage, "resize_", _resized(storage.resize_))


def _among(function: object, functions: Any) -> bool:
    try:
        return callable(function) and function in functions
    except TypeError:  # it has no hash
        return False


def _pinning(original: Function) -> Function:
    """Make a tensor in memory that reports to be pinned, where that is requested."""

    @functools.wraps(original)
    def made(*arguments: Any, **named: Any) -> Any:
        if not named.get("pin_memory"):
            return original(*arguments, **named)
        result = original(*arguments, **named | {"pin_memory": False})
        if is_on_device(result):
            raise RuntimeError("Only dense CPU tensors can be pinned")
        return _mark(result)

    in_scripts = _builtins._find_builtin(original)
    if in_scripts is not None:  # torch.jit.script knows functions by their identity
        _builtins._register_builtin(made, in_scripts)
    return made


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
    """Do what there is nothing to do for."""


def _made(original: Function) -> Any:
    """Make storages on the device."""

    def new(cls: Any, *arguments: Any, device: Any = None, **named: Any) -> Any:
        if device is None or torch.device(device).type != "cuda":
            place = {} if device is None else {"device": device}
            return original(cls, *arguments, **place, **named)
        given = original(cls, *arguments, **named)  # of the host: its size or its contents
        held = on_device(torch.empty(0, dtype=torch.uint8, device=HOST).set_(given))
        return held.untyped_storage()

    return staticmethod(new)


def _resized(original: Function) -> Function:
    """Refuse to give a storage on the device another size, which all its views would see."""

    @functools.wraps(original)
    def resize_(storage: Any, size: int) -> Any:
        if storage.device.type != "cuda":
            return original(storage, size)
        if size == storage.nbytes():
            return storage
        asked.refused["UntypedStorage.resize_"] = None
        raise NotImplementedError(
            f"a storage of {storage.nbytes()} bytes on the GPU that is not there cannot be resized "
            f"to {size}: kvtrace has its memory in place."
        )

    return resize_
