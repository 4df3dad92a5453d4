"""Instruments: hooks around single ops and their values, in array evaluation, for clients.

An instrument reads, changes or replaces the results of compiled steps; the op itself is implemented
in its dialect. Modules compiled under an instrument are cached in the instrument.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kvtrace.evaluate.compiler import Compiler
    from kvtrace.evaluate.registry import Step
    from kvtrace.evaluate.scope import Launch
    from kvtrace.ir import Module, Op


class Instrument:
    """Base class of instruments: override `wrapped`.

    Ops inside the region of a reduction or scan are wrapped only if `enters_reductions`. If it
    `takes_turns`, programs can wait for each other even if their order does not matter.
    """

    enters_reductions = False
    takes_turns = False

    def __init__(self) -> None:
        self._compilers: dict[tuple[int, bool], Compiler] = {}  # each holds its module

    def begin(self, launch: Launch, values: list[Any]) -> None:
        """Inspect the values of the kernel's parameters before an evaluation begins."""
        del launch, values

    def wrapped(self, op: Op, step: Step) -> Step:
        """Return the step to run for `op`: `step` itself (the default) or a replacement."""
        del op
        return step

    def ending(self, op: Op) -> Step | None:
        """Return a step to run before a block's last op reads its operands, or None."""
        del op
        return None

    def compiled(self, module: Module, *, observed: bool) -> Compiler:
        """Return the compiler of a module with this instrument, created once per `observed`."""
        from kvtrace.evaluate.compiler import Compiler
        from kvtrace.evaluate.dialects import load_dialects

        load_dialects(op.name for op in module.ops)
        key = (id(module), observed)
        if key not in self._compilers:
            self._compilers[key] = Compiler(module, observed=observed, instrument=self)
        return self._compilers[key]
