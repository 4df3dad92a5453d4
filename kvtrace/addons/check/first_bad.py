"""Origin of the first NaN or infinity of a launch: op, line, program and operands.

The setting `finite` recorded these launches, whose inputs had neither NaN nor infinity. They are
evaluated again under the rule non-finite: a NaN counts as an origin if without it fewer non-finite
values would be stored. Values from masked-off lanes, and values that are never stored, are marked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from kvtrace.evaluate import TensorArgument
from kvtrace.ir import source_stack
from kvtrace.ir.index_arguments import index_arguments
from kvtrace.verdicts.replaying import program_at
from kvtrace.verdicts.rules.non_finite import births

if TYPE_CHECKING:
    from kvtrace.addons.check.kept import CheckedLaunch
    from kvtrace.recorded_calls.recorded import Call
    from kvtrace.verdicts.rules.non_finite import Birth

#: Most lanes of memory accesses in the evaluation of one launch.
LANES: Final = 1 << 27


@dataclass(frozen=True, slots=True)
class BadValue:
    """A NaN or an infinity that an op computes from finite operands.

    Attributes:
        op: the op's name.
        op_index: the op's number in the kernel.
        file: the source file; None if the IR has no location.
        line: the source line.
        program: the first affected program, by axes.
        programs: the number of programs in which the op makes such values.
        iteration: the trip of the innermost loop.
        lane: the element of the op's result.
        number: the value: nan, inf or -inf.
        operands: name and values of each operand; of summed operands, the largest values.
        reaches_memory: the value, or a value computed from it, is stored.
        from_masked: the value comes from masked-off lanes of loads.
    """

    op: str
    op_index: int
    file: str | None
    line: int | None
    program: tuple[int, int, int]
    programs: int
    iteration: int
    lane: tuple[int, ...]
    number: float
    operands: tuple[tuple[str, tuple[float, ...]], ...]
    reaches_memory: bool
    from_masked: bool

    @property
    def text(self) -> str:
        """A sentence on the op, its operands, where it is, and whether the value is stored."""
        value = "a NaN" if np.isnan(self.number) else f"{self.number:+}"
        operands = "; ".join(
            f"{name} {', '.join(map(_number_text, values))}" for name, values in self.operands
        )
        where = f" at {self.file}:{self.line}" if self.file is not None else ""
        effect = "reaches memory" if self.reaches_memory else "is never stored"
        masked = ", from lanes that masked loads leave out" if self.from_masked else ""
        program_count_text = f" (the first of {self.programs})" if self.programs > 1 else ""
        trip = f", trip {self.iteration}" if self.iteration else ""
        lane = f", lane {self.lane}" if self.lane else ""
        return (
            f"{self.op}{where} makes {value} of {operands or 'no float'} in program {self.program}"
            f"{program_count_text}{lane}{trip}{masked}; the value {effect}"
        )


@dataclass(frozen=True, slots=True)
class BadLaunch:
    """A launch that made a NaN or an infinity, and the origins found by evaluation.

    `values` are in the order of execution, all that reach memory before the others. `reason` says
    why no value reaches memory; None if one does.
    """

    seq: int
    call_id: int
    kernel: str
    values: tuple[BadValue, ...]
    reason: str | None = None

    @property
    def first(self) -> BadValue | None:
        """The first value that reaches memory; None if none does."""
        return next((value for value in self.values if value.reaches_memory), None)


def bad_launch(launch: CheckedLaunch, lanes: int = LANES) -> BadLaunch:
    """Evaluate a launch, and return the ops that made NaNs and infinities from finite operands."""
    call = launch.call()
    origins = births(call, lanes, launch.programs)
    if isinstance(origins, str):
        return BadLaunch(launch.seq, launch.call_id, launch.kernel, (), origins)
    values = [_bad_value(birth, call) for birth in origins]
    values.sort(key=lambda value: not value.reaches_memory)
    reason = None if values and values[0].reaches_memory else _reason_for_finite(call)
    return BadLaunch(launch.seq, launch.call_id, launch.kernel, tuple(values), reason)


def _bad_value(birth: Birth, call: Call) -> BadValue:
    frames = source_stack(birth.op)
    file, line = (frames[0].file, frames[0].line) if frames else (None, None)
    return BadValue(
        op=birth.op.name,
        op_index=birth.op.index,
        file=file,
        line=line,
        program=program_at(birth.program, call.grid),
        programs=birth.programs,
        iteration=birth.iteration,
        lane=birth.lane,
        number=birth.number,
        operands=birth.operands,
        reaches_memory=birth.reaches_memory,
        from_masked=birth.from_masked,
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


def _number_text(number: float) -> str:
    return f"{number:.6g}"
