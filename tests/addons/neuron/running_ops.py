"""Helpers that run an op on arrays in a kernel of its own."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import kvtrace.addons.neuron.newer.isa as nisa2
import kvtrace.addons.neuron.newer.language as nl2
import kvtrace.addons.neuron.older.language as nl
from tests.addons.neuron.conftest import Run

RANDOM = np.random.default_rng(11)
X = RANDOM.standard_normal((32, 24)).astype(np.float32)
Y = RANDOM.standard_normal((32, 24)).astype(np.float32)
COLUMN = RANDOM.standard_normal((32, 1)).astype(np.float32)
Function = Callable[..., Any]


def run_op(run: Run, op: Function, *arrays: Any) -> Any:
    """Load arrays, apply an op that returns a tile, and return the stored tile."""

    def kernel(*sources: Any) -> Any:
        result = op(*(nl.load(source) for source in sources))
        out = nl.ndarray(result.shape, dtype=result.dtype, buffer=nl.shared_hbm)
        nl.store(out, value=result)
        return out

    outcome = run(kernel, *arrays)
    assert outcome.recorder.findings == []
    return outcome.result


def run_into(run: Run, op: Function, shape: tuple[int, ...], dtype: Any, *arrays: Any) -> Any:
    """Load arrays, apply an op that writes to a tile, and return the stored tile."""

    def kernel(*sources: Any) -> Any:
        result = nl2.ndarray(shape, dtype=dtype, buffer=nl2.sbuf)
        op(result, *(nl2.load(source) for source in sources))
        out = nl2.ndarray(shape, dtype=dtype, buffer=nl2.shared_hbm)
        nisa2.dma_copy(dst=out, src=result)
        return out

    outcome = run(kernel, *arrays)
    assert outcome.recorder.findings == []
    return outcome.result


def elementwise(function: Function) -> Function:
    return np.vectorize(function, otypes=[np.float64])


def erf(x: Any) -> Any:
    return elementwise(math.erf)(x)
