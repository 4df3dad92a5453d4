"""The CUPTI library, found and called through ctypes.

A copy that the process has loaded already (torch's) is preferred: two copies in one process would
each see a part of the executions. Functions and results: cupti_activity.h and cupti_result.h.

CUPTI has one user at a time in a process. torch's profiler and Proton register callbacks of their
own, fail while another user has callbacks, and switch kernel records off when they end. So kvtrace
stops when one of them prepares, and resumes `_RETURN_AFTER` seconds after it has stopped
(`CuptiLoan`). It notices them by wrapping functions that they call: two of
`torch.autograd.profiler` (torch 2.5 to 2.13), and those of Proton's native part (Triton 3.6). An
unnoticed profiler only shows as silence: launches without records of executions.

A second copy of CUPTI gets no callbacks in a process in which another copy was ever used. Proton
would load Triton's copy, so kvtrace points Proton to the copy in use.
"""

import ctypes
import glob
import importlib
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from kvtrace.backends.cupti.own_cost import cost_of
from kvtrace.backends.cupti.records import KINDS, record_lengths
from kvtrace.backends.replacements import Replacements
from kvtrace.capture.device_copies import relaxed_capture
from kvtrace.schema.errors import KvtraceError

_FORCED: Final = 1  # CUPTI_ACTIVITY_FLAG_FLUSH_FORCED
_DRIVER: Final = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
_ZEROED_OUT_ACTIVITY_BUFFER: Final = 5  # of CUpti_ActivityAttribute

#: `CUptiResult`s that a user can do something about.
_RESULTS: Final = {
    14: "it is not compatible with this driver",
    27: "it does not support this device",
    35: "the driver allows profiling to administrators only",
    39: "another profiler uses it",
}


class CuptiUnavailable(KvtraceError):
    """Raised with the reason when the device timeline cannot be recorded."""

    slug = "no-cupti"


class Cupti:
    """The activity API of one loaded CUPTI library: records of kernels, copies and fills.

    Raises:
        CuptiUnavailable: the library is missing or reported an error; the message gives the reason.
    """

    def __init__(self) -> None:
        """Load the library; nothing is recorded yet."""
        _check_device()
        self.path, self._library = _load()
        version = ctypes.c_uint32()
        self._check("cuptiGetVersion", ctypes.byref(version))
        self.version = version.value
        lengths = record_lengths(self.version)
        if lengths is None:
            raise CuptiUnavailable(
                f"the records of CUPTI {self.version} ({self.path}) have a layout that this "
                "version of kvtrace does not know; launches are recorded without the timeline"
            )
        self.record_lengths = lengths
        self._driver = _load_driver(_DRIVER)
        self._contexts: dict[int, ctypes.c_void_p] = {}
        self._subscriber: ctypes.c_void_p | None = None

    def begin(self, request: int, complete: int, clock: int) -> None:
        """Begin to record kernels, copies and fills of memory.

        The arguments are addresses of C callbacks: to request a buffer, for a complete buffer, and
        for the clock to which the device's times are converted. Each call sets all callbacks again,
        since another profiler may have replaced them.
        """
        self._check("cuptiActivityRegisterTimestampCallback", ctypes.c_void_p(clock))
        self._set_zeroed(True)
        self._check(
            "cuptiActivityRegisterCallbacks", ctypes.c_void_p(request), ctypes.c_void_p(complete)
        )
        for kind in KINDS:
            self._check("cuptiActivityEnable", ctypes.c_int(kind))

    def follow(self, callback: int, functions: Sequence[tuple[int, int]]) -> None:
        """Make CUPTI call a C callback, until `end`, when certain CUDA functions are entered.

        `callback` is the address of a `CUpti_CallbackFunc`; each function is a pair of callback
        domain and id.

        Raises:
            CuptiUnavailable: another profiler has callbacks already.

        """
        subscriber = ctypes.c_void_p()
        self._check("cuptiSubscribe", ctypes.byref(subscriber), ctypes.c_void_p(callback), None)
        self._subscriber = subscriber
        for domain, function in functions:
            self._library.cuptiEnableCallback(
                ctypes.c_uint32(1), subscriber, ctypes.c_int(domain), ctypes.c_uint32(function)
            )

    def end(self) -> None:
        """Stop recording."""
        subscriber, self._subscriber = self._subscriber, None
        if subscriber is not None:
            self._check("cuptiUnsubscribe", subscriber)
        for kind in KINDS:
            self._check("cuptiActivityDisable", ctypes.c_int(kind))
        self._set_zeroed(False)

    def end_and_measure(self) -> int | None:
        """Stop recording, and return the ns that CUPTI added to each launch, by a measurement.

        None if no launch's context is known. Buffers have to be read before: after the next flush
        they have the launches of the measurement.

        Raises:
            CostUnknown: the cost cannot be measured; recording has stopped all the same.

        """
        context = next(iter(self._contexts.values()), None)
        if context is None:
            self.end()
            return None
        with relaxed_capture(self._driver):
            return cost_of(self._driver, context, self.end)

    def flush(self, forced: bool = False) -> None:
        """Make CUPTI return the buffers whose kernels have ended; with `forced`, all buffers."""
        self._check("cuptiActivityFlushAll", ctypes.c_uint32(_FORCED if forced else 0))

    def dropped(self) -> int:
        """Return how many records CUPTI has dropped, for lack of buffers, since the last call."""
        count = ctypes.c_size_t()
        self._check(
            "cuptiActivityGetNumDroppedRecords", None, ctypes.c_uint32(0), ctypes.byref(count)
        )
        return count.value

    def now(self) -> int:
        """Return the time of CUPTI's clock, in nanoseconds."""
        stamp = ctypes.c_uint64()
        self._check("cuptiGetTimestamp", ctypes.byref(stamp))
        return stamp.value

    def stream_id(self, device: int, handle: int) -> int | None:
        """Return CUPTI's number for a stream, given its handle; None if CUPTI has no number."""
        context = self._context(device)
        if context is None:
            return None
        stream_number = ctypes.c_uint32()
        failed = self._library.cuptiGetStreamIdEx(
            context, ctypes.c_void_p(handle), ctypes.c_uint8(0), ctypes.byref(stream_number)
        )
        return None if failed else stream_number.value

    def wait(self) -> None:
        """Wait until the devices that launches went to are idle."""
        for context in self._contexts.values():
            self._driver.cuCtxPushCurrent_v2(context)
            self._driver.cuCtxSynchronize()
            self._driver.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))

    def _context(self, device: int) -> ctypes.c_void_p | None:
        if device not in self._contexts:
            context, handle = ctypes.c_void_p(), ctypes.c_int()
            if self._driver.cuDeviceGet(ctypes.byref(handle), ctypes.c_int(device)):
                return None
            # Kept for the life of the process, as torch keeps it.
            if self._driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), handle):
                return None
            self._contexts[device] = context
        return self._contexts[device]

    def _set_zeroed(self, zeroed: bool) -> None:
        """Set CUPTI's attribute that buffers are zeroed already.

        Otherwise CUPTI zeroes them in the program's thread. The attribute is reset at the end,
        since another profiler's buffers are not zeroed. Older versions lack it and always zero.
        """
        size, value = ctypes.c_size_t(1), ctypes.c_uint8(zeroed)
        self._library.cuptiActivitySetAttribute(
            ctypes.c_int(_ZEROED_OUT_ACTIVITY_BUFFER), ctypes.byref(size), ctypes.byref(value)
        )

    def _check(self, function: str, *arguments: Any) -> None:
        result = getattr(self._library, function)(*arguments)
        if result:
            reason = _RESULTS.get(result, f"{function} gives error {result}")
            raise CuptiUnavailable(f"CUPTI ({self.path}) records no kernels: {reason}")


def _check_device() -> None:
    """Raise CuptiUnavailable if torch is imported and has no NVIDIA device."""
    torch: Any = sys.modules.get("torch")
    if torch is None:
        return
    if torch.version.cuda is None:
        makers = {"hip": "ROCm", "xpu": "Intel's devices"}
        built = (text for name, text in makers.items() if getattr(torch.version, name, None))
        kind = next(built, None)
        what = f"built for {kind}" if kind else "a build for the CPU alone"
        raise CuptiUnavailable(
            f"this torch ({getattr(torch, '__version__', 'of unknown version')}) is {what}, and "
            "the device timeline is recorded on NVIDIA devices only; launches are recorded without "
            "it. On a machine with an NVIDIA GPU install a build of torch for CUDA; elsewhere "
            "leave KVTRACE_MODE=timeline out"
        )
    if not torch.cuda.is_available():
        raise CuptiUnavailable(
            "there is no NVIDIA device here; launches are recorded without the device timeline"
        )


def name_at(address: int) -> str:
    """Return the zero-terminated text at a memory address."""
    return ctypes.string_at(address).decode(errors="replace")


def _load() -> tuple[str, ctypes.CDLL]:
    reasons = []
    for path in _candidates():
        try:
            return path, ctypes.CDLL(path)
        except OSError as error:
            reasons.append(str(error))
    detail = f" ({reasons[0]})" if reasons else ""
    raise CuptiUnavailable(
        "CUPTI was not found in this process, beside torch or triton, or in CUDA's toolkit"
        f"{detail}; launches are recorded without the device timeline"
    )


def _load_driver(name: str) -> ctypes.CDLL:
    """Return CUDA's driver; CuptiUnavailable where it is missing, as beside a mere toolkit."""
    try:
        return ctypes.CDLL(name)
    except OSError as error:
        raise CuptiUnavailable(
            f"NVIDIA's driver is not installed here ({error}); launches are recorded without the "
            "device timeline"
        ) from error


def _candidates() -> Iterator[str]:
    """Yield paths where the library may be, the best first."""
    yield from _loaded()
    folders = [Path(folder) for folder in sys.path if folder]
    for pattern in ("nvidia/cu*/lib", "nvidia/cuda_cupti/lib", "triton/backends/nvidia/lib/cupti"):
        for folder in folders:
            yield from _libraries(str(folder / pattern))
    toolkit = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH") or "/usr/local/cuda"
    for part in ("extras/CUPTI/lib64", "lib64"):
        yield from _libraries(str(Path(toolkit) / part))
    yield from ("libcupti.so.13", "libcupti.so.12", "libcupti.so")


def _loaded() -> Iterator[str]:
    """Yield paths of copies that the process has mapped already (Linux)."""
    try:
        lines = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    paths = (line.split(maxsplit=5)[-1] for line in lines if "libcupti.so" in line)
    yield from dict.fromkeys(paths)


def _libraries(folder: str) -> list[str]:
    return sorted(glob.glob(f"{folder}/libcupti.so*"), reverse=True)  # noqa: PTH207 - * in folders


#: Library, module, function called before a profiler begins, and functions called as it ends.
_OTHERS: Final = (
    ("torch", "torch.autograd.profiler", "_prepare_profiler", ("_run_on_profiler_stop",)),
    ("triton", "triton._C.libproton:proton", "start", ("finalize", "finalize_all")),
)

#: Variable with the folder from which Proton loads CUPTI, as `libcupti.so`.
_PROTON_FOLDER: Final = "TRITON_CUPTI_LIB_PATH"

#: Seconds that the other profiler gets for reading its records after it was stopped.
_RETURN_AFTER: Final = 1.0

#: Seconds without a record after a launch that count as silence. Rounds do not measure this: the
#: first rounds follow each other within a fraction of a second.
PATIENCE: Final = 5.0

#: Set by profilers that are loaded into the process from outside (Nsight Systems and its like).
_INJECTED: Final = ("NSYS_PROFILING_SESSION_ID", "CUDA_INJECTION64_PATH")


class CuptiLoan:
    """The loan of CUPTI to other profilers; `lent` is True while another profiler uses CUPTI.

    Raises:
        CuptiUnavailable: a profiler that was loaded from outside uses CUPTI.
    """

    def __init__(
        self, leave: Callable[[], None], problem: Callable[[Exception], None], library: str
    ) -> None:
        """Wrap functions of other profilers; `leave` is called before one of them begins.

        `leave` has to stop kvtrace's use of CUPTI. `library` is the path of the copy of CUPTI that
        kvtrace uses.
        """
        outside = next((name for name in _INJECTED if os.environ.get(name)), None)
        if outside is not None:
            raise CuptiUnavailable(
                f"another profiler uses CUPTI in this process ({outside} is set); launches are "
                "recorded without the device timeline"
            )
        self._leave = leave
        self._library = None if _PROTON_FOLDER in os.environ else library
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._problem = problem
        self._replaced = Replacements()
        self.lent = False
        self._stopped_at: float | None = None
        for library, module, prepares, stops in _OTHERS:
            if library not in sys.modules:
                continue
            profiler = _imported(module)
            self.lent |= bool(getattr(profiler, "_is_profiler_enabled", False))
            lend = self._lend_library if library == "triton" else self._prepare
            self._wrap(profiler, prepares, lend)
            for name in stops:
                self._wrap(profiler, name, self._stop)

    def over(self) -> bool:
        """Return whether a loan has ended since the last call, and set `lent` to False."""
        stopped = self._stopped_at
        if stopped is None or time.monotonic() - stopped < _RETURN_AFTER:
            return False
        self.lent = False
        self._stopped_at = None
        return True

    def end(self) -> None:
        """Remove the wrappers from other profilers."""
        self._replaced.undo()
        if self._folder is not None:
            self._folder.cleanup()

    def _wrap(self, profiler: Any, name: str, notice: Callable[[], None]) -> None:
        original = getattr(profiler, name, None)
        if original is None:
            return

        def wrapped(*args: Any, **kwargs: Any) -> Any:
            try:
                notice()
            except Exception as error:  # noqa: BLE001 - counted; never the program's problem
                self._problem(error)
            return original(*args, **kwargs)

        self._replaced.put(profiler, name, wrapped)

    def _prepare(self) -> None:
        self._stopped_at = None
        if not self.lent:
            self.lent = True
            self._leave()

    def _lend_library(self) -> None:
        self._prepare()
        if self._library is not None and self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="kvtrace-cupti-")
            (Path(self._folder.name) / "libcupti.so").symlink_to(self._library)
            os.environ[_PROTON_FOLDER] = self._folder.name

    def _stop(self) -> None:
        self._stopped_at = time.monotonic()


class SilenceTimer:
    """A timer of the wait between a launch and the next record of a kernel from CUPTI."""

    def __init__(self) -> None:
        self._since: float | None = None

    def expect(self) -> None:
        """Start the timer, unless it runs: a kernel was launched."""
        if self._since is None:
            self._since = time.monotonic()

    def end(self) -> None:
        """Stop the timer: records came, or cannot come."""
        self._since = None

    def lasts(self) -> bool:
        """Return whether the timer has run for `PATIENCE` seconds; it is then stopped."""
        if self._since is None or time.monotonic() - self._since < PATIENCE:
            return False
        self._since = None
        return True


def _imported(path: str) -> Any:
    """Return a module, or its attribute for `module:name`; None where this build has none."""
    module_name, _, name = path.partition(":")
    try:
        module = importlib.import_module(module_name)
    except ImportError:
        return None
    return getattr(module, name, None) if name else module
