"""Ops that affect what is in flight, values that select parts of buffers, and their liveness."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from msgspec import Struct

from kvtrace.evaluate.compiler import compiled
from kvtrace.evaluate.errors import UNFIT
from kvtrace.evaluate.scope import Launch, Scope
from kvtrace.evaluate.types import value_type
from kvtrace.evaluate.values import Unknown, constant_sum, to_array
from kvtrace.ir import Block, Module, Op, Value
from kvtrace.ir.asynchronous import VIEWING, Act, act_of, is_known
from kvtrace.ir.flow import backward, constant_of, deciding, enclosing_ops, flow_of, forward
from kvtrace.ir.ops import BRANCHES, CONSTANTS, KINDS, LOOPS, Kind, operator_of
from kvtrace.ir.types import IndexType, IntegerType, SharedType
from kvtrace.schema.errors import KvtraceError
from kvtrace.verdicts.pipeline.state import Known, State

_STATE_OPERANDS = ("phase", "predicate")
_REGION_KINDS = frozenset({Kind.BRANCH, Kind.LOOP})
_COMPUTED_KINDS = frozenset({Kind.ELEMENTWISE})


class Relevance:
    """The ops and values of a module that an exploration needs.

    Attributes:
        numbers: ids of the integers that select a buffer, a phase, or a branch.
        pending: ids of values that a product may not have computed yet.
        steps: the relevant ops of each block.
    """

    def __init__(self, module: Module) -> None:
        self._module = module
        self._flow = flow_of(module)
        self._last_inner_ops = _last_inner_ops(module)
        self._buffers: dict[int, tuple[int, int]] = {}
        self._live_ids: dict[tuple[int, bool], frozenset[int]] = {}
        self.pending = self._find_pending()
        self._relevant_ops = self._with_enclosing(op for op in module.ops if _acts(op))
        self._unknown_ids = self._find_unknown_ids()
        self.numbers = self._find_numbers()
        self.steps = {
            id(block): tuple(op for op in block.ops if self._matters(op))
            for op in module.ops
            for region in op.regions
            for block in region.blocks
        }
        self._span_by_value = dict(self._value_spans())

    def matters(self, op: Op) -> bool:
        """Return whether an op is or contains a relevant op, or has a relevant integer result."""
        return op.index in self._relevant_ops or any(
            value.id in self.numbers for value in op.results
        )

    def live(self, op: Op, *, after: bool = False) -> frozenset[int]:
        """Return the ids of values that are used in a loop, or `after` a loop or branch."""
        key = (op.index, after)
        ids = self._live_ids.get(key)
        if ids is None:
            start_index, end_index = op.index, self._last_inner_ops[op.index]
            from_index = end_index if after else start_index
            arguments = frozenset[int]() if after else _arguments(op)
            ids = self._live_ids[key] = arguments | frozenset(
                value_id
                for value_id, (defined_at, last_use) in self._span_by_value.items()
                if last_use > from_index and not (start_index < defined_at <= end_index)
            )
        return ids

    def live_together(self, buffer: Op, other: Op) -> bool:
        """Return whether two buffers are in use at the same time, and so never share memory."""
        start, end = self._lifetime(buffer)
        other_start, other_end = self._lifetime(other)
        return start <= other_end and other_start <= end

    def _lifetime(self, buffer: Op) -> tuple[int, int]:
        """Return the indices of the op that allocates a buffer, and of its last use."""
        lifetime = self._buffers.get(buffer.index)
        if lifetime is None:

            def views(op: Op, value: Value) -> list[Value]:
                del value
                return list(op.results) if act_of(op) in VIEWING else []

            views_of_buffer = forward(self._flow, list(buffer.results), views)
            values = [value for value in _values(self._module) if value.id in views_of_buffer]
            last_use = max([buffer.index, *(self._last_use(value) for value in values)])
            lifetime = self._buffers[buffer.index] = buffer.index, last_use
        return lifetime

    def _matters(self, op: Op) -> bool:
        row = KINDS.get(op.name)
        if not is_known(op) or act_of(op) is not None:
            return True
        if row is not None and row.kind in _REGION_KINDS:
            return self.matters(op)
        if row is not None and row.kind is Kind.CALL:
            return True
        return any(value.id in self.numbers for value in op.results) or any(
            value.id in self.pending for value in op.operands
        )

    def _with_enclosing(self, ops: Iterable[Op]) -> set[int]:
        return {outer.index for op in ops for outer in (op, *enclosing_ops(op))}

    def _find_pending(self) -> set[int]:
        """Return the ids of results of products that may be incomplete, and of their copies."""
        results = [
            value_ for op in self._module.ops if act_of(op) is Act.PRODUCT for value_ in op.results
        ]

        def onwards(op: Op, value: Value) -> list[Value]:
            if operator_of(op) == "where":
                return list(op.results)
            if act_of(op) is not Act.WAIT_PRODUCTS:
                return []
            pairs = zip(op.group("passed"), op.results, strict=True)
            return [result for operand, result in pairs if operand is value]

        return forward(self._flow, results, onwards)

    def _find_numbers(self) -> set[int]:
        """Return the ids of integers that affect shared memory or branches, and their sources."""
        numbers: set[int] = set()
        while True:
            sinks = [
                value
                for op in self._module.ops
                for value in self._selecting_values(op, numbers)
                if value.id not in numbers and value.id not in self._unknown_ids
            ]
            if not sinks:
                return numbers
            numbers |= {value.id for value in backward(sinks, self._integer_sources)}

    def _selecting_values(self, op: Op, numbers: set[int]) -> Iterator[Value]:
        row = KINDS.get(op.name)
        if row is None:
            return
        if act_of(op) is Act.INDEX:
            yield from op.group("index")
        elif act_of(op) is not None:
            for name in _STATE_OPERANDS:
                if row.has(name):
                    yield from op.group(name)
        elif (op.name in BRANCHES or (op.name in LOOPS and not row.has("step"))) and (
            op.index in self._relevant_ops or any(value.id in numbers for value in op.results)
        ):
            yield from deciding(op)

    def _integer_sources(self, value: Value) -> list[Value]:
        return [source for source in self._flow.sources(value) if _is_number(source)]

    def _find_unknown_ids(self) -> set[int]:
        """Return the ids of integers that depend on arguments or memory, so are never known."""
        unknown: set[int] = set()
        numbers = [value for value in _values(self._module) if _is_number(value)]
        while True:
            new_ids = {
                value_.id
                for value_ in numbers
                if value_.id not in unknown and self._is_unknown(value_, unknown)
            }
            if not new_ids:
                return unknown
            unknown |= new_ids

    def _is_unknown(self, value: Value, unknown: set[int]) -> bool:
        """Return whether a value has an unknown source; a carried value: only unknown sources."""
        origins, owner = self._flow.origins(value), value.owner
        if origins:
            return all(source.id in unknown for source in origins)
        if isinstance(owner, Op):
            if operator_of(owner) == "where":
                choices = (*owner.group("first"), *owner.group("second"))
                return any(source.id in unknown for source in choices)
            row = KINDS.get(owner.name)
            if row is None or row.kind not in _COMPUTED_KINDS:
                return owner.name not in CONSTANTS
            return any(source.id in unknown or not _is_number(source) for source in owner.operands)
        parent = None if owner is None else owner.region.owner
        if parent is None or parent.name not in LOOPS:
            return True
        return any(source.id in unknown for source in deciding(parent))

    def _value_spans(self) -> Iterator[tuple[int, tuple[int, int]]]:
        """Yield the id of each kept value, and the indices of its definition and last use."""
        for op in self._module.ops:
            for value in _values_of(op):
                if self._is_kept(value):
                    is_block_argument = value.owner is not op
                    yield value.id, (op.index + is_block_argument, self._last_use(value))

    def _is_kept(self, value: Value) -> bool:
        return (
            value.id in self.numbers or value.id in self.pending
            or isinstance(value.type, SharedType)
        )  # fmt: skip

    def _last_use(self, value: Value) -> int:
        """Return the index of the last op that may use a value."""
        defining_block = value.owner.block if isinstance(value.owner, Op) else value.owner
        last = -1
        for op in self._flow.uses(value):
            last = max(last, op.index)
            inner = op
            while inner.block is not defining_block and inner.parent is not None:
                inner = inner.parent
                if inner.name in LOOPS:
                    last = max(last, self._last_inner_ops[inner.index])
        if defining_block is not None and len(defining_block.region.blocks) > 1:
            last = max(last, self._last_inner_ops[defining_block.region.owner.index])
        return last


def _is_number(value: Value) -> bool:
    return isinstance(value.type, IntegerType | IndexType)


def _values(module: Module) -> Iterator[Value]:
    for op in module.ops:
        yield from _values_of(op)


def _values_of(op: Op) -> Iterator[Value]:
    """Yield the results of an op, and the arguments of its blocks."""
    yield from op.results
    for region in op.regions:
        for block in region.blocks:
            yield from block.arguments


def _acts(op: Op) -> bool:
    act = act_of(op)
    return not is_known(op) or (act is not None and act not in VIEWING)


def _arguments(op: Op) -> frozenset[int]:
    return frozenset(
        value.id for region in op.regions for block in region.blocks for value in block.arguments
    )


def _last_inner_ops(module: Module) -> dict[int, int]:
    """Return the index of the last op within each op, by the op's index."""
    last_ops: dict[int, int] = {}
    for op in reversed(module.ops):
        blocks: list[Block] = [block for region in op.regions for block in region.blocks]
        last_op = blocks[-1].ops[-1] if blocks and blocks[-1].ops else op
        last_ops[op.index] = last_ops.get(last_op.index, op.index)
    return last_ops


class Counter(Struct, frozen=True):
    """The counter of a loop: its value's id, start, end (excluded) and step."""

    value_id: int
    first: int
    end: int
    step: int

    def is_over(self, state: State) -> bool:
        """Return whether the loop ends, in a state at its head."""
        return self._number(state) >= self.end

    def after(self, state: State) -> int:
        """Return the counter's number in the next trip."""
        return self._number(state) + self.step

    def _number(self, state: State) -> int:
        number = state.values[self.value_id]
        assert isinstance(number, int)
        return number


def known_value(value: Value, state: State) -> Known | None:
    """Return the integer, view or operation in flight that a value has; None if it is unknown."""
    known = state.values.get(value.id)
    if known is not None:
        return known
    if not isinstance(value.type, IntegerType | IndexType):
        return None
    constant = constant_of(value)
    return None if constant is None else int(constant)


def known_integer(op: Op, name: str, state: State) -> int | None:
    """Return the integer that an operand has in a state; None if it is unknown, or absent."""
    value = op.optional(name)
    integer = None if value is None else known_value(value, state)
    return integer if isinstance(integer, int) else None


def copy_values(
    state: State, sources: Iterable[Value], targets: Iterable[Value], source: State
) -> None:
    """Set values of `state` to values of `source`, all at once."""
    numbers = [known_value(value, source) for value in sources]
    for number, value in zip(numbers, targets, strict=False):
        if number is None:
            state.values.pop(value.id, None)
        else:
            state.values[value.id] = number


class Numbers:
    """Results of integer ops, computed by the evaluator and cached."""

    def __init__(self, module: Module) -> None:
        self._compiler = compiled(module, observed=False)
        self._scope = Scope(Launch("", (1, 1, 1), (), ()), np.zeros(1, np.int64))
        self._results: dict[tuple[int, tuple[int, ...]], int | None] = {}

    def of(self, op: Op, operands: list[int]) -> int | None:
        """Return the result of an op on integers, None if it is unknown."""
        key = (op.index, tuple(operands))
        if key not in self._results:
            self._results[key] = self._compute(op, operands)
        return self._results[key]

    def _compute(self, op: Op, operands: list[int]) -> int | None:
        values = {
            value.id: bool(number) if str(value.type) == "i1" else constant_sum(number)
            for value, number in zip(op.operands, operands, strict=True)
        }
        result = op.results[0]
        if not op.operands or not isinstance(result.type, IntegerType | IndexType):
            return None
        try:
            self._compiler.step(op)(values, self._scope)  # type: ignore[arg-type]
            value_ = values[result.id]
            if isinstance(value_, Unknown):
                return None
            return int(to_array(value_, value_type(result.type)).reshape(-1)[0])
        except (KvtraceError, *UNFIT):
            return None
