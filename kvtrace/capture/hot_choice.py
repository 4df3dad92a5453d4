"""Choice of the hot path: the native one if it is built and torch is recent enough."""

import os
import sys
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from kvtrace.capture.adapters import Describe, Problem
from kvtrace.capture.arguments import unseen
from kvtrace.capture.hot import CUDA, ROCM, Recorder
from kvtrace.capture.records import GRAPH_NUMBERS
from kvtrace.schema.spool import FIELDS

if TYPE_CHECKING:
    from kvtrace.schema.hot_rows import LaunchRows


def make_recorder(describe: Describe, problem: Problem, max_calls: int) -> tuple[Recorder, str]:
    """Return the fastest recorder that works here, and a sentence that names it with the reason.

    `KVTRACE_NATIVE=0` selects the Python recorder.
    """
    torch = sys.modules.get("torch")
    native, reason = _native(torch)
    types = tensor_types(torch)
    if native is not None:
        try:
            fast = native(describe, problem, types, max_calls, _capture_query(torch))
            if types:
                _check_reading(fast, torch)
        except (AttributeError, RuntimeError, ValueError) as error:
            reason = f"torch's tensors cannot be read natively: {error}"
        else:
            return fast, "launches are recorded by the native hot path"
    recorder = Recorder(
        describe,
        problem,
        types,
        max_calls,
        stream_of=_stream_of(torch),
        graph_of=_graph_of(torch),
    )
    return recorder, f"launches are recorded by the Python hot path: {reason}"


def tensor_types(torch: Any) -> tuple[type, ...]:
    """Return torch's classes of tensors and parameters; () if torch is not imported."""
    parameter = getattr(getattr(torch, "nn", None), "Parameter", None)
    if parameter is None:  # not imported, or not yet to its end
        return ()
    return (torch.Tensor, parameter)


def compiled_part() -> tuple[Any, str]:
    """Return the module compiled from `_hot.c`, or None and the reason why it is not used."""
    if os.environ.get("KVTRACE_NATIVE", "") == "0":
        return None, "KVTRACE_NATIVE=0 is set"
    compiled, reason = _extension()
    if getattr(compiled, "FIELDS", "").split() != list(FIELDS):
        return None, reason
    return compiled, ""


@cache
def _extension() -> tuple[Any, str]:
    """Import `_hot`, once: to miss it asks the program's finders, and takes descriptors."""
    try:
        from kvtrace.capture import _hot  # type: ignore[attr-defined]
    except ImportError as error:
        return None, f"the extension is not built here ({error})"
    return _hot, "the extension was built for another version of kvtrace; build it again"


def _native(torch: Any) -> tuple[Any, str]:
    compiled, reason = compiled_part()
    if compiled is None:
        return None, reason
    if hasattr(sys, "_is_gil_enabled") and not sys._is_gil_enabled():
        return None, "this Python runs without the global interpreter lock"
    types = tensor_types(torch)
    if types and not hasattr(types[0], "__dlpack_c_exchange_api__"):
        return None, f"the native hot path needs torch 2.10, and this is torch {torch.__version__}"
    return compiled.Recorder, ""


@unseen
def _check_reading(recorder: Any, torch: Any) -> None:
    """Compare a tensor as C reads it, by the layouts in `_layouts.h`, with torch's own attributes.

    Raises:
        ValueError: they differ.

    """
    from torch.utils._mode_utils import no_dispatch

    with torch.inference_mode(mode=False), no_dispatch():
        tensor = torch.empty(32, dtype=torch.int16, device="cpu").as_strided((2, 3), (1, 5), 3)
    read, signed_integers, cpu = recorder.reads(tensor), 0, 1
    if read != (tensor.data_ptr(), cpu, signed_integers, 16, 1, (2, 3), (1, 5)):
        raise ValueError(f"torch {torch.__version__} lays them out in another way ({read[1:]})")


def _capture_query(torch: Any) -> int:
    """Return the address of `cuStreamGetCaptureInfo_v2` of torch's CUDA or HIP; 0 without a GPU.

    The function's parameters: stream, and pointers to status, number of the graph, graph,
    dependencies and their count, of which all but the status may be null (cuda.h of CUDA 11.3 and
    later; hip_runtime_api.h of ROCm 5.1 and later). The address is needed even before the device is
    in use: Inductor's launchers can be wrapped long before the first capture.
    """
    if not tensor_types(torch):
        return 0
    hip = getattr(torch.version, "hip", None) is not None
    if not hip and getattr(torch.version, "cuda", None) is None:
        return 0
    import ctypes

    try:
        if hip:  # the copy that torch has loaded, and no other
            library = ctypes.CDLL("libamdhip64.so", os.RTLD_NOLOAD | os.RTLD_NOW)
            function = library.hipStreamGetCaptureInfo_v2
        else:
            function = ctypes.CDLL("libcuda.so.1").cuStreamGetCaptureInfo_v2
    except (OSError, AttributeError):
        return 0
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def _stream_of(torch: Any) -> Callable[[int, int], int] | None:
    raw = getattr(getattr(torch, "_C", None), "_cuda_getCurrentRawStream", None)
    if raw is None:
        return None

    def stream_of(kind: int, device: int) -> int:
        try:
            return int(raw(device)) if kind in (CUDA, ROCM) else 0
        except RuntimeError:  # torch's build for CUDA where there is no driver, and so no stream
            return 0

    return stream_of


def _graph_of(torch: Any) -> Callable[[int], int | None] | None:
    """Return a function from a stream's handle to the number of the graph that captures it.

    It returns None without a capture, and 0 if the number is unknown. None without torch's CUDA.
    """
    is_capturing = getattr(getattr(torch, "cuda", None), "is_current_stream_capturing", None)
    if is_capturing is None:
        return None
    address = _capture_query(torch)
    if not address:
        return lambda _stream: 0 if is_capturing() else None
    import ctypes

    pointer = ctypes.c_void_p
    query = ctypes.CFUNCTYPE(ctypes.c_int, *(pointer,) * 6)(address)

    def graph_of(stream: int) -> int | None:
        status, number = ctypes.c_int(), ctypes.c_uint64()
        failed = query(stream, ctypes.addressof(status), ctypes.addressof(number), None, None, None)
        return None if failed or not status.value else number.value

    return graph_of


def capture_number(torch: Any) -> Callable[[], int | None]:
    """Return a function that returns the number of the graph that torch's current stream captures.

    That is the number in `launches.graph_id`; None without a capture, or if the number is unknown.
    """
    stream_of, graph_of = _stream_of(torch), _graph_of(torch)

    def number() -> int | None:
        if stream_of is None or graph_of is None:
            return None
        found = graph_of(stream_of(CUDA, torch.cuda.current_device()))
        return (found & GRAPH_NUMBERS) or None if found is not None else None

    return number


def launch_rows(rows: bytes, first: int, last_exit: int) -> "LaunchRows":
    """Return packed launch rows as columns, in C if the extension is built."""
    from kvtrace.schema import hot_rows

    compiled, _ = compiled_part()
    if compiled is None:
        return hot_rows.columns_in_python(rows, first, last_exit)
    return hot_rows.launch_rows(*compiled.launch_columns(rows, first, last_exit))
