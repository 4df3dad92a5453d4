"""Origin of the first NaN or infinity of a launch: op, line, program and operands.

The setting `finite` recorded these launches, whose inputs had neither NaN nor infinity. They are
evaluated again under the rule non-finite: a NaN counts as an origin if without it fewer non-finite
values would be stored. Values from masked-off lanes are marked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from kvtrace.evaluate import TensorArgument
from kvtrace.evaluate.scope import program_at
from kvtrace.ir import source_stack
from kvtrace.ir.index_arguments import index_arguments
from kvtrace.verdicts.rules.non_finite import births

if TYPE_CHECKING:
    from kvtrace.addons.check.kept import CheckedLaunch
    from kvtrace.recorded_calls.recorded import Call
    from kvtrace.verdicts.rules.non_finite import Birth

#: Most lanes of memory accesses in the evaluation of one launch.
_LANES: Final = 1 << 27


def first_bad(launch: CheckedLaunch) -> Birth | str:
    """Return the first NaN or infinity of finite operands that a launch stores, or why none is."""
    call = launch.call()
    values = births(call, _LANES, launch.programs, with_masks=True)
    if isinstance(values, str):
        return values
    return values[0] if values else _reason_for_finite(call)


def origin_text(value: Birth, grid: tuple[int, int, int]) -> str:
    """Return a sentence on the op that makes a value, its operands, and where it is."""
    number = "a NaN" if np.isnan(value.number) else f"{value.number:+}"
    operands = "; ".join(
        f"{name} {', '.join(f'{operand:.6g}' for operand in operands)}"
        for name, operands in value.operands
    )
    frames = source_stack(value.op)
    where = f" at {frames[0].file}:{frames[0].line}" if frames else ""
    masked = ", from lanes that masked loads leave out" if value.from_masked else ""
    others = f" (the first of {value.programs})" if value.programs > 1 else ""
    trip = f", trip {value.iteration}" if value.iteration else ""
    lane = f", lane {value.lane}" if value.lane else ""
    return (
        f"{value.op.name}{where} makes {number} of {operands or 'no float'} in program "
        f"{program_at(value.program, grid)}{others}{lane}{trip}{masked}; the value reaches memory"
    )


def _reason_for_finite(call: Call) -> str:
    """Return a possible reason why the evaluation stores finite values, unlike the device."""
    loaded_positions = index_arguments(call.module).loaded
    tensors = [
        argument.name
        for position, argument in enumerate(call.arguments)
        if isinstance(argument, TensorArgument)
        and argument.storage.data is None
        and (loaded_positions is None or position in loaded_positions)
    ]
    if tensors:
        names = ", ".join(tensors)
        return f"the evaluation lacks the contents of {names}, which were not recorded"
    return (
        "the evaluated kernel stores only finite values: either memory around its stores was not "
        "finite before, or the device's result is not what the IR means"
    )
