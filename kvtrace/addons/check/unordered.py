"""Ops of a kernel whose effect depends on the order in which programs run."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from kvtrace.ir.flow import flow_of
from kvtrace.ir.locations import Frame
from kvtrace.ir.model import Module, Op, source_stack
from kvtrace.ir.ops import KINDS
from kvtrace.ir.types import FloatType, TensorType
from kvtrace.ir.updates import update_of

_ADDING: Final = frozenset({"add", "fadd"})


@dataclass(frozen=True, slots=True)
class Unordered:
    """An op whose effect depends on the order of programs: its name, the reason, its position."""

    op: str
    why: str
    place: Frame | None

    @property
    def text(self) -> str:
        """A sentence about the op, with its source line if known."""
        position = f" at {self.place.file}:{self.place.line}" if self.place is not None else ""
        return f"{self.op}{position} {self.why}"


def unordered(module: Module) -> tuple[Unordered, ...]:
    """Return the ops of a kernel whose effect depends on the order of programs, in text order."""
    return tuple(_unordered(module))


def _unordered(module: Module) -> Iterator[Unordered]:
    for op in module.ops:
        row = KINDS.get(op.name)
        if row is None or row.effect != "atomic":
            continue
        why = _why(op, module)
        if why:
            frames = source_stack(op)
            yield Unordered(op.name, why, frames[0] if frames else None)


def _why(op: Op, module: Module) -> str:
    row = KINDS[op.name]
    if row.has("expected"):
        return "compares and swaps: programs continue in the order in which they reach this op"
    update = update_of(op)
    if update in _ADDING and _is_float(op):
        return (
            "adds floats of several programs to one element and rounds each sum: the result "
            "depends on the order of the programs"
        )
    if update == "exch":
        return "keeps the value of the program that writes last"
    if op.results and flow_of(module).uses(op.results[0]):
        return "returns the value that earlier programs left, which the kernel uses"
    return ""


def _is_float(op: Op) -> bool:
    kind = op.operand("value").type
    return isinstance(kind.element if isinstance(kind, TensorType) else kind, FloatType)
