"""Makes on the CPU what is asked for on "cuda", in every thread and without a cost for other calls.

Functions of torch that take a device are replaced by ones that take "cpu" for "cuda". The tensors
are the CPU's and say so. As a copy to a GPU is a new tensor, so is one made here, unless it was
asked for on the GPU before: else `x.cuda()` would be `x`, and a kernel that writes to it would
change both.
"""

import functools
from collections.abc import Callable
from typing import Any, Final

import torch
from torch.jit import _builtins

from kvtrace.backends.replacements import Replacements

Function = Callable[..., Any]

_HOST: Final = "cpu"
#: Attribute of storages that were asked for on the GPU.
_MARK: Final = "_kvtrace_asked_for_on_gpu"

#: Functions beside those that torch itself gives a default device to.
_MORE_FACTORIES: Final = (
    "empty_like", "full_like", "normal", "ones_like", "rand_like", "randint_like", "randn_like",
    "zeros_like",
)  # fmt: skip
_NEW: Final = ("new_empty", "new_empty_strided", "new_full", "new_ones", "new_tensor", "new_zeros")
#: Functions that take the type of a device as text.
_BY_TYPE: Final = (
    "get_autocast_dtype", "is_autocast_enabled", "set_autocast_dtype", "set_autocast_enabled",
)  # fmt: skip


def install_host_tensors(replaced: Replacements) -> None:
    """Replace what makes or moves tensors, and what is told the type of a device."""
    from torch.utils import _device

    # asked for before they are replaced, as they are what a default device is given to
    constructors = _device._device_constructors()
    for owner in (torch, torch.fft, torch.nested):
        for name, original in list(vars(owner).items()):
            if name in _MORE_FACTORIES or _among(original, constructors):
                replaced.put(owner, name, _on_host(original))
    for name in _NEW:
        replaced.put(torch.Tensor, name, _on_host(getattr(torch.Tensor, name)))
    for name in _BY_TYPE:
        if hasattr(torch, name):
            replaced.put(torch, name, _on_host(getattr(torch, name)))
    tensor: Any = torch.Tensor
    replaced.put(tensor, "to", _moved(tensor.to))
    replaced.put(tensor, "cuda", functools.wraps(tensor.cuda)(_to_gpu))
    replaced.put(tensor, "cpu", functools.wraps(tensor.cpu)(_to_host(tensor.cpu)))
    replaced.put(tensor, "pin_memory", functools.wraps(tensor.pin_memory)(_same))
    replaced.put(tensor, "record_stream", functools.wraps(tensor.record_stream)(_nothing))
    for name in ("custom_fwd", "custom_bwd"):
        replaced.put(torch.amp, name, _on_host(getattr(torch.amp, name)))
    replaced.put(torch, "Generator", _generator(torch.Generator))
    replaced.put(torch, "load", _on_host(torch.load))
    for constructed in (_device.DeviceContext, torch.amp.autocast_mode.autocast):
        replaced.put(constructed, "__init__", _on_host(constructed.__init__))
    library: Any = torch.library
    replaced.put(library.Library, "impl", _implemented(library.Library.impl))
    replaced.put(library, "custom_op", _for_types(library.custom_op))


def _among(function: object, functions: Any) -> bool:
    try:
        return callable(function) and function in functions
    except TypeError:  # it has no hash
        return False


def _is_gpu(device: object) -> bool:
    if isinstance(device, str):
        return device == "cuda" or device.startswith("cuda:")
    return isinstance(device, torch.device) and device.type == "cuda"


def _mapped(arguments: tuple[Any, ...], named: dict[str, Any]) -> tuple[tuple[Any, ...], bool]:
    """Put the CPU in place of the GPU, and tell whether the GPU was named."""
    asked = False
    for key in ("device", "device_type", "map_location"):
        device = named.get(key)
        if _is_gpu(device) or (type(device) is int and key == "device"):
            named[key] = _HOST
            asked = True
    if named.get("pin_memory"):
        named["pin_memory"] = False
    if any(_is_gpu(argument) for argument in arguments):
        asked = True
        arguments = tuple(_HOST if _is_gpu(argument) else argument for argument in arguments)
    return arguments, asked


def _on_host(original: Function) -> Function:
    """Make what is asked for on the GPU on the CPU."""

    @functools.wraps(original)
    def made(*arguments: Any, **named: Any) -> Any:
        arguments, asked = _mapped(arguments, named)
        result = original(*arguments, **named)
        if asked:
            _mark(result)
        return result

    in_scripts = _builtins._find_builtin(original)
    if in_scripts is not None:  # torch.jit.script knows functions by their identity
        _builtins._register_builtin(made, in_scripts)
    return made


def _moved(original: Function) -> Function:
    """Move a tensor, which makes a new one where it would on a machine with a GPU."""

    @functools.wraps(original)
    def to(tensor: Any, *arguments: Any, **named: Any) -> Any:
        if arguments and type(arguments[0]) is int:
            arguments = ("cuda", *arguments[1:])
        to_host = _HOST in (arguments[:1] or (named.get("device"),))
        arguments, asked = _mapped(arguments, named)
        result = original(tensor, *arguments, **named)
        if result is tensor and (to_host or (asked and not _is_marked(tensor))):
            result = tensor.clone()
        if asked:
            _mark(result)
        return result

    return to


def _to_gpu(tensor: Any, device: Any = None, non_blocking: bool = False, **named: Any) -> Any:
    del device
    return tensor.to("cuda", non_blocking=non_blocking, **named)


def _to_host(original: Function) -> Function:
    def cpu(tensor: Any, *arguments: Any, **named: Any) -> Any:
        result = original(tensor, *arguments, **named)
        return tensor.clone() if result is tensor else result

    return cpu


def _same(tensor: Any, *_: Any, **__: Any) -> Any:
    return tensor


def _nothing(*_: Any) -> None:
    """Do what there is nothing to do for."""


def _mark(result: Any) -> None:
    if isinstance(result, torch.Tensor) and torch._C._has_storage(result):
        setattr(result.untyped_storage(), _MARK, True)


def _is_marked(tensor: Any) -> bool:
    return bool(torch._C._has_storage(tensor)) and hasattr(tensor.untyped_storage(), _MARK)


def _generator(original: type) -> type:
    """Make a class that makes generators of the CPU; they are of the class that it stands for."""
    kind: Any = type(original)

    class Meta(kind):  # type: ignore[misc]
        def __instancecheck__(self, instance: object) -> bool:
            return isinstance(instance, original)

        def __call__(self, device: Any = _HOST) -> Any:
            return original(device=_HOST if _is_gpu(device) else device)

    return Meta("Generator", (original,), {"__doc__": original.__doc__})


def _implemented(original: Function) -> Function:
    """Register for the CPU what is registered for the GPU alone."""

    @functools.wraps(original)
    def impl(library: Any, name: Any, function: Any, dispatch_key: str = "", **named: Any) -> Any:
        if dispatch_key == "CUDA":
            operator = name if isinstance(name, str) else name._name
            whole = operator if "::" in operator else f"{library.ns}::{operator}"
            if not torch._C._dispatch_has_kernel_for_dispatch_key(whole, "CPU"):
                dispatch_key = "CPU"
        return original(library, name, function, dispatch_key, **named)

    return impl


def _for_types(original: Function) -> Function:
    """Register a custom operator for the CPU where it is for the GPU."""

    @functools.wraps(original)
    def custom_op(*arguments: Any, **named: Any) -> Any:
        types = named.get("device_types")
        if types is not None:
            listed = (types,) if isinstance(types, str) else types
            named["device_types"] = tuple({_HOST if one == "cuda" else one for one in listed})
        return original(*arguments, **named)

    return custom_op
