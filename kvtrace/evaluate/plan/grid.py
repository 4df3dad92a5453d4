"""Regions of a launch: the grid is cut until all programs of a region have the same masks."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kvtrace.evaluate.arguments import Argument, ScalarArgument, TensorArgument
from kvtrace.evaluate.plan.affine import Affine, Interval, substituted
from kvtrace.evaluate.plan.control import walk_function
from kvtrace.evaluate.plan.instructions import Parameter
from kvtrace.evaluate.plan.points import shape_of, values_of
from kvtrace.evaluate.plan.records import Region, RegionPlan
from kvtrace.evaluate.plan.signals import FactorAxis, LeavesTensor, SplitAxis, Unplannable
from kvtrace.evaluate.plan.steps import PlanCompiler
from kvtrace.evaluate.plan.values import Constant, Descriptor, Integer, Pointer, Tensor
from kvtrace.evaluate.plan.walk import FIRST_TRIP, Walk
from kvtrace.evaluate.types import ValueType, value_type
from kvtrace.ir.integers import wrapped

_MOST_REGIONS = 64
_MOST_WALKS = 160


@dataclass(frozen=True)
class Regions:
    """The planned regions of a launch, and the programs (ascending linear ids) without a plan.

    `reason` says why the first program without a plan has none.
    """

    planned: list[RegionPlan]
    unplanned: tuple[int, ...] = ()
    reason: str | None = None


def planned_regions(
    compiler: PlanCompiler,
    arguments: tuple[Argument, ...],
    grid: tuple[int, int, int],
    written: frozenset[int],
    *,
    runs: bool,
) -> Regions:
    """Return the plan of a launch, region by region in ascending order.

    `runs` False: only the facts for observers are needed. Raises Unplannable if at least half of
    the programs have no plan, or if there are too many regions.
    """
    pending = [_whole_grid(grid)]
    plans: list[RegionPlan] = []
    unplanned: list[int] = []
    first_reason: Unplannable | None = None
    for _ in range(_MOST_WALKS):
        if not pending:
            return Regions(
                plans, tuple(sorted(unplanned)), None if first_reason is None else str(first_reason)
            )
        region = pending.pop(0)
        try:
            plans.append(_region_plan(compiler, arguments, region, written, runs=runs))
        except SplitAxis as split:
            pending[:0] = _split_region(region, split)
        except FactorAxis as factor:
            pending[:0] = [_divided_region(region, factor)]
        except Unplannable as reason:
            first_reason = first_reason or reason
            too_many = 2 * (len(unplanned) + region.programs) > math.prod(grid)
            if too_many or isinstance(reason, LeavesTensor):
                raise
            unplanned += _linear_ids_of(region)
        if len(pending) + len(plans) > _MOST_REGIONS:
            break
    raise Unplannable(f"the grid would have to be cut into more than {_MOST_REGIONS} regions")


def _linear_ids_of(region: Region) -> list[int]:
    axes = [(symbol, region.ranges[symbol]) for symbol in region.order]
    ids: list[int] = (
        np.broadcast_to(values_of(region.linear, axes, ()), shape_of(axes, ())).reshape(-1).tolist()
    )
    return ids


def _whole_grid(grid: tuple[int, int, int]) -> Region:
    ranges = {axis: (0, extent - 1) for axis, extent in enumerate(grid)}
    x, y, z = (Affine(0, ((axis, 1),)) for axis in range(3))
    return Region(grid, ranges, (2, 1, 0), (x, y, z))


def _split_region(region: Region, split: SplitAxis) -> list[Region]:
    if split.symbol not in region.ranges:
        raise Unplannable("the trips of a loop would have to be split outside the loop")
    first, last = region.ranges[split.symbol]
    intervals: list[Interval] = [(first, split.at - 1), (split.at, last)]
    return [
        replace(region, ranges={**region.ranges, split.symbol: interval}) for interval in intervals
    ]


def _divided_region(region: Region, factor: FactorAxis) -> Region:
    """Return a region in which an axis is two: `extent` programs, and blocks of as many."""
    symbol, period = factor.symbol, factor.extent
    first, last = region.ranges[symbol]
    inner_symbol = max(region.order) + 1
    outer_symbol = inner_symbol + 1
    if outer_symbol >= FIRST_TRIP:
        raise Unplannable("a program axis would have to be divided too often")
    value = Affine(first, ((inner_symbol, 1), (outer_symbol, period)))
    x, y, z = (substituted(form, symbol, value) for form in region.ids)
    ranges = {name: interval for name, interval in region.ranges.items() if name != symbol}
    ranges[inner_symbol] = (0, period - 1)
    ranges[outer_symbol] = (0, (last - first + 1) // period - 1)
    position = region.order.index(symbol)
    order = (*region.order[:position], outer_symbol, inner_symbol, *region.order[position + 1 :])
    return Region(region.grid, ranges, order, (x, y, z))


def _region_plan(
    compiler: PlanCompiler,
    arguments: tuple[Argument, ...],
    region: Region,
    written: frozenset[int],
    *,
    runs: bool,
) -> RegionPlan:
    """Walk the kernel for one region and return its plan; Unplannable, SplitAxis or FactorAxis."""
    module = compiler.module
    walk = Walk(region, arguments, written, [None] * module.value_count, runs)
    parameters = module.main.arguments
    if len(parameters) != len(arguments):
        raise Unplannable("the number of arguments is not that of the kernel's parameters")
    for position, (parameter, argument) in enumerate(zip(parameters, arguments, strict=True)):
        type_ = value_type(parameter.type)
        walk.values[parameter.id] = _planned_argument(walk, position, type_, argument)
    walk_function(walk, compiler, module.main.body)
    return RegionPlan(
        region, walk.instructions, tuple(walk.accesses), tuple(walk.loops),
        tuple((planned.block, executions) for planned, executions in walk.executed),
    )  # fmt: skip


def _planned_argument(walk: Walk, position: int, type_: ValueType, argument: Argument) -> Any:
    """Return an argument as a planned value; Unplannable if it is not known."""
    if isinstance(argument, TensorArgument):
        base = Pointer(position, Affine(0), ())
        if type_.descriptor:
            extents = tuple(Integer(Affine(extent), (), 64) for extent in argument.shape)
            strides = tuple(Integer(Affine(stride), (), 64) for stride in argument.strides)
            return Descriptor(base, extents, strides, argument.padding_nan)
        if not type_.pointer:
            raise Unplannable(f"{argument.name} is a tensor, but its parameter is a number")
        return base
    return _scalar(walk, position, type_, argument)


def _scalar(walk: Walk, position: int, type_: ValueType, argument: ScalarArgument) -> Any:
    if argument.value is None or type_.pointer or type_.descriptor:
        raise Unplannable(f"the value of {argument.name} is not known")
    element = type_.element
    if element.kind == "b":
        return Constant(np.bool_(bool(argument.value)), ())
    if element.kind == "i":
        return Integer(Affine(wrapped(int(argument.value), element.bits)), (), element.bits)
    # The number is passed at run time, so that the plan is valid for all numbers.
    register = walk.register((False,) * len(walk.axes), (), element.value)
    walk.emit(Parameter(register, (), position, element))
    return Tensor(register, ())
