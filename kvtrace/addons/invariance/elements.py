"""Trees of elements of IR values, built recursively from the op that computes the value.

Integers, conditions and addresses are formulas wherever the symbolic walk follows them
(`kvtrace.symbolic`); other nodes are built op by op, by the op kinds of `kvtrace.ir.ops`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import contextmanager
from math import prod
from typing import TYPE_CHECKING, Any, Final

from kvtrace.addons.invariance.formulas import (
    Coordinates,
    attributes_of,
    is_followed,
    reshaped_indices,
    row_major_index,
    source_indices,
)
from kvtrace.addons.invariance.groups import LoopDefinitions, bound_inside, symbol_extents
from kvtrace.addons.invariance.trees import COMMUTATIVE, TRIPS, Tree, bound, tree, truth_of
from kvtrace.ir import Block, Op, Value
from kvtrace.ir.attributes import DenseAttribute, FloatAttribute, IntegerAttribute
from kvtrace.ir.flow import called, counter_of, flow_of, leading_to, returns, terminator
from kvtrace.ir.ops import (
    BRANCHES,
    CALLS,
    COMBINING,
    FUNCTIONS,
    KINDS,
    LOOPS,
    MODULAR,
    SIGNED,
    Kind,
    mask_of,
    operator_of,
)
from kvtrace.schema.errors import KvtraceError
from kvtrace.symbolic.bits import wrapped
from kvtrace.symbolic.conditions import TRUE, Condition, at_least, equal, less
from kvtrace.symbolic.functions import choice, quotient, remainder
from kvtrace.symbolic.summary import Access, Loop, Summary
from kvtrace.symbolic.terms import ZERO, Substitution, Symbol, Term
from kvtrace.symbolic.walk_types import element_of, number_of, shape_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST_NODES: Final = 50_000
_SPECIAL: Final = re.compile(
    r"%(n?(tid|ctaid|warpid|smid)|laneid|lanemask|gridid|clock|globaltimer|(n?cluster)|pm\d|envreg)"
)
"""PTX registers whose value depends on where or when a program runs."""
_TRIPS: Final = "a loop whose number of trips is not followed"


def folded_formula(op: Op, kind: str, parts: Sequence[Tree]) -> Term | Condition | None:
    """Return the formula of an integer op's result, wrapped to the type's width; else None.

    The symbolic walk has formulas only for results that do not overflow.
    """
    bits = int(kind[1:]) if kind in ("i1", "i8", "i16", "i32", "i64") else 0
    if not bits or any(part.what not in ("integer", "condition") for part in parts):
        return None
    result: Term | None = None
    match operator_of(op), [part.detail[0] for part in parts]:
        case "compare", [Term() as left, Term() as right]:
            compare = _COMPARING.get(number_of(op, "predicate"))
            return None if compare is None else compare(left, right)
        case "where", [Condition() as condition, Term() as then, Term() as otherwise]:
            result = choice(condition, then, otherwise)
        case "+", [Term() as left, Term() as right]:
            result = left + right
        case "-", [Term() as left, Term() as right]:
            result = left - right
        case "*", [Term() as left, Term() as right]:
            result = left * right
        case "<<", [Term() as left, Term(constant=int(count))] if 0 <= count < bits:
            result = left * (1 << count)
        case ">>", [Term() as left, Term(constant=int(count))] if 0 <= count < bits:
            whole = left if op.name in SIGNED else wrapped(left, bits, signed=False)
            result = quotient(whole, 1 << count, floor=True)
        case "cast", [Term() as left] if op.name in MODULAR:
            result = left
    return None if result is None or bits == 1 else wrapped(result, bits, signed=True)


#: Comparisons of signed integers, by their number in arith.cmpi.
_COMPARING: Final[Mapping[int, Callable[[Term, Term], Condition]]] = {
    0: equal, 1: lambda left, right: ~equal(left, right), 2: less,
    3: lambda left, right: at_least(right, left), 4: lambda left, right: less(right, left),
    5: at_least,
}  # fmt: skip


class TooLarge(KvtraceError):
    """The tree of an element has too many nodes."""

    slug = "too-large"


class ElementTrees:
    """Builder of the trees of elements of one kernel.

    `rewrite_term` and `rewrite_condition` rewrite formulas for comparison: numbers in place of
    arguments, the output's coordinates in place of programs and lanes. `name` returns the name of
    an argument, and `rewrite_offset` rewrites a byte offset in an argument. `floats` are the types
    and bits of floats in place of arguments. `wrapping` are ids of values whose arithmetic may
    overflow, so that their trees are built op by op.
    """

    def __init__(
        self,
        summary: Summary,
        rewrite_term: Callable[[Term], Term],
        rewrite_condition: Callable[[Condition], Condition],
        name: Callable[[int], str],
        rewrite_offset: Callable[[int, Term], Term] = lambda _, offset: offset,
        floats: Mapping[int, tuple[str, int]] = {},
        wrapping: Collection[int] = (),
    ) -> None:
        self._floats = floats
        self._wrapping = wrapping
        self.summary = summary
        self.ops_by_node: dict[Tree, Op] = {}
        """The op of this kernel that each node was made for; other kernels may share the node."""
        self.module = summary.module
        self._rewrite_term = rewrite_term
        self._rewrite_condition = rewrite_condition
        self._name = name
        self._rewrite_offset = rewrite_offset
        self._loops: dict[Op, Loop] = {loop.op: loop for loop in summary.loops}
        self._accesses: dict[Op, list[Access]] = {}
        for access in summary.accesses:
            self._accesses.setdefault(access.op, []).append(access)
        self.loads: set[int] = set()
        self._enclosing_loops: tuple[LoopDefinitions, ...] = ()
        self._memo: dict[Any, Tree] = {}
        self._node_count = 0
        self._flow = flow_of(self.module)

    # -- formulas --------------------------------------------------------------------------------

    def term(self, term: Term, at: Coordinates, shape: Sequence[int]) -> Term:
        """Return a formula of a tensor, rewritten for one element."""
        return self._rewrite_term(self._placed(at, shape)(term))

    def condition(self, condition: Condition, at: Coordinates, shape: Sequence[int]) -> Condition:
        """Return a condition of a tensor, rewritten for one element."""
        return self._rewrite_condition(condition.substitute(self._placed(at, shape)))

    def _placed(self, at: Coordinates, shape: Sequence[int]) -> Substitution:
        replaced: dict[Any, Term] = {
            Symbol("lane", axis, 0, extent - 1): index
            for axis, (extent, index) in enumerate(zip(shape, at, strict=True))
            if extent > 1
        }
        replaced |= {
            definitions.trip: bound(definitions.level, TRIPS).term
            for definitions in self._enclosing_loops
        }
        return Substitution(replaced)

    # -- values ----------------------------------------------------------------------------------

    def of(self, value: Value, at: Coordinates, level: int) -> Tree:
        """Return the tree of the element of a value with indices `at`.

        Symbols that the tree binds are numbered from `level` on.
        """
        key = (value.id, at, level, self._enclosing_loops)
        node = self._memo.get(key)
        if node is None:
            self._node_count += 1
            if self._node_count > _MOST_NODES:
                raise TooLarge("its expression is too large to be followed")
            node = self._memo[key] = self._of(value, at, level)
            if isinstance(value.owner, Op):
                self.ops_by_node.setdefault(node, value.owner)
        return node

    def stored(self, access: Access, at: Coordinates) -> Tree:
        """Return the tree of an element after a store.

        If data decide whether the element is stored, the tree chooses between the stored and the
        old value. Masks and branches that are formulas are left out: `Access.active` has them.
        """
        value = self.of(access.op.operand("value"), at, 0)
        conditions = list(self._undecided(access, at))
        if not conditions or access.argument is None:
            return value
        kind = str(element_of(access.op.operand("value").type))
        offset = self.term(access.offset, at, access.shape)
        offset = self._rewrite_offset(access.argument, offset)
        old_value = tree(
            "element", (self._name(access.argument), offset, kind, ""), (), access.op.index
        )
        for condition, rewrite_condition in conditions:
            branches = (value, old_value) if rewrite_condition else (old_value, value)
            value = tree("op", ("where", (), "", 0), (condition, *branches), access.op.index)
        return value

    def _undecided(self, access: Access, at: Coordinates) -> Iterator[tuple[Tree, bool]]:
        """Yield (condition, required truth) for each condition of a store that is not a formula."""
        if not is_followed(access.mask):
            mask = mask_of(access.op)
            shape = () if mask is None else shape_of(mask.type)
            yield (
                (
                    self._unknown(access.op, "a mask that is not followed")
                    if mask is None
                    else self.of(mask, at if shape else (), 0)
                ),
                True,
            )
        if all(map(is_followed, (access.guard, *(loop.running for loop in access.loops)))):
            return
        for op in (access.op, *reversed(access.calls)):
            yield from self._branches(op)

    def _branches(self, op: Op) -> Iterator[tuple[Tree, bool]]:
        """Yield (condition, required truth) for each branch around an op that is not a formula."""
        inner_op, outer_op = op, op.parent
        while outer_op is not None and outer_op.name not in FUNCTIONS:
            op_kind = KINDS[outer_op.name]
            condition_values = [outer_op.operand("condition")] if op_kind.has("condition") else []
            if outer_op.name in LOOPS:
                loop = self._loops.get(outer_op)
                if loop is None or counter_of(outer_op) is None or not is_followed(loop.trips):
                    yield (self._unknown(outer_op, _TRIPS), True)
            elif outer_op.name in BRANCHES and condition_values:
                truth = self.summary.values.get(condition_values[0].id)
                if not isinstance(truth, Condition) or not is_followed(truth):
                    region = None if inner_op.block is None else inner_op.block.region
                    yield self.of(condition_values[0], (), 0), region is outer_op.regions[0]
            elif outer_op.name in BRANCHES:
                yield self._unknown(outer_op, "a branch that is not followed"), True
            inner_op, outer_op = outer_op, outer_op.parent
        if outer_op is not None and inner_op.block is not None:
            yield from self._jumps(inner_op.block)

    def _jumps(self, block: Block) -> Iterator[tuple[Tree, bool]]:
        """Yield (condition, required truth) for each jump on the way to a block.

        Examples are early returns; conditions that are formulas are left out.
        """
        predecessors = leading_to(block)
        for predecessor in predecessors:
            jump = predecessor.ops[-1]
            reaches = [target is block or target in predecessors for target in jump.successors]
            if len(set(reaches)) < 2:
                continue
            (condition,) = jump.group("condition")
            truth = self.summary.values.get(condition.id)
            if not isinstance(truth, Condition) or not is_followed(truth):
                yield self.of(condition, (), 0), reaches[0]

    def _of(self, value: Value, at: Coordinates, level: int) -> Tree:
        formula_of_value = self.summary.values.get(value.id)
        wraps = value.id in self._wrapping
        if (
            isinstance(formula_of_value, Term | Condition)
            and is_followed(formula_of_value)
            and not wraps
        ):
            shape = shape_of(value.type)
            if isinstance(formula_of_value, Term):
                formula = self.term(formula_of_value, at, shape)
                return tree("integer", (formula, str(element_of(value.type))))
            return tree("condition", (self.condition(formula_of_value, at, shape),))
        if isinstance(value.owner, Op):
            return self._op_result(value.owner, value.position, at, level)
        return self._block_argument(value, at, level)

    def _block_argument(self, value: Value, at: Coordinates, level: int) -> Tree:
        """Return the tree of an argument of a block."""
        block = value.owner
        assert isinstance(block, Block)
        owner = block.region.owner
        if owner.name in FUNCTIONS:
            if owner is self.module.main.op:
                if value.position in self._floats:
                    kind, bits = self._floats[value.position]
                    return tree("constant", (kind, (bits,)))
                return tree("argument", (self._name(value.position), str(value.type)))
            callers = self._flow.callers(owner)
            if len(callers) == 1:
                return self.of(callers[0].group("argument")[value.position], at, level)
            return self._unknown(owner, "a function that is called from several places")
        if owner.name in COMBINING or operator_of(owner) == "map":
            return tree("combined", (value.position,))
        if owner.name in LOOPS:
            return self._carried(owner, value, at, level)
        return self._unknown(owner, "a jump between blocks")

    def _op_result(self, op: Op, position: int, at: Coordinates, level: int) -> Tree:
        row = KINDS.get(op.name)
        if row is None:
            return self._unknown(op, f"{op.name}, which is not in the table of ops")
        operator = operator_of(op)
        if operator == "constant":
            return self._constant(op, at)
        if operator == "inline_asm" and _SPECIAL.search(str(op.attributes.get("asm_string", ""))):
            return self._unknown(op, "assembly that reads where or when it runs")
        if op.name in CALLS:
            return self._called(op, position, at, level)
        if operator == "map":
            return self._mapped(op, position, at, level)
        if row.kind in (Kind.SPREAD, Kind.REARRANGED, Kind.PICKED):
            return self._rearranged(op, position, at, level)
        if op.name in LOOPS:
            return self._loop_result(op, position, at, level)
        if op.name in BRANCHES:
            return self._branched(op, position, at, level)
        if op.name in COMBINING:
            return self._reduced(op, position, at, level)
        if row.kind is Kind.PRODUCT:
            return self._product(op, at, level)
        if row.effect == "load":
            return self._element(op, at, level)
        if row.kind in (Kind.ELEMENTWISE, Kind.ADDRESS, Kind.GIVEN):
            return self._computed(op, position, at, level)
        if row.kind is Kind.COUNT:
            return self._counted(op, at, level)
        reason = "the old value of an atomic update" if row.effect == "atomic" else op.name
        return self._unknown(op, reason)

    def _unknown(self, op: Op, reason: str) -> Tree:
        return tree("unknown", (reason, op.index), (), op.index)

    def _constant(self, op: Op, at: Coordinates) -> Tree:
        attribute = op.attributes.get("value")
        kind = str(element_of(op.results[0].type))
        if isinstance(attribute, DenseAttribute):
            if attribute.is_splat:
                return tree("constant", (kind, attribute.bits), (), op.index)
            flat_index = self._rewrite_term(row_major_index(at, shape_of(op.results[0].type)))
            index = tree("integer", (flat_index, "index"))
            return tree("constant", (kind, attribute.bits), (index,), op.index)
        if isinstance(attribute, FloatAttribute):
            return tree("constant", (kind, (attribute.bits,)), (), op.index)
        if isinstance(attribute, IntegerAttribute):
            return tree("constant", (kind, (attribute.value,)), (), op.index)
        return self._unknown(op, "a constant that is not read")

    def _computed(self, op: Op, position: int, at: Coordinates, level: int) -> Tree:
        """Return the tree of an elementwise op on the operands' elements at the same index."""
        parts = [
            self.of(operand, at if shape_of(operand.type) else (), level) for operand in op.operands
        ]
        if operator_of(op) == "where" and (truth := truth_of(parts[0])) is not None:
            return parts[1 if truth else 2]
        if operator_of(op) in COMMUTATIVE and len(parts) == 2:
            parts.sort(key=hash)
        kind = str(element_of(op.results[position].type))
        formula = folded_formula(op, kind, parts)
        if isinstance(formula, Condition):
            return tree("condition", (formula,), (), op.index)
        if formula is not None:
            return tree("integer", (formula, kind), (), op.index)
        return tree("op", (op.name, attributes_of(op), kind, position), tuple(parts), op.index)

    def _called(self, op: Op, position: int, at: Coordinates, level: int) -> Tree:
        function = called(op, self.module)
        if function is None or len(self._flow.callers(function)) != 1:
            return self._unknown(op, "a function that is called from several places")
        return_ops = returns(function)
        if len(return_ops) != 1:
            return self._unknown(op, "a function with several ends")
        return self.of(return_ops[0].group("passed")[position], at, level)

    def _mapped(self, op: Op, position: int, at: Coordinates, level: int) -> Tree:
        blocks = op.regions[0].blocks
        if len(blocks) != 1 or number_of(op, "pack", 1) != 1:
            return self._unknown(op, "a function mapped over several elements at once")
        result = self.of(blocks[0].ops[-1].group("passed")[position], (), level)
        parts = tuple(self.of(value, at, level) for value in op.operands)
        return tree("op", (op.name, (), "", position), (result, *parts), op.index)

    # -- elements moved --------------------------------------------------------------------------

    def _rearranged(self, op: Op, position: int, at: Coordinates, level: int) -> Tree:
        operator, row = operator_of(op), KINDS[op.name]
        if row.kind is Kind.PICKED:
            if not row.has("index"):
                return self._unknown(op, op.name)
            return self._gathered(op, at, level)
        if operator in ("join", "cat"):
            return self._joined(op, operator, at, level)
        source = op.operand("source")
        shape, target = shape_of(source.type), shape_of(op.results[position].type)
        return self.of(source, source_indices(op, operator, position, at, shape, target), level)

    def _gathered(self, op: Op, at: Coordinates, level: int) -> Tree:
        """Return the tree of a gathered element.

        An index that is not a formula within bounds makes the node an op over all elements of the
        axis.
        """
        source, axis = op.operand("source"), number_of(op, "axis")
        extent = shape_of(source.type)[axis]
        index = self.of(op.operand("index"), at, level)
        if index.what == "integer":
            index_formula = index.detail[0]
            if index_formula.low >= 0 and index_formula.high < extent:
                return self.of(source, (*at[:axis], index_formula, *at[axis + 1 :]), level)
        axis_symbol = bound(level, extent)
        element_indices = (*at[:axis], axis_symbol.term, *at[axis + 1 :])
        element = self.of(source, element_indices, level + 1)
        return tree("op", (op.name, (("extent", extent),), "", 0), (index, element), op.index)

    def _joined(self, op: Op, operator: str, at: Coordinates, level: int) -> Tree:
        first, second = op.operand("first"), op.operand("second")
        if operator == "join":
            part_formula, element_indices = at[-1], at[:-1]
            indices_in_parts = (element_indices, element_indices)
            part_number = part_formula.constant
        else:
            extent = shape_of(first.type)[0]
            part_number = None if at[0].constant is None else at[0].constant // extent
            indices_in_parts = ((remainder(at[0], extent),),) * 2
            part_formula = quotient(at[0], extent)
        if part_number is not None:
            return self.of((first, second)[part_number], indices_in_parts[part_number], level)
        index = tree("integer", (self._rewrite_term(part_formula), "index"))
        parts = (
            index,
            self.of(first, indices_in_parts[0], level),
            self.of(second, indices_in_parts[1], level),
        )
        return tree("op", ("join", (), "", 0), parts, op.index)

    # -- several elements at once ----------------------------------------------------------------

    def _reduced(self, op: Op, position: int, at: Coordinates, level: int) -> Tree:
        sources, axis = op.group("source"), number_of(op, "axis")
        extent = shape_of(sources[0].type)[axis]
        is_scan = KINDS[op.name].kind is Kind.SCAN
        axis_index = bound(level, extent).term
        detail: tuple[Any, ...] = ()
        if is_scan:
            element_indices = (*at[:axis], axis_index, *at[axis + 1 :])
            detail = (number_of(op, "reverse"), self._rewrite_term(at[axis]))
        else:
            element_indices = (*at[:axis], axis_index, *at[axis:])
        region_end = op.regions[0].blocks[0].ops[-1]
        combining = tuple(self.of(value, (), level + 1) for value in region_end.group("passed"))
        elements = tuple(self.of(value, element_indices, level + 1) for value in sources)
        if not is_scan and extent == 1:
            return elements[position]
        parts = (*combining, *elements)
        return tree("reduction", (op.name, extent, level, position, *detail), parts, op.index)

    def _counted(self, op: Op, at: Coordinates, level: int) -> Tree:
        source = op.operand("source")
        axis_index = bound(level, prod(shape_of(source.type))).term
        parts = [self.of(source, (axis_index,), level + 1)]
        if (mask := mask_of(op)) is not None:
            parts.append(self.of(mask, (axis_index,), level + 1))
        return tree(
            "op",
            (op.name, (), "", 0),
            (*parts, tree("integer", (self._rewrite_term(at[0]), "index"))),
            op.index,
        )

    def _product(self, op: Op, at: Coordinates, level: int) -> Tree:
        left, right, added = (op.operand(name) for name in ("left", "right", "added"))
        scales = [
            op.optional(name) for name in ("left_scale", "right_scale") if KINDS[op.name].has(name)
        ]
        if any(scale is not None for scale in scales):
            return self._unknown(op, "a product of blocks that share scales")
        extent = shape_of(left.type)[-1]
        k_index = bound(level, extent).term
        types = tuple(str(element_of(value.type)) for value in (left, right, added))
        parts = (
            self.of(left, (*at[:-1], k_index), level + 1),
            self.of(right, (*at[:-2], k_index, at[-1]), level + 1),
            self.of(added, at, level),
        )
        return tree("product", (types, attributes_of(op), extent, level), parts, op.index)

    # -- memory ----------------------------------------------------------------------------------

    def _element(self, op: Op, at: Coordinates, level: int) -> Tree:
        self.loads.add(op.index)
        value = op.results[0]
        shape, kind = shape_of(value.type), str(element_of(value.type))
        accesses = self._accesses.get(op, [])
        padding = str(op.attributes.get("padding", ""))
        if (
            len(accesses) == 1
            and accesses[0].argument is not None
            and is_followed(accesses[0].offset)
        ):
            (access,) = accesses
            assert access.argument is not None
            access_indices = reshaped_indices(at, shape, access.shape)
            offset = self.term(access.offset, access_indices, access.shape)
            offset = self._rewrite_offset(access.argument, offset)
            return self._masked(
                op,
                access,
                (self._name(access.argument), offset, kind, padding),
                access_indices,
                at,
                level,
            )
        if not KINDS[op.name].has("pointer"):
            return self._unknown(op, "a load through a descriptor that is not followed")
        pointer = self.of(op.operand("pointer"), at if shape else (), level)
        mask = mask_of(op)
        parts = [pointer]
        if mask is not None:
            parts.append(self.of(mask, at if shape else (), level))
            other = op.optional("other")
            if other is not None:
                parts.append(self.of(other, at if shape else (), level))
        return tree("element", ("", None, kind, padding), tuple(parts), op.index)

    def _masked(
        self, op: Op, access: Access, detail: tuple[Any, ...], access_indices: Coordinates,
        at: Coordinates, level: int,
    ) -> Tree:  # fmt: skip
        """Return the tree of a loaded element, or of its padding where the lane is masked off."""
        if is_followed(access.mask):
            mask = self.condition(access.mask, access_indices, access.shape)
            if mask is TRUE:
                return tree("element", detail, (), op.index)
            mask_tree = tree("condition", (mask,))
        else:
            value = mask_of(op)
            if value is None:
                return self._unknown(op, "a mask that is not followed")
            mask_tree = self.of(value, at if shape_of(value.type) else (), level)
        parts = [mask_tree]
        other = op.optional("other") if KINDS[op.name].has("other") else None
        if other is not None:
            parts.append(self.of(other, at if shape_of(other.type) else (), level))
        return tree("element", detail, tuple(parts), op.index)

    # -- branches --------------------------------------------------------------------------------

    def _branched(self, op: Op, position: int, at: Coordinates, level: int) -> Tree:
        branches = [
            self.of(region.blocks[0].ops[-1].group("passed")[position], at, level)
            for region in op.regions
            if len(region.blocks) == 1
        ]
        if len(branches) != len(op.regions):
            return self._unknown(op, "a branch of several blocks")
        row = KINDS[op.name]
        condition_values = [op.operand(name) for name in ("condition", "selector") if row.has(name)]
        if not condition_values:
            return branches[0]
        condition = self.of(condition_values[0], (), level)
        if (truth := truth_of(condition)) is not None:
            return branches[0 if truth else 1]
        return tree("op", ("where", attributes_of(op), "", 0), (condition, *branches), op.index)

    # -- loops -----------------------------------------------------------------------------------

    @contextmanager
    def _enter_loop(self, definitions: LoopDefinitions) -> Iterator[None]:
        outer_definitions = self._enclosing_loops
        self._enclosing_loops = (*outer_definitions, definitions)
        try:
            yield
        finally:
            self._enclosing_loops = outer_definitions

    def _carried(self, loop: Op, value: Value, at: Coordinates, level: int) -> Tree:
        """Return the tree of a loop's carried value in the current trip."""
        carried_index = value.position - (1 if counter_of(loop) is not None else 0)
        block = value.owner
        assert isinstance(block, Block)
        if counter_of(loop) is None and block is loop.regions[1].blocks[0]:
            return self.of(terminator(loop, 0).group("passed")[carried_index], at, level)
        for definitions in reversed(self._enclosing_loops):
            if definitions.loop is loop:
                return self._reference(definitions, carried_index, at)
        summary_loop = self._loops.get(loop)
        if summary_loop is None or counter_of(loop) is None:
            return self._unknown(loop, "what a loop carries")
        return self._loop(loop, summary_loop, summary_loop.trip.term, carried_index, at, level)

    def _loop_result(self, loop: Op, position: int, at: Coordinates, level: int) -> Tree:
        """Return the tree of a loop's result: of its initial value if the loop never runs."""
        summary_loop = self._loops.get(loop)
        if summary_loop is None:
            # It never runs, by its bounds.
            if counter_of(loop) is None:
                return self._unknown(loop, "a loop that is not followed")
            return self.of(loop.group("initial")[position], at, level)
        if counter_of(loop) is None:
            return self._while(loop, summary_loop, position, at, level)
        if not is_followed(summary_loop.trips):
            return self._unknown(loop, _TRIPS)
        return self._loop(loop, summary_loop, summary_loop.trips, position, at, level)

    def _loop(
        self, loop: Op, summary_loop: Loop, trips: Term, position: int, at: Coordinates, level: int
    ) -> Tree:
        """Return the tree of a loop's carried value after a number of trips."""
        count = self.term(trips, (), ())
        definitions = LoopDefinitions(loop, level, summary_loop.trip)
        yielded = terminator(loop, 0).group("passed")
        parts = self._definitions(definitions, position, at, loop.group("initial"), yielded)
        return tree("loop", (count, level, False, symbol_extents(definitions)), parts, loop.index)

    def _while(
        self, loop: Op, summary_loop: Loop, position: int, at: Coordinates, level: int
    ) -> Tree:
        definitions = LoopDefinitions(loop, level, summary_loop.trip)
        condition = terminator(loop, 0)
        with self._enter_loop(definitions):
            running = self.of(condition.operand("condition"), (), level + 1)
            result = self.of(
                condition.group("passed")[position], self._renumbered(definitions, at)[0], level + 1
            )
        yielded = terminator(loop, 1).group("passed")
        parts = self._definitions(definitions, None, at, loop.group("initial"), yielded)
        detail = (ZERO, level, True, symbol_extents(definitions))
        return tree("loop", detail, (running, result, *parts), loop.index)

    def _definitions(
        self,
        definitions: LoopDefinitions,
        position: int | None,
        at: Coordinates,
        initial: Sequence[Value],
        yielded: Sequence[Value],
    ) -> tuple[Tree, ...]:
        """Return (initial, next) trees of all carried values that one value depends on."""
        if position is not None:
            self._reference(definitions, position, at)
        parts: list[Tree] = []
        while definitions.pending:
            index, elements = definitions.pending.pop(0)
            inner_level = (
                definitions.level + 1 + sum(1 for _ in bound_inside(elements, definitions.level))
            )
            parts.append(self.of(initial[index], elements, inner_level))
            with self._enter_loop(definitions):
                parts.append(self.of(yielded[index], elements, inner_level))
        return tuple(parts)

    def _renumbered(
        self, definitions: LoopDefinitions, at: Coordinates
    ) -> tuple[Coordinates, Coordinates]:
        """Return indices with the symbols bound in the loop renumbered, and these symbols."""
        symbols = list(bound_inside(at, definitions.level))
        renumbered: dict[Any, Term] = {
            symbol: bound(definitions.level + 1 + number, symbol.high + 1).term
            for number, symbol in enumerate(symbols)
        }
        substitution = Substitution(renumbered)
        return tuple(substitution(term) for term in at), tuple(symbol.term for symbol in symbols)

    def _reference(self, definitions: LoopDefinitions, carried_index: int, at: Coordinates) -> Tree:
        elements, outer_indices = self._renumbered(definitions, at)
        key = (carried_index, elements)
        number = definitions.numbers.get(key)
        if number is None:
            number = definitions.numbers[key] = len(definitions.numbers)
            definitions.pending.append(key)
        return tree("carried", (definitions.level, number, outer_indices))
