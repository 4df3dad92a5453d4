"""Candidates with a state: later calls, or what was returned before, are not right."""

import os
import random
import signal
import threading
import time

import torch
from kernels import dropped_kernel, flat, relu_of

_state = {"calls": 0, "buffers": {}, "results": {}, "last": None}


def zeroed_by_a_thread(x):
    """relu: a thread writes zeros 0.3 s later."""
    out = relu_of(x)

    def zero():
        time.sleep(0.3)
        out.zero_()

    threading.Thread(target=zero, daemon=True).start()
    return out


def zeroed_by_a_timer(x):
    """relu: a signal handler writes zeros 0.3 s later."""
    out = relu_of(x)
    signal.signal(signal.SIGALRM, lambda *_: out.zero_())
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    return out


def wrong_from_call_61(x):
    """relu: is right sixty times."""
    _state["calls"] += 1
    out = relu_of(x)
    return out if _state["calls"] <= 60 else torch.zeros_like(out)


def wrong_every_third_time(x):
    """relu: is right two times of three."""
    _state["calls"] += 1
    return relu_of(x if _state["calls"] % 3 else -x)


def one_buffer(x):
    """relu: returns the same memory each time."""
    if x.shape not in _state["buffers"]:
        _state["buffers"][x.shape] = torch.empty(x.shape)
    return relu_of(x, _state["buffers"][x.shape])


def cached_by_address(x):
    """relu: knows inputs by their addresses."""
    key = (x.data_ptr(), x.shape, x.stride())
    if key not in _state["results"]:
        _state["results"][key] = relu_of(x)
    return _state["results"][key]


def cached_by_identity(x):
    """relu: knows inputs by their numbers as objects."""
    key = (id(x), x.shape, x.stride())
    if key not in _state["results"]:
        _state["results"][key] = relu_of(x)
    return _state["results"][key].clone()


def changed_by_the_next_call(x):
    """relu: takes back what it returned before."""
    if _state["last"] is not None:
        _state["last"][:1] = 7
    _state["last"] = relu_of(x)
    return _state["last"]


def a_sum_that_lies(x):
    """relu: returns a tensor with a sum of its own."""

    class Lying(torch.Tensor):
        def sum(self, *args, **kwargs):
            return torch.zeros(())

    return relu_of(x).as_subclass(Lying)


def an_attribute_that_lies(x):
    """relu: returns a tensor with another function in place of its sum."""
    out = relu_of(x)
    out.sum = lambda *args, **kwargs: torch.zeros(())
    return out


def zeros_at_random(x):
    """relu: returns zeros once in a hundred calls."""
    out = relu_of(x)
    return torch.zeros_like(out) if random.random() < 0.01 else out


def elements_at_random(x):
    """relu: an element in a hundred is zero, others each time."""
    return flat(dropped_kernel, x, int.from_bytes(os.urandom(3)))
