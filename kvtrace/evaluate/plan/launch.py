"""Plans of launches, cached with their module, and their execution.

A plan depends on the integer arguments, the grid, and the offsets of tensors in their storages, but
not on contents or on float arguments. Planning modules are imported when a plan is created.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kvtrace.evaluate.arguments import Argument, ScalarArgument, Storage, TensorArgument
from kvtrace.evaluate.observe import Access, Observer
from kvtrace.evaluate.plan.facts import access_of, report
from kvtrace.evaluate.plan.records import LaunchPlan
from kvtrace.evaluate.threads import ONE_THREAD
from kvtrace.evaluate.types import value_type
from kvtrace.ir import Module
from kvtrace.ir.memo import once_per_module

if TYPE_CHECKING:
    from kvtrace.evaluate.plan.steps import PlanCompiler

_MOST_CACHED_PLANS = 1024


class ModulePlans:
    """The cached plans of one module's launches; `numbers` are its float parameters."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.plans: dict[Any, LaunchPlan] = {}
        self.numbers = tuple(
            (position, value_type(parameter.type))
            for position, parameter in enumerate(module.main.arguments)
            if not value_type(parameter.type).pointer
            and not value_type(parameter.type).descriptor
            and value_type(parameter.type).element.kind == "f"
        )
        self.floats = frozenset(position for position, _ in self.numbers)
        self._compiler: PlanCompiler | None = None

    @property
    def compiler(self) -> PlanCompiler:
        """The compiler of the module's ops to planning steps, created once."""
        if self._compiler is None:
            from kvtrace.evaluate.plan.steps import PlanCompiler

            self._compiler = PlanCompiler(self.module)
        return self._compiler

    def plan(self, arguments: tuple[Argument, ...], grid: tuple[int, int, int]) -> LaunchPlan:
        """Return the plan of a launch, from the cache or created with its code."""
        key = (grid, _call_key(arguments, self.floats))
        plan = self.plans.get(key)
        if plan is not None:
            return plan
        if len(self.plans) >= _MOST_CACHED_PLANS:
            self.plans.clear()
        plan = self.plans[key] = self._new_plan(arguments, grid)
        return plan

    def forget(self) -> None:
        """Delete the cached plans."""
        self.plans.clear()

    def _new_plan(self, arguments: tuple[Argument, ...], grid: tuple[int, int, int]) -> LaunchPlan:
        from kvtrace.evaluate.plan.planning import executables, planned_launch

        plan = planned_launch(self.compiler, arguments, grid)
        if plan.runs:
            plan.executables = executables(plan)
        return plan


def _call_key(arguments: Sequence[Argument], floats: frozenset[int]) -> tuple[Any, ...]:
    """Return a key of the arguments: all that a plan depends on, except the grid."""
    storages: dict[int, int] = {}
    key_parts: list[Any] = []
    for position, argument in enumerate(arguments):
        if isinstance(argument, ScalarArgument):
            value = argument.value
            key_parts.append(value is None if position in floats else (type(value), value))
            continue
        storage = argument.storage
        storage_position = storages.setdefault(id(storage), position)
        key_parts.append(
            (
                storage_position, storage.nbytes, storage.data is None, storage.executes,
                argument.offset_bytes, argument.dtype, argument.shape, argument.strides,
                argument.padding_nan,
            )
        )  # fmt: skip
    return tuple(key_parts)


def _accesses(plan: LaunchPlan) -> list[Access]:
    return [
        access_of(record, plan.offsets[record.argument])
        for region in plan.regions
        for record in region.accesses
    ]


@once_per_module
def plans_of(module: Module) -> ModulePlans:
    """Return the cache of a module's plans."""
    return ModulePlans(module)


def evaluate_planned(
    module: Module,
    arguments: tuple[Argument, ...],
    grid: tuple[int, int, int],
    observers: Sequence[Observer],
) -> NDArray[np.int64] | None:
    """Evaluate a launch by its plan and report to observers; None if it has no plan.

    No code runs if no storage that the kernel may write to has data.

    Args:
        module: The kernel's parsed IR.
        arguments: In the order of the parameters of `module.main`.
        grid: Extents x, y and z.
        observers: Receivers of ops, accesses and loops.

    Returns:
        Linear ids (x fastest) of the programs that the plan does not cover, shape (n,): array
        evaluation runs them.

    """
    plans = plans_of(module)
    plan = plans.plan(arguments, grid)
    if plan.refusal is not None:
        return None
    if observers:
        if plan.accesses is None:
            plan.accesses = _accesses(plan)
        report(plan.regions, plan.accesses, observers, plans.compiler.counts)
    if not plan.runs:
        return np.array(plan.unplanned, np.int64)
    buffers = [
        argument.storage.data if isinstance(argument, TensorArgument) else None
        for argument in arguments
    ]
    if not all(buffer is None or buffer.flags.writeable for buffer in buffers):
        from kvtrace.evaluate.order import written_storages

        written = written_storages(module, arguments)
        buffers = _with_copies(arguments, written)
    float_arguments: list[Any] = [None] * len(arguments)
    with np.errstate(all="ignore"), ONE_THREAD:
        for position, type_ in plans.numbers:
            scalar = arguments[position]
            assert isinstance(scalar, ScalarArgument)
            stored = np.array(scalar.value, np.float64).astype(type_.element.memory)
            float_arguments[position] = stored.astype(type_.element.value)
        for region_code in plan.executables:
            region_code.run(buffers, float_arguments)
    return np.array(plan.unplanned, np.int64)


def _with_copies(
    arguments: Sequence[Argument], written: frozenset[Storage]
) -> list[NDArray[np.uint8] | None]:
    """Return each argument's bytes; a copy of a read-only storage that is written."""
    buffers = {
        argument.storage: argument.storage.data
        for argument in arguments
        if isinstance(argument, TensorArgument)
    }
    for storage in written:
        data = buffers.get(storage)
        if data is not None and not data.flags.writeable:
            buffers[storage] = data.copy()
    return [
        buffers[argument.storage] if isinstance(argument, TensorArgument) else None
        for argument in arguments
    ]


def explain(module: Module, arguments: Sequence[Argument], grid: tuple[int, ...]) -> str:
    r"""Return "planned" if a launch is evaluated by its plan, else the reason why not.

    If only some programs are planned, the text has their number, and the reason for the others.

    Args:
        module: The kernel's parsed IR.
        arguments: In the order of the parameters of `module.main`.
        grid: One to three extents, x first.
    """
    x, y, z = (*(int(extent) for extent in grid), 1, 1)[:3]
    plan = plans_of(module).plan(tuple(arguments), (x, y, z))
    if plan.unplanned:
        return (
            f"planned, except {len(plan.unplanned)} of {x * y * z} programs: {plan.why_unplanned}"
        )
    return plan.refusal or "planned"


def sources(module: Module, arguments: Sequence[Argument], grid: tuple[int, ...]) -> list[str]:
    """Return the generated source of a planned launch, one text per region."""
    x, y, z = (*(int(extent) for extent in grid), 1, 1)[:3]
    plan = plans_of(module).plan(tuple(arguments), (x, y, z))
    return [region_code.code.source for region_code in plan.executables]
