"""Planning of a launch, which running a cached plan does not need."""

from __future__ import annotations

from collections.abc import Sequence

from kvtrace.evaluate.arguments import Argument, TensorArgument
from kvtrace.evaluate.compiler import refuse_unfit
from kvtrace.evaluate.errors import TooLarge, UnsupportedOp
from kvtrace.evaluate.order import contested_storages, written_storages
from kvtrace.evaluate.plan.chunks import executable
from kvtrace.evaluate.plan.execute import Executable
from kvtrace.evaluate.plan.generate import generated
from kvtrace.evaluate.plan.grid import Regions, planned_regions
from kvtrace.evaluate.plan.optimize import optimized
from kvtrace.evaluate.plan.order import refuse_meetings
from kvtrace.evaluate.plan.points import counted
from kvtrace.evaluate.plan.records import LaunchPlan, RegionPlan
from kvtrace.evaluate.plan.signals import Unplannable
from kvtrace.evaluate.plan.steps import PlanCompiler


def planned_launch(
    compiler: PlanCompiler, arguments: tuple[Argument, ...], grid: tuple[int, int, int]
) -> LaunchPlan:
    """Return the plan of a launch, or a plan with a `refusal`."""
    offsets = {
        position: argument.offset_bytes
        for position, argument in enumerate(arguments)
        if isinstance(argument, TensorArgument)
    }
    try:
        refuse_unfit(compiler.module)
        if not all(grid):
            return LaunchPlan([], offsets, runs=False)
        storages = written_storages(compiler.module, arguments)
        written = frozenset(
            position
            for position, argument in enumerate(arguments)
            if isinstance(argument, TensorArgument) and argument.storage in storages
        )
        runs = any(storage.data is not None for storage in storages)
        planned = planned_regions(compiler, arguments, grid, written, runs=runs)
        regions = planned.planned
        if planned.unplanned:
            _refuse_order(compiler, planned, arguments)
        _refuse_partly_known(regions, arguments, runs=runs)
        records = [record for region in regions for record in region.accesses]
        refuse_meetings(records, arguments)
        for record in records:
            if record.conditions:
                counted(record)  # raises Unplannable for masks that cannot be counted
    except (Unplannable, UnsupportedOp, TooLarge) as reason:
        return LaunchPlan([], offsets, runs=False, refusal=str(reason))
    return LaunchPlan(
        regions, offsets, runs, unplanned=planned.unplanned, why_unplanned=planned.reason
    )


def _refuse_order(
    compiler: PlanCompiler, planned: Regions, arguments: tuple[Argument, ...]
) -> None:
    """Raise Unplannable if programs that do not fit must not run after the others."""
    certain, contested = contested_storages(compiler.module, arguments)
    shared = any(
        record.kind != "load" and not record.form.coefficient(symbol)
        for plan in planned.planned
        for record in plan.accesses
        for symbol in plan.region.axes
        if plan.region.programs > 1
    )
    if certain or contested or shared:
        raise Unplannable(planned.reason or "the order of programs matters")


def _refuse_partly_known(
    regions: list[RegionPlan], arguments: Sequence[Argument], *, runs: bool
) -> None:
    """Raise Unplannable if a launch that writes accesses a tensor without data."""
    if not runs:
        return
    for region in regions:
        for record in region.accesses:
            tensor = arguments[record.argument]
            assert isinstance(tensor, TensorArgument)
            if tensor.storage.data is None:
                raise Unplannable(f"the data of {tensor.name} are not known")


def executables(plan: LaunchPlan) -> list[Executable]:
    """Return the code of a plan, region by region."""
    parts = []
    for region in plan.regions:
        axes = region.region.axes
        instructions = optimized(region.instructions)
        code = generated(instructions, axes, plan.offsets)
        ranges = [region.region.ranges[symbol] for symbol in axes]
        parts.append(executable(code, ranges))
    return parts
