"""Accesses as formulas over boxes: byte offsets as sums of steps, for any size of the grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from kvtrace.evaluate import Access


class AffineAxis(NamedTuple):
    """A variable of an address: a program axis, the trips of a loop, or a lane axis.

    The variable takes the values `first` to `last` (both included), each moving the address by
    `step` bytes. `number` identifies programs and trips: it is the same in all accesses of a call.
    """

    kind: Literal["program", "trip", "lane"]
    number: int
    step: int
    first: int
    last: int


class AffineFormula(NamedTuple):
    """Byte offsets of an access as `base + sum(step * value)` over all values of all axes.

    Axes of programs come first, then axes of trips, the innermost loop's last, then axes of lanes.
    `origin_bytes` is where the argument's data pointer lies in its storage.
    """

    base: int
    axes: tuple[AffineAxis, ...]
    origin_bytes: int = 0


@dataclass(frozen=True, kw_only=True)
class FormulaAccess(Access):
    """An access over all the programs and trips that its formula names, each lane active."""

    formula: AffineFormula
