"""Stores that need no order: two actors that touch the same byte store the same value.

The tree of the stored element (`kvtrace/symbolic/trees/`) has all that its value depends on. It is
the same on both sides if that is: constants, parameters, integers that are equal wherever the
addresses are equal, and loads at equal addresses that the launch does not write. Within one program
a scalar is one number, and so is a value in one lane.

Example: all programs store `scale[0] * 2` to byte 0. The value comes from a constant and a load at
a constant address, so all programs store the same. `program_id * 2` is not equal on both sides.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Final, TypeVar

from msgspec import Struct

from kvtrace.ir import Op, Value
from kvtrace.ir.flow import enclosing_ops, value_before
from kvtrace.ir.model import attribute
from kvtrace.ir.ops import (
    CONSTANTS,
    GIVEN,
    KINDS,
    LOOPS,
    SPREADING,
    computing,
    effect_of,
    operator_of,
)
from kvtrace.ir.types import SharedType, element_of, is_block_pointer, shape_of
from kvtrace.symbolic.conditions import (
    Condition,
    conjunction,
)
from kvtrace.symbolic.functions import assuming
from kvtrace.symbolic.meanings.tt_shape import lanes_of
from kvtrace.symbolic.prover.digits import Common
from kvtrace.symbolic.summary import Access, Loop
from kvtrace.symbolic.taint import leaves_lanes
from kvtrace.symbolic.terms import Atom, Substitution, Symbol, Term
from kvtrace.symbolic.trees.elements import ElementTrees, TooLarge
from kvtrace.symbolic.trees.formulas import Coordinates
from kvtrace.symbolic.trees.loops import unknown
from kvtrace.symbolic.trees.tree import Tree, level_of, tree
from kvtrace.symbolic.trees.tree import operator_of as operator_of_node
from kvtrace.verdicts.binding import BoundCall
from kvtrace.verdicts.conflicts.parts import roles_of
from kvtrace.verdicts.conflicts.sharers import Sharer, sharers_of, source_of
from kvtrace.verdicts.rules.undefined_lanes import uses_undefined

_SPREADING: Final = SPREADING | computing("expand_dims", "reshape")
_EQUAL_EVERYWHERE: Final = CONSTANTS | computing("num_programs")
_MOST_NODES: Final = 1 << 11
_MAX_CONDITIONS: Final = 8
_OF_SUMS: Final = 4
"""The number of details of a reduction that is no scan."""
_EQUAL: Final = tree("argument", ("", ""))
"""The node of a value that is equal on both sides."""

_Formula = TypeVar("_Formula", Term, Condition)


class EqualityCondition(Struct, frozen=True):
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
    equality = EqualitySearch(bound, common, in_one_program=False, stores=(left, right))
    if left_value is right_value and left.access.shape == right.access.shape == shape_of(
        left_value.type
    ):
        return equality.conditions(left_value, lanes_of(shape_of(left_value.type))) == []
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
    equality = EqualitySearch(bound, common, in_one_program=True, stores=(store,))
    return equality.conditions(value, lanes_of(shape_of(value.type)))


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


class EqualitySearch(ElementTrees):
    """A search for the conditions under which a value is equal on both sides.

    Parts that are equal are leaves of the trees. Formulas are those of the lanes that `stores`
    write: what a mask that all of them share leaves out is not in them.
    """

    most_nodes: ClassVar[int] = _MOST_NODES

    def __init__(
        self, bound: BoundCall, common: Common, *, in_one_program: bool,
        stores: Sequence[Sharer] = (),
    ) -> None:  # fmt: skip
        holding = _holding(stores)
        super().__init__(
            bound.summary,
            lambda term: assuming(term, holding),
            lambda condition: conjunction(c for c in condition.conjuncts() if c not in holding),
            str,
        )
        module = bound.call.module
        self._bound = bound
        self._common = common
        self._in_one_program = in_one_program
        self._roles = roles_of(module).by_op
        self.parameters = {parameter.id for parameter in module.main.arguments}
        self._varying = {sharer.access.op.index for sharer in sharers_of(bound)}
        self._ideal: dict[int, bool] = {}

    def conditions(self, value: Value, at: Coordinates) -> list[EqualityCondition] | None:
        """Return conditions under which a value's element is equal; None: too many."""
        try:
            root = self.of(value, at, 0)
        except (TooLarge, RecursionError):
            return None
        limit = _MAX_CONDITIONS if self._in_one_program else 0
        conditions: dict[EqualityCondition, None] = {}
        pending: list[tuple[Tree, tuple[Condition, ...]]] = [(root, ())]
        visited = set(pending)
        while pending:
            node, path = pending.pop()
            conditions |= dict.fromkeys(self._conditions_of(node, path))
            for pair in self._parts(node, path):
                if pair not in visited:
                    visited.add(pair)
                    pending.append(pair)
            if len(conditions) > limit or len(visited) > _MOST_NODES:
                return None
        return list(conditions)

    def is_known(self, value: Value, at: Coordinates) -> bool:  # noqa: ARG002
        """Return whether an element is surely equal on both sides: a parameter of the kernel."""
        return value.id in self.parameters

    # -- conditions ------------------------------------------------------------------------------

    def _conditions_of(
        self, node: Tree, path: tuple[Condition, ...]
    ) -> Iterator[EqualityCondition]:
        """Yield the conditions that a node's own formulas are equal on both sides."""
        match node.what:
            case "unknown":
                yield EqualityCondition(None, path)
            case "integer" | "condition":
                yield from self._unless_equal(node.detail[0], path)
            case "element" if node.detail[1] is not None:
                mask = node.parts[0].detail[0] if node.parts else None
                inside = mask.conjuncts() if isinstance(mask, Condition) else ()
                yield from self._unless_equal(node.detail[1], (*path, *map(_with_axes, inside)))
            case "reduction" if len(node.detail) > _OF_SUMS:  # a scan, at an index
                yield from self._unless_equal(node.detail[-1], path)
            case "loop" if not (node.detail[2] or self._in_one_program):
                yield from self._unless_equal(node.detail[0], path)

    def _unless_equal(
        self, formula: Term | Condition, path: tuple[Condition, ...]
    ) -> Iterator[EqualityCondition]:
        if self._is_equal(formula):
            return
        if isinstance(formula, Term):
            yield EqualityCondition(_with_axes(formula), path)
        else:
            yield EqualityCondition(None if formula.opaques() else _with_axes(formula), path)

    def _parts(
        self, node: Tree, path: tuple[Condition, ...]
    ) -> Iterator[tuple[Tree, tuple[Condition, ...]]]:
        """Yield the parts of a node, each with the conditions under which it matters."""
        if operator_of_node(node) == "where" and node.parts[0].what == "condition":
            condition = _with_axes(node.parts[0].detail[0])
            if self._in_one_program and not condition.opaques():
                choices = zip(node.parts[1:], (condition, ~condition), strict=True)
                yield node.parts[0], path
                yield from ((part, (*path, when)) for part, when in choices)
                return
        yield from ((part, path) for part in node.parts)

    def _is_equal(self, formula: Term | Condition) -> bool:
        """Return whether a formula has the same value on both sides."""
        if isinstance(formula, Term):
            form = self._bound.ranges.form(_with_axes(formula))
            if any(map(self._is_undefined, formula.symbols("unknown"))):
                return False  # two uses of it may have two values
            return self._common.is_form_equal_in_both(form)
        return not formula.opaques() and all(map(self._is_equal, formula.compared()))

    def _is_undefined(self, symbol: Symbol) -> bool:
        """Return whether a symbol is what a masked lane holds that nothing fills."""
        source = source_of(self.module, symbol)
        return source is not None and leaves_lanes(source)

    # -- values ----------------------------------------------------------------------------------

    def of(self, value: Value, at: Coordinates, level: int) -> Tree:
        """Return the tree of an element of a value; a leaf if it is equal on both sides."""
        if self.is_known(value, at):
            return _EQUAL
        formula, shape = self._formula(value), shape_of(value.type)
        at = tuple(
            _anywhere(axis, extent) if self._is_equal(index) else index
            for axis, (extent, index) in enumerate(zip(shape, at, strict=True))
        )
        if isinstance(formula, Condition):
            placed = self.condition(formula, at, shape)
            if self._is_equal(placed) or (self._in_one_program and not placed.opaques()):
                return tree("condition", (placed,))
        is_equal = (self._in_one_program and all(map(self._is_equal, at))) or (
            isinstance(formula, Term) and self._is_equal(self.term(formula, at, shape))
        )
        return _EQUAL if is_equal else super().of(value, at, level)

    def _formula(self, value: Value) -> Term | Condition | None:
        """Return a value's formula if the kernel computes it, in the trips that are asked for."""
        formula = self._formula_of(value)
        if not isinstance(formula, Term | Condition) or not self._is_of_trip(formula):
            return None
        if value.id not in self._ideal:
            self._ideal[value.id] = self._bound.are_ideal((value,))
        return formula if self._ideal[value.id] else None

    def _is_of_trip(self, formula: Term | Condition) -> bool:
        """Return whether loaded values in a formula are of the trips that the tree is about."""
        return not self._enclosing_loops or all(map(self._is_loaded_once, formula.atoms()))

    def _is_loaded_once(self, atom: Atom) -> bool:
        """Return whether a loaded or untracked symbol has a single value per program."""
        if not isinstance(atom, Symbol) or atom.kind not in ("content", "unknown"):
            return True
        source = source_of(self.module, atom)
        return source is not None and not any(
            parent.name in LOOPS for parent in enclosing_ops(source)
        )

    def _of(self, value: Value, at: Coordinates, level: int) -> Tree:
        """Return the tree of an element, op by op; its formula if the op does not tell."""
        owner = value.owner
        node = self._block_argument(value, at, level) if not isinstance(owner, Op) else (
            self._op_result(owner, value.position, at, level)
        )  # fmt: skip
        formula = self._formula(value) if node.what == "unknown" else None
        if isinstance(formula, Term):
            placed = self.term(formula, at, shape_of(value.type))
            return tree("integer", (placed, str(element_of(value.type))))
        return node

    def _op_result(self, op: Op, position: int, at: Coordinates, level: int) -> Tree:
        operator = operator_of(op)
        is_foreign = operator == "inline_asm" or (
            operator == "extern" and not attribute(op, "pure", False)
        )
        is_own = op.name in GIVEN and op.name not in _EQUAL_EVERYWHERE
        if is_foreign or is_own or operator == "cat" or attribute(op, "allow_reorder", False):
            return unknown(op, op.name)
        return super()._op_result(op, position, at, level)

    def _loop_result(self, loop: Op, position: int, at: Coordinates, level: int) -> Tree:
        is_alike = self._in_one_program and loop in self._loops
        if not (is_alike or self._bound.has_ideal_trips(loop)):
            return unknown(loop, "a loop whose counter may wrap around")
        return super()._loop_result(loop, position, at, level)

    def _are_trips_followed(self, loop: Loop) -> bool:
        return self._in_one_program or super()._are_trips_followed(loop)

    # -- memory ----------------------------------------------------------------------------------

    def _element(self, op: Op, at: Coordinates, level: int) -> Tree:
        """Return the tree of a loaded element, if the launch does not write there."""
        role = self._roles.get(op.index)
        if role is None or role.kind != "load" or role.strong or op.index in self._varying:
            return unknown(op, "")
        if leaves_lanes(op) and not self._in_one_program and uses_undefined(self._bound):
            # Two programs may have two values there; of one, the rule undefined-lanes reports it.
            return unknown(op, "")
        is_block = KINDS[op.name].has("pointer") and is_block_pointer(op.operand("pointer").type)
        if is_block and self._access_of(op) is None:
            return unknown(op, "")
        return super()._element(op, at, level)

    def _access_of(self, op: Op) -> Access | None:
        access = super()._access_of(op)
        if access is None or access.unknown is not None:
            return None
        is_of_trip = self._is_of_trip(access.offset) and self._is_of_trip(access.mask)
        return access if is_of_trip and self._bound.may_wrap(access) is None else None

    def _masked(
        self, op: Op, access: Access, detail: tuple[Any, ...], access_indices: Coordinates,
        at: Coordinates, level: int,
    ) -> Tree:  # fmt: skip
        if leaves_lanes(op) and not self._in_one_program:  # it is used where it was loaded
            return tree("element", detail, (), op.index)
        return super()._masked(op, access, detail, access_indices, at, level)


def _holding(stores: Sequence[Sharer]) -> tuple[Condition, ...]:
    """Return the conditions under which all of the stores write; () if not surely known."""
    if not stores or any(store.exact is None for store in stores):
        return ()
    first, *others = (store.access.active.conjuncts() for store in stores)
    return tuple(c for c in first if all(c in other for other in others))


def _anywhere(axis: int, extent: int) -> Term:
    """Return an arbitrary index, equal on both sides."""
    return Symbol("scalar", ("anywhere", axis), 0, extent - 1).term


def _with_axes(formula: _Formula) -> _Formula:
    """Return a formula in which axes that a tree sums over, and its trips, are scalars.

    Their numbers are arbitrary, and equal on both sides.
    """
    axes: dict[Atom, Term] = {
        atom: Symbol("scalar", ("axis", level), atom.low, atom.high).term
        for atom in formula.atoms()
        if isinstance(atom, Symbol) and (level := level_of(atom)) is not None
    }
    return formula.substitute(Substitution(axes)) if axes else formula
