"""Origin of the first NaN or infinity of a launch: op, line, program and operands.

The setting `finite` recorded these launches, whose inputs had no such value. They are evaluated
again under the rule non-finite: a value counts if without it fewer non-finite values would be
stored. Values in masked-off lanes, and values that are never stored, are reported separately.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from kvtrace.addons.check.kept import checked_launches
from kvtrace.evaluate import TensorArgument
from kvtrace.ir import source_stack
from kvtrace.recorded_calls.recorded import UnreadyCall
from kvtrace.verdicts.contents.index_arguments import index_arguments
from kvtrace.verdicts.replaying import program_at
from kvtrace.verdicts.rules.non_finite import births

if TYPE_CHECKING:
    from kvtrace.addons.check.kept import CheckedLaunch
    from kvtrace.recorded_calls.recorded import Call
    from kvtrace.schema.trace import Run, Trace
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
        number: nan, inf or -inf.
        operands: the operands by name; of summed operands, the largest.
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
        """The value's origin as a sentence."""
        kind = "a NaN" if np.isnan(self.number) else f"{self.number:+}"
        of = "; ".join(f"{name} {', '.join(map(_short, values))}" for name, values in self.operands)
        where = f" at {self.file}:{self.line}" if self.file is not None else ""
        end = "reaches memory" if self.reaches_memory else "is never stored"
        masked = ", from lanes that masked loads leave out" if self.from_masked else ""
        others = f", and in {self.programs - 1} more" if self.programs > 1 else ""
        trip = f", trip {self.iteration}" if self.iteration else ""
        return (
            f"{self.op}{where} makes {kind} of {of or 'no float'} in program {self.program}"
            f"{others}, lane {self.lane}{trip}{masked}; it {end}"
        )


@dataclass(frozen=True, slots=True)
class BadLaunch:
    """A launch that made a NaN or an infinity, and the origins found by evaluation.

    `values` that reach memory come first, in the order of execution. `reason` says why no value
    reaches memory.
    """

    seq: int
    call_id: int
    kernel: str
    values: tuple[BadValue, ...]
    reason: str | None = None

    @property
    def first(self) -> BadValue | None:
        """The first value that reaches memory."""
        return next((value for value in self.values if value.reaches_memory), None)


def bad_launches(trace: Trace, run: Run, lanes: int = LANES) -> Iterator[BadLaunch | UnreadyCall]:
    """Yield the launches of a run recorded by `finite`, with the origins, in order."""
    for launch in checked_launches(trace, run):
        if isinstance(launch, UnreadyCall):
            yield launch
        elif launch.why == "finite":
            yield bad_launch(launch, lanes)


def bad_launch(launch: CheckedLaunch, lanes: int = LANES) -> BadLaunch:
    """Return the origins of the non-finite values of a launch."""
    call = launch.call()
    origins = births(call, lanes, launch.programs)
    if isinstance(origins, str):
        return BadLaunch(launch.seq, launch.call_id, launch.kernel, (), origins)
    values = [_value(birth, call) for birth in origins]
    values.sort(key=lambda value: not value.reaches_memory)
    reason = None if values and values[0].reaches_memory else _why_not(call)
    return BadLaunch(launch.seq, launch.call_id, launch.kernel, tuple(values), reason)


def _value(birth: Birth, call: Call) -> BadValue:
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


def _why_not(call: Call) -> str:
    """Return why the evaluation stores only finite values, though the device did not."""
    positions = index_arguments(call.module).loaded
    tensors = [
        argument.name
        for place, argument in enumerate(call.arguments)
        if isinstance(argument, TensorArgument)
        and argument.storage.data is None
        and (positions is None or place in positions)
    ]
    if tensors:
        return f"the contents of {', '.join(tensors)} before the launch were not recorded"
    return (
        "the evaluated kernel stores only finite values: either memory around its stores was not "
        "finite before, or the device's result is not what the IR means"
    )


def _short(number: float) -> str:
    return f"{number:.6g}"
