"""Trees of elements of IR values, built recursively from the op that computes the value.

Integers, conditions and addresses are formulas wherever the symbolic walk follows them
(`kvtrace.symbolic`); other nodes are built op by op, by the op kinds of `kvtrace.ir.ops`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from math import inf, prod
from time import thread_time
from typing import Any, ClassVar, Final

from kvtrace.ir import Block, Op, Value
from kvtrace.ir.attributes import DenseAttribute, FloatAttribute, IntegerAttribute
from kvtrace.ir.flow import called, counter_of, leading_to, returns
from kvtrace.ir.model import number_of
from kvtrace.ir.ops import (
    BRANCHES,
    CALLS,
    COMBINING,
    FUNCTIONS,
    KINDS,
    LOOPS,
    Kind,
    mask_of,
    operator_of,
)
from kvtrace.ir.types import element_of, shape_of
from kvtrace.schema.errors import KvtraceError
from kvtrace.symbolic.conditions import TRUE, Condition
from kvtrace.symbolic.functions import quotient, remainder
from kvtrace.symbolic.meanings.tt_shape import reshaped_indices, row_major_index, source_indices
from kvtrace.symbolic.summary import Access, Summary
from kvtrace.symbolic.terms import Substitution, Symbol, Term
from kvtrace.symbolic.trees.formulas import Coordinates, attributes_of, folded_formula, is_followed
from kvtrace.symbolic.trees.loops import SEVERAL_CALLS, UNKNOWN_TRIPS, LoopTrees, unknown
from kvtrace.symbolic.trees.tree import COMMUTATIVE, TRIPS, Tree, bound, tree, truth_of

_SPECIAL: Final = re.compile(
    r"%(n?(tid|ctaid|warpid|smid)|laneid|lanemask|gridid|clock|globaltimer|(n?cluster)|pm\d|envreg)"
)
"""PTX registers whose value depends on where or when a program runs."""


class TooLarge(KvtraceError):
    """The tree of an element has too many nodes."""

    slug = "too-large"


class TooLate(TooLarge):
    """The tree of an element is not finished before the deadline."""

    slug = "too-late"


class ElementTrees(LoopTrees):
    """Builder of the trees of elements of one kernel.

    `rewrite_term` and `rewrite_condition` rewrite formulas for comparison: numbers in place of
    arguments, the output's coordinates in place of programs and lanes. `name` returns the name of
    an argument, and `rewrite_offset` rewrites a byte offset in an argument. `floats` are the types
    and bits of floats in place of arguments. `wrapping` are ids of values whose arithmetic may
    overflow, so that their trees are built op by op. After the `time.thread_time` `deadline` no
    formula is rewritten.
    """

    most_nodes: ClassVar[int] = 50_000

    def __init__(
        self,
        summary: Summary,
        rewrite_term: Callable[[Term], Term],
        rewrite_condition: Callable[[Condition], Condition],
        name: Callable[[int], str],
        rewrite_offset: Callable[[int, Term], Term] = lambda _, offset: offset,
        floats: Mapping[int, tuple[str, int]] = {},
        wrapping: Collection[int] = (),
        deadline: float = inf,
    ) -> None:
        super().__init__(summary)
        self._deadline = deadline
        self._floats = floats
        self._wrapping = wrapping
        self._rewrite_term = rewrite_term
        self._rewrite_condition = rewrite_condition
        self._name = name
        self._rewrite_offset = rewrite_offset
        self._accesses: dict[Op, list[Access]] = {}
        for access in summary.accesses:
            self._accesses.setdefault(access.op, []).append(access)
        self.loads: set[int] = set()
        self._memo: dict[Any, Tree] = {}
        self._node_count = 0

    # -- formulas --------------------------------------------------------------------------------

    def term(self, term: Term, at: Coordinates, shape: Sequence[int]) -> Term:
        """Return a formula of a tensor, rewritten for one element."""
        return self._rewrite_term(self._placed(at, shape)(term))

    def condition(self, condition: Condition, at: Coordinates, shape: Sequence[int]) -> Condition:
        """Return a condition of a tensor, rewritten for one element."""
        return self._rewrite_condition(condition.substitute(self._placed(at, shape)))

    def _placed(self, at: Coordinates, shape: Sequence[int]) -> Substitution:
        if thread_time() > self._deadline:
            raise TooLate("its expression takes too long to be followed")
        lanes: dict[Any, Term] = {
            Symbol("lane", axis, 0, extent - 1): index
            for axis, (extent, index) in enumerate(zip(shape, at, strict=True))
            if extent > 1
        }
        trips = {loop.trip: bound(loop.level, TRIPS).term for loop in self._enclosing_loops}
        return Substitution(lanes | trips)

    # -- values ----------------------------------------------------------------------------------

    def of(self, value: Value, at: Coordinates, level: int) -> Tree:
        """Return the tree of the element of a value with indices `at`.

        Symbols that the tree binds are numbered from `level` on.
        """
        key = (value.id, at, level, self._enclosing_loops)
        node = self._memo.get(key)
        if node is None:
            self._node_count += 1
            if self._node_count > self.most_nodes:
                raise TooLarge("its expression is too large to be followed")
            node = self._memo[key] = self._of(value, at, level)
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
            if mask is None:
                yield unknown(access.op, "a mask that is not followed"), True
            else:
                yield self._aligned(mask, at, 0), True
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
                    yield (unknown(outer_op, UNKNOWN_TRIPS), True)
            elif outer_op.name in BRANCHES and condition_values:
                truth = self._formula_of(condition_values[0])
                if not isinstance(truth, Condition) or not is_followed(truth):
                    region = None if inner_op.block is None else inner_op.block.region
                    yield self.of(condition_values[0], (), 0), region is outer_op.regions[0]
            elif outer_op.name in BRANCHES:
                yield unknown(outer_op, "a branch that is not followed"), True
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
            truth = self._formula_of(condition)
            if not isinstance(truth, Condition) or not is_followed(truth):
                yield self.of(condition, (), 0), reaches[0]

    def _of(self, value: Value, at: Coordinates, level: int) -> Tree:
        formula_of_value = self._formula_of(value)
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
            return unknown(owner, SEVERAL_CALLS)
        if owner.name in COMBINING or operator_of(owner) == "map":
            return tree("combined", (value.position,))
        if owner.name in LOOPS:
            return self._carried(owner, value, at, level)
        return unknown(owner, "a jump between blocks")

    def _op_result(self, op: Op, position: int, at: Coordinates, level: int) -> Tree:
        row = KINDS.get(op.name)
        if row is None:
            return unknown(op, f"{op.name}, which is not in the table of ops")
        operator = operator_of(op)
        if operator == "constant":
            return self._constant(op, at)
        if operator == "inline_asm" and _SPECIAL.search(str(op.attributes.get("asm_string", ""))):
            return unknown(op, "assembly that reads where or when it runs")
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
        return unknown(op, reason)

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
        return unknown(op, "a constant that is not read")

    def _computed(self, op: Op, position: int, at: Coordinates, level: int) -> Tree:
        """Return the tree of an elementwise op on the operands' elements at the same index."""
        parts = [self._aligned(operand, at, level) for operand in op.operands]
        if operator_of(op) == "where" and (truth := truth_of(parts[0])) is not None:
            return parts[1 if truth else 2]
        if operator_of(op) in COMMUTATIVE and len(parts) == 2:
            parts.sort(key=lambda part: part.order)
        kind = str(element_of(op.results[position].type))
        formula = folded_formula(op, kind, parts)
        if isinstance(formula, Condition):
            return tree("condition", (formula,), (), op.index)
        if formula is not None:
            return tree("integer", (formula, kind), (), op.index)
        return tree("op", (op.name, attributes_of(op), kind, position), tuple(parts), op.index)

    def _aligned(self, value: Value, at: Coordinates, level: int) -> Tree:
        """Return the tree of a value's element at an index, or of a scalar."""
        return self.of(value, at if shape_of(value.type) else (), level)

    def _called(self, op: Op, position: int, at: Coordinates, level: int) -> Tree:
        function = called(op, self.module)
        if function is None or len(self._flow.callers(function)) != 1:
            return unknown(op, SEVERAL_CALLS)
        return_ops = returns(function)
        if len(return_ops) != 1:
            return unknown(op, "a function with several ends")
        return self.of(return_ops[0].group("passed")[position], at, level)

    def _mapped(self, op: Op, position: int, at: Coordinates, level: int) -> Tree:
        blocks = op.regions[0].blocks
        if len(blocks) != 1 or number_of(op, "pack", 1) != 1:
            return unknown(op, "a function mapped over several elements at once")
        result = self.of(blocks[0].ops[-1].group("passed")[position], (), level)
        parts = tuple(self.of(value, at, level) for value in op.operands)
        return tree("op", (op.name, (), "", position), (result, *parts), op.index)

    # -- elements moved --------------------------------------------------------------------------

    def _rearranged(self, op: Op, position: int, at: Coordinates, level: int) -> Tree:
        operator, row = operator_of(op), KINDS[op.name]
        if row.kind is Kind.PICKED:
            if not row.has("index"):
                return unknown(op, op.name)
            return self._gathered(op, at, level)
        if operator in ("join", "cat"):
            return self._joined(op, operator, at, level)
        return self.of(op.operand("source"), source_indices(op, position, at), level)

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
            return unknown(op, "a product of blocks that share scales")
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
        padding = str(op.attributes.get("padding", ""))
        access = self._access_of(op)
        if access is not None and access.argument is not None and is_followed(access.offset):
            access_indices = reshaped_indices(at, shape, access.shape)
            offset = self.term(access.offset, access_indices, access.shape)
            offset = self._rewrite_offset(access.argument, offset)
            detail = (self._name(access.argument), offset, kind, padding)
            return self._masked(op, access, detail, access_indices, at, level)
        if not KINDS[op.name].has("pointer"):
            return unknown(op, "a load through a descriptor that is not followed")
        pointer = self.of(op.operand("pointer"), at if shape else (), level)
        mask = mask_of(op)
        masking = () if mask is None else (
            self._aligned(mask, at, level), *self._padding(op, at, level),
        )  # fmt: skip
        return tree("element", ("", None, kind, padding), (pointer, *masking), op.index)

    def _access_of(self, op: Op) -> Access | None:
        """Return a load's access if it has a single one, else None."""
        accesses = self._accesses.get(op, ())
        return accesses[0] if len(accesses) == 1 else None

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
                return unknown(op, "a mask that is not followed")
            mask_tree = self._aligned(value, at, level)
        return tree("element", detail, (mask_tree, *self._padding(op, at, level)), op.index)

    def _padding(self, op: Op, at: Coordinates, level: int) -> tuple[Tree, ...]:
        """Return a tuple of the value of masked lanes; () if the op does not say it."""
        other = op.optional("other") if KINDS[op.name].has("other") else None
        return () if other is None else (self._aligned(other, at, level),)

    # -- branches --------------------------------------------------------------------------------

    def _branched(self, op: Op, position: int, at: Coordinates, level: int) -> Tree:
        branches = [
            self.of(region.blocks[0].ops[-1].group("passed")[position], at, level)
            for region in op.regions
            if len(region.blocks) == 1
        ]
        if len(branches) != len(op.regions):
            return unknown(op, "a branch of several blocks")
        row = KINDS[op.name]
        condition_values = [op.operand(name) for name in ("condition", "selector") if row.has(name)]
        if not condition_values:
            return branches[0]
        condition = self.of(condition_values[0], (), level)
        if (truth := truth_of(condition)) is not None:
            return branches[0 if truth else 1]
        return tree("op", ("where", attributes_of(op), "", 0), (condition, *branches), op.index)
