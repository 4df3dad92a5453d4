"""Ops of a module that decide which operations are in flight, and the liveness of their values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kvtrace.ir import Block, Module, Op, Value
from kvtrace.ir.asynchronous import VIEWING, Act, act_of, is_known
from kvtrace.ir.flow import backward, deciding, enclosing_ops, flow_of, forward
from kvtrace.ir.ops import BRANCHES, CONSTANTS, KINDS, LOOPS, Kind, operator_of
from kvtrace.ir.types import IndexType, IntegerType, SharedType

_DECIDING = ("phase", "predicate")
_BLOCKS = frozenset({Kind.BRANCH, Kind.LOOP})
_COMPUTED = frozenset({Kind.ELEMENTWISE})


class Relevance:
    """The ops and values of a module that an exploration needs.

    Attributes:
        numbers: ids of the integers that decide a buffer, a phase, or a branch.
        pending: ids of values that a product may not have computed yet.
        steps: the relevant ops of each block.
    """

    def __init__(self, module: Module) -> None:
        self._module = module
        self._flow = flow_of(module)
        self._ends = _ends(module)
        self._buffers: dict[int, tuple[int, int]] = {}
        self._lives: dict[tuple[int, bool], frozenset[int]] = {}
        self.pending = self._pending()
        self._acting = self._around(op for op in module.ops if _acts(op))
        self._open = self._unknowable()
        self.numbers = self._numbers()
        self.steps = {
            id(block): tuple(op for op in block.ops if self._matters(op))
            for op in module.ops
            for region in op.regions
            for block in region.blocks
        }
        self._spans = dict(self._spans_of_values())

    def matters(self, op: Op) -> bool:
        """Return whether an op is relevant, contains a relevant op, or has a relevant result."""
        return op.index in self._acting or any(value.id in self.numbers for value in op.results)

    def live(self, op: Op, *, after: bool = False) -> frozenset[int]:
        """Return the ids of values that are used in a loop, or after a loop or branch."""
        key = (op.index, after)
        ids = self._lives.get(key)
        if ids is None:
            first, end = op.index, self._ends[op.index]
            since = end if after else first
            arguments = frozenset[int]() if after else _arguments(op)
            ids = self._lives[key] = arguments | frozenset(
                slot
                for slot, (start, last_use) in self._spans.items()
                if last_use > since and not (first < start <= end)
            )
        return ids

    def live_together(self, buffer: Op, other: Op) -> bool:
        """Return whether two buffers are in use at once, and so never share memory."""
        first, last = self._life(buffer)
        other_first, other_last = self._life(other)
        return first <= other_last and other_first <= last

    def _life(self, buffer: Op) -> tuple[int, int]:
        """Return the op that makes a buffer, and the last op that uses it or a view of it."""
        life = self._buffers.get(buffer.index)
        if life is None:

            def views(op: Op, value: Value) -> list[Value]:
                del value
                return list(op.results) if act_of(op) in VIEWING else []

            views_of_buffer = forward(self._flow, list(buffer.results), views)
            values = [value for value in _values(self._module) if value.id in views_of_buffer]
            last = max([buffer.index, *(self._last_use(value) for value in values)])
            life = self._buffers[buffer.index] = buffer.index, last
        return life

    def _matters(self, op: Op) -> bool:
        row = KINDS.get(op.name)
        if not is_known(op) or act_of(op) is not None:
            return True
        if row is not None and row.kind in _BLOCKS:
            return self.matters(op)
        if row is not None and row.kind is Kind.CALL:
            return True
        return any(value.id in self.numbers for value in op.results) or any(
            value.id in self.pending for value in op.operands
        )

    def _around(self, ops: Iterable[Op]) -> set[int]:
        return {outer.index for op in ops for outer in (op, *enclosing_ops(op))}

    def _pending(self) -> set[int]:
        """Return the ids of results of products that may be incomplete, and of their copies."""
        results = [v for op in self._module.ops if act_of(op) is Act.PRODUCT for v in op.results]

        def onwards(op: Op, value: Value) -> list[Value]:
            if operator_of(op) == "where":
                return list(op.results)
            if act_of(op) is not Act.WAIT_PRODUCTS:
                return []
            pairs = zip(op.group("passed"), op.results, strict=True)
            return [result for passed, result in pairs if passed is value]

        return forward(self._flow, results, onwards)

    def _numbers(self) -> set[int]:
        """Return the ids of integers that decide something, and of their sources."""
        numbers: set[int] = set()
        while True:
            sinks = [
                value
                for op in self._module.ops
                for value in self._deciding(op, numbers)
                if value.id not in numbers and value.id not in self._open
            ]
            if not sinks:
                return numbers
            numbers |= {value.id for value in backward(sinks, self._made_of)}

    def _deciding(self, op: Op, numbers: set[int]) -> Iterator[Value]:
        row = KINDS.get(op.name)
        if row is None:
            return
        if act_of(op) is Act.INDEX:
            yield from op.group("index")
        elif act_of(op) is not None:
            for name in _DECIDING:
                if row.has(name):
                    yield from op.group(name)
        elif (op.name in BRANCHES or (op.name in LOOPS and not row.has("step"))) and (
            op.index in self._acting or any(value.id in numbers for value in op.results)
        ):
            yield from deciding(op)

    def _made_of(self, value: Value) -> list[Value]:
        return [source for source in self._flow.sources(value) if _is_number(source)]

    def _unknowable(self) -> set[int]:
        """Return the ids of integers that depend on arguments or memory, and so are never known."""
        unknown: set[int] = set()
        numbers = [value for value in _values(self._module) if _is_number(value)]
        while True:
            more = {v.id for v in numbers if v.id not in unknown and self._depends(v, unknown)}
            if not more:
                return unknown
            unknown |= more

    def _depends(self, value: Value, unknown: set[int]) -> bool:
        """Return whether a value has an unknown source; of a carried value, all must be unknown."""
        origins, owner = self._flow.origins(value), value.owner
        if origins:
            return all(source.id in unknown for source in origins)
        if isinstance(owner, Op):
            if operator_of(owner) == "where":
                arms = (*owner.group("first"), *owner.group("second"))
                return any(source.id in unknown for source in arms)
            row = KINDS.get(owner.name)
            if row is None or row.kind not in _COMPUTED:
                return owner.name not in CONSTANTS
            return any(source.id in unknown or not _is_number(source) for source in owner.operands)
        parent = None if owner is None else owner.region.owner
        if parent is None or parent.name not in LOOPS:
            return True
        return any(source.id in unknown for source in deciding(parent))

    def _spans_of_values(self) -> Iterator[tuple[int, tuple[int, int]]]:
        """Yield the op that makes each kept value, and the last op that uses the value."""
        for op in self._module.ops:
            for value in _values_of(op):
                if self._is_kept(value):
                    inside = value.owner is not op
                    yield value.id, (op.index + inside, self._last_use(value))

    def _is_kept(self, value: Value) -> bool:
        return (
            value.id in self.numbers or value.id in self.pending
            or isinstance(value.type, SharedType)
        )  # fmt: skip

    def _last_use(self, value: Value) -> int:
        """Return the last op that may use a value; a loop uses values from outside to its end."""
        home = value.owner.block if isinstance(value.owner, Op) else value.owner
        last = -1
        for op in self._flow.uses(value):
            last = max(last, op.index)
            inner = op
            while inner.block is not home and inner.parent is not None:
                inner = inner.parent
                if inner.name in LOOPS:
                    last = max(last, self._ends[inner.index])
        if home is not None and len(home.region.blocks) > 1:
            last = max(last, self._ends[home.region.owner.index])
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


def _ends(module: Module) -> dict[int, int]:
    """Return the last op within each op, by index."""
    last_ops: dict[int, int] = {}
    for op in reversed(module.ops):
        inner: list[Block] = [block for region in op.regions for block in region.blocks]
        last = inner[-1].ops[-1] if inner and inner[-1].ops else op
        last_ops[op.index] = last_ops.get(last.index, op.index)
    return last_ops
