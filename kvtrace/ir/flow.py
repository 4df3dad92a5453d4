"""How values pass through a module: loops, branches, blocks and calls, said once.

Some values are copies: what a loop carries, a region yields, a jump or a call passes on is a value
made elsewhere, and `Flow.origins` says which ones it may be. All other values are made by their op,
of its operands. Whether an op runs at all, and how often, `Flow.deciding` says.

An analysis is a function of one op, or one value, on top of this: see `forward` and `backward`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from kvtrace.ir.memo import once_per_module
from kvtrace.ir.model import Block, Module, Op, Value
from kvtrace.ir.ops import BRANCHES, CALLS, FUNCTIONS, KINDS, LOOPS, Kind


class Flow:
    """How the values of one module pass through it. Get it from `flow_of`."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self._origins: dict[int, list[Value]] = defaultdict(list)
        self._copies: dict[int, list[Value]] = defaultdict(list)
        self._uses: dict[int, list[Op]] = defaultdict(list)
        self._callers: dict[Op, list[Op]] = defaultdict(list)
        for op in module.ops:
            for value in dict.fromkeys(op.operands):
                self._uses[value.id].append(op)
            if op.name in CALLS and (function := called(op, module)) is not None:
                self._callers[function].append(op)
            for given, taken in _passing(op, module):
                for source, target in zip(given, taken, strict=False):
                    if source not in self._origins[target.id]:
                        self._origins[target.id].append(source)
                        self._copies[source.id].append(target)

    def origins(self, value: Value) -> Sequence[Value]:
        """Return the values that one may be a copy of; none where its op makes it."""
        return self._origins.get(value.id, ())

    def copies(self, value: Value) -> Sequence[Value]:
        """Return the values that may be copies of one."""
        return self._copies.get(value.id, ())

    def uses(self, value: Value) -> Sequence[Op]:
        """Return the ops that have a value among their operands, in the module's order."""
        return self._uses.get(value.id, ())

    def callers(self, function: Op) -> Sequence[Op]:
        """Return the ops that call a function."""
        return self._callers.get(function, ())

    def made_of(self, value: Value) -> Sequence[Value]:
        """Return what a value is made of: its origins, or else the operands of its op.

        A loop's counter is made of the loop's bounds; what combines elements in a region (of a
        reduction) takes them from the op's operands, and gives what the region ends with.
        """
        found = self.origins(value)
        if found:
            return found
        owner = value.owner
        if isinstance(owner, Op):
            return owner.operands
        if owner is None or owner.region.owner.name in FUNCTIONS:
            return ()
        around = owner.region.owner
        return deciding(around) if around.name in LOOPS else around.operands


@once_per_module
def flow_of(module: Module) -> Flow:
    """Return how values pass through a module; made once."""
    return Flow(module)


def deciding(op: Op) -> tuple[Value, ...]:
    """Return what decides which region of an op runs, or how often, or where a jump goes."""
    if op.name == "scf.for":
        return (*op.group("first"), *op.group("end"), *op.group("step"))
    if op.name == "scf.while":
        return (terminator(op, 0).operand("condition"),)
    row = KINDS.get(op.name)
    if row is None or row.kind not in (Kind.BRANCH, Kind.JUMP, Kind.END):
        return ()
    return tuple(
        value
        for name in ("condition", "selector")
        if name in row.operands
        for value in op.group(name)
    )


def counter_of(op: Op) -> Value | None:
    """Return what counts in a loop, from `first` in steps; None: it is not a loop that counts."""
    row = KINDS.get(op.name)
    if row is None or row.kind is not Kind.LOOP or not row.has("step"):
        return None
    return op.regions[0].blocks[0].arguments[0]


def unmoved(value: Value, moving: Collection[str]) -> Value:
    """Return what a value was before ops of some names moved it: the `source` of each, in turn."""
    while isinstance(value.owner, Op) and value.owner.name in moving:
        source = value.owner.optional("source")
        if source is None:
            break
        value = source
    return value


def terminator(op: Op, region: int) -> Op:
    """Return what ends a region that has one block."""
    return op.regions[region].blocks[0].ops[-1]


def called(op: Op, module: Module) -> Op | None:
    """Return the function that a call is of; None: it is not in the module, or has no body."""
    callee = getattr(op.attributes.get("callee"), "value", None)
    function = module.functions.get(str(callee))
    return None if function is None or not function.body.blocks else function.op


def jumps(op: Op) -> list[tuple[Block, tuple[Value, ...]]]:
    """Return where the end of a block may go, and what it passes there."""
    if op.name == "cf.cond_br":
        first, second = op.successors
        return [(first, op.group("first")), (second, op.group("second"))]
    return [(target, op.operands) for target in op.successors]


def returns(function: Op) -> list[Op]:
    """Return the ops that end a function."""
    ends = (block.ops[-1] for block in function.regions[0].blocks)
    return [end for end in ends if not end.successors]


def around(op: Op) -> Iterator[Op]:
    """Yield the ops that one is in, innermost first, up to its function."""
    parent = op.parent
    while parent is not None and parent.name not in FUNCTIONS:
        yield parent
        parent = parent.parent
    if parent is not None:
        yield parent


def leading_to(block: Block) -> list[Block]:
    """Return the blocks of a region from which one is reached by a jump or more, in text order."""
    blocks = block.region.blocks
    found: set[Block] = set()
    waiting = {block}
    while waiting:
        waiting = {each for each in blocks if not waiting.isdisjoint(each.ops[-1].successors)}
        waiting -= found
        found |= waiting
    return [each for each in blocks if each in found]


def _passing(op: Op, module: Module) -> Iterator[tuple[Sequence[Value], Sequence[Value]]]:
    """Yield values, and those that are copies of them, one to one."""
    if op.name == "scf.for":
        inner = op.regions[0].blocks[0].arguments[1:]
        for given in (op.group("initial"), terminator(op, 0).group("passed")):
            yield given, inner
            yield given, op.results
    elif op.name == "scf.while":
        before, after = (region.blocks[0] for region in op.regions)
        forwarded = terminator(op, 0).group("passed")
        yield op.group("initial"), before.arguments
        yield terminator(op, 1).group("passed"), before.arguments
        yield forwarded, after.arguments
        yield forwarded, op.results
    elif op.name in BRANCHES:
        for region in op.regions:
            for block in region.blocks:
                if not block.ops[-1].successors:
                    yield block.ops[-1].operands, op.results
    elif op.name in CALLS:
        function = called(op, module)
        if function is not None:
            yield op.operands, function.regions[0].blocks[0].arguments
            for end in returns(function):
                yield end.operands, op.results
    elif op.successors:
        for block, given in jumps(op):
            yield given, block.arguments


def forward(
    flow: Flow, sources: Iterable[Value], onwards: Callable[[Op, Value], Iterable[Value]]
) -> set[int]:
    """Follow values to all that hold of them in turn: their copies, and what ops make of them.

    `onwards` says which values are reached through an op that has one among its operands. Returns
    the ids of all values that were reached, the sources included.
    """
    waiting = list(sources)
    found = {value.id for value in waiting}
    while waiting:
        value = waiting.pop()
        reached = [*flow.copies(value)]
        for op in flow.uses(value):
            reached += onwards(op, value)
        for each in reached:
            if each.id not in found:
                found.add(each.id)
                waiting.append(each)
    return found


def backward(
    values: Iterable[Value], through: Callable[[Value], Iterable[Value]]
) -> Iterator[Value]:
    """Yield values and all that they are made of, each once; `through` says what one is made of."""
    waiting = list(dict.fromkeys(values))
    seen = {value.id for value in waiting}
    while waiting:
        value = waiting.pop()
        yield value
        for each in through(value):
            if each.id not in seen:
                seen.add(each.id)
                waiting.append(each)
