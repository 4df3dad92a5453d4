"""Stores that need no order: wherever two of them meet, both store the same value.

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
from typing import TYPE_CHECKING, Final

from kvtrace.evaluate.compiler import attribute
from kvtrace.ir import Block, Op, Value
from kvtrace.ir.flow import enclosing_ops, flow_of, value_before
from kvtrace.ir.ops import (
    CALLS,
    CONSTANTS,
    FILLING,
    FUNCTIONS,
    KINDS,
    LOOPS,
    SPREADING,
    Kind,
    computing,
    effect_of,
    named,
    operator_of,
)
from kvtrace.ir.types import TensorType
from kvtrace.symbolic.conditions import And, AtLeast, Condition, Equal, Not, Opaque, Or
from kvtrace.symbolic.prover.digits import Common
from kvtrace.symbolic.summary import Access, Pointer
from kvtrace.symbolic.taint import leaves_lanes
from kvtrace.symbolic.terms import ZERO, Atom, Substitution, Symbol, Term, lane
from kvtrace.symbolic.walk_types import is_block_pointer, number_of, shape_of
from kvtrace.verdicts.conflicts.parts import parts_of
from kvtrace.verdicts.conflicts.sharers import Sharer, sharers_of, source_of
from kvtrace.verdicts.lanes import lanes_before, own_lanes

if TYPE_CHECKING:
    from kvtrace.verdicts.binding import BoundCall

_PURE: Final = (
    named(lambda row: row.kind in (Kind.ELEMENTWISE, Kind.SPREAD))
    | computing("+", "int_to_ptr", "ptr_to_int", "num_programs", "constant")
) - computing("inline_asm", "extern", "map")
"""Ops whose result elements depend only on the operand elements at the same position."""
_MOVED: Final = computing("expand_dims", "trans", "reshape")
_SPREADING: Final = SPREADING | computing("expand_dims", "reshape")
_ENDS: Final = named(lambda row: row.kind is Kind.END)
_MOST_VALUES: Final = 512
_MOST_DOUBTS: Final = 8

Lanes = tuple[Term, ...]


@dataclass(frozen=True)
class Doubt:
    """A condition under which two lanes that meet store the same value.

    `what` has to be equal on both sides: an integer, or whether a condition holds; None: the lanes
    must not meet. This is required where all conditions of `path` hold on both sides. All symbols
    are those of the first side.
    """

    what: Term | Condition | None
    path: tuple[Condition, ...]


def store_the_same(bound: BoundCall, one: Sharer, other: Sharer, common: Common) -> bool:
    """Return whether two programs store the same value wherever they touch the same byte.

    Args:
        bound: the call's bound summary.
        one: the store of the first program.
        other: the store of the second program.
        common: symbols that are equal on both sides, such as scalars.

    """
    ops = one.access.op, other.access.op
    sources = [_source(op) for op in ops]
    if sources[0] is None or sources[0] != sources[1] or not _are_aligned(common, one, other):
        return False
    first, second = (op.operand("value") for op in ops)
    equality = _Equality(bound, common, in_one_program=False)
    if first is second and one.access.shape == other.access.shape == shape_of(first.type):
        return equality.doubts(first, own_lanes(first)) == []
    source = value_before(first, _SPREADING)
    anywhere = (
        Symbol("lane", ("any", axis), 0, extent - 1).term
        for axis, extent in enumerate(shape_of(source.type))
    )
    return equality.doubts(source, tuple(anywhere)) == []


def doubts_of_lanes(bound: BoundCall, store: Sharer, common: Common) -> list[Doubt] | None:
    """Return conditions under which two lanes of a store that meet store the same value.

    Empty: they always do; None: the value cannot be traced back. `common` has the symbols that both
    lanes share.
    """
    op = store.access.op
    if _source(op) is None or not _are_aligned(common, store, store):
        return None
    value = op.operand("value")
    if store.access.shape != shape_of(value.type):
        return None
    return _Equality(bound, common, in_one_program=True).doubts(value, own_lanes(value))


def _are_aligned(common: Common, one: Sharer, other: Sharer) -> bool:
    """Return whether elements of both stores are the same bytes or share no byte."""
    if one.side is None or other.side is None or one.side.width != other.side.width:
        return False
    gap = one.side.form - other.side.form
    steps = [
        factor
        for side in (one.side, other.side)
        for variable, factor in side.form.coefficients.items()
        if variable in gap.coefficients or not common.determines(variable)
    ]
    return all(number % one.side.width == 0 for number in (*steps, gap.constant))


def _source(store: Op) -> object | None:
    """Return a key of a stored value's source: a constant with its type, or a value's id."""
    if effect_of(store) != "store" or not KINDS[store.name].has("value"):
        return None
    value = store.operand("value")
    kind = str(value.type)
    value = value_before(value, _SPREADING)
    owner = value.owner
    if isinstance(owner, Op) and owner.name in CONSTANTS:
        return str(owner.attributes["value"]), kind
    return value.id


@dataclass(frozen=True, slots=True)
class _TracedValue:
    """A value at its `lanes`, of which to find out whether it is equal on both sides.

    `beyond`: the value may be of another trip of a loop than the store, so that integers equal in
    the store's trip say nothing of it. The value matters where `path` holds on both sides.
    """

    value: Value
    lanes: Lanes
    beyond: bool
    path: tuple[Condition, ...]


class _Renamed(Substitution):
    """A substitution of the lanes of a `_TracedValue` for the lane symbols of the value."""

    def __init__(self, by: Mapping[Atom, Term | int], *, beyond: bool) -> None:
        super().__init__(by)
        self.beyond = beyond


_NOTHING_RENAMED: Final = _Renamed({}, beyond=False)


class _Equality:
    """Values traced back to their sources, each once.

    A value that a loop carries is equal on both sides if all its sources are.
    """

    def __init__(self, bound: BoundCall, common: Common, *, in_one_program: bool) -> None:
        module = bound.call.module
        self._bound = bound
        self._common = common
        self._in_one_program = in_one_program
        self._flow = flow_of(module)
        self._parts = parts_of(module).by_op
        self._varying = {sharer.access.op.index for sharer in sharers_of(bound)}
        self._is_called = any(op.name in CALLS for op in module.ops)

    def doubts(self, value: Value, lanes: Lanes) -> list[Doubt] | None:
        """Return conditions under which a value at its `lanes` is equal on both sides.

        None: there are too many.
        """
        pending = [self._traced(value, lanes, beyond=False, path=())]
        traced = set(pending)
        doubts: dict[Doubt, None] = {}
        most = _MOST_DOUBTS if self._in_one_program else 0
        while pending:
            for source in self._sources(pending.pop()):
                if isinstance(source, Doubt):
                    doubts[source] = None
                elif source not in traced:
                    traced.add(source)
                    pending.append(source)
            if len(doubts) > most or len(traced) > _MOST_VALUES:
                return None
        return list(doubts)

    def _traced(
        self, value: Value, lanes: Lanes, *, beyond: bool, path: tuple[Condition, ...]
    ) -> _TracedValue:
        """Return a value to trace; lanes that are equal on both sides are made interchangeable."""
        extents = enumerate(shape_of(value.type))
        fixed_lanes = tuple(
            _anywhere(extent, axis) if self._is_determined(at) else at
            for (axis, extent), at in zip(extents, lanes, strict=True)
        )
        return _TracedValue(value, fixed_lanes, beyond, path)

    def _sources(self, traced: _TracedValue) -> Iterable[_TracedValue | Doubt]:
        """Return the values and conditions that make a traced value equal on both sides."""
        value, lanes = traced.value, traced.lanes
        if self._in_one_program and (
            not isinstance(value.type, TensorType) or lanes == _all_of(value)
        ):
            return ()
        renamed = self._renaming(traced)
        op = value.owner
        if self._is_equal_integer(value, renamed) or _is_kernel_parameter(value):
            return ()
        if self._flow.origins(value):
            return self._carried(traced)
        if not isinstance(op, Op):
            return (Doubt(None, traced.path),)
        if op.name in CONSTANTS:
            splat = getattr(op.attributes["value"], "is_splat", True)
            return () if splat or lanes == _all_of(value) else (Doubt(None, traced.path),)
        if effect_of(op) is not None:
            return self._loaded(op, traced, renamed)
        if operator_of(op) == "where":
            return self._chosen(op, traced, renamed)
        operands = self._operand_lanes(value, op, lanes)
        if operands is None:
            return (self._doubt(value, traced, renamed),)
        return [
            self._traced(operand, at, beyond=traced.beyond, path=traced.path)
            for operand, at in operands
        ]

    def _doubt(self, value: Value, traced: _TracedValue, renamed: _Renamed) -> Doubt:
        """Return the condition that a value is equal: as an integer, if it is a tracked integer."""
        formula = None if self._is_called else self._bound.summary.values.get(value.id)
        return Doubt(self._fixed(formula, renamed), traced.path)

    def _fixed(self, formula: object, renamed: _Renamed) -> Term | Condition | None:
        """Return an integer or condition that both sides derive from trips and lanes, or None."""
        if not isinstance(formula, Term | Condition) or not self._is_of_this_trip(formula, renamed):
            return None
        if isinstance(formula, Term):
            return renamed(formula)
        return None if formula.opaques() else formula.substitute(renamed)

    # -- integers ------------------------------------------------------------------------------

    def _is_determined(self, term: Term) -> bool:
        return self._common.determines_form(self._bound.ranges.form(term))

    def _is_equal_term(self, term: Term, renamed: _Renamed) -> bool:
        return self._is_of_this_trip(term, renamed) and self._is_determined(renamed(term))

    def _is_of_this_trip(self, formula: Term | Condition, renamed: _Renamed) -> bool:
        """Return whether loaded parts of a formula are of the store's trip, not of another trip."""
        return not renamed.beyond or all(map(self._is_once, formula.atoms()))

    def _is_once(self, atom: Atom) -> bool:
        """Return whether a loaded or untracked symbol has one value per program."""
        if not isinstance(atom, Symbol) or atom.kind not in ("content", "unknown"):
            return True
        source = source_of(self._bound.call.module, atom)
        return source is not None and not any(
            parent.name in LOOPS for parent in enclosing_ops(source)
        )

    def _is_equal_integer(self, value: Value, renamed: _Renamed) -> bool:
        """Return whether tracked integers show that a value is equal on both sides."""
        formula = None if self._is_called else self._bound.summary.values.get(value.id)
        if isinstance(formula, Pointer):
            return all(
                choice.unknown is None
                and self._is_equal_term(choice.offset, renamed)
                and self._holds_alike(choice.condition, renamed)
                for choice in formula.choices
            )
        if isinstance(formula, Condition):
            return self._holds_alike(formula, renamed)
        return isinstance(formula, Term) and self._is_equal_term(formula, renamed)

    def _holds_alike(self, condition: Condition, renamed: _Renamed) -> bool:
        if isinstance(condition, And | Or):
            return all(self._holds_alike(part, renamed) for part in condition.parts)
        if isinstance(condition, Not):
            return self._holds_alike(condition.inner, renamed)
        if isinstance(condition, AtLeast | Equal):
            return self._is_equal_term(condition.term, renamed)
        return not isinstance(condition, Opaque)

    def _renaming(self, traced: _TracedValue) -> _Renamed:
        """Return the substitution of traced lanes for a value's own, and of any trip for a trip."""
        by: dict[Atom, Term | int] = {}
        for axis, (extent, at) in enumerate(
            zip(shape_of(traced.value.type), traced.lanes, strict=True)
        ):
            by.update(dict.fromkeys(lane(axis, extent).symbols("lane"), at))
        if traced.beyond:
            trips = (loop.trip for loop in self._bound.summary.loops)
            by.update({t: Symbol("scalar", ("trip", t.key), t.low, t.high).term for t in trips})
        return _Renamed(by, beyond=traced.beyond)

    # -- what is carried, loaded and computed --------------------------------------------------

    def _carried(self, traced: _TracedValue) -> Iterable[_TracedValue | Doubt]:
        """Return the values that a loop, branch or jump passes on: both lanes take the same way."""
        if not self._in_one_program or self._is_called:
            return (Doubt(None, traced.path),)
        origins = self._flow.origins(traced.value)
        return [
            self._traced(origin, traced.lanes, beyond=True, path=traced.path) for origin in origins
        ]

    def _chosen(
        self, op: Op, traced: _TracedValue, renamed: _Renamed
    ) -> Iterable[_TracedValue | Doubt]:
        """Yield the condition that both sides choose alike, and both values to choose from."""
        condition = op.operand("condition")
        formula = self._fixed(self._bound.summary.values.get(condition.id), renamed)
        choices: Iterable[tuple[Value, tuple[Condition, ...]]]
        if self._is_called or not isinstance(formula, Condition) or not self._in_one_program:
            choices = [(operand, ()) for operand in op.operands]
        elif self._holds_alike(formula, _NOTHING_RENAMED):
            choices = [(op.operand("first"), (formula,)), (op.operand("second"), (~formula,))]
        else:
            yield Doubt(formula, traced.path)
            choices = [(op.operand("first"), (formula,)), (op.operand("second"), (~formula,))]
        for value, more in choices:
            lanes, path = _spread(value, traced.lanes), (*traced.path, *more)
            yield self._traced(value, lanes, beyond=traced.beyond, path=path)

    def _loaded(
        self, op: Op, traced: _TracedValue, renamed: _Renamed
    ) -> Iterable[_TracedValue | Doubt]:
        """Return conditions for equal results of a load, if the launch does not write there."""
        part = self._parts.get(op.index)
        if part is None or part.kind != "load" or part.strong or op.index in self._varying:
            return [Doubt(None, traced.path)]
        if leaves_lanes(op) and not self._in_one_program:
            return [Doubt(None, traced.path)]  # for one program the rule undefined-lanes reports it
        operands = [op.optional("mask"), op.optional("other")] if op.name in FILLING else []
        accesses = [access for access in self._bound.summary.accesses if access.op is op]
        doubts = None if self._is_called else self._address_doubts(accesses, traced, renamed)
        if doubts is not None:
            operands = operands[1:]
        elif op.name in FILLING and not is_block_pointer(op.operand("pointer").type):
            operands.append(op.operand("pointer"))
        else:
            return [Doubt(None, traced.path)]
        values = [
            self._traced(
                value, _spread(value, traced.lanes), beyond=traced.beyond, path=traced.path
            )
            for value in operands
            if value is not None
        ]
        return [*values, *(doubts or ())]

    def _address_doubts(
        self, accesses: Sequence[Access], traced: _TracedValue, renamed: _Renamed
    ) -> list[Doubt] | None:
        """Return conditions under which both sides load from one address; None: not known."""
        doubts = []
        for access in accesses:
            offset, mask = (
                self._fixed(formula, renamed) for formula in (access.offset, access.mask)
            )
            if access.unknown is not None or offset is None or not isinstance(mask, Condition):
                return None
            if not self._holds_alike(mask, _NOTHING_RENAMED):
                doubts.append(Doubt(mask, traced.path))
            if not self._is_equal_term(access.offset, renamed):
                doubts.append(Doubt(offset, (*traced.path, *mask.conjuncts())))
        return doubts if accesses else None

    def _operand_lanes(
        self, value: Value, op: Op, lanes: Lanes
    ) -> list[tuple[Value, Lanes]] | None:
        """Return the operands, and their lanes, that determine a result's lanes; or None."""
        row, operator = KINDS[op.name], operator_of(op)
        if op.name in _PURE or (operator == "extern" and attribute(op, "pure", False)):
            return [(operand, _spread(operand, lanes)) for operand in op.operands]
        if op.name in _MOVED and not attribute(op, "allow_reorder", False):
            before = lanes_before(op, lanes)
            return None if before is None else [(op.operand("source"), before)]
        if operator == "split":
            return [(op.operand("source"), (*lanes, ZERO + value.position))]
        if operator == "join" and self._is_determined(lanes[-1]):
            return [(operand, lanes[:-1]) for operand in op.operands]
        if row.kind in (Kind.REDUCTION, Kind.SCAN) and _is_pure(op):
            return self._combined(op, lanes)
        if operator == "dot" and lanes:
            left, right, added = (op.operand(name) for name in ("left", "right", "added"))
            depth = _anywhere(shape_of(left.type)[-1])
            *outer, line, column = lanes
            return [
                (left, (*outer, line, depth)), (right, (*outer, depth, column)), (added, lanes)
            ]  # fmt: skip
        if row.kind in (Kind.COUNT, Kind.PICKED) or operator == "cat":
            whole = lanes == _all_of(value)
            return [(operand, _all_of(operand)) for operand in op.operands] if whole else None
        return None

    def _combined(self, op: Op, lanes: Lanes) -> list[tuple[Value, Lanes]] | None:
        """Return the operands of a reduction or scan, whole along its axis."""
        axis = number_of(op, "axis")
        if KINDS[op.name].kind is Kind.SCAN:
            if not self._is_determined(lanes[axis]):
                return None
            lanes = (*lanes[:axis], *lanes[axis + 1 :])
        sources = op.group("source")
        along = _anywhere(shape_of(sources[0].type)[axis])
        whole = [(source, (*lanes[:axis], along, *lanes[axis:])) for source in sources]
        return [*whole, *((source, _all_of(source)) for source in _captured(op))]


def _spread(operand: Value, lanes: Lanes) -> Lanes:
    """Return the lanes of an operand whose elements keep their positions, or are broadcast."""
    shape = shape_of(operand.type)
    if len(shape) != len(lanes):
        return (ZERO,) * len(shape)
    return tuple(ZERO if extent == 1 else at for extent, at in zip(shape, lanes, strict=True))


def _all_of(value: Value) -> Lanes:
    """Return arbitrary lanes of a value, the same on both sides."""
    return tuple(_anywhere(n, axis) for axis, n in enumerate(shape_of(value.type)))


def _anywhere(extent: int, axis: int = 0) -> Term:
    """Return an arbitrary index below an extent, the same on both sides."""
    return Symbol("scalar", ("anywhere", axis), 0, extent - 1).term


def _is_pure(op: Op) -> bool:
    """Return whether an op's result depends only on its operands and captured values."""
    return all(
        inner.name in _PURE for inner in op.walk() if inner is not op and inner.name not in _ENDS
    )


def _captured(op: Op) -> Iterator[Value]:
    """Yield the values from outside that an op's regions use."""
    first, *inner = op.walk()
    inside = {first.index, *(inner_op.index for inner_op in inner)}
    for value in (value for inner_op in inner for value in inner_op.operands):
        owner = value.owner.region.owner if isinstance(value.owner, Block) else value.owner
        if owner is None or owner.index not in inside:
            yield value


def _is_kernel_parameter(value: Value) -> bool:
    block = value.owner
    if not isinstance(block, Block):
        return False
    function = block.region.owner
    return (
        function.name in FUNCTIONS
        and function.parent is not None
        and function.parent.parent is None
        and getattr(function.attributes.get("sym_visibility"), "value", "public") == "public"
    )
