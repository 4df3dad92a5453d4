"""The add-on's part of `kvtrace diff`; the evaluator is imported once kernels are compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from kvtrace.converters.diff.added import DiffAddition
from kvtrace.converters.diff.model import KernelMeaning
from kvtrace.schema.trace import Selection


def _meanings(
    before: Selection, after: Selection, kernels: Mapping[str, str], seconds: float
) -> Sequence[KernelMeaning]:
    from kvtrace.addons.invariance.differences import kernel_meanings

    return kernel_meanings(before, after, kernels, seconds)


DIFF: Final = DiffAddition(meanings=_meanings)
