"""Stores that need no order: two actors that touch the same byte store the same value.

A value is traced back, from the lane that stores it, to its sources: constants, parameters,
integers that are equal on both sides wherever the addresses are equal, and loads at equal addresses
that the launch does not write. Within one program a scalar is one number, and so is a value in one
lane.

Example: all programs store `scale[0] * 2` to byte 0. The value comes from a constant and a load at
a constant address, so all programs store the same. `program_id * 2` is not equal on both sides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kvtrace.ir import Block, Op, Value
from kvtrace.ir.flow import enclosing_ops, flow_of, value_before
from kvtrace.ir.model import attribute, number_of
from kvtrace.ir.ops import (
    CALLS,
    CONSTANTS,
    FILLING,
    KINDS,
    LOOPS,
    SPREADING,
    Kind,
    computing,
    effect_of,
    named,
    operator_of,
)
from kvtrace.ir.types import SharedType, TensorType, is_block_pointer, shape_of
from kvtrace.symbolic.conditions import And, AtLeast, Condition, Equal, Not, Opaque, Or
from kvtrace.symbolic.prover.digits import Common
from kvtrace.symbolic.summary import Access, Pointer
from kvtrace.symbolic.taint import leaves_lanes
from kvtrace.symbolic.terms import ZERO, Atom, Substitution, Symbol, Term, lane
from kvtrace.verdicts.binding import BoundCall
from kvtrace.verdicts.conflicts.parts import roles_of
from kvtrace.verdicts.conflicts.sharers import Sharer, sharers_of, source_of
from kvtrace.verdicts.lanes import broadcast_lanes, lanes_before, own_lanes
from kvtrace.verdicts.rules.undefined_lanes import uses_undefined

_POSITIONWISE: Final = (
    named(lambda row: row.kind in (Kind.ELEMENTWISE, Kind.SPREAD))
    | computing("+", "int_to_ptr", "ptr_to_int", "num_programs", "constant")
) - computing("inline_asm", "extern", "map")
"""Ops whose result elements depend only on the operand elements at the same position."""
_REARRANGING: Final = computing("expand_dims", "trans", "reshape")
_SPREADING: Final = SPREADING | computing("expand_dims", "reshape")
_REGION_ENDS: Final = named(lambda row: row.kind is Kind.END)
_MAX_VALUES: Final = 512
_MAX_CONDITIONS: Final = 8

Lanes = tuple[Term, ...]


@dataclass(frozen=True)
class EqualityCondition:
    """A condition under which two lanes that meet store the same value.

    `formula` has to be equal on both sides: an integer, or whether a condition holds; None: the
    lanes must not meet. This is required where all conditions of `path` hold on both sides. All
    symbols are those of the first side.
    """

    formula: Term | Condition | None
    path: tuple[Condition, ...]


def store_same_value(bound: BoundCall, left: Sharer, right: Sharer, common: Common) -> bool:
    """Return whether two programs store the same value wherever they touch the same byte.

    Args:
        bound: the call's bound summary.
        left: the store of the first program.
        right: the store of the second program.
        common: symbols that are equal on both sides, such as scalars.

    """
    ops = left.access.op, right.access.op
    sources = [source_key(op) for op in ops]
    if sources[0] is None or sources[0] != sources[1] or not _are_aligned(common, left, right):
        return False
    left_value, right_value = (op.operand("value") for op in ops)
    equality = EqualitySearch(bound, common, in_one_program=False)
    if left_value is right_value and left.access.shape == right.access.shape == shape_of(
        left_value.type
    ):
        return equality.conditions(left_value, own_lanes(left_value)) == []
    source = value_before(left_value, _SPREADING)
    any_lanes = (
        Symbol("lane", ("any", axis), 0, extent - 1).term
        for axis, extent in enumerate(shape_of(source.type))
    )
    return equality.conditions(source, tuple(any_lanes)) == []


def equality_conditions(
    bound: BoundCall, store: Sharer, common: Common
) -> list[EqualityCondition] | None:
    """Return conditions under which two lanes of a store that meet store the same value.

    Empty if they always do, None if the value cannot be traced back. `common`: of both lanes.
    """
    op = store.access.op
    if source_key(op) is None or not _are_aligned(common, store, store):
        return None
    value = op.operand("value")
    if store.access.shape != shape_of(value.type):
        return None
    return EqualitySearch(bound, common, in_one_program=True).conditions(value, own_lanes(value))


def _are_aligned(common: Common, left: Sharer, right: Sharer) -> bool:
    """Return whether each element of one store is the same bytes as, or apart from, the other's."""
    if left.side is None or right.side is None or left.side.width != right.side.width:
        return False
    gap = left.side.form - right.side.form
    factors = [
        factor
        for side_ in (left.side, right.side)
        for variable, factor in side_.form.coefficients.items()
        if variable and (variable in gap.coefficients or not common.determines(variable))
    ]
    shift = gap.coefficients.get((), 0)
    return all(offset % left.side.width == 0 for offset in (*factors, shift))


def source_key(store: Op) -> object | None:
    """Return the constant and type, or the id of the value, that a store writes; else None."""
    if effect_of(store) != "store" or not KINDS[store.name].has("value"):
        return None
    value = store.operand("value")
    if isinstance(value.type, SharedType):
        return None  # what the view holds may have changed
    kind = str(value.type)
    value = value_before(value, _SPREADING)
    owner = value.owner
    if isinstance(owner, Op) and owner.name in CONSTANTS:
        return str(owner.attributes["value"]), kind
    return value.id


@dataclass(frozen=True, slots=True)
class _TracedValue:
    """A value at its `lanes` that may or may not be equal on both sides.

    `beyond`: the value may be of another trip than the store, so that integers that are equal in
    the store's trip may differ. The value matters where all conditions of `path` hold on both
    sides.
    """

    value: Value
    lanes: Lanes
    beyond: bool
    path: tuple[Condition, ...]


class _LaneSubstitution(Substitution):
    """A substitution of a traced value's lanes for the value's own lane symbols."""

    def __init__(self, by: Mapping[Atom, Term | int], *, beyond: bool) -> None:
        super().__init__(by)
        self.beyond = beyond


_NO_SUBSTITUTION: Final = _LaneSubstitution({}, beyond=False)


class EqualitySearch:
    """A search for the conditions under which a value is equal on both sides.

    A value carried by a loop is equal on both sides if all its sources are.
    """

    def __init__(self, bound: BoundCall, common: Common, *, in_one_program: bool) -> None:
        module = bound.call.module
        self._bound = bound
        self._common = common
        self._in_one_program = in_one_program
        self._flow = flow_of(module)
        self._roles = roles_of(module).by_op
        self.parameters = {parameter.id for parameter in module.main.arguments}
        self._varying = {sharer.access.op.index for sharer in sharers_of(bound)}
        self._is_called = any(op.name in CALLS for op in module.ops)
        self._formulas: dict[int, object] = {}

    def conditions(self, value: Value, lanes: Lanes) -> list[EqualityCondition] | None:
        """Return conditions under which a value at its lanes is equal; None: too many."""
        pending = [self._traced(value, lanes, beyond=False, path=())]
        traced = set(pending)
        conditions: dict[EqualityCondition, None] = {}
        limit = _MAX_CONDITIONS if self._in_one_program else 0
        while pending:
            for source in self._sources(pending.pop()):
                if isinstance(source, EqualityCondition):
                    conditions[source] = None
                elif source not in traced:
                    traced.add(source)
                    pending.append(source)
            if len(conditions) > limit or len(traced) > _MAX_VALUES:
                return None
        return list(conditions)

    def is_known(self, value: Value, lanes: Lanes) -> bool:  # noqa: ARG002
        """Return whether a value is surely equal on both sides: a parameter of the kernel."""
        return value.id in self.parameters

    def _traced(
        self, value: Value, lanes: Lanes, *, beyond: bool, path: tuple[Condition, ...]
    ) -> _TracedValue:
        """Return a value to trace; lanes that are equal on both sides become arbitrary ones."""
        axes = enumerate(shape_of(value.type))
        fixed_lanes = tuple(
            _any_index(extent, axis) if self._is_determined(lane_term) else lane_term
            for (axis, extent), lane_term in zip(axes, lanes, strict=True)
        )
        return _TracedValue(value, fixed_lanes, beyond, path)

    def _sources(self, traced: _TracedValue) -> Iterable[_TracedValue | EqualityCondition]:
        """Return the values and conditions that have to be equal for a traced value to be equal."""
        value, lanes = traced.value, traced.lanes
        if self._in_one_program and (
            not isinstance(value.type, TensorType) or lanes == _any_lanes(value)
        ):
            return ()
        substitution = self._substitution(traced)
        op = value.owner
        if self._is_equal_integer(value, substitution) or self.is_known(value, lanes):
            return ()
        if self._flow.origins(value):
            return self._forwarded_sources(traced)
        if not isinstance(op, Op):
            return (EqualityCondition(None, traced.path),)
        if op.name in CONSTANTS:
            is_splat = getattr(op.attributes["value"], "is_splat", True)
            is_equal = is_splat or lanes == _any_lanes(value)
            return () if is_equal else (EqualityCondition(None, traced.path),)
        if effect_of(op) is not None:
            return self._load_sources(op, traced, substitution)
        if operator_of(op) == "where":
            return self._selected_sources(op, traced, substitution)
        operands = self._operand_lanes(value, op, lanes)
        if operands is None:
            return (self._condition_of(value, traced, substitution),)
        return [
            self._traced(operand, operand_lanes, beyond=traced.beyond, path=traced.path)
            for operand, operand_lanes in operands
        ]

    def _condition_of(
        self, value: Value, traced: _TracedValue, substitution: _LaneSubstitution
    ) -> EqualityCondition:
        """Return the condition that a value is equal: by its formula if it is tracked."""
        formula = self._in_own_trip(self._formula(value), substitution)
        return EqualityCondition(formula, traced.path)

    def _formula(self, value: Value) -> object:
        """Return a value's formula if it is what the kernel computes: no integer wraps around."""
        if value.id not in self._formulas:
            is_exact = not self._is_called and self._bound.are_ideal((value,))
            formula = self._bound.summary.values.get(value.id)
            self._formulas[value.id] = formula if is_exact else None
        return self._formulas[value.id]

    def _in_own_trip(
        self, formula: object, substitution: _LaneSubstitution
    ) -> Term | Condition | None:
        """Return a formula in the traced lanes, or None if its values may be of another trip."""
        if not isinstance(formula, Term | Condition) or not self._is_in_store_trip(
            formula, substitution
        ):
            return None
        if isinstance(formula, Term):
            return substitution(formula)
        return None if formula.opaques() else formula.substitute(substitution)

    # -- integers ------------------------------------------------------------------------------

    def _is_determined(self, term: Term) -> bool:
        """Return whether a term has the same value on both sides."""
        return self._common.is_form_equal_in_both(self._bound.ranges.form(term))

    def _is_equal_term(self, term: Term, substitution: _LaneSubstitution) -> bool:
        return self._is_in_store_trip(term, substitution) and self._is_determined(
            substitution(term)
        )

    def _is_in_store_trip(self, formula: Term | Condition, substitution: _LaneSubstitution) -> bool:
        """Return whether the loaded values in a formula are from the store's own trip."""
        return not substitution.beyond or all(map(self._is_loaded_once, formula.atoms()))

    def _is_loaded_once(self, atom: Atom) -> bool:
        """Return whether a loaded or untracked symbol has a single value per program."""
        if not isinstance(atom, Symbol) or atom.kind not in ("content", "unknown"):
            return True
        source = source_of(self._bound.call.module, atom)
        return source is not None and not any(
            parent.name in LOOPS for parent in enclosing_ops(source)
        )

    def _is_equal_integer(self, value: Value, substitution: _LaneSubstitution) -> bool:
        """Return whether a value's formula proves that it is equal on both sides."""
        formula = self._formula(value)
        if isinstance(formula, Pointer):
            return all(
                choice.unknown is None
                and self._is_equal_term(choice.offset, substitution)
                and self._holds_alike(choice.condition, substitution)
                for choice in formula.choices
            )
        if isinstance(formula, Condition):
            return self._holds_alike(formula, substitution)
        return isinstance(formula, Term) and self._is_equal_term(formula, substitution)

    def _holds_alike(self, condition: Condition, substitution: _LaneSubstitution) -> bool:
        """Return whether a condition has the same truth on both sides."""
        if isinstance(condition, And | Or):
            return all(self._holds_alike(part, substitution) for part in condition.parts)
        if isinstance(condition, Not):
            return self._holds_alike(condition.inner, substitution)
        if isinstance(condition, AtLeast | Equal):
            return self._is_equal_term(condition.term, substitution)
        return not isinstance(condition, Opaque)

    def _substitution(self, traced: _TracedValue) -> _LaneSubstitution:
        """Return the substitution of a traced value's lanes, and of arbitrary trips if `beyond`."""
        replacements: dict[Atom, Term | int] = {}
        for axis, (extent, lane_term) in enumerate(
            zip(shape_of(traced.value.type), traced.lanes, strict=True)
        ):
            replacements.update(dict.fromkeys(lane(axis, extent).symbols("lane"), lane_term))
        if traced.beyond:
            trips = (loop.trip for loop in self._bound.summary.loops)
            replacements.update(
                {t: Symbol("scalar", ("trip", t.key), t.low, t.high).term for t in trips}
            )
        return _LaneSubstitution(replacements, beyond=traced.beyond)

    # -- carried, loaded and computed values ---------------------------------------------------

    def _forwarded_sources(
        self, traced: _TracedValue
    ) -> Iterable[_TracedValue | EqualityCondition]:
        """Return the values that a loop, branch or jump forwards to a traced value."""
        if not self._in_one_program or self._is_called:
            return (EqualityCondition(None, traced.path),)
        origins = self._flow.origins(traced.value)
        return [
            self._traced(origin, traced.lanes, beyond=True, path=traced.path) for origin in origins
        ]

    def _selected_sources(
        self, op: Op, traced: _TracedValue, substitution: _LaneSubstitution
    ) -> Iterable[_TracedValue | EqualityCondition]:
        """Yield the condition that both sides select alike, and both values of a `where`."""
        condition = op.operand("condition")
        formula = self._in_own_trip(self._formula(condition), substitution)
        choices: Iterable[tuple[Value, tuple[Condition, ...]]]
        if not isinstance(formula, Condition) or not self._in_one_program:
            choices = [(operand, ()) for operand in op.operands]
        else:
            if not self._holds_alike(formula, _NO_SUBSTITUTION):
                yield EqualityCondition(formula, traced.path)
            choices = [(op.operand("first"), (formula,)), (op.operand("second"), (~formula,))]
        for value, branch_condition in choices:
            lanes, path = broadcast_lanes(value, traced.lanes), (*traced.path, *branch_condition)
            yield self._traced(value, lanes, beyond=traced.beyond, path=path)

    def _load_sources(
        self, op: Op, traced: _TracedValue, substitution: _LaneSubstitution
    ) -> Iterable[_TracedValue | EqualityCondition]:
        """Return conditions for equal results of a load, if the launch does not write there."""
        role = self._roles.get(op.index)
        if role is None or role.kind != "load" or role.strong or op.index in self._varying:
            return [EqualityCondition(None, traced.path)]
        if leaves_lanes(op) and not self._in_one_program and uses_undefined(self._bound):
            # Two programs may have two values there; of one, the rule undefined-lanes reports it.
            return [EqualityCondition(None, traced.path)]
        operands = [op.optional("mask"), op.optional("other")] if op.name in FILLING else []
        accesses = [access for access in self._bound.summary.accesses if access.op is op]
        conditions = (
            None if self._is_called else self._address_conditions(accesses, traced, substitution)
        )
        if conditions is not None:
            operands = operands[1:]
        elif op.name in FILLING and not is_block_pointer(op.operand("pointer").type):
            operands.append(op.operand("pointer"))
        else:
            return [EqualityCondition(None, traced.path)]
        values = [
            self._traced(
                value, broadcast_lanes(value, traced.lanes), beyond=traced.beyond, path=traced.path
            )
            for value in operands
            if value is not None
        ]
        return [*values, *(conditions or ())]

    def _address_conditions(
        self, accesses: Sequence[Access], traced: _TracedValue, substitution: _LaneSubstitution
    ) -> list[EqualityCondition] | None:
        """Return conditions under which both sides load from one address; None: unknown."""
        conditions = []
        for access in accesses:
            offset, mask = (
                self._in_own_trip(formula, substitution) for formula in (access.offset, access.mask)
            )
            is_known = access.unknown is None and self._bound.may_wrap(access) is None
            if not is_known or offset is None or not isinstance(mask, Condition):
                return None
            is_used_where_loaded = leaves_lanes(access.op) and not self._in_one_program
            if not is_used_where_loaded and not self._holds_alike(mask, _NO_SUBSTITUTION):
                conditions.append(EqualityCondition(mask, traced.path))
            if not self._is_equal_term(access.offset, substitution):
                conditions.append(EqualityCondition(offset, (*traced.path, *mask.conjuncts())))
        return conditions if accesses else None

    def _operand_lanes(
        self, value: Value, op: Op, lanes: Lanes
    ) -> list[tuple[Value, Lanes]] | None:
        """Return operands with the lanes that determine a result's lanes; None: unknown."""
        row, operator = KINDS[op.name], operator_of(op)
        if op.name in _POSITIONWISE or (operator == "extern" and attribute(op, "pure", False)):
            return [(operand, broadcast_lanes(operand, lanes)) for operand in op.operands]
        if op.name in _REARRANGING and not attribute(op, "allow_reorder", False):
            source_lanes = lanes_before(op, lanes)
            return None if source_lanes is None else [(op.operand("source"), source_lanes)]
        if operator == "split":
            return [(op.operand("source"), (*lanes, ZERO + value.position))]
        if operator == "join" and self._is_determined(lanes[-1]):
            return [(operand, lanes[:-1]) for operand in op.operands]
        if row.kind in (Kind.REDUCTION, Kind.SCAN) and _is_pure(op):
            return self._reduced_operands(op, lanes)
        if operator == "dot" and lanes:
            left, right, added = (op.operand(name) for name in ("left", "right", "added"))
            depth = _any_index(shape_of(left.type)[-1])
            *outer, line, column = lanes
            return [
                (left, (*outer, line, depth)), (right, (*outer, depth, column)), (added, lanes)
            ]  # fmt: skip
        if row.kind in (Kind.COUNT, Kind.PICKED) or operator == "cat":
            covers_all = lanes == _any_lanes(value)
            return (
                [(operand, _any_lanes(operand)) for operand in op.operands] if covers_all else None
            )
        return None

    def _reduced_operands(self, op: Op, lanes: Lanes) -> list[tuple[Value, Lanes]] | None:
        """Return the operands of a reduction or scan with all lanes along its axis."""
        axis = number_of(op, "axis")
        if KINDS[op.name].kind is Kind.SCAN:
            if not self._is_determined(lanes[axis]):
                return None
            lanes = (*lanes[:axis], *lanes[axis + 1 :])
        sources = op.group("source")
        axis_lane = _any_index(shape_of(sources[0].type)[axis])
        operands = [(source, (*lanes[:axis], axis_lane, *lanes[axis:])) for source in sources]
        return [*operands, *((source, _any_lanes(source)) for source in _captured_values(op))]


def _any_lanes(value: Value) -> Lanes:
    """Return arbitrary lanes of a value, equal on both sides."""
    return tuple(_any_index(extent, axis) for axis, extent in enumerate(shape_of(value.type)))


def _any_index(extent: int, axis: int = 0) -> Term:
    """Return an arbitrary index below `extent`, equal on both sides."""
    return Symbol("scalar", ("anywhere", axis), 0, extent - 1).term


def _is_pure(op: Op) -> bool:
    """Return whether the ops in a reduction's body depend only on operands at the same position."""
    return all(
        inner.name in _POSITIONWISE
        for inner in op.walk()
        if inner is not op and inner.name not in _REGION_ENDS
    )


def _captured_values(op: Op) -> Iterator[Value]:
    """Yield the values from outside of an op's regions that are used inside."""
    outer_op, *inner_ops = op.walk()
    inner_indices = {outer_op.index, *(inner_op.index for inner_op in inner_ops)}
    for value in (value for inner_op in inner_ops for value in inner_op.operands):
        owner = value.owner.region.owner if isinstance(value.owner, Block) else value.owner
        if owner is None or owner.index not in inner_indices:
            yield value
