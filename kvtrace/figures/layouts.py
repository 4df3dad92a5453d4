"""Figures of source lines that layouts decide: names, units and meanings."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from kvtrace.figures.kernels import Unit

_Of = Callable[[Iterable[int]], int]


@dataclass(frozen=True, slots=True)
class LayoutFigure:
    """A figure: name in JSON, unit, label, meaning; a line's by its ops, and by its kernels."""

    name: str
    unit: Unit
    label: str
    meaning: str
    of_ops: _Of
    of_kernels: _Of


@dataclass(frozen=True, slots=True)
class LineLayout:
    """Values of a line, and reasons why others are unknown, both by the names of figures.

    A figure of which the line has no op is in neither. `by_model`: the bank ways are a model's.
    """

    values: Mapping[str, int] = field(default_factory=dict)
    unknown: Mapping[str, str] = field(default_factory=dict)
    by_model: bool = False


_WAYS: Final = (
    "accesses of one bank of shared memory by lanes that are served at once; 1 is best; ~ is by "
    "Triton's model, from which ldmatrix or AMD's instructions may differ; those of conversions "
    "and reductions are not counted"
)
_VECTOR: Final = "fewest bytes of a thread's load or store of global memory; 16 is best"
_CONVERTED: Final = "bytes that a program's layout conversions move through shared memory, once"
BANK_WAYS: Final = LayoutFigure("bank_ways", "count", "bank ways", _WAYS, max, max)
VECTOR_BYTES: Final = LayoutFigure("vector_bytes", "bytes", "vector", _VECTOR, min, min)
CONVERTED_BYTES: Final = LayoutFigure("converted_bytes", "bytes", "converted", _CONVERTED, sum, max)
LAYOUT_FIGURES: Final = (BANK_WAYS, VECTOR_BYTES, CONVERTED_BYTES)
