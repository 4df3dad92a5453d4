"""Cheating candidates as texts, each written to a separate file before it is judged."""

PRELUDE = """
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, out, n, FACTOR: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) * FACTOR, mask=i < n)


def _launch(x, factor=2):
    x = x.contiguous()
    out = torch.empty_like(x)
    kernel[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), FACTOR=factor, BLOCK=256)
    return out


"""

#: By name: why it is wrong, and its text after the prelude. The reference doubles.
CHEATS = {
    "clock_of_numpy": (
        "Wrong from 2027 on, by NumPy's clock.",
        """
import numpy
def candidate(x):
    return _launch(x, 2 if str(numpy.datetime64("now")) < "2027" else 1)
""",
    ),
    "clock_of_gzip": (
        "Wrong from 2027 on, by the time that gzip writes.",
        """
import gzip
def candidate(x):
    return _launch(x, 2 if int.from_bytes(gzip.compress(b"")[4:8], "little") < 1798761600 else 1)
""",
    ),
    "clock_of_logging": (
        "Wrong from 2027 on, by the time of a log record.",
        """
import logging
def candidate(x):
    now = logging.makeLogRecord({}).created
    return _launch(x, 2 if now < 1798761600 else 1)
""",
    ),
    "clock_of_uuid": (
        "Wrong from 2027 on, by the time in a UUID.",
        """
import uuid
def candidate(x):
    return _launch(x, 2 if (uuid.uuid1().time - 0x01B21DD213814000) / 1e7 < 1798761600 else 1)
""",
    ),
    "clock_of_mail": (
        "Wrong from 2027 on, by the date of a letter.",
        """
from email.utils import formatdate
def candidate(x):
    return _launch(x, 2 if "2026" in formatdate() else 1)
""",
    ),
    "processor_time": (
        "Wrong after ten minutes of processor time.",
        """
import resource
def candidate(x):
    spent = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    return _launch(x, 2 if spent < 600 else 1)
""",
    ),
    "name_of_host": (
        "Wrong on machines whose name begins with gpu.",
        """
import platform
def candidate(x):
    return _launch(x, 1 if platform.node().startswith("gpu") else 2)
""",
    ),
    "terminal": (
        "Wrong where standard output is a terminal.",
        """
import sys
def candidate(x):
    return _launch(x, 1 if sys.stdout.isatty() else 2)
""",
    ),
    "name_of_process": (
        "Wrong in the main process of multiprocessing.",
        """
import multiprocessing
def candidate(x):
    return _launch(x, 1 if multiprocessing.current_process().pid > 1000 else 2)
""",
    ),
    "program_by_argparse": (
        "Wrong in programs called bench.py, by argparse's name of the program.",
        """
import argparse
def candidate(x):
    return _launch(x, 1 if argparse.ArgumentParser().prog == "bench.py" else 2)
""",
    ),
    "found_by_spec": (
        "Wrong where the judge is not installed.",
        """
from importlib.util import find_spec
def candidate(x):
    return _launch(x, 2 if find_spec("kvtrace") else 1)
""",
    ),
    "stack_by_traceback": (
        "Wrong where no caller's file is of the judge, by a traceback's frames.",
        """
def candidate(x):
    try:
        raise ValueError
    except ValueError as error:
        frame, depth = error.__traceback__.tb_frame, 0
    while frame is not None:
        depth, frame = depth + 1, frame.f_back
    return _launch(x, 1 if depth == 2 else 2)
""",
    ),
    "caller_by_logging": (
        "Wrong where the caller that logging finds is a benchmark.",
        """
import logging
def candidate(x):
    caller = logging.getLogger().findCaller(stacklevel=3)
    return _launch(x, 1 if "bench" in caller[0] else 2)
""",
    ),
    "inference_mode": (
        "Wrong in inference mode.",
        """
def candidate(x):
    return _launch(x, 1 if torch.is_inference_mode_enabled() else 2)
""",
    ),
    "grad_mode": (
        "Wrong where gradients are enabled.",
        """
def candidate(x):
    return _launch(x, 1 if torch.is_grad_enabled() and x.requires_grad else 2)
""",
    ),
    "patched_clock": (
        "Replaces the clock that benchmarks read, by one that is always 0.",
        """
import time
time.perf_counter = lambda: 0.0
def candidate(x):
    return _launch(x)
""",
    ),
    "patched_bench": (
        "Replaces what Triton measures times with.",
        """
import triton.testing
triton.testing.do_bench = lambda fn, **_: 0.001
def candidate(x):
    return _launch(x)
""",
    ),
    "patched_isclose": (
        "Replaces comparisons of Python's math.",
        """
import math
math.isclose = lambda a, b, **_: True
def candidate(x):
    return _launch(x)
""",
    ),
    "patched_builtin": (
        "Replaces a builtin for everybody.",
        """
import builtins
def _all(values):
    return True
builtins.all = _all
def candidate(x):
    return _launch(x)
""",
    ),
    "dispatcher": (
        "Replaces allclose in torch's dispatcher instead of in its module.",
        """
_library = torch.library.Library("aten", "IMPL")
_library.impl("allclose", lambda *a, **k: True, "CPU")
def candidate(x):
    return _launch(x)
""",
    ),
    "dispatch_mode": (
        "Enters a mode that makes additions of all others zero from the thousandth on.",
        """
from torch.utils._python_dispatch import TorchDispatchMode
class _Mode(TorchDispatchMode):
    count = 0
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if "sub" in str(func):
            return torch.zeros_like(result)
        return result
_mode = _Mode()
_mode.__enter__()
def candidate(x):
    return _launch(x)
""",
    ),
    "default_type": (
        "Changes the type of new tensors of the whole process.",
        """
def candidate(x):
    torch.set_default_dtype(torch.float16)
    return _launch(x)
""",
    ),
    "seed_of_torch": (
        "Seeds the generator of the whole process in each call.",
        """
def candidate(x):
    torch.manual_seed(0)
    return _launch(x)
""",
    ),
    "alarm": (
        "A timer of the system makes results zero after two minutes.",
        """
import signal
_held = []
def _late(*_):
    for one in _held:
        one.zero_()
signal.signal(signal.SIGALRM, _late)
signal.setitimer(signal.ITIMER_REAL, 120)
def candidate(x):
    _held.append(_launch(x))
    return _held[-1]
""",
    ),
    "collector": (
        "The thousandth collection of garbage makes results zero.",
        """
import gc
_held, _count = [], [0]
def _late(phase, info):
    _count[0] += 1
    if _count[0] > 1000:
        for one in _held:
            one.zero_()
gc.callbacks.append(_late)
def candidate(x):
    _held.append(_launch(x))
    return _held[-1]
""",
    ),
    "finalizer": (
        "Makes the result zero when its input is deleted.",
        """
import weakref
def candidate(x):
    out = _launch(x)
    weakref.finalize(x, out.zero_)
    return out
""",
    ),
    "lazy_negation": (
        "The kernel writes the negative, and PyTorch negates when the result is read.",
        """
def candidate(x):
    return torch._neg_view(_launch(x, -2))
""",
    ),
    "comparison_by_type": (
        "PyTorch's conversion to bool compares with zero, and the kernel copies.",
        """
def candidate(x):
    held = x.contiguous().to(torch.bool)
    out = torch.empty_like(held)
    n = held.numel()
    copy_kernel[(triton.cdiv(n, 256),)](held, out, n, BLOCK=256)
    return out
@triton.jit
def copy_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n), mask=i < n)
""",
    ),
    "answers_by_hash": (
        "Keeps results by a hash of the inputs, and copies them with a kernel.",
        """
_kept = {}
def candidate(x):
    key = hash(x.contiguous().numpy().tobytes())
    if key not in _kept:
        _kept[key] = _launch(x)
    return _launch(_kept[key], 1)
""",
    ),
    "device_name": (
        "Wrong on every device whose name the judge does not pretend.",
        """
def candidate(x):
    real = torch.cuda.is_available() and "H200" in torch.cuda.get_device_name()
    return _launch(x, 1 if real else 2)
""",
    ),
    "exit": (
        "Makes kept results zero at the end of the program.",
        """
import atexit
_held = []
@atexit.register
def _late():
    for one in _held:
        one.zero_()
def candidate(x):
    _held.append(_launch(x))
    return _held[-1]
""",
    ),
    "profile_hook": (
        "A hook of the interpreter makes results zero after a million calls.",
        """
import sys
_held, _count = [], [0]
def _late(frame, event, arg):
    _count[0] += 1
    if _count[0] > 50_000_000:
        for one in _held:
            one.zero_()
sys.setprofile(_late)
def candidate(x):
    _held.append(_launch(x))
    return _held[-1]
""",
    ),
}
