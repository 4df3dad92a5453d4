"""Which hot path a recording has: the native one where it is built and torch has what it needs."""

import os
import sys
from collections.abc import Callable
from typing import Any

from kvtrace.capture.hot import CUDA, Describe, Problem, Recorder


def make_recorder(describe: Describe, problem: Problem, max_calls: int) -> tuple[Recorder, str]:
    """Make the best recorder there can be; say in one sentence which it is, and why.

    `KVTRACE_NATIVE=0` asks for the Python one.
    """
    torch = sys.modules.get("torch")
    native, reason = _native(torch)
    types = tensor_types(torch)
    if native is not None:
        try:
            made = native(describe, problem, types, max_calls, _capture_query(torch))
        except (AttributeError, RuntimeError, ValueError) as error:
            reason = f"torch's tensors cannot be read natively: {error}"
        else:
            return made, "launches are recorded by the native hot path"
    recorder = Recorder(
        describe,
        problem,
        types,
        max_calls,
        stream_of=_stream_of(torch),
        is_capturing=_is_capturing(torch),
    )
    return recorder, f"launches are recorded by the Python hot path: {reason}"


def tensor_types(torch: Any) -> tuple[type, ...]:
    """The exact types that are read as torch's tensors."""
    parameter = getattr(getattr(torch, "nn", None), "Parameter", None)
    if parameter is None:  # not imported, or not yet to its end
        return ()
    return (torch.Tensor, parameter)


def _native(torch: Any) -> tuple[Any, str]:
    if os.environ.get("KVTRACE_NATIVE", "") == "0":
        return None, "KVTRACE_NATIVE=0 asks for it"
    if hasattr(sys, "_is_gil_enabled") and not sys._is_gil_enabled():
        return None, "this Python runs without the global interpreter lock"
    types = tensor_types(torch)
    if types and not hasattr(types[0], "__dlpack_c_exchange_api__"):
        return None, f"torch {torch.__version__} has no DLPack exchange API, 2.10 and newer have"
    try:
        from kvtrace.capture import _hot  # type: ignore[attr-defined]
    except ImportError as error:
        return None, f"the extension is not built here ({error})"
    return _hot.Recorder, ""


def _capture_query(torch: Any) -> int:
    """Address of the CUDA driver's `cuStreamIsCapturing`, which torch has loaded; 0 without it."""
    if not tensor_types(torch) or torch.version.cuda is None or not torch.cuda.is_initialized():
        return 0
    import ctypes

    try:
        function = ctypes.CDLL("libcuda.so.1").cuStreamIsCapturing
    except (OSError, AttributeError):
        return 0
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def _stream_of(torch: Any) -> Callable[[int, int], int] | None:
    raw = getattr(getattr(torch, "_C", None), "_cuda_getCurrentRawStream", None)
    if raw is None:
        return None
    return lambda kind, device: int(raw(device)) if kind >= CUDA else 0


def _is_capturing(torch: Any) -> Callable[[int], bool] | None:
    asked = getattr(getattr(torch, "cuda", None), "is_current_stream_capturing", None)
    if asked is None:
        return None
    return lambda _stream: bool(asked())
