"""Which op made the first NaN or infinity of a launch, at which line, in which program, of what.

For the launches that the setting `finite` kept: their inputs were free of what they made. They are
evaluated again, under the rule non-finite: a value counts if less that is not finite would be
stored without it. What is made in lanes that are masked off, and never stored, is distinguished.
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

#: Lanes of memory accesses that evaluating one launch may take.
LANES: Final = 1 << 27


@dataclass(frozen=True, slots=True)
class BadValue:
    """A NaN or an infinity that an op makes of operands without.

    Attributes:
        op: the op's name.
        op_index: its number in the kernel.
        file: where the source has it; None where the IR does not say.
        line: the line there.
        program: the program, by axes; the first one that counts.
        programs: how many programs make some there.
        iteration: the trip of the innermost loop.
        lane: the element of the op's result.
        number: nan, inf or -inf.
        operands: what it was made of, by name; of what is summed up, the largest.
        reaches_memory: whether it is stored, or what becomes of it.
        from_masked: whether it comes from lanes that masked loads leave out.
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
        """All of it in a sentence."""
        what = "a NaN" if np.isnan(self.number) else f"{self.number:+}"
        of = "; ".join(f"{name} {', '.join(map(_short, held))}" for name, held in self.operands)
        where = f" at {self.file}:{self.line}" if self.file is not None else ""
        end = "reaches memory" if self.reaches_memory else "is never stored"
        masked = ", from lanes that masked loads leave out" if self.from_masked else ""
        others = f", and in {self.programs - 1} more" if self.programs > 1 else ""
        trip = f", trip {self.iteration}" if self.iteration else ""
        return (
            f"{self.op}{where} makes {what} of {of or 'no float'} in program {self.program}"
            f"{others}, lane {self.lane}{trip}{masked}; it {end}"
        )


@dataclass(frozen=True, slots=True)
class BadLaunch:
    """A launch that made a NaN or an infinity, and where, as far as its evaluation tells.

    `values` begin with those that reach memory, each in the order of the kernel's run. `reason`
    says why there is none that does.
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
    """Return the launches that `finite` kept in a run, with what made them bad, in their order."""
    for launch in checked_launches(trace, run):
        if isinstance(launch, UnreadyCall):
            yield launch
        elif launch.why == "finite":
            yield bad_launch(launch, lanes)


def bad_launch(launch: CheckedLaunch, lanes: int = LANES) -> BadLaunch:
    """Evaluate a launch that made something that is not finite, and say where."""
    call = launch.call()
    found = births(call, lanes, launch.programs)
    if isinstance(found, str):
        return BadLaunch(launch.seq, launch.call_id, launch.kernel, (), found)
    values = [_value(birth, call) for birth in found]
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
    """Say why the evaluation stores nothing that is not finite, though the device did."""
    read = index_arguments(call.module).loaded
    tensors = [
        argument.name
        for place, argument in enumerate(call.arguments)
        if isinstance(argument, TensorArgument)
        and argument.storage.data is None
        and (read is None or place in read)
    ]
    if tensors:
        return f"what {', '.join(tensors)} held before the launch was not kept"
    return (
        "evaluated, the kernel stores nothing that is not finite: either the memory around what it "
        "stores held that before, or the device's result is not what the IR means"
    )


def _short(number: float) -> str:
    return f"{number:.6g}"
