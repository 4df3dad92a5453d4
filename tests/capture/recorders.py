"""Both recorders of the hot path, and a backend for them that numbers what is new."""

import contextlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from kvtrace.capture import hot
from kvtrace.capture.arguments import Identities
from kvtrace.capture.hot_choice import tensor_types
from kvtrace.schema.spool import FIELDS

try:
    from kvtrace.capture import _hot
except ImportError:
    _hot = None

#: `ROW` as NumPy's.
LAYOUT = np.dtype([(name, f"={kind}") for name, kind in FIELDS.items()])
KINDS = [hot.Recorder] if _hot is None else [hot.Recorder, _hot.Recorder]


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


def recorder_of(kind, problems=None, max_calls=1000, describe=None):
    import torch

    tell = (lambda error: pytest.fail(repr(error))) if problems is None else problems.append
    describe = Identities(lambda text: None) if describe is None else describe
    return kind(describe, tell, tensor_types(torch), max_calls)


def rows(recorder):
    return np.frombuffer(recorder.drain(), LAYOUT)


def calls(recorder):
    return rows(recorder)["call_id"].tolist()


def calls_of(kind, launches, **options):
    """The call ids that a fresh recorder gives to launches: (args, kwargs, grid) each."""
    recorder, adapter, kernel = recorder_of(kind, **options), Adapter(), Kernel()
    for args, kwargs, grid in launches:
        recorder.record(adapter, None, kernel, grid, args, kwargs, 1, 2)
    return calls(recorder)


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
def wrapped(kind, **options):
    recorder, adapter = recorder_of(kind, **options), Adapter()
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


@pytest.fixture(params=KINDS, ids=lambda kind: kind.__module__.rpartition(".")[2])
def kind(request):
    return request.param
