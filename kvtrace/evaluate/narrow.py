"""Loss of precision in kernels: sums in 16 bits, intermediate roundings, tf32.

An intermediate rounding to a type is intended if it is part of work in that type: the rounded
number is computed from a tensor of the type, or a number computed from it is stored in such a
tensor, or is a factor of a `dot`. For example x in float32 may be normalized in bfloat16 if the
result is bfloat16, but not because the weight that it is multiplied by afterwards is.

Add-ons ask this (`check`, `tolerance`), and the error bounds that they derive.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from kvtrace.evaluate.dialects.tt_dot import dot_form
from kvtrace.evaluate.types import ElementType, value_type
from kvtrace.ir import Module, Op
from kvtrace.ir.flow import Flow, backward, enclosing_ops, flow_of, forward, value_before
from kvtrace.ir.memory_sites import memory_sites
from kvtrace.ir.model import Value
from kvtrace.ir.ops import (
    COMBINING,
    ELEMENTWISE,
    KINDS,
    LOOPS,
    MOVING,
    READING,
    UNROUNDED,
    WRITING,
    Kind,
    address_of,
    computing,
    effect_of,
    operator_of,
)
from kvtrace.ir.updates import data_of, positions_of

_ADDING: Final = computing("+")
_DOTS: Final = computing("dot")
_ELEMENT_BY_ELEMENT: Final = (Kind.ELEMENTWISE, Kind.SPREAD, Kind.REARRANGED)
_WIDE_BITS: Final = 32
_NARROW: Final = frozenset({"f16", "bf16"})


def uses_tf32(module: Module) -> bool:
    """Return whether any dot of the module cuts its float32 factors to tf32."""
    return any(dot_form(op).tf32 for op in module.ops if op.name in _DOTS)


def narrow_sums(module: Module) -> Iterator[Op]:
    """Yield the ops that add to a sum kept in 16 bits, in a loop or a reduction.

    If a loop's sum is computed wide, but rounded to 16 bits in each trip, yield the rounding op,
    whatever type carries the sum to the next trip.
    """
    flow = flow_of(module)
    for op in module.ops:
        adds = any(inner.name in _ADDING for inner in op.walk() if inner is not op)
        if op.name in COMBINING and adds and _is_narrow(op.results[0]):
            yield op
    additions = [op for op in module.ops if op.name in _ADDING | _DOTS]
    for op in module.ops:
        is_rounding = op.name in _ADDING | _DOTS or operator_of(op) == "cast"
        if not is_rounding or not _is_narrow(op.results[0]):
            continue
        if not any(parent.name in LOOPS for parent in enclosing_ops(op)):
            continue
        earlier = {value.id for value in _summands(op, flow)}
        if op.results[0].id in earlier and any(
            addition is op
            or (
                addition.results[0].id in earlier
                and any(value is op.results[0] for value in _summands(addition, flow))
            )
            for addition in additions
        ):
            yield op


def narrowing_ops(module: Module) -> Iterator[Op]:
    """Yield the ops by which a kernel may lose precision to a type of 16 bits, unless granted."""
    yield from (*narrow_sums(module), *foreign_roundings(module), *sums_in_memory(module))


def sums_in_memory(module: Module) -> Iterator[Op]:
    """Yield the ops that may keep a sum in memory of 16 bits: loads, with the ops that round.

    That is atomic additions, and loads to which an op adds before they are stored where they were.
    Which sums have more than one addition depends on addresses: `BoundedMemory.narrow_sums`.
    """
    flow = flow_of(module)
    for store in module.ops:
        if store.name not in WRITING or not data_of(store) or not _is_narrow(data_of(store)[0]):
            continue
        if effect_of(store) == "atomic":
            yield store
            continue
        address, rounding = address_of(store), value_before(data_of(store)[0], MOVING).owner
        if not isinstance(rounding, Op):
            continue
        summed = [value.owner for value in _summands(rounding, flow)]
        loads = [
            load
            for load in flow.uses(address)
            if load.name in READING and load in summed and positions_of(load) == positions_of(store)
        ]
        adding = [op for op in (rounding, *summed) if isinstance(op, Op)]
        if loads and any(op.name in _ADDING | _DOTS for op in adding):
            yield from (rounding, *loads)


def _summands(op: Op, flow: Flow) -> Iterator[Value]:
    """Yield the values that an op's results are made of element by element, of all trips."""

    def before(value: Value) -> Sequence[Value]:
        producer = value.owner
        if not isinstance(producer, Op) or flow.origins(value):
            return flow.sources(value)
        return _operands_of_elements(producer)

    return backward(_operands_of_elements(op), before)


def _operands_of_elements(op: Op) -> Sequence[Value]:
    """Return the operands of which an op makes its elements, not the factors of a dot."""
    if op.name in _DOTS:
        return (op.operand("added"),)
    row = KINDS.get(op.name)
    return op.operands if row is not None and row.kind in _ELEMENT_BY_ELEMENT else ()


def foreign_roundings(module: Module) -> Iterator[Op]:
    """Yield the ops that round to a narrow float type unintentionally (see the module).

    Ops whose results are stored unchanged in a wider type are among them.
    """
    for op in _roundings_to_narrow_floats(module):
        if not _is_intended(op, module) or _is_widened_again(op, module):
            yield op


def computes_in_narrow_floats(module: Module) -> bool:
    """Return whether a kernel computes in a float type below 32 bits, besides rounding its results.

    That is: sums in memory, factors of dots, numbers that are rounded and not just stored, and
    stored numbers that are read again.
    """
    if any(op.name in _DOTS and _is_narrow_float(op.operands[0]) for op in module.ops):
        return True
    sites = memory_sites(module)
    loads = [site for site in sites if site.kind == "load"]
    for site in sites:
        if site.kind == "store" and _holds_narrow(address_of(site.op)):
            parameters = site.parameters
            if parameters is None or any(
                load.reaches(parameter) for load in loads for parameter in parameters
            ):
                return True
        elif site.kind not in ("load", "store") and _holds_narrow(address_of(site.op)):
            return True
    flow = flow_of(module)
    rounding = {op.index for op in _roundings_to_narrow_floats(module)}
    for op in module.ops:
        if op.name not in COMBINING | ELEMENTWISE or op.name in UNROUNDED:
            continue
        if not any(map(_is_narrow_float, op.results)):
            continue
        if operator_of(op) == "cast" and op.index not in rounding:
            continue
        if any(user.name not in WRITING for user in _users(op.results[0], flow)):
            return True
    return False


def _roundings_to_narrow_floats(module: Module) -> Iterator[Op]:
    for op in module.ops:
        if operator_of(op) == "cast" and _is_narrow_float(op.results[0]):
            source = value_type(op.operand("source").type).element
            target = value_type(op.results[0].type).element
            if source.kind != "f" or source.bits >= target.bits:
                yield op


def _is_intended(op: Op, module: Module) -> bool:
    """Return whether a rounding to a narrow type is part of work in that type (see the module)."""
    target = value_type(op.results[0].type).element
    arguments = [value_type(value.type) for value in module.main.arguments]
    tensor_types = {type_.element.name for type_ in arguments if type_.pointer or type_.descriptor}
    if target.name not in tensor_types:
        return False
    flow = flow_of(module)

    def before(value: Value) -> Sequence[Value]:
        is_read = isinstance(value.owner, Op) and value.owner.name in READING
        return () if is_read else flow.sources(value)

    for value in backward(op.operands, before):
        is_read = isinstance(value.owner, Op) and value.owner.name in READING
        if is_read and value_type(value.type).element == target:
            return True
    reached = forward(flow, op.results, lambda user, _: user.results)
    for user in module.ops:
        if any(value.id in reached for value in user.operands):
            if user.name in _DOTS and any(map(_is_narrow_float, user.operands[:2])):
                return True
            if user.name in WRITING and value_type(address_of(user).type).element == target:
                return True
    return False


def _is_widened_again(op: Op, module: Module) -> bool:
    """Return whether the number that an op rounds is stored, unchanged, in a wider float type."""
    flow = flow_of(module)
    return any(
        user.name in WRITING and _holds_wide(address_of(user))
        for value in _copies_of(op.results[0], flow)
        for user in flow.uses(value)
    )


def _copies_of(value: Value, flow: Flow) -> Iterator[Value]:
    """Yield a value and its copies after moves and conversions."""

    def after(moved: Value) -> Iterator[Value]:
        yield from flow.copies(moved)
        for user in flow.uses(moved):
            if user.name in MOVING or operator_of(user) == "cast":
                yield from user.results

    return backward([value], after)


def _users(value: Value, flow: Flow) -> Iterator[Op]:
    """Yield the ops that use a value or its copies after moves."""

    def after(moved: Value) -> Iterator[Value]:
        yield from flow.copies(moved)
        for user in flow.uses(moved):
            if user.name in MOVING:
                yield from user.results

    for moved in backward([value], after):
        yield from (user for user in flow.uses(moved) if user.name not in MOVING)


def _is_narrow_float(value: Value) -> bool:
    type_ = value_type(value.type)
    return not (type_.pointer or type_.descriptor) and _is_narrow_element(type_.element)


def _holds_narrow(address: Value) -> bool:
    return _is_narrow_element(value_type(address.type).element)


def _holds_wide(address: Value) -> bool:
    element = value_type(address.type).element
    return element.kind == "f" and element.bits >= _WIDE_BITS


def _is_narrow_element(element: ElementType) -> bool:
    return element.kind == "f" and element.bits < _WIDE_BITS


def _is_narrow(value: Value) -> bool:
    return str(getattr(value.type, "element", value.type)) in _NARROW
