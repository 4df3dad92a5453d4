"""Candidates that are wrong in some calls, or change results after they are returned."""

import gc
import random
import signal
import sys
import threading
import time
import weakref

import torch
import triton
from kernels import copy_kernel, over, relu_kernel, relu_of, softmax_of

_by_address = {}
_by_elements = {}
_ring = []
_calls = [0]
_last = [None]


def kept_by_address(x):
    """Return softmax(x); wrong: earlier results are reused by address and shape."""
    key = (x.data_ptr(), x.shape)
    if key not in _by_address:
        _by_address[key] = softmax_of(x)
    return over(copy_kernel, _by_address[key])


def kept_by_two_elements(x):
    """Return softmax(x); wrong: earlier results are reused by first and last element."""
    key = (x.shape, x.flatten()[0].item(), x.flatten()[-1].item())
    if key not in _by_elements:
        _by_elements[key] = softmax_of(x)
    return over(copy_kernel, _by_elements[key])


def result_before(x):
    """Return relu(x); wrong: every 40th call returns the result of the call before."""
    _calls[0] += 1
    result = relu_of(x)
    previous, _last[0] = _last[0], result
    if _calls[0] % 40 == 0 and previous is not None and previous.shape == result.shape:
        return previous.clone()
    return result


def rare_fault(x):
    """Return relu(x); wrong: one call in 30 loses its last element."""
    result = relu_of(x)
    if random.random() < 1 / 30:
        result.view(-1)[-1] = 0.5
    return result


def ring_of_buffers(x):
    """Return relu(x); wrong: results share eight buffers, which later calls overwrite."""
    x = x.contiguous()
    n = x.numel()
    if len(_ring) < 8:
        _ring.append(torch.empty(1 << 20, dtype=torch.float32, device=x.device))
    _calls[0] += 1
    out = _ring[_calls[0] % len(_ring)][:n].view(x.shape)
    relu_kernel[(triton.cdiv(n, 256),)](x, out, n, BLOCK=256)
    return out


def thread_later(x):
    """Return relu(x); wrong: a thread zeroes the result after 20 seconds."""
    result = relu_of(x)
    threading.Thread(target=lambda: (time.sleep(20), result.zero_()), daemon=True).start()
    return result


def timer_later(x):
    """Return relu(x); wrong: an alarm zeroes the result after 20 seconds."""
    result = relu_of(x)

    def zero(*_):
        result.zero_()

    signal.signal(signal.SIGALRM, zero)
    signal.setitimer(signal.ITIMER_REAL, 20)
    return result


def when_inputs_end(x):
    """Return relu(x); wrong: the result is zeroed when its input is freed."""
    result = relu_of(x)
    weakref.finalize(x, result.zero_)
    return result


def when_garbage_is_collected(x):
    """Return relu(x); wrong: the next collection of garbage zeroes the result."""
    result = relu_of(x)

    def zero(phase, info):
        result.zero_()

    gc.callbacks.append(zero)
    return result


class _ZeroesResultWhenCollected:
    def __init__(self, result):
        self.result = result
        self.cycle = self

    def __del__(self):
        self.result.zero_()


def when_a_cycle_ends(x):
    """Return relu(x); wrong: an object in a cycle zeroes the result when it is collected."""
    result = relu_of(x)
    _ZeroesResultWhenCollected(result)
    return result


def when_traced(x):
    """Return relu(x); wrong: a trace function zeroes the result at the next function call."""
    result = relu_of(x)

    def trace(frame, event, argument):
        sys.settrace(None)
        result.zero_()

    sys.settrace(trace)
    return result


def first_calls(x):
    """Return softmax(x); wrong: computed by torch from the 21st call on."""
    _calls[0] += 1
    return softmax_of(x) if _calls[0] <= 20 else torch.softmax(x, -1)
