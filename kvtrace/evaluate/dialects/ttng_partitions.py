"""`ttg`, `ttng`, `amdg`: partitions of warps, arrivals at barriers, Blackwell's tensor memory.

Modules with these ops are evaluated program by program (`partitions.py`). Products of the tensor
core are computed at once; they count as in flight until a barrier's phase ends that they arrive at.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from kvtrace.evaluate.compiler import Compiler, slot_of, slots_of
from kvtrace.evaluate.dialects.tt_dot import PACKED, dot_form, product, scaled_factor, unpacked
from kvtrace.evaluate.dialects.ttg import local_alloc, local_load, view_step, wait
from kvtrace.evaluate.dialects.ttng import flags_of, init_barrier, wait_barrier
from kvtrace.evaluate.partitions import PartitionedMemory
from kvtrace.evaluate.registry import Step, semantics, unsupported
from kvtrace.evaluate.rounding import rounding_to
from kvtrace.evaluate.scope import Scope
from kvtrace.evaluate.types import value_type
from kvtrace.evaluate.values import Array, Unknown, full_array, unknown_of
from kvtrace.ir import Op
from kvtrace.ir.attributes import Attribute
from kvtrace.ir.flow import captured, threads_of
from kvtrace.ir.model import attribute

_TENSOR_CORE = "tensor core"


def _memory(op: Op, scope: Scope) -> PartitionedMemory:
    shared = scope.launch.shared
    if not isinstance(shared, PartitionedMemory):
        raise unsupported(op, scope.launch.kernel, "in this analysis")
    return shared


def _check_attributes(op: Op, compiler: Compiler, *known: str) -> None:
    """Raise UnsupportedOp if an op has a flag that is set and not followed."""
    for name, value in op.attributes.items():
        if name not in (*known, "operandSegmentSizes", "resultSegmentSizes") and _is_set(value):
            raise unsupported(op, compiler.kernel, f"with {name}")


def _is_set(value: Attribute) -> bool:
    return getattr(value, "value", True) is not False


# -- partitions -----------------------------------------------------------------------------------


@semantics("ttg.warp_specialize")
def warp_specialize(op: Op, compiler: Compiler) -> Step:
    """Return the step that runs the partitions in turns, until all have ended."""
    default = compiler.block(op.regions[0].blocks[0])
    (holder,) = (inner for inner in op.regions[1].blocks[0].ops if inner.regions)
    parts = [compiler.block(region.blocks[0]) for region in holder.regions]
    passed, results = slots_of(captured(holder)), slots_of(op.results)

    def step(values: list[Any], scope: Scope) -> None:
        outcome: list[Any] = []

        def run_default() -> None:
            outcome.extend(default.run(list(values), scope))

        def run_part(index: int) -> None:
            own, part = list(values), parts[index]
            for argument, slot in zip(part.arguments, passed, strict=True):
                own[argument] = values[slot]
            part.run(own, scope)

        runs = [partial(run_part, index) for index in range(len(parts))]
        _memory(op, scope).run_partitions(scope, [run_default, *runs])
        for slot, value in zip(results, outcome, strict=True):
            values[slot] = value

    return step


@semantics("ttg.warp_specialize.partitions")
def nothing(_op: Op, _compiler: Compiler) -> Step:
    """Return a step without effect."""
    return lambda _values, _scope: None


# -- barriers -------------------------------------------------------------------------------------


@semantics("ttng.arrive_barrier")
def arrive_barrier(op: Op, compiler: Compiler) -> Step:
    """Return the step of arrivals at a barrier."""
    _check_attributes(op, compiler, "count")
    return arrival(op, int(attribute(op, "count", 1)))


@semantics("ttng.barrier_expect")
def barrier_expect(op: Op, _compiler: Compiler) -> Step:
    """Return the step of an arrival that announces bytes; without clocks, bytes are not counted."""
    return arrival(op, 1, size=int(attribute(op, "size", 0)), needs_clocks=False)


@semantics("ttng.async_copy_mbarrier_arrive")
def async_copy_mbarrier_arrive(op: Op, compiler: Compiler) -> Step:
    """Return the step that lets a phase wait for the copies so far, and adds no arrival."""
    _check_attributes(op, compiler)
    return arrival(op, 0, kind="copies")


semantics("amdg.init_barrier")(init_barrier)
semantics("amdg.wait_barrier")(wait_barrier)


@semantics("amdg.arrive_barrier")
def arrive_of_threads(op: Op, _compiler: Compiler) -> Step:
    """Return the step of arrivals of each thread; the result is the phase's parity before."""
    barrier, result = op.operand("barrier").id, op.results[0].id
    arrive = arrival(op, int(attribute(op, "count", 1)) * threads_of(op))

    def step(values: list[Any], scope: Scope) -> None:
        values[result] = _memory(op, scope).parity(values[barrier])
        arrive(values, scope)

    return step


@semantics("amdg.async_copy_mbarrier_arrive")
def arrive_after_copies(op: Op, _compiler: Compiler) -> Step:
    """Return the step of an arrival of each thread, once its copies so far have ended."""
    return arrival(op, threads_of(op), kind="copies")


@semantics("ttng.tc_gen5_commit")
def tc_gen5_commit(op: Op, compiler: Compiler) -> Step:
    """Return the step that lets a barrier know when the products so far have ended."""
    if op.group("view"):
        raise unsupported(op, compiler.kernel, "of several thread blocks")
    _check_attributes(op, compiler)
    return arrival(op, 1, kind=_TENSOR_CORE)


def arrival(
    op: Op, count: int, *, size: int = 0, kind: str = "", needs_clocks: bool = True
) -> Step:
    """Return the step of arrivals at an op's barrier, for a `kind` once what has begun ends."""
    barrier, predicate = op.operand("barrier").id, slot_of(op, "predicate")
    if kind == "tiles":  # the copy's, whose step looks at it
        predicate = None

    def step(values: list[Any], scope: Scope) -> None:
        if not needs_clocks and not isinstance(scope.launch.shared, PartitionedMemory):
            return
        active = flags_of(values, predicate, scope)
        _memory(op, scope).arrive(op, scope, values[barrier], count, size, kind, active)

    return step


@semantics("ttng.fence_async_shared")
def fence_async_shared(_op: Op, _compiler: Compiler) -> Step:
    """Return the step that makes stores visible to copies and products that begin later."""

    def step(_values: list[Any], scope: Scope) -> None:
        if isinstance(scope.launch.shared, PartitionedMemory):
            scope.launch.shared.fence(scope)

    return step


semantics("ttng.async_tma_store_wait")(partial(wait, kind="stores"))


# -- tensor memory --------------------------------------------------------------------------------


semantics("ttng.tmem_alloc")(local_alloc)


@semantics("ttng.tmem_load")
def tmem_load(op: Op, compiler: Compiler) -> Step:
    """Return the step that loads a part of tensor memory."""
    _check_attributes(op, compiler)
    return local_load(op, compiler)


@semantics("ttng.tmem_store")
def tmem_store(op: Op, _compiler: Compiler) -> Step:
    """Return the step that stores to tensor memory where its predicate holds."""
    target, source, predicate = (op.operand(n).id for n in ("shared", "value", "predicate"))
    type_ = value_type(op.operand("value").type)

    def step(values: list[Any], scope: Scope) -> None:
        active, value = flags_of(values, predicate, scope), values[source]
        if isinstance(active, Unknown) or np.all(active):
            value = active if isinstance(active, Unknown) else value
            _memory(op, scope).write(op, scope, values[target], value, type_)

    return step


@semantics("ttng.tmem_subslice")
def tmem_subslice(op: Op, _compiler: Compiler) -> Step:
    """Return the step that selects columns of a view of tensor memory."""
    first, count = int(attribute(op, "N")), value_type(op.results[0].type).shape[-1]
    return view_step(op, lambda lanes: lanes[..., first : first + count])


@semantics("ttng.tc_gen5_mma")
def tc_gen5_mma(op: Op, compiler: Compiler) -> Step:
    """Return the step of a product that is added to tensor memory."""
    _check_attributes(op, compiler, "is_async")
    form = dot_form(op)

    def multiply(left: Array, right: Array) -> Array:
        return product(left, right, form.working, tf32=left.dtype == np.float32)

    return _product_step(op, compiler, ("left", "right"), multiply)


@semantics("ttng.tc_gen5_mma_scaled")
def tc_gen5_mma_scaled(op: Op, compiler: Compiler) -> Step:
    """Return the step of a product whose factors have a scale per block along K."""
    _check_attributes(op, compiler, "is_async", "a_type", "b_type")
    kinds = (attribute(op, "a_type"), attribute(op, "b_type"))
    for name in ("left_scale", "right_scale"):
        scale = value_type(op.operand(name).type).element.name
        if scale != "i8":
            raise unsupported(op, compiler.kernel, f"with scales of {scale}")

    def multiply(left: Array, right: Array, *scales: Array) -> Array:
        first, second = (
            scaled_factor(unpacked(raw, kind, -1 - position), scales[position], position)
            for position, (raw, kind) in enumerate(zip((left, right), kinds, strict=True))
        )
        return product(first, second, np.dtype(np.float32), tf32=False)

    names = ("left", "right", "left_scale", "right_scale")
    return _product_step(op, compiler, names, multiply)


def _product_step(
    op: Op, compiler: Compiler, names: tuple[str, ...], multiply: Callable[..., Array]
) -> Step:
    factor_slots = slots_of(op.operand(name) for name in names)
    slots = tuple(op.operand(name).id for name in ("added", "use_added", "predicate"))
    barriers = list(
        zip(slots_of(op.group("barrier")), slots_of(op.group("barrier_predicate")), strict=True)
    )
    type_ = value_type(op.operand("added").type)
    rounding = rounding_to(type_.element)
    ends = not ("is_async" in op.attributes and _is_set(op.attributes["is_async"]))

    def step(values: list[Any], scope: Scope) -> None:
        memory = _memory(op, scope)
        if not memory.follows_products:
            raise unsupported(op, compiler.kernel, "in this analysis")
        added, use, predicate = (values[slot] for slot in slots)
        adds, active = (flags_of(values, slot, scope) for slot in slots[1:])
        unknown = unknown_of((use, predicate))
        if unknown is None and not np.all(active):
            return
        factors = [memory.read(op, values[slot], _TENSOR_CORE) for slot in factor_slots]
        total = memory.read(op, added, _TENSOR_CORE) if unknown or np.all(adds) else 0
        unknown = unknown_of((use, predicate, *factors, total))
        result: Any = unknown
        if unknown is None:
            result = multiply(*factors)
            result = rounding(np.asarray(result + total)) if rounding else result + total
        memory.write(op, scope, added, result, type_, _TENSOR_CORE)
        memory.commit(scope, _TENSOR_CORE)
        if ends:
            memory.wait(scope, 0, _TENSOR_CORE)
        for barrier, flag in barriers:
            active = flags_of(values, flag, scope)
            memory.arrive(op, scope, values[barrier], 1, 0, _TENSOR_CORE, active)

    return compiler.counting_step(op, step, type_.size, _flops(op))


def _flops(op: Op) -> int:
    depth = value_type(op.operand("left").type).shape[-1]
    if attribute(op, "a_type") in PACKED:
        depth *= 2
    return 2 * depth * value_type(op.operand("added").type).size


@semantics("ttng.tmem_copy")
def tmem_copy(op: Op, compiler: Compiler) -> Step:
    """Return the step that copies shared memory to tensor memory, in the tensor core's order."""
    source, target = op.operand("source").id, op.operand("shared").id
    barrier = slot_of(op, "barrier")
    from_type, to_type = (value_type(op.operand(n).type) for n in ("source", "shared"))
    if from_type.shape[-2:] != to_type.shape[-2:]:
        raise unsupported(op, compiler.kernel, "of scales")

    def step(values: list[Any], scope: Scope) -> None:
        memory = _memory(op, scope)
        value = memory.read(op, values[source], _TENSOR_CORE)
        if not isinstance(value, Unknown):
            value = full_array(value, from_type).reshape(scope.programs, *to_type.shape)
        memory.write(op, scope, values[target], value, to_type, _TENSOR_CORE)
        memory.commit(scope, _TENSOR_CORE)
        if barrier is not None:
            memory.arrive(op, scope, values[barrier], 1, 0, _TENSOR_CORE)

    return step
