"""The error bound of a device's result, declared with an op's array function.

Sources: CUDA C++ Programming Guide, "Mathematical Functions" (largest errors of single precision
functions in units in the last place) and PTX ISA, "Floating Point Instructions" (approximate forms,
`div.full`, `div.approx`, `ex2.approx`, `sqrt.approx`), each as Triton's NVIDIA backend uses them.
Where a function has two forms, the number is that of the less accurate one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal


@dataclass(frozen=True, slots=True)
class Accuracy:
    """What is known of a function of floats on a device.

    Attributes:
        ulps: the largest error in units in the last place: of float32 for float32 and all
            narrower types, which are computed in it, of float64 for float64.
        argument: so many more for each unit of the argument's magnitude.
        follows: how the exact function follows its operands. `monotone`: it rises or falls with
            each of them alone, so its extremes over a box are at corners. `steady`: it changes no
            faster than its operands do, together. `jumps`: no bound is known.
        pole: the operand at whose zero the function is not defined, None: there is none.
        within: an operand, and the least and the largest magnitude of it for which `ulps` holds;
            no bound is known for others. None: it holds for all.
    """

    ulps: float = 0.0
    argument: float = 0.0
    follows: Literal["monotone", "steady", "jumps"] = "monotone"
    pole: int | None = None
    within: tuple[int, float, float] | None = None


EXACT: Final = Accuracy()
"""Rounded as IEEE 754 has it, or no rounding at all."""

STEADY: Final = Accuracy(follows="steady")
JUMPS: Final = Accuracy(follows="jumps")
