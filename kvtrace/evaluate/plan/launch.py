"""Plans of launches, kept per module, and their execution.

A plan hangs on the integer arguments, the grid, and where tensors lie in which storages: not on
what is in them, nor on float arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kvtrace.evaluate.arguments import Argument, ScalarArgument, Storage, TensorArgument
from kvtrace.evaluate.errors import UnsupportedOp
from kvtrace.evaluate.observe import Access, Observer
from kvtrace.evaluate.order import written_storages
from kvtrace.evaluate.plan.execute import Executable, executable
from kvtrace.evaluate.plan.facts import access_of, tell
from kvtrace.evaluate.plan.generate import generated
from kvtrace.evaluate.plan.grid import RegionPlan, planned_regions
from kvtrace.evaluate.plan.optimise import optimised
from kvtrace.evaluate.plan.order import refuse_meetings
from kvtrace.evaluate.plan.points import counted
from kvtrace.evaluate.plan.signals import Unplannable
from kvtrace.evaluate.plan.steps import PlanCompiler
from kvtrace.evaluate.threads import ONE_THREAD
from kvtrace.evaluate.types import value_type
from kvtrace.ir import Module

_KEPT_PLANS = 1024


@dataclass(eq=False)
class LaunchPlan:
    """All regions of a launch, or a `refusal` that says why there is no plan.

    `runs` is False if nothing would be seen of running it; `executables` and `accesses` are made
    when needed.
    """

    regions: list[RegionPlan]
    offsets: dict[int, int]
    runs: bool
    refusal: str | None = None
    executables: list[Executable] | None = None
    accesses: list[Access] | None = None


class ModulePlans:
    """The plans of one module's launches."""

    def __init__(self, module: Module) -> None:
        self.compiler = PlanCompiler(module)
        self.plans: dict[Any, LaunchPlan] = {}
        self.numbers = tuple(
            (position, value_type(parameter.type))
            for position, parameter in enumerate(module.main.arguments)
            if not value_type(parameter.type).pointer
            and not value_type(parameter.type).descriptor
            and value_type(parameter.type).element.kind == "f"
        )
        self.floats = frozenset(position for position, _ in self.numbers)

    def plan(self, arguments: tuple[Argument, ...], grid: tuple[int, int, int]) -> LaunchPlan:
        """Give the plan of a launch, made once."""
        key = (grid, _call_of(arguments, self.floats))
        found = self.plans.get(key)
        if found is None:
            if len(self.plans) >= _KEPT_PLANS:
                self.plans.clear()
            found = self.plans[key] = self._made(arguments, grid)
        return found

    def _made(self, arguments: tuple[Argument, ...], grid: tuple[int, int, int]) -> LaunchPlan:
        offsets = {
            position: argument.offset_bytes
            for position, argument in enumerate(arguments)
            if isinstance(argument, TensorArgument)
        }
        try:
            if not all(grid):
                return LaunchPlan([], offsets, runs=False)
            storages = written_storages(self.compiler.module, arguments, self.compiler.arrays.cache)
            written = frozenset(
                position
                for position, argument in enumerate(arguments)
                if isinstance(argument, TensorArgument) and argument.storage in storages
            )
            runs = any(storage.data is not None for storage in storages)
            regions = planned_regions(self.compiler, arguments, grid, written, runs=runs)
            _refuse_partly_known(regions, arguments, runs=runs)
            records = [record for region in regions for record in region.accesses]
            refuse_meetings(records, arguments)
            for record in records:
                if record.conditions:
                    counted(record)  # refuses what cannot be counted
        except (Unplannable, UnsupportedOp) as reason:
            return LaunchPlan([], offsets, runs=False, refusal=str(reason))
        return LaunchPlan(regions, offsets, runs)


def _refuse_partly_known(
    regions: list[RegionPlan], arguments: Sequence[Argument], *, runs: bool
) -> None:
    """See that where something is written, all that is touched is known."""
    if not runs:
        return
    for region in regions:
        for record in region.accesses:
            tensor = arguments[record.argument]
            assert isinstance(tensor, TensorArgument)
            if tensor.storage.data is None:
                raise Unplannable(f"the data of {tensor.name} are not known")


def _call_of(arguments: Sequence[Argument], floats: frozenset[int]) -> tuple[Any, ...]:
    """Everything that a plan hangs on, but the grid."""
    storages: dict[int, int] = {}
    parts: list[Any] = []
    for position, argument in enumerate(arguments):
        if isinstance(argument, ScalarArgument):
            value = argument.value
            parts.append(value is None if position in floats else (type(value), value))
            continue
        storage = argument.storage
        number = storages.setdefault(id(storage), position)
        parts.append(
            (
                number, storage.nbytes, storage.data is None, argument.offset_bytes,
                argument.dtype, argument.shape, argument.strides,
            )
        )  # fmt: skip
    return tuple(parts)


def _accesses(plan: LaunchPlan) -> list[Access]:
    return [
        access_of(record, plan.offsets[record.argument])
        for region in plan.regions
        for record in region.accesses
    ]


def _executables(plan: LaunchPlan) -> list[Executable]:
    made = []
    for region in plan.regions:
        axes = region.region.axes
        code = generated(optimised(region.instructions), axes, plan.offsets)
        made.append(executable(code, [region.region.ranges[symbol] for symbol in axes]))
    return made


def plans_of(module: Module) -> ModulePlans:
    """Give the plans of a module; they are kept with it, and go with it."""
    found = module.__dict__.get("_plans")
    if not isinstance(found, ModulePlans):
        found = module.__dict__["_plans"] = ModulePlans(module)
    return found


def evaluate_planned(
    module: Module,
    arguments: tuple[Argument, ...],
    grid: tuple[int, int, int],
    observers: Sequence[Observer],
) -> bool:
    """Evaluate a launch by its plan and tell observers; False if it has none.

    Nothing is run where no storage that the kernel may write to has data.
    """
    plans = plans_of(module)
    plan = plans.plan(arguments, grid)
    if plan.refusal is not None:
        return False
    if observers:
        if plan.accesses is None:
            plan.accesses = _accesses(plan)
        tell(plan.regions, plan.accesses, observers, plans.compiler)
    if not plan.runs:
        return True
    if plan.executables is None:
        plan.executables = _executables(plan)
    buffers = [
        argument.storage.data if isinstance(argument, TensorArgument) else None
        for argument in arguments
    ]
    if not all(buffer is None or buffer.flags.writeable for buffer in buffers):
        written = written_storages(module, arguments, plans.compiler.arrays.cache)
        buffers = _with_copies(arguments, written)
    numbers: list[Any] = [None] * len(arguments)
    with np.errstate(all="ignore"), ONE_THREAD:
        for position, type_ in plans.numbers:
            number = arguments[position]
            assert isinstance(number, ScalarArgument)
            stored = np.array(number.value, np.float64).astype(type_.element.memory)
            numbers[position] = stored.astype(type_.element.value)
        for part in plan.executables:
            part.run(buffers, numbers)
    return True


def _with_copies(
    arguments: Sequence[Argument], written: frozenset[Storage]
) -> list[NDArray[np.uint8] | None]:
    """Give the bytes of the storages; of those that the kernel writes but must not, copies."""
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
    """Say how a launch would be evaluated: "planned", or why it is not."""
    x, y, z = (*(int(extent) for extent in grid), 1, 1)[:3]
    plan = plans_of(module).plan(tuple(arguments), (x, y, z))
    return plan.refusal or "planned"


def sources(module: Module, arguments: Sequence[Argument], grid: tuple[int, ...]) -> list[str]:
    """Give the code that a planned launch runs, region by region."""
    x, y, z = (*(int(extent) for extent in grid), 1, 1)[:3]
    plan = plans_of(module).plan(tuple(arguments), (x, y, z))
    return [part.code.source for part in _executables(plan)]
