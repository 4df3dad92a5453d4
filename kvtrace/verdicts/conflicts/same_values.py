"""Stores of which it does not matter whose comes last: wherever two meet, they store the same.

A value is followed back, from the lane that stores it, to what it is made of: constants,
parameters, integers that are equal on both sides wherever the addresses are, and what memory holds
at addresses that are, where the launch does not write. In one program a scalar is one number, and
so is a value in one lane.
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
"""Ops whose elements are made of those at their place in the operands alone."""
_MOVED: Final = computing("expand_dims", "trans", "reshape")
_SPREADING: Final = SPREADING | computing("expand_dims", "reshape")
_ENDS: Final = named(lambda row: row.kind is Kind.END)
_MOST_VALUES: Final = 512
_MOST_DOUBTS: Final = 8

Lanes = tuple[Term, ...]


@dataclass(frozen=True)
class Doubt:
    """What has to hold of two lanes that meet for them to store the same.

    On both sides the same: an integer, or whether a condition holds. None: they do not meet. It has
    to hold where all of `path` does on both sides. All is of the first side's symbols.
    """

    what: Term | Condition | None
    path: tuple[Condition, ...]


def store_the_same(bound: BoundCall, one: Sharer, other: Sharer, common: Common) -> bool:
    """Tell whether two programs that touch one byte with these stores store the same there.

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
    alike = _Alike(bound, common, in_one_program=False)
    if first is second and one.access.shape == other.access.shape == shape_of(first.type):
        return alike.doubts(first, own_lanes(first)) == []
    source = value_before(first, _SPREADING)
    anywhere = (
        Symbol("lane", ("any", axis), 0, extent - 1).term
        for axis, extent in enumerate(shape_of(source.type))
    )
    return alike.doubts(source, tuple(anywhere)) == []


def doubts_of_lanes(bound: BoundCall, store: Sharer, common: Common) -> list[Doubt] | None:
    """Return what has to hold for two lanes of a program that meet in a store to store the same.

    None: more than is followed; empty: they do. `common` is what both lanes have in common.
    """
    op = store.access.op
    if _source(op) is None or not _are_aligned(common, store, store):
        return None
    value = op.operand("value")
    if store.access.shape != shape_of(value.type):
        return None
    return _Alike(bound, common, in_one_program=True).doubts(value, own_lanes(value))


def _are_aligned(common: Common, one: Sharer, other: Sharer) -> bool:
    """Whether elements of both are the same bytes or none."""
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
    """Return what tells a stored value from others: a constant, or the value it comes from."""
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
class _Asked:
    """A value at its `lanes`: is it the same on both sides?

    `beyond` is whether it may be of another trip of a loop than the store: what is equal in the
    trip that the store is in says nothing there. It matters where `path` holds on both sides.
    """

    value: Value
    lanes: Lanes
    beyond: bool
    path: tuple[Condition, ...]


class _Renamed(Substitution):
    """Puts the lanes that are asked about in the place of a value's own; see `_Asked`."""

    def __init__(self, by: Mapping[Atom, Term | int], *, beyond: bool) -> None:
        super().__init__(by)
        self.beyond = beyond


_NOTHING_RENAMED: Final = _Renamed({}, beyond=False)


class _Alike:
    """Values followed back to what they are made of, each once.

    What a loop carries is the same on both sides if all that it is made of is.
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
        """Return what must hold for a value to be the same on both sides, at its `lanes` there."""
        waiting = [self._asked(value, lanes, beyond=False, path=())]
        seen = set(waiting)
        found: dict[Doubt, None] = {}
        most = _MOST_DOUBTS if self._in_one_program else 0
        while waiting:
            for more in self._behind(waiting.pop()):
                if isinstance(more, Doubt):
                    found[more] = None
                elif more not in seen:
                    seen.add(more)
                    waiting.append(more)
            if len(found) > most or len(seen) > _MOST_VALUES:
                return None
        return list(found)

    def _asked(
        self, value: Value, lanes: Lanes, *, beyond: bool, path: tuple[Condition, ...]
    ) -> _Asked:
        """Ask of a value; of lanes that are equal on both sides it does not matter which."""
        extents = enumerate(shape_of(value.type))
        known = tuple(
            _anywhere(extent, axis) if self._is_determined(at) else at
            for (axis, extent), at in zip(extents, lanes, strict=True)
        )
        return _Asked(value, known, beyond, path)

    def _behind(self, asked: _Asked) -> Iterable[_Asked | Doubt]:
        """Return of what else it must be true that it is the same."""
        value, lanes = asked.value, asked.lanes
        if self._in_one_program and (
            not isinstance(value.type, TensorType) or lanes == _all_of(value)
        ):
            return ()
        renamed = self._renaming(asked)
        op = value.owner
        if self._is_followed(value, renamed) or _is_parameter(value):
            return ()
        if self._flow.origins(value):
            return self._carried(asked)
        if not isinstance(op, Op):
            return (Doubt(None, asked.path),)
        if op.name in CONSTANTS:
            splat = getattr(op.attributes["value"], "is_splat", True)
            return () if splat or lanes == _all_of(value) else (Doubt(None, asked.path),)
        if effect_of(op) is not None:
            return self._loaded(op, asked, renamed)
        if operator_of(op) == "where":
            return self._chosen(op, asked, renamed)
        places = self._places(value, op, lanes)
        if places is None:
            return (self._doubted(value, asked, renamed),)
        return [self._asked(each, at, beyond=asked.beyond, path=asked.path) for each, at in places]

    def _doubted(self, value: Value, asked: _Asked, renamed: _Renamed) -> Doubt:
        """Say what has to be equal of a value: the integer that it is, if that is followed."""
        known = None if self._is_called else self._bound.summary.values.get(value.id)
        return Doubt(self._fixed(known, renamed), asked.path)

    def _fixed(self, known: object, renamed: _Renamed) -> Term | Condition | None:
        """Return an integer or a condition that both sides have from their trip and lanes."""
        if not isinstance(known, Term | Condition) or not self._is_of_now(known, renamed):
            return None
        if isinstance(known, Term):
            return renamed(known)
        return None if known.opaques() else known.substitute(renamed)

    # -- integers ------------------------------------------------------------------------------

    def _is_determined(self, term: Term) -> bool:
        return self._common.determines_form(self._bound.ranges.form(term))

    def _is_equal(self, term: Term, renamed: _Renamed) -> bool:
        """Whether an integer that is followed is equal on both sides."""
        return self._is_of_now(term, renamed) and self._is_determined(renamed(term))

    def _is_of_now(self, known: Term | Condition, renamed: _Renamed) -> bool:
        """Whether what it has from memory is what the address may have, not of another trip."""
        return not renamed.beyond or all(map(self._is_once, known.atoms()))

    def _is_once(self, atom: Atom) -> bool:
        """Whether what comes from memory, or is not followed, is so once in a program."""
        if not isinstance(atom, Symbol) or atom.kind not in ("content", "unknown"):
            return True
        source = source_of(self._bound.call.module, atom)
        return source is not None and not any(each.name in LOOPS for each in enclosing_ops(source))

    def _is_followed(self, value: Value, renamed: _Renamed) -> bool:
        """Whether integers that are followed say that a value is the same on both sides."""
        known = None if self._is_called else self._bound.summary.values.get(value.id)
        if isinstance(known, Pointer):
            return all(
                choice.unknown is None
                and self._is_equal(choice.offset, renamed)
                and self._holds_alike(choice.condition, renamed)
                for choice in known.choices
            )
        if isinstance(known, Condition):
            return self._holds_alike(known, renamed)
        return isinstance(known, Term) and self._is_equal(known, renamed)

    def _holds_alike(self, condition: Condition, renamed: _Renamed) -> bool:
        if isinstance(condition, And | Or):
            return all(self._holds_alike(part, renamed) for part in condition.parts)
        if isinstance(condition, Not):
            return self._holds_alike(condition.inner, renamed)
        if isinstance(condition, AtLeast | Equal):
            return self._is_equal(condition.term, renamed)
        return not isinstance(condition, Opaque)

    def _renaming(self, asked: _Asked) -> _Renamed:
        """Return what puts the lanes in the place of a value's own, and any trip in that of one."""
        by: dict[Atom, Term | int] = {}
        for axis, (extent, at) in enumerate(
            zip(shape_of(asked.value.type), asked.lanes, strict=True)
        ):
            by.update(dict.fromkeys(lane(axis, extent).symbols("lane"), at))
        if asked.beyond:
            trips = (loop.trip for loop in self._bound.summary.loops)
            by.update({t: Symbol("scalar", ("trip", t.key), t.low, t.high).term for t in trips})
        return _Renamed(by, beyond=asked.beyond)

    # -- what is carried, loaded and computed --------------------------------------------------

    def _carried(self, asked: _Asked) -> Iterable[_Asked | Doubt]:
        """Follow what a loop, a branch or a jump passes on: in one program both take the same."""
        if not self._in_one_program or self._is_called:
            return (Doubt(None, asked.path),)
        origins = self._flow.origins(asked.value)
        return [self._asked(each, asked.lanes, beyond=True, path=asked.path) for each in origins]

    def _chosen(self, op: Op, asked: _Asked, renamed: _Renamed) -> Iterable[_Asked | Doubt]:
        """Judge a choice between two: the same one on both sides, and that one alike."""
        chosen = op.operand("condition")
        known = self._fixed(self._bound.summary.values.get(chosen.id), renamed)
        ways: Iterable[tuple[Value, tuple[Condition, ...]]]
        if self._is_called or not isinstance(known, Condition) or not self._in_one_program:
            ways = [(each, ()) for each in op.operands]
        elif self._holds_alike(known, _NOTHING_RENAMED):
            ways = [(op.operand("first"), (known,)), (op.operand("second"), (~known,))]
        else:
            yield Doubt(known, asked.path)
            ways = [(op.operand("first"), (known,)), (op.operand("second"), (~known,))]
        for value, more in ways:
            lanes, path = _spread(value, asked.lanes), (*asked.path, *more)
            yield self._asked(value, lanes, beyond=asked.beyond, path=path)

    def _loaded(self, op: Op, asked: _Asked, renamed: _Renamed) -> Iterable[_Asked | Doubt]:
        """Judge what a load gives, where the launch does not write."""
        part = self._parts.get(op.index)
        if part is None or part.kind != "load" or part.strong or op.index in self._varying:
            return [Doubt(None, asked.path)]
        if leaves_lanes(op) and not self._in_one_program:
            return [Doubt(None, asked.path)]  # for one program the rule undefined-lanes reports it
        given = [op.optional("mask"), op.optional("other")] if op.name in FILLING else []
        accesses = [each for each in self._bound.summary.accesses if each.op is op]
        places = None if self._is_called else self._places_read(accesses, asked, renamed)
        if places is not None:
            given = given[1:]
        elif op.name in FILLING and not is_block_pointer(op.operand("pointer").type):
            given.append(op.operand("pointer"))
        else:
            return [Doubt(None, asked.path)]
        values = [
            self._asked(each, _spread(each, asked.lanes), beyond=asked.beyond, path=asked.path)
            for each in given
            if each is not None
        ]
        return [*values, *(places or ())]

    def _places_read(
        self, accesses: Sequence[Access], asked: _Asked, renamed: _Renamed
    ) -> list[Doubt] | None:
        """Return what must hold for a load to read one place; None: it is not known where."""
        doubts = []
        for access in accesses:
            place, mask = (self._fixed(each, renamed) for each in (access.offset, access.mask))
            if access.unknown is not None or place is None or not isinstance(mask, Condition):
                return None
            if not self._holds_alike(mask, _NOTHING_RENAMED):
                doubts.append(Doubt(mask, asked.path))
            if not self._is_equal(access.offset, renamed):
                doubts.append(Doubt(place, (*asked.path, *mask.conjuncts())))
        return doubts if accesses else None

    def _places(self, value: Value, op: Op, lanes: Lanes) -> list[tuple[Value, Lanes]] | None:
        """Return the operands, and the lanes of them, that make the lanes of a result.

        None: it may be made of others.
        """
        row, operator = KINDS[op.name], operator_of(op)
        if op.name in _PURE or (operator == "extern" and attribute(op, "pure", False)):
            return [(each, _spread(each, lanes)) for each in op.operands]
        if op.name in _MOVED and not attribute(op, "allow_reorder", False):
            before = lanes_before(op, lanes)
            return None if before is None else [(op.operand("source"), before)]
        if operator == "split":
            return [(op.operand("source"), (*lanes, ZERO + value.position))]
        if operator == "join" and self._is_determined(lanes[-1]):
            return [(each, lanes[:-1]) for each in op.operands]
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
            return [(each, _all_of(each)) for each in op.operands] if whole else None
        return None

    def _combined(self, op: Op, lanes: Lanes) -> list[tuple[Value, Lanes]] | None:
        """Return what a reduction or a scan takes, whole along its axis."""
        axis = number_of(op, "axis")
        if KINDS[op.name].kind is Kind.SCAN:
            if not self._is_determined(lanes[axis]):
                return None
            lanes = (*lanes[:axis], *lanes[axis + 1 :])
        sources = op.group("source")
        along = _anywhere(shape_of(sources[0].type)[axis])
        whole = [(each, (*lanes[:axis], along, *lanes[axis:])) for each in sources]
        return [*whole, *((each, _all_of(each)) for each in _captured(op))]


def _spread(operand: Value, lanes: Lanes) -> Lanes:
    """Return the lanes of an operand whose elements stay at their places, or are spread."""
    shape = shape_of(operand.type)
    if len(shape) != len(lanes):
        return (ZERO,) * len(shape)
    return tuple(ZERO if extent == 1 else at for extent, at in zip(shape, lanes, strict=True))


def _all_of(value: Value) -> Lanes:
    """Return any lanes of a value, the same on both sides."""
    return tuple(_anywhere(n, axis) for axis, n in enumerate(shape_of(value.type)))


def _anywhere(extent: int, axis: int = 0) -> Term:
    """Return an index below an extent that is the same on both sides, whichever it is."""
    return Symbol("scalar", ("anywhere", axis), 0, extent - 1).term


def _is_pure(op: Op) -> bool:
    """Tell whether what an op combines depends on its operands alone, and on what it captures."""
    return all(
        each.name in _PURE for each in op.walk() if each is not op and each.name not in _ENDS
    )


def _captured(op: Op) -> Iterator[Value]:
    """Yield the values from outside that an op's regions use."""
    first, *inner = op.walk()
    own = {first.index, *(each.index for each in inner)}
    for value in (value for each in inner for value in each.operands):
        owner = value.owner.region.owner if isinstance(value.owner, Block) else value.owner
        if owner is None or owner.index not in own:
            yield value


def _is_parameter(value: Value) -> bool:
    """Tell whether a value is a parameter of the kernel."""
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
