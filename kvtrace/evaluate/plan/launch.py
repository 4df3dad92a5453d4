"""Plans of launches, cached with their module, and their execution.

A plan depends on the integer arguments, the grid, and the offsets of tensors in their storages, but
not on contents or on float arguments. Planning modules are imported when a plan is created.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kvtrace.evaluate.arguments import Argument, ScalarArgument, Storage, TensorArgument
from kvtrace.evaluate.observe import (
    Access,
    AccessParts,
    AffineAxis,
    AffineFormula,
    Observer,
)
from kvtrace.evaluate.plan.affine import Affine, Domain, Interval
from kvtrace.evaluate.plan.points import (
    active_extremes,
    by_program,
    elements,
    executions_of,
    inactive_accesses,
    no_elements,
    outer_axes,
    shape_of,
    values_of,
)
from kvtrace.evaluate.plan.records import AccessRecord, LaunchPlan, Region, RegionPlan
from kvtrace.evaluate.scope import listeners
from kvtrace.evaluate.threads import ONE_THREAD
from kvtrace.evaluate.types import value_type
from kvtrace.ir import Block, Module
from kvtrace.ir.model import once_per_module

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


Counts = Mapping[int, tuple[int, int]]
"""Elements and FLOPs of one execution of each compute op, by op index."""


def report(
    plans: Sequence[RegionPlan],
    accesses: Iterable[Access],
    observers: Sequence[Observer],
    counts: Callable[[], Counts],
) -> None:
    """Report the accesses, and the ops and loops of all regions, to observers."""
    op_observers = listeners(observers, "op")
    if op_observers:
        _report_ops(plans, op_observers, counts())
    access_observers = listeners(observers, "access")
    loop_observers = listeners(observers, "loop")
    for access in accesses if access_observers else ():
        for observer in access_observers:
            observer.access(access)
    for plan in plans:
        for loop in plan.loops if loop_observers else ():
            # The same number for all, as from numpy.broadcast_to, in a quarter of the time.
            trips: NDArray[np.int64] = np.ndarray(
                (loop.executions,), np.int64, np.int64(loop.trips).tobytes(), strides=(0,)
            )
            for observer in loop_observers:
                observer.loop(loop.op, trips)


def _report_ops(plans: Sequence[RegionPlan], observers: Iterable[Observer], counts: Counts) -> None:
    executed: dict[Block, int] = {}
    for plan in plans:
        for block, executions in plan.executed:
            executed[block] = executed.get(block, 0) + executions
    for block, executions in executed.items():
        for op in block.ops:
            op_counts = counts.get(op.index)
            if op_counts is None:
                continue
            elements, flops = op_counts
            for observer in observers:
                observer.op(op, executions, executions * elements, executions * flops)


def access_of(record: AccessRecord, origin_bytes: int, parts: AccessParts | None = None) -> Access:
    """Return a record as the access that observers receive.

    `origin_bytes` is the byte offset of the argument's data pointer in its storage. With `parts`,
    the record is that of a single trip, and no formula is added.
    """
    executions = record.executions
    lanes = executions * math.prod(record.shape)
    if record.lanes is None:
        return Access(
            record.op, record.kind, record.argument, record.element_bytes, executions, lanes, 0,
            None, None, True, "", lambda: inactive_accesses(record), no_elements,
        )  # fmt: skip
    lowest: int | None
    highest: int | None
    if record.conditions:
        active, lowest, highest = active_extremes(record)
    else:
        active = executions * math.prod(last - first + 1 for first, last in record.lanes)
        lowest, highest = record.extremes
    formula = trips = None
    if parts is None:
        formula = formula_of(record, origin_bytes)

        def trips() -> Iterator[Access]:
            return each_trip(record, origin_bytes)

    return Access(
        record.op, record.kind, record.argument, record.element_bytes, executions, lanes, active,
        lowest, highest, True, "", lambda: by_program(record), lambda: elements(record),
        parts, formula, trips,
    )  # fmt: skip


def each_trip(record: AccessRecord, origin_bytes: int) -> Iterator[Access]:
    """Yield the accesses of single trips of a record, with parts; they share unchanged terms."""
    assert record.lanes is not None
    shapes = [range(first, last + 1) for _, (first, last) in record.trips]
    symbols = [symbol for symbol, _ in record.trips]
    programs, _ = executions_of(replace(record, trips=()), outer_axes(replace(record, trips=())))
    terms: tuple[NDArray[np.int64], ...] | None = None
    for trip in itertools.product(*shapes):
        trip_numbers = dict(zip(symbols, trip, strict=True))
        form = _at_trip(record.form, trip_numbers)
        single = replace(
            record,
            form=form,
            trips=tuple(
                (symbol, (trip_numbers[symbol], trip_numbers[symbol])) for symbol in symbols
            ),
            conditions=tuple(_at_trip(condition, trip_numbers) for condition in record.conditions),
            extremes=_extremes_at(record, form),
        )
        if terms is None:
            terms = _terms(single)
        parts = AccessParts(
            form.constant, terms, _factors(single), record.shape, programs,
            trip[-1] if trip else 0, origin_bytes,
        )  # fmt: skip
        yield access_of(single, origin_bytes, parts)


def _at_trip(form: Affine, trips: dict[int, int]) -> Affine:
    constant = form.constant
    outer = []
    for symbol, coefficient in form.outer:
        if symbol in trips:
            constant += coefficient * trips[symbol]
        else:
            outer.append((symbol, coefficient))
    return Affine(constant, tuple(outer), form.lanes)


def _extremes_at(record: AccessRecord, form: Affine) -> Interval:
    assert record.lanes is not None
    return Domain(dict(record.region.ranges)).extremes(form, record.lanes)


def _terms(record: AccessRecord) -> tuple[NDArray[np.int64], ...]:
    """Return the address's terms: one over programs, and one per lane axis that changes it."""
    outer, rank = outer_axes(record), len(record.shape)
    base = Affine(0, record.form.outer)
    count = record.region.programs
    spread = np.broadcast_to(values_of(base, outer, ()), shape_of(outer, ()))
    terms = [spread.reshape((count,) + (1,) * rank)]
    for axis, coefficient in enumerate(record.form.lanes):
        if coefficient:
            terms.append(_lane_indices(axis, rank, record.shape[axis]) * coefficient)
    return tuple(terms)


def _factors(record: AccessRecord) -> tuple[NDArray[np.bool_], ...]:
    """Return the mask's factors: one per cut lane axis, and one per condition."""
    assert record.lanes is not None
    outer, rank = outer_axes(record), len(record.shape)
    factors: list[NDArray[np.bool_]] = []
    for axis, (first, last) in enumerate(record.lanes):
        if (first, last) != (0, record.shape[axis] - 1):
            line = _lane_indices(axis, rank, record.shape[axis])
            factors.append((line >= first) & (line <= last))
    every = tuple((0, extent - 1) for extent in record.shape)
    for condition in record.conditions:
        values = values_of(condition, outer, every) >= 0
        full_shape = shape_of(outer, ()) + values.shape[len(outer) :]
        factors.append(np.broadcast_to(values, full_shape).reshape(-1, *values.shape[len(outer) :]))
    return tuple(factors)


def _lane_indices(axis: int, rank: int, extent: int) -> NDArray[np.int64]:
    shape = [1] * (rank + 1)
    shape[axis + 1] = extent
    return np.arange(extent, dtype=np.int64).reshape(shape)


def formula_of(record: AccessRecord, origin_bytes: int = 0) -> AffineFormula:
    """Return an access's formula; `origin_bytes` is its data pointer's offset in the storage."""
    region, form = record.region, record.form
    coefficients = dict(form.outer)
    axes = [
        AffineAxis("program", symbol, coefficients.get(symbol, 0), first, last, moved)
        for symbol, first, last, moved in program_axes(region)
    ]
    axes += [
        AffineAxis("trip", symbol, coefficients.get(symbol, 0), first, last)
        for symbol, (first, last) in record.trips
    ]
    steps = form.lanes or (0,) * len(record.shape)
    axes += [
        AffineAxis("lane", axis, steps[axis], first, last)
        for axis, (first, last) in enumerate(record.lanes or ())
    ]
    x, y, z = region.ids
    conditions = tuple(
        (form.constant, (*form.outer, *((-1 - axis, n) for axis, n in enumerate(form.lanes) if n)))
        for form in record.conditions
    )
    return AffineFormula(
        form.constant, tuple(axes), (x.constant, y.constant, z.constant), conditions, record.shape,
        region.grid, origin_bytes,
    )  # fmt: skip


def program_axes(region: Region) -> list[tuple[int, int, int, tuple[int, int, int]]]:
    """Return (symbol, first, last, steps of the three program ids) per program axis.

    The slowest axis comes first. Symbols that are always 0 are left out.
    """
    x, y, z = region.ids
    return [
        (symbol, first, last, (x.coefficient(symbol), y.coefficient(symbol), z.coefficient(symbol)))
        for symbol in region.order
        for first, last in (region.ranges[symbol],)
        if first or last
    ]
