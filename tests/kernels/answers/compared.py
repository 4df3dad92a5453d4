"""The evaluator's answers to the table's questions, compared with a device's."""

import importlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from kvtrace.evaluate import evaluate, parsed
from kvtrace.ir import Options
from tests.kernels.answers.question import Buffer, Question
from tests.kernels.answers.values import FORMATS, Bits
from tests.kernels.launching import SHORT_NAMES, bind, generic_for
from tests.support.replacing import replace

_TORCH_TYPES = {short: dtype for dtype, short in SHORT_NAMES.items()}


@dataclass(frozen=True)
class Comparison:
    """How many values of an answer are equal, how many are NaN of other bits, and what differs.

    `steps` are the numbers of representable values between the evaluator's and the device's, of
    those that differ; a huge number where only one is NaN, or an integer differs.
    """

    values: int
    other_nan: int
    steps: npt.NDArray[np.uint64]
    places: npt.NDArray[np.intp]

    @property
    def equal(self) -> int:
        return self.values - self.other_nan - len(self.steps)


UNLIKE = np.uint64(2**64 - 1)
"""The distance of values that no number of steps separates."""


def evaluated(question: Question, target: str, triton: str = "3.6.0") -> dict[str, Bits]:
    """Return the evaluator's outputs for a question, of a kernel compiled for a target."""
    module, function = question.kernel.split(".")
    kernel = getattr(importlib.import_module(f"corpus.kernels.{module}"), function)
    arguments = {
        name: _tensor(value) if isinstance(value, Buffer) else value
        for name, value in question.arguments.items()
    }
    ones = {  # compiled in, as by Triton
        name: 1 for name, value in arguments.items() if type(value) is int and value == 1
    }
    given = {name: value for name, value in arguments.items() if name not in ones}
    text = generic_for(kernel, given, {**question.constexprs, **ones}, **question.options)
    options = Options(
        question.options.get("num_warps", 4), triton, question.options.get("enable_fp_fusion", True)
    )
    module = replace(parsed(text, target), options=options)
    evaluate(module, bind(kernel, given), (question.grid,), kernel=function)
    return {
        name: arguments[name].view(_signed(value.bits)).numpy().view(value.bits.dtype)
        for name, value in question.arguments.items()
        if name in question.outputs and isinstance(value, Buffer)
    }


def _signed(bits: Bits) -> torch.dtype:
    return {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[bits.dtype.itemsize]


def _tensor(buffer: Buffer) -> torch.Tensor:
    signed = np.array(buffer.bits).view(f"i{buffer.bits.dtype.itemsize}")
    return torch.from_numpy(signed).view(_TORCH_TYPES[buffer.dtype])


def comparison(dtype: str, ours: Bits, device: Bits) -> Comparison:
    """Compare the bits of an output's elements, of its type."""
    form = FORMATS[dtype]
    unlike = ours != device
    if not form.is_float:
        places = np.flatnonzero(unlike)
        return Comparison(ours.size, 0, np.full(len(places), UNLIKE), places)
    magnitude = form.bits(form.sign - 1)
    nan = [(bits & magnitude) > _infinity(dtype) for bits in (ours, device)]
    both = nan[0] & nan[1] & unlike
    places = np.flatnonzero(unlike & ~both)
    steps = _distance(form.sign, ours[places], device[places])
    steps = np.where(nan[0][places] != nan[1][places], UNLIKE, steps)
    return Comparison(ours.size, int(both.sum()), steps, places)


def _infinity(dtype: str) -> int:
    form = FORMATS[dtype]
    return form.infinity - (form.mantissa == 3)  # e4m3's largest number, else infinity


def _distance(sign: int, ours: Bits, device: Bits) -> npt.NDArray[np.uint64]:
    """Return the steps between floats; 1 between zeros of either sign."""
    wide = [bits.astype(np.uint64) for bits in (ours, device)]
    mask = np.uint64(sign - 1)
    same_sign = (wide[0] & np.uint64(sign)) == (wide[1] & np.uint64(sign))
    larger = np.maximum(wide[0] & mask, wide[1] & mask)
    smaller = np.minimum(wide[0] & mask, wide[1] & mask)
    return np.where(same_sign, larger - smaller, larger + smaller + np.uint64(1))
