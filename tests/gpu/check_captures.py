"""To be run by hand on a machine with an NVIDIA GPU: recordings that end beside a graph capture.

    torchrun --nproc-per-node 1 tests/gpu/check_captures.py FOLDER

While one thread captures a CUDA graph, in the driver's strictest mode, another one ends recordings
with a collective in flight. Prints how many captures broke: in the program alone, with kvtrace, and
with kvtrace without its guards, which shows that the test can fail; and which calls of the driver
break a capture at all. Ends with 1 if kvtrace broke a capture.
"""

import ctypes
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any
from unittest import mock

import torch
import torch.distributed as dist

import kvtrace
from kvtrace.backends import flight_recorder
from kvtrace.backends.cupti import library
from kvtrace.backends.cupti.host_events import HostEvents
from kvtrace.capture.device_copies import relaxed_capture

REPEATS, CAPTURED_FOR = 5, 0.2
DRIVER = ctypes.CDLL("libcuda.so.1")


class Capturing(threading.Thread):
    """A thread that captures a graph until it is told to end, or for `CAPTURED_FOR`."""

    def __init__(self) -> None:
        super().__init__()
        self.has_begun, self.may_end = threading.Event(), threading.Event()
        self.results: list[int] = []
        self.start()
        self.has_begun.wait()

    def run(self) -> None:
        torch.cuda.set_device(dist.get_rank())
        tensor = torch.zeros(64, device="cuda")
        torch.cuda.synchronize()
        stream = torch.cuda.Stream()
        handle, graph = ctypes.c_void_p(stream.cuda_stream), ctypes.c_void_p()
        begun = DRIVER.cuStreamBeginCapture_v2(handle, 0)
        self.has_begun.set()
        self.may_end.wait(CAPTURED_FOR)
        address = ctypes.c_uint64(tensor.data_ptr())
        filled = DRIVER.cuMemsetD32Async(address, 7, ctypes.c_size_t(64), handle)
        self.results = [begun, filled, DRIVER.cuStreamEndCapture(handle, ctypes.byref(graph))]

    def is_broken(self) -> bool:
        self.may_end.set()
        self.join()
        return any(self.results)


def ends_beside(out: Path | None, mode: str) -> bool:
    """End a recording beside a capture, with a collective in flight; return if that broke."""
    tensor = torch.ones(1 << 20, device="cuda")
    recording = kvtrace.capture(str(out), mode=mode) if out else nullcontext()
    with recording:
        kvtrace.mark("begun")
        torch.cuda._sleep(400_000_000)
        dist.all_reduce(tensor, async_op=True)
        capturing = Capturing()
    is_broken = capturing.is_broken()
    torch.cuda.synchronize()
    return is_broken


@contextmanager
def without_guards() -> Iterator[None]:
    never = property(lambda _: False)
    with (
        mock.patch.object(flight_recorder, "_undisturbing", nullcontext),
        mock.patch.object(library, "relaxed_capture", nullcontext),
        mock.patch.object(HostEvents, "is_capturing", never),
    ):
        yield


def calls_that_break() -> None:
    event = torch.cuda.Event()
    event.record()
    stream = torch.cuda.Stream()
    calls: dict[str, Any] = {
        "cuEventQuery": lambda: DRIVER.cuEventQuery(ctypes.c_void_p(event.cuda_event)),
        "cuStreamSynchronize": lambda: DRIVER.cuStreamSynchronize(
            ctypes.c_void_p(stream.cuda_stream)
        ),
        "cuCtxSynchronize": DRIVER.cuCtxSynchronize,
        "nothing": lambda: 0,
    }
    for name, call in calls.items():
        for guard in ("default", "relaxed"):
            capturing = Capturing()
            with relaxed_capture(DRIVER) if guard == "relaxed" else nullcontext():
                result = call()
            print(f"  {name}, {guard}: gives {result}, broken {capturing.is_broken()}")


def main() -> int:
    folder = Path(sys.argv[1])
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_rank())
    dist.all_reduce(torch.ones(8, device="cuda"))
    torch.cuda.synchronize()
    calls_that_break()
    broken = {}
    for name in ("alone", "launch", "timeline", "launch without guards", "timeline without guards"):
        mode, _, without = name.partition(" ")
        with without_guards() if without else nullcontext():
            broken[name] = 0
            for repeat in range(REPEATS):
                out = None if mode == "alone" else folder / f"{name.replace(' ', '-')}-{repeat}"
                begin = time.perf_counter()
                broken[name] += ends_beside(out, mode)
        seconds = time.perf_counter() - begin
        print(f"  {name}: {broken[name]} of {REPEATS} captures broken, {seconds:.2f} s the last")
    dist.destroy_process_group()
    return int(broken["launch"] + broken["timeline"] > 0)


if __name__ == "__main__":
    sys.exit(main())
