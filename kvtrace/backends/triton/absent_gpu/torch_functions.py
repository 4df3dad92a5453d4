"""Functions of `torch._C` that a build for CUDA has, for the absent GPU.

`torch.cuda` is Python code over functions of `torch._C` that a build for the CPU lacks. With these
functions, torch's own code works: `memory_summary`, `get_rng_state`, `StreamContext`,
`_DeviceGuard` and the like. Functions that cannot work without a GPU raise an error that names the
function.
"""

import re
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import torch

from kvtrace.backends.replacements import Replacements
from kvtrace.backends.triton.absent_gpu.device_memory import use
from kvtrace.backends.triton.absent_gpu.facts import architecture_of, device_requests
from kvtrace.backends.triton.absent_gpu.operators import check_index

Function = Callable[..., Any]

#: Stream 0 of device 0, as `torch._C` describes one: its id, device, and the number of CUDA's kind.
_STREAM: Final = (0, 0, 1)


def install_functions(replaced: Replacements, target: str) -> None:
    """Add the functions of a build for CUDA to `torch._C`; the others raise an error."""
    for name, function in _functions(target).items():
        replaced.put(torch._C, name, function)
    cuda: Any = torch.cuda
    replaced.put(cuda, "_lazy_init", _do_nothing)
    replaced.put(cuda, "_initialized", True)
    replaced.put(cuda, "_is_in_bad_fork", lambda: False)
    for name in ("_exchange_device", "_maybe_exchange_device"):
        # one function each: Dynamo tells them by identity
        replaced.put(cuda, name, lambda index: _device(index))
    replaced.put(cuda.nvtx, "_nvtx", _nvtx())
    replaced.put(cuda, "_cudart", _runtime())
    for owner, names in (
        (cuda, ("CUDAGraph", "graph", "make_graphed_callables")),
        (cuda.graphs, ("CUDAGraph", "graph")),
    ):
        for name in names:
            refuse = _refused(f"torch.cuda.{name}", _NO_GRAPHS)
            # annotations name the classes
            replacement = type(name, (), {"__new__": refuse}) if name[0].isupper() else refuse
            replaced.put(owner, name, replacement)
    replaced.put(torch._C._dynamo.guards, "_empty_strided_cuda", _empty_strided)
    replaced.put(torch.backends.cuda, "is_built", lambda: True)
    version = _cuda_version() if target.startswith("cuda:") else None
    if version is not None:
        replaced.put(torch.version, "cuda", version)


_NO_GRAPHS: Final = "a CUDA graph is captured from a device's stream, and there is no device"


def _functions(target: str) -> dict[str, Function]:
    """Return the functions by their names in `torch._C`."""
    return {
        "_cuda_init": _do_nothing,
        "_cuda_isInBadFork": lambda: False,
        "_cuda_getDeviceCount": lambda: 1,
        "_cuda_getDevice": lambda: 0,
        "_cuda_setDevice": _device,
        "_cuda_exchangeDevice": _device,
        "_cuda_maybeExchangeDevice": _device,
        "_cuda_canDeviceAccessPeer": lambda *_: False,
        "_cuda_hasPrimaryContext": lambda *_: True,
        "_cuda_synchronize": _do_nothing,
        "_cuda_sleep": _do_nothing,
        "_cuda_ipc_collect": _do_nothing,
        "_cuda_getArchFlags": lambda: architecture_of(target),
        "_cuda_getCurrentStream": lambda *_: _STREAM,
        "_cuda_getDefaultStream": lambda *_: _STREAM,
        "_cuda_getCurrentRawStream": lambda *_: 0,
        "_cuda_setStream": _do_nothing,
        "_cuda_isCurrentStreamCapturing": lambda: False,
        "_cuda_memoryStats": _memory_stats,
        "_cuda_hostMemoryStats": lambda *_: {},
        "_cuda_resetPeakMemoryStats": _reset_peak,
        "_cuda_resetAccumulatedMemoryStats": _reset_accumulated,
        "_cuda_resetPeakHostMemoryStats": _do_nothing,
        "_cuda_resetAccumulatedHostMemoryStats": _do_nothing,
        "_cuda_emptyCache": _do_nothing,
        "_cuda_memorySnapshot": lambda *_: {"segments": [], "device_traces": []},
        "_cuda_record_memory_history": _do_nothing,
        "_cuda_record_memory_history_legacy": _do_nothing,
        "_cuda_getMemoryFraction": lambda *_: 1.0,
        "_cuda_setMemoryFraction": _do_nothing,
        "_cuda_getAllocatorBackend": lambda: "native",
        "_cuda_cudaCachingAllocator_is_enabled": lambda: True,
        "_cuda_cudaCachingAllocator_enable": _do_nothing,
        "_cuda_get_sync_debug_mode": lambda: 0,
        "_cuda_set_sync_debug_mode": _do_nothing,
        # Of Inductor's CUDA graphs, which `torch._dynamo.reset` imports.
        "_cuda_CUDAAllocator_AllocatorState": type("AllocatorState", (), {}),
        "_set_cached_tensors_enabled": _do_nothing,
        "_scatter": lambda tensor, *_, **__: (tensor.cuda(),),
        "_gather": lambda tensors, *_, **__: tensors[0],
        "_cuda_getCurrentBlasHandle": _refused(
            "torch.cuda.current_blas_handle", "a handle of cuBLAS belongs to a device"
        ),
        "_cuda_getCurrentSolverHandle": _refused(
            "torch.cuda.current_solver_handle", "a handle of cuSOLVER belongs to a device"
        ),
    }


def _empty_strided(size: Any, strides: Any, dtype: Any) -> Any:
    return torch.empty_strided(size, strides, dtype=dtype, device="cuda")


def _do_nothing(*_: Any, **__: Any) -> None:
    """Do nothing."""


def _device(index: int | None) -> int:
    check_index(max(index or 0, 0))
    return 0


def _refused(name: str, why: str) -> Function:
    def refuse(*_: Any, **__: Any) -> Any:
        device_requests.refused[name] = None
        raise NotImplementedError(f"{name} is not answered by KVTRACE_DEVICE=cpu: {why}.")

    return refuse


def _memory_stats(_device: int = 0) -> dict[str, Any]:
    """Return statistics in the format of torch's caching allocator, without any cached memory."""

    def by_pool(current: int, peak: int, allocated: int) -> dict[str, dict[str, int]]:
        counts = {
            "current": current, "peak": peak, "allocated": allocated, "freed": allocated - current,
        }  # fmt: skip
        zeros = dict.fromkeys(counts, 0)
        return {"all": counts, "large_pool": counts, "small_pool": zeros}

    size = by_pool(use.now, use.peak, use.allocated)
    count = by_pool(len(use.live), use.most, use.count)
    zero = by_pool(0, 0, 0)
    sizes = dict.fromkeys(
        ("allocated_bytes", "reserved_bytes", "active_bytes", "requested_bytes"), size
    )
    counts = dict.fromkeys(("allocation", "segment", "active"), count)
    split_sizes = dict.fromkeys(("inactive_split", "inactive_split_bytes"), zero)
    oversize_counts = dict.fromkeys(("oversize_allocations", "oversize_segments"), zero["all"])
    return {
        **sizes, **counts, **split_sizes, **oversize_counts, "num_alloc_retries": 0, "num_ooms": 0,
        "num_sync_all_streams": 0, "num_device_alloc": use.count, "num_device_free": 0,
        "max_split_size": -1,
    }  # fmt: skip


def _reset_peak(_device: int = 0) -> None:
    use.peak, use.most = use.now, len(use.live)


def _reset_accumulated(_device: int = 0) -> None:
    use.allocated, use.count = use.now, len(use.live)


def _nvtx() -> SimpleNamespace:
    """Return a module for NVTX ranges whose functions only count nested ranges, from 0."""
    depth = 0

    def push(_message: str) -> int:
        nonlocal depth
        depth += 1
        return depth - 1

    def pop() -> int:
        nonlocal depth
        depth -= 1
        return depth

    return SimpleNamespace(
        rangePushA=push, rangePop=pop, markA=_do_nothing, rangeEnd=_do_nothing,
        rangeStartA=lambda _message: time.perf_counter_ns(), deviceRangeStart=_do_nothing,
        deviceRangeEnd=_do_nothing,
    )  # fmt: skip


def _runtime() -> SimpleNamespace:
    """Return an object like that of `torch.cuda.cudart()`, whose profiler calls do nothing."""
    return SimpleNamespace(
        cudaError=SimpleNamespace(success=0),
        cudaGetErrorString=str,
        cudaProfilerStart=lambda: 0,
        cudaProfilerStop=lambda: 0,
        cudaDeviceSynchronize=lambda: 0,
    )


def _cuda_version() -> str | None:
    """Return the CUDA version of the installed Triton's headers, as "12.8"; None if unknown."""
    import importlib.util

    triton = importlib.util.find_spec("triton")
    if triton is None or not triton.submodule_search_locations:
        return None
    header = Path(triton.submodule_search_locations[0], "backends/nvidia/include/cuda.h")
    if not header.is_file():
        return None
    version = re.search(r"#define CUDA_VERSION (\d+)", header.read_text("utf-8", "replace"))
    return None if version is None else f"{int(version[1]) // 1000}.{int(version[1]) % 1000 // 10}"
