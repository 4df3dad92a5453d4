"""Planning of a launch; running a cached plan does not import this module.

Programs run at once in chunks: as many as have intermediate results within a limit.

Instructions become one straight-line function:

    def run(buffers, numbers, cells, starts, extents): …

`buffers` are the storages as bytes, `numbers` the float arguments, `cells` the arrays for
intermediate results, `starts` and `extents` the chunk: first value and count along each program
axis. The code depends only on the instructions; code/ writes it. Numbers are the function's
globals: calls of a kernel on other sizes share the compiled text.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from kvtrace.evaluate.arguments import Argument, ScalarArgument, TensorArgument
from kvtrace.evaluate.compiler import check_tensors
from kvtrace.evaluate.errors import (
    FactorAxis,
    LeavesTensor,
    SplitAxis,
    TooLarge,
    Unplannable,
    UnsupportedOp,
)
from kvtrace.evaluate.observe import AccessKind
from kvtrace.evaluate.order import contested_storages, written_storages
from kvtrace.evaluate.plan.affine import Affine, Interval, substituted
from kvtrace.evaluate.plan.code.blocks import write_block
from kvtrace.evaluate.plan.code.cells import Cell, GeneratedCode
from kvtrace.evaluate.plan.code.writer import Writer
from kvtrace.evaluate.plan.control import walk_function
from kvtrace.evaluate.plan.execute import Chunk, Executable, bytes_of
from kvtrace.evaluate.plan.instructions import Instruction, Parameter
from kvtrace.evaluate.plan.layouts import Layouts
from kvtrace.evaluate.plan.optimize import optimized
from kvtrace.evaluate.plan.points import active_extremes, shape_of, values_of
from kvtrace.evaluate.plan.records import AccessRecord, LaunchPlan, Region, RegionPlan
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
    """Return a launch's argument as a value of the plan; Unplannable if there is none for it."""
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


CHUNK_BYTES = 4 << 20
"""The size limit of all intermediate results of the programs that run at once."""

_TEMPORARIES = 2
"""The number of arrays that a function has in memory while it creates one."""


def executable(
    code: GeneratedCode,
    ranges: Sequence[tuple[int, int]],
) -> Executable:
    """Return a region's code, with the ranges of its program axes cut into chunks."""
    extents = [last - first + 1 for first, last in ranges]
    arrays = [*code.cells, *code.made * _TEMPORARIES]
    sizes = _chunk_extents(arrays, extents)
    starts = tuple(first for first, _ in ranges)
    return Executable(code, tuple(_chunks(starts, extents, sizes)))


def _chunk_extents(cells: Sequence[Cell], extents: Sequence[int]) -> tuple[int, ...]:
    """Return the extents of a chunk: the slowest axes are cut evenly until all cells fit."""
    chunk = list(extents)
    for axis, extent in enumerate(extents):
        total = sum([bytes_of(cell, chunk) for cell in cells])
        if total <= CHUNK_BYTES:
            break
        chunk_count = min(extent, -(-extent * total // (chunk[axis] * CHUNK_BYTES)))
        chunk[axis] = -(-extent // chunk_count)
    return tuple(chunk)


def _chunks(starts: Sequence[int], extents: Sequence[int], sizes: Sequence[int]) -> Iterator[Chunk]:
    """Yield the first value and the count along each axis of every chunk."""
    axes = [
        range(start, start + extent, size)
        for start, extent, size in zip(starts, extents, sizes, strict=True)
    ]
    ends = [start + extent for start, extent in zip(starts, extents, strict=True)]
    for corner in itertools.product(*axes):
        counts = tuple(
            min(size, end - begin) for begin, size, end in zip(corner, sizes, ends, strict=True)
        )
        yield corner, counts


def planned_launch(
    compiler: PlanCompiler, arguments: tuple[Argument, ...], grid: tuple[int, int, int]
) -> LaunchPlan:
    """Return the plan of a launch; a plan with a `refusal` if that is impossible."""
    offsets = {
        position: argument.offset_bytes
        for position, argument in enumerate(arguments)
        if isinstance(argument, TensorArgument)
    }
    try:
        check_tensors(compiler.module)
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
            _refuse_order_of_unplanned(compiler, planned, arguments)
        _refuse_tensors_without_data(regions, arguments, runs=runs)
        records = [record for region in regions for record in region.accesses]
        refuse_conflicts(records, arguments)
        for record in records:
            if record.conditions:
                active_extremes(record)  # raises Unplannable for masks that cannot be counted
    except (Unplannable, UnsupportedOp, TooLarge) as reason:
        return LaunchPlan([], offsets, runs=False, refusal=str(reason))
    return LaunchPlan(
        regions, offsets, runs, unplanned=planned.unplanned, why_unplanned=planned.reason
    )


def _refuse_order_of_unplanned(
    compiler: PlanCompiler, planned: Regions, arguments: tuple[Argument, ...]
) -> None:
    """Raise Unplannable if the programs without a plan must not run after the others."""
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


def _refuse_tensors_without_data(
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
    """Return the generated code of a plan, an Executable per region."""
    regions_code = []
    for region in plan.regions:
        axes = region.region.axes
        instructions = optimized(region.instructions)
        code = generated(instructions, axes, plan.offsets)
        ranges = [region.region.ranges[symbol] for symbol in axes]
        regions_code.append(executable(code, ranges))
    return regions_code


# -- from instructions to one function -------------------------------------------------------------


def generated(
    instructions: list[Instruction],
    axes: tuple[int, ...],
    offsets: dict[int, int],
) -> GeneratedCode:
    """Return the compiled code of a region's instructions.

    `axes` are the symbols of the program axes; `offsets` has the byte offset of each tensor
    argument in its storage.
    """
    writer = Writer(axes, offsets, Layouts(instructions))
    write_block(writer, instructions, 1, frozenset())
    head = ["def run(buffers, numbers, cells, starts, extents):"]
    head += [f" b{number} = buffers[{number}]" for number in sorted(writer.buffers)]
    head += [f" s{axis} = starts[{axis}]" for axis in range(len(axes))]
    head += [f" n{axis} = extents[{axis}]" for axis in range(len(axes))]
    if writer.cells:
        names = ", ".join(f"v{number}" for number in range(len(writer.cells)))
        head.append(f" {names}, = cells")
    source = "\n".join([*head, *writer.lines, " return", ""])
    scope: dict[str, Any] = {"nd": np.ndarray, "copyto": np.copyto, **writer.globals}
    run = FunctionType(_compiled(source), scope)
    return GeneratedCode(run, tuple(writer.cells), tuple(writer.made), source)


@lru_cache(maxsize=256)
def _compiled(source: str) -> CodeType:
    """Return the code object of `run`; launches of other sizes have the same text."""
    (code,) = (
        constant
        for constant in compile(source, "<plan>", "exec").co_consts
        if isinstance(constant, CodeType)
    )
    return code


def refuse_conflicts(records: Sequence[AccessRecord], arguments: Sequence[Argument]) -> None:
    """Raise Unplannable if a program may read bytes that another program writes.

    Two accesses of different programs never touch the same byte if equal addresses imply equal
    program ids: each coefficient is larger than the sum of all smaller terms (digits of a mixed
    radix). With 4 KiB per program and 1,024 lanes of 4 bytes, `4096 * program + 4 * lane`
    determines the program.
    """
    active = [record for record in records if record.lanes is not None]
    for store in (record for record in active if record.kind != "load"):
        target = arguments[store.argument]
        assert isinstance(target, TensorArgument)
        for load in (record for record in active if _order_matters(store.kind, record.kind)):
            source = arguments[load.argument]
            assert isinstance(source, TensorArgument)
            if source.storage is not target.storage or source.storage.data is None:
                continue
            shift = source.offset_bytes - target.offset_bytes
            if not never_conflict(store, load, shift):
                raise Unplannable(
                    f"programs may read elements of {target.name} that other programs write"
                )


def _order_matters(writing: AccessKind, other: AccessKind) -> bool:
    """Return whether the order of a write and another access matters; each pair once."""
    return other == "load" or (writing == "atomic" and other == "store")


def never_conflict(store: AccessRecord, load: AccessRecord, shift: int) -> bool:
    """Return whether programs never meet; `shift` is between both data pointers in bytes."""
    low = load.extremes[0] + shift
    high = load.extremes[1] + shift + load.element_bytes
    if high <= store.extremes[0] or store.extremes[1] + store.element_bytes <= low:
        return True
    if store.region.programs == 1 and store.region is load.region:
        return True
    if store.region.ids is not load.region.ids and store.region.ids != load.region.ids:
        return False
    return _programs_are_digits(store, load, shift)


def _programs_are_digits(store: AccessRecord, load: AccessRecord, shift: int) -> bool:
    """Return whether the difference of both addresses determines the programs."""
    gap = load.form.constant + shift - store.form.constant
    digits: dict[int, Interval] = {}
    programs: dict[int, tuple[int, Interval]] = {}
    for symbol in store.region.order:
        first, last = store.region.ranges[symbol]
        other_first, other_last = load.region.ranges[symbol]
        coefficient = store.form.coefficient(symbol)
        if coefficient != load.form.coefficient(symbol):
            return False
        span = (other_first - last, other_last - first)
        if coefficient == 0:
            if span != (0, 0):
                return False  # all programs along this axis share an address
            continue
        if coefficient in programs:
            return False
        programs[coefficient] = (coefficient, span)
    for record, sign in ((load, 1), (store, -1)):
        for coefficient, (first, last) in _trip_and_lane_terms(record):
            limits = sorted((sign * first, sign * last))
            before = digits.get(coefficient, (0, 0))
            digits[coefficient] = (before[0] + limits[0], before[1] + limits[1])
    return _digits_are_zero(programs, digits, gap, load.element_bytes, store.element_bytes)


def _trip_and_lane_terms(record: AccessRecord) -> list[tuple[int, Interval]]:
    """Return the non-zero coefficients of trips and lanes, with their ranges."""
    assert record.lanes is not None
    pairs = [(record.form.coefficient(symbol), interval) for symbol, interval in record.trips]
    pairs += list(zip(record.form.lanes, record.lanes, strict=False))
    return [(coefficient, interval) for coefficient, interval in pairs if coefficient]


def _digits_are_zero(
    programs: dict[int, tuple[int, Interval]],
    digits: dict[int, Interval],
    gap: int,
    load_bytes: int,
    store_bytes: int,
) -> bool:
    """Return whether bytes coincide only if all program digits are zero.

    They coincide where -load_bytes < gap + sum(digit * coefficient) < store_bytes.
    """
    low, high = gap - store_bytes + 1, gap + load_bytes - 1
    terms = [
        (abs(coefficient), coefficient, span, True) for coefficient, (_, span) in programs.items()
    ]
    terms += [(abs(coefficient), coefficient, span, False) for coefficient, span in digits.items()]
    terms.sort(key=lambda term: (term[0], not term[3]))
    has_program_digit = False
    for size, coefficient, (first, last), is_program in terms:
        has_program_digit = has_program_digit or is_program
        if has_program_digit and (first, last) != (0, 0) and not (-size < low and high < size):
            return False  # smaller parts could make up for one step of this axis
        limits = sorted((coefficient * first, coefficient * last))
        low, high = low + limits[0], high + limits[1]
    return True
