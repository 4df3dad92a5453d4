"""Planning of a launch; running a cached plan does not import this module.

Programs run at once in chunks: as many as have intermediate results within a limit.

Instructions become one straight-line function:

    def run(buffers, numbers, cells, starts, extents): …

`buffers` are the storages as bytes, `numbers` the float arguments, `cells` the arrays for
intermediate results, `starts` and `extents` the chunk: first value and count along each program
axis. The code depends only on the instructions, and on whether PyTorch is imported; code/ writes
it. Numbers are the function's globals: calls of a kernel on other sizes share the compiled text.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from kvtrace.evaluate.arguments import Argument, TensorArgument
from kvtrace.evaluate.compiler import check_tensors
from kvtrace.evaluate.errors import TooLarge, UnsupportedOp
from kvtrace.evaluate.observe import AccessKind
from kvtrace.evaluate.order import contested_storages, written_storages
from kvtrace.evaluate.plan import torch_kernels
from kvtrace.evaluate.plan.affine import Interval
from kvtrace.evaluate.plan.code.blocks import write_block
from kvtrace.evaluate.plan.code.cells import Cell, GeneratedCode
from kvtrace.evaluate.plan.code.writer import Writer
from kvtrace.evaluate.plan.execute import Chunk, Executable, bytes_of
from kvtrace.evaluate.plan.grid import Regions, planned_regions
from kvtrace.evaluate.plan.instructions import Instruction
from kvtrace.evaluate.plan.layouts import Layouts
from kvtrace.evaluate.plan.optimize import optimized
from kvtrace.evaluate.plan.points import active_extremes
from kvtrace.evaluate.plan.records import AccessRecord, LaunchPlan, RegionPlan
from kvtrace.evaluate.plan.signals import Unplannable
from kvtrace.evaluate.plan.steps import PlanCompiler

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
    *,
    torch: bool | None = None,
) -> GeneratedCode:
    """Return the compiled code of a region's instructions.

    `axes` are the symbols of the program axes; `offsets` has the byte offset of each tensor
    argument in its storage. `torch`: whether PyTorch runs the instructions at which it is faster;
    None: if the program has imported PyTorch.
    """
    with_torch = torch_kernels.is_available() if torch is None else torch
    layouts = Layouts(instructions, reduces_rows_slowly=not with_torch)
    writer = Writer(axes, offsets, layouts, with_torch)
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
