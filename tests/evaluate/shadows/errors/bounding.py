"""Bounds of one program's results, under either analysis."""

from typing import Any

import numpy as np
import torch

from kvtrace.evaluate import evaluate
from kvtrace.evaluate.shadows.errors.analysis import ErrorAnalysis
from tests.kernels.launching import bind, compile_for


def bounded(analysis: type[ErrorAnalysis], kernel: Any, inputs: dict, out: torch.Tensor, **sizes):
    """Return the contents of `out` after a kernel, in float64, and its planes (None if certain)."""
    given = {**inputs, "out": out}
    module = compile_for(kernel, given, sizes)
    arguments = bind(kernel, given)
    instrument = analysis(module)
    evaluate(module, arguments, (1,), instrument=instrument)
    instrument.memory.finish()
    storage_planes = instrument.memory.planes.by_storage.get(id(arguments[-1].storage))
    return out.double().numpy().ravel(), None if storage_planes is None else storage_planes[2]


def exact(values: np.ndarray, planes: np.ndarray | None) -> np.ndarray:
    """Return the exact numbers, from the evaluated ones and the planes of `Deviations`."""
    return values if planes is None else values + planes["off"]
