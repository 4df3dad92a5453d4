"""Recorders of the hot path, and a backend for them that numbers what is new."""

import contextlib
import itertools
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from kvtrace.capture import _hot
from kvtrace.capture.arguments import Identities
from kvtrace.capture.hot_choice import tensor_types
from kvtrace.schema.spool import FIELDS
from tests.capture.call_keys import CallKeys

#: `ROW` as NumPy's.
LAYOUT = np.dtype([(name, f"={kind}") for name, kind in FIELDS.items()])


class Kernel:
    """Stands for a compiled kernel."""


@dataclass
class Adapter:
    """A backend that numbers what is new."""

    kernels: int = 0
    calls: list[tuple[Any, ...]] = field(default_factory=list)
    only_kernel: int | None = None

    def new_kernel(self, owner, kernel):
        self.kernels += 1
        return (self.kernels - 1 if self.only_kernel is None else self.only_kernel, 0, -1)

    def new_call(self, owner, kernel, kernel_id, grid, args, kwargs):
        self.calls.append((kernel_id, grid, len(args), tuple(kwargs)))
        return len(self.calls) - 1


def recorder_of(problems=None, max_calls=1000, describe=None, make=_hot.Recorder):
    import torch

    tell = (lambda error: pytest.fail(repr(error))) if problems is None else problems.append
    describe = Identities(lambda text: None) if describe is None else describe
    return make(describe, tell, tensor_types(torch), max_calls)


def rows(recorder):
    return np.frombuffer(recorder.drain(), LAYOUT)


def calls(recorder):
    return rows(recorder)["call_id"].tolist()


def calls_of(launches, **options):
    """The call ids that a fresh recorder gives to launches: (args, kwargs, grid) each."""
    recorder, adapter, kernel = recorder_of(**options), Adapter(), Kernel()
    for args, kwargs, grid in launches:
        recorder.record(adapter, None, kernel, grid, args, kwargs, 1, 2)
    return calls(recorder)


def calls_by_key(launches, max_calls=1000):
    """The call ids by `CallKeys`: a table of keys that is cleared when it is full."""
    import torch

    keys = CallKeys(tensor_types(torch), Identities(lambda text: None))
    known, ids = {}, itertools.count()
    found = []
    for args, kwargs, grid in launches:
        key = keys.of(0, grid, args, kwargs, {})
        if key not in known:
            if len(known) >= max_calls:
                known.clear()
            known[key] = next(ids)
        found.append(known[key])
    return found


class Function:
    """What a jitted function is to the hot path: a class whose method is wrapped."""

    def __init__(self, kernel=None, error=None):
        self.kernel = kernel
        self.error = error
        self.given = []

    def run(self, *args, grid, warmup, **kwargs):
        """Launch."""
        if self.error is not None:
            raise self.error
        self.given.append((args, grid(kwargs) if callable(grid) else grid, warmup, kwargs))
        return self.kernel


@contextlib.contextmanager
def wrapped(**options):
    recorder, adapter = recorder_of(**options), Adapter()
    with wrapped_by(recorder, adapter):
        yield recorder, adapter


@contextlib.contextmanager
def wrapped_by(recorder, adapter):
    original = Function.run
    Function.run = recorder.wrap(original, adapter)
    try:
        yield
    finally:
        Function.run = original
