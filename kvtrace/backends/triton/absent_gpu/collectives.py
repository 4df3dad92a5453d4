"""Collectives of `torch.distributed` for tensors on the absent GPU, run by Gloo."""

import functools
from typing import Any, Final

import torch

from kvtrace.backends.replacements import Replacements
from kvtrace.backends.triton.absent_gpu.device_requests import device_requests
from kvtrace.backends.triton.absent_gpu.operators import run_on_host

#: Names of GPU backends that Gloo replaces.
_GPU_BACKENDS: Final = ("nccl", "cuda:nccl", "cpu:gloo,cuda:nccl")


def install_collectives(replaced: Replacements) -> None:
    """Make process groups for NCCL use Gloo, and give c10d's operators functions for the device."""
    import torch.distributed as distributed

    if not distributed.is_available():
        return
    library = torch._C._dispatch_library("IMPL", "c10d", "", __file__, 0)
    for name in torch._C._dispatch_get_all_op_names():
        if name.startswith("c10d::") and _has(name, "CPU"):
            library.impl(name.removeprefix("c10d::"), "CUDA", _function_of(name), False)
    replaced.undone_by(library.reset)
    module: Any = distributed.distributed_c10d
    for name in ("init_process_group", "new_group"):
        replacement = _with_gloo(getattr(module, name))
        for owner in (distributed, module):
            replaced.put(owner, name, replacement)
    for owner in (distributed, module):
        replaced.put(owner, "is_nccl_available", lambda: True)
    if torch._C._has_cuda:
        from torch.nn.parallel import DistributedDataParallel

        replaced.put(DistributedDataParallel, "__init__", _refuse_timed_reducer)


def _refuse_timed_reducer(*_: Any, **__: Any) -> None:
    device_requests.refused["DistributedDataParallel"] = None
    raise NotImplementedError(
        "DistributedDataParallel of a torch built for CUDA times itself by CUDA events, "
        "which need a GPU; with a torch for the CPU it runs under KVTRACE_DEVICE=cpu."
    )


def _has(name: str, key: str) -> bool:
    return bool(torch._C._dispatch_has_kernel_for_dispatch_key(name, key))


def _function_of(name: str) -> Any:
    base, _, overload = name.removeprefix("c10d::").partition(".")
    operator = getattr(getattr(torch.ops.c10d, base), overload or "default")
    return functools.partial(run_on_host, operator)


def _with_gloo(original: Any) -> Any:
    """Return a function that makes a Gloo group if NCCL, or no backend, is requested."""

    @functools.wraps(original)
    def make_group(*arguments: Any, **named: Any) -> Any:
        if named.get("backend") is None and not arguments and original.__name__[0] == "i":
            named["backend"] = "gloo"  # torch's own choice for tensors on cuda is NCCL
        elif "backend" in named:
            named["backend"] = _host_backend(named["backend"])
        elif arguments and isinstance(arguments[0], str):
            arguments = (_host_backend(arguments[0]), *arguments[1:])
        named.pop("device_id", None)  # would have NCCL connect at once
        named.pop("pg_options", None)
        return original(*arguments, **named)

    return make_group


def _host_backend(backend: Any) -> Any:
    return "gloo" if isinstance(backend, str) and backend.lower() in _GPU_BACKENDS else backend
