"""Products of bfloat16 that are rounded to bfloat16: one instruction, where PyTorch is there.

The plan converts factors to float32, multiplies, and rounds what is stored. Where nothing else
needs the sums in float32, a product of bfloat16 with sums in float32 gives the same.
"""

from __future__ import annotations

from kvtrace.evaluate.plan.array_functions import ROUND_AND_NARROW, WIDEN_BF16
from kvtrace.evaluate.plan.instructions import Dot, Instruction, Loop, Map, RoundedDot
from kvtrace.evaluate.plan.optimize import use_counts, without_dead
from kvtrace.evaluate.plan.values import Register


def with_rounded_products(instructions: list[Instruction]) -> list[Instruction]:
    """Return the instructions with such products; what only they replaced is gone."""
    if not _rounds(instructions):
        return instructions
    found = _replaced(instructions)
    return instructions if found is None else without_dead(found)


def _rounds(instructions: list[Instruction]) -> bool:
    """Tell whether anything is rounded as such a product would be."""
    return any(
        _rounds(i.body)
        if isinstance(i, Loop)
        else isinstance(i, Map) and i.operation is ROUND_AND_NARROW
        for i in instructions
    )


def _replaced(instructions: list[Instruction]) -> list[Instruction] | None:
    """None where there is none."""
    uses = use_counts(instructions)
    makers: dict[Register | None, Instruction] = {i.target: i for i in instructions}
    result: list[Instruction] = []
    changed = False
    for instruction in instructions:
        new: Instruction | None = None
        if isinstance(instruction, Loop):
            body = _replaced(instruction.body)
            new = None if body is None else instruction.with_body(body)
        elif isinstance(instruction, Map) and instruction.operation is ROUND_AND_NARROW:
            new = _product(instruction, makers, uses)
        changed = changed or new is not None
        result.append(instruction if new is None else new)
    return result if changed else None


def _product(
    rounding: Map, makers: dict[Register | None, Instruction], uses: dict[Register, int]
) -> RoundedDot | None:
    (source,) = rounding.sources()
    dot = makers.get(source)
    if type(dot) is not Dot or uses[source] != 1 or len(dot.operands) != 2:
        return None
    factors = tuple(_narrow(makers.get(operand)) for operand in dot.sources())
    if any(factor is None for factor in factors):
        return None
    return RoundedDot(rounding.target, tuple(factor for factor in factors if factor is not None))


def _narrow(maker: Instruction | None) -> Register | None:
    """Return the bfloat16 that a factor was made of."""
    if isinstance(maker, Map) and maker.operation is WIDEN_BF16:
        return maker.sources()[0]
    return None
