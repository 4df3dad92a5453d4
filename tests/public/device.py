"""What host code asks of a GPU, answered for a machine without one, and Triton cut off at TTIR.

Wrappers around kernels ask `torch.cuda` how many processors there are, or put tensors on "cuda".
What they get are the facts of an H200 and the host's memory.
"""

import contextlib
from types import SimpleNamespace
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

PROPERTIES = SimpleNamespace(
    name="NVIDIA H200",
    major=9,
    minor=0,
    multi_processor_count=132,
    total_memory=150_000_000_000,
    shared_memory_per_block=49_152,
    shared_memory_per_block_optin=232_448,
    shared_memory_per_multiprocessor=233_472,
    max_threads_per_multi_processor=2048,
    regs_per_multiprocessor=65_536,
    warp_size=32,
    gcnArchName="",
)


class HostMemory(TorchFunctionMode):
    """Puts on the host what is asked to be on the GPU."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        named = dict(kwargs or {})
        if _is_gpu(named.get("device")):
            named["device"] = "cpu"
        if func is torch.Tensor.cuda:
            return args[0]
        if func in (torch.Tensor.to, torch.device):
            args = tuple("cpu" if _is_gpu(given) else given for given in args)
        named.pop("pin_memory", None)
        return func(*args, **named)


def _is_gpu(device: Any) -> bool:
    return isinstance(device, str | torch.device) and str(device).startswith("cuda")


class _NoDevice(contextlib.nullcontext[None]):
    """`with torch.cuda.device(0):` where there is nothing to choose."""

    def __init__(self, _device: Any = None) -> None:
        super().__init__()


def answer_for_cuda(capability: tuple[int, int]) -> None:
    """Let `torch.cuda` tell of one GPU, an H200 or an A100; memory of the GPU is the host's."""
    PROPERTIES.major, PROPERTIES.minor = capability
    if capability == (8, 0):
        vars(PROPERTIES).update(name="NVIDIA A100", multi_processor_count=108)
    vars(torch.cuda).update(
        current_device=lambda: 0,
        device_count=lambda: 1,
        device=_NoDevice,
        get_device_name=lambda *_: PROPERTIES.name,
        get_device_capability=lambda *_: (PROPERTIES.major, PROPERTIES.minor),
        get_device_properties=lambda *_: PROPERTIES,
        current_stream=lambda *_: SimpleNamespace(cuda_stream=0, synchronize=lambda: None),
        synchronize=lambda *_: None,
        is_current_stream_capturing=lambda: False,
    )
    vars(torch.cpu).setdefault("device", _NoDevice)  # asked for under Triton's interpreter
    HostMemory().__enter__()


def allow_missing_operators() -> None:
    """Let shapes be registered for operators of compiled extensions that are not there."""
    registered = torch.library.register_fake

    def register(name: Any, function: Any = None, /, **named: Any) -> Any:
        if function is None:
            return lambda function: register(name, function, **named)
        try:
            return registered(name, function, **named)
        except RuntimeError:
            return function

    vars(torch.library)["register_fake"] = register


def stop_at_ttir() -> None:
    """Let Triton's compiler for NVIDIA end with TTIR, which is what is executed and judged.

    What comes after takes a hundred times as long. With it goes the check that a configuration fits
    into shared memory, so that autotuning takes the first one that has valid TTIR.
    """
    from triton.backends.nvidia.compiler import CUDABackend

    whole = CUDABackend.add_stages

    def add_stages(self: Any, stages: dict[str, Any], options: Any, language: Any) -> None:
        whole(self, stages, options, language)
        after = list(stages)[list(stages).index("ttir") + 1 :]
        for stage in after:
            del stages[stage]
        stages["cubin"] = _nothing

    CUDABackend.add_stages = add_stages


def _nothing(module: Any, metadata: dict[str, Any]) -> bytes:
    text = str(module)
    metadata["name"] = text.partition("tt.func public @")[2].partition("(")[0]
    metadata["shared"] = metadata["tmem_size"] = metadata["global_scratch_size"] = 0
    metadata["global_scratch_align"] = metadata["profile_scratch_align"] = 1
    metadata["profile_scratch_size"] = 0
    if "!tt.tensordesc" in text.partition("tt.func public @")[2].partition("\n")[0]:
        metadata["tensordesc_meta"] = [{}]
    return b""
