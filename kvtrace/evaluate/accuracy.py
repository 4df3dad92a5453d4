"""Error bounds of a device's results, declared with an op's array function.

Sources: CUDA C++ Programming Guide, "Mathematical Functions" (largest errors of single precision
functions in units in the last place) and PTX ISA, "Floating Point Instructions" (approximate forms,
`div.full`, `div.approx`, `ex2.approx`, `sqrt.approx`), each as Triton's NVIDIA backend uses them.
Where a function has two forms, the number is that of the less accurate one.
"""

from __future__ import annotations

from typing import Final, Literal

from msgspec import Struct


class Accuracy(Struct, frozen=True):
    """Accuracy of a float function on a device.

    Attributes:
        ulps: the largest error in units in the last place: of float32 for float32 and all
            narrower types, which are computed in it, of float64 for float64.
        argument: additional ulps for each unit of the argument's magnitude.
        follows: how the exact function varies. `monotone`: it rises or falls with each operand
            alone, so its extremes over a box are at corners. `steady`: it changes by at most the
            sum of its operands' changes. `jumps`: no bound is known.
        pole: the operand at whose zero the function is not defined; None: no such operand.
        within: an operand, and the smallest and largest magnitude for which `ulps` holds; outside
            no bound is known. None: `ulps` holds for all operands.
    """

    ulps: float = 0.0
    argument: float = 0.0
    follows: Literal["monotone", "steady", "jumps"] = "monotone"
    pole: int | None = None
    within: tuple[int, float, float] | None = None


EXACT: Final = Accuracy()
"""Results are rounded as in IEEE 754, or not rounded at all."""

STEADY: Final = Accuracy(follows="steady")
JUMPS: Final = Accuracy(follows="jumps")
