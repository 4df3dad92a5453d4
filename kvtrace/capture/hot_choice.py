"""The hot path that was built from C: whether it can record here, and the recorder it makes."""

import os
import sys
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from kvtrace.capture.adapters import Describe, Problem
from kvtrace.capture.arguments import unseen
from kvtrace.capture.hot import Recorder
from kvtrace.capture.records import GRAPH_NUMBERS
from kvtrace.schema.errors import RecordingUnavailable
from kvtrace.schema.spool import FIELDS

if TYPE_CHECKING:
    from kvtrace.schema.hot_rows import LaunchRows

_READABLE: Final = "here traces can be read, replayed and reported"
_INSTALL: Final = "install kvtrace from a wheel, or where there is a C compiler"


def why_unavailable() -> tuple[str, str]:
    """Return why no program can be recorded here, and what to do; ("", "") if programs can be."""
    if sys.platform != "linux":
        return "recording works on Linux only", _READABLE
    if hasattr(sys, "_is_gil_enabled") and not sys._is_gil_enabled():
        return "recording needs a Python with the global interpreter lock", _READABLE
    _, reason = _extension()
    return (f"the C extension that records {reason}", _INSTALL) if reason else ("", "")


def make_recorder(describe: Describe, problem: Problem, max_calls: int) -> Recorder:
    """Return a recorder for this process.

    Raises:
        RecordingUnavailable: nothing can be recorded here, or torch's tensors cannot be read.

    """
    reason, advice = why_unavailable()
    if reason:
        raise RecordingUnavailable(f"{reason}; {advice}")
    torch: Any = sys.modules.get("torch")
    types = tensor_types(torch)
    if types and not hasattr(types[0], "__dlpack_c_exchange_api__"):
        raise RecordingUnavailable(
            f"recording needs torch 2.10 or newer, and this is torch {torch.__version__}"
        )
    make = compiled_part().Recorder
    try:
        recorder: Recorder = make(describe, problem, types, max_calls, _capture_query(torch))
        if types:
            _check_reading(recorder, torch)
    except (AttributeError, RuntimeError, ValueError) as error:
        raise RecordingUnavailable(
            f"the tensors of torch {torch.__version__} cannot be read ({error}); "
            "look for a newer kvtrace"
        ) from error
    return recorder


def tensor_types(torch: Any) -> tuple[type, ...]:
    """Return torch's classes of tensors and parameters; () if torch is not imported."""
    parameter = getattr(getattr(torch, "nn", None), "Parameter", None)
    if parameter is None:  # not imported, or not yet to its end
        return ()
    return (torch.Tensor, parameter)


def compiled_part() -> Any:
    """Return the module compiled from `_hot.c`; None if there is none of this version."""
    return _extension()[0]


@cache
def _extension() -> tuple[Any, str]:
    """Import `_hot`, once: to miss it asks the program's finders, and takes descriptors.

    Return it, or None and why.
    """
    try:
        from kvtrace.capture import _hot  # type: ignore[attr-defined]
    except ImportError as error:
        return None, f"is not built here ({error})"
    if getattr(_hot, "FIELDS", "").split() != list(FIELDS):
        return None, "was built for another version of kvtrace"
    return _hot, ""


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


def capture_number(torch: Any) -> Callable[[], int | None]:
    """Return a function that returns the number of the graph that torch's current stream captures.

    That is the number in `launches.graph_id`; None without a capture, or if the number is unknown.
    """
    stream_of = getattr(getattr(torch, "_C", None), "_cuda_getCurrentRawStream", None)
    address = _capture_query(torch)
    if stream_of is None or not address:
        return lambda: None
    import ctypes

    pointer = ctypes.c_void_p
    query = ctypes.CFUNCTYPE(ctypes.c_int, *(pointer,) * 6)(address)

    def number() -> int | None:
        status, graph = ctypes.c_int(), ctypes.c_uint64()
        try:
            stream = stream_of(torch.cuda.current_device())
        except RuntimeError:  # torch's build for CUDA where there is no driver, and so no stream
            return None
        failed = query(stream, ctypes.addressof(status), ctypes.addressof(graph), None, None, None)
        return (graph.value & GRAPH_NUMBERS) or None if status.value and not failed else None

    return number


def launch_rows(rows: bytes, first: int, last_exit: int) -> "LaunchRows":
    """Return packed launch rows as columns, as `hot_rows.columns_in_python` in a tenth the time."""
    from kvtrace.schema import hot_rows

    return hot_rows.launch_rows(*compiled_part().launch_columns(rows, first, last_exit))
