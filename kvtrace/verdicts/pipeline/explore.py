"""All states that a program may be in, of any trip counts: what comes too early in one of them.

Each op that acts on shared memory changes a state; loops are visited until the states at their
heads reach a fixpoint, so the result holds for any number of trips. A condition that is not known
is both. Barriers between ordinary accesses are of no concern: Triton puts them in later.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from kvtrace.evaluate.compiler import attribute
from kvtrace.ir import Block, Module, Op, Region, Value
from kvtrace.ir.asynchronous import (
    VIEWING,
    Act,
    act_of,
    allowed_in_flight,
    group_size,
    is_asynchronous,
    is_known,
    targets_amd,
)
from kvtrace.ir.constants import constant_of
from kvtrace.ir.flow import called, counter_of, deciding, jumps, terminator
from kvtrace.ir.ops import BRANCHES, CALLS, KINDS, LOOPS, Kind, mask_of, operator_of
from kvtrace.ir.types import IndexType, IntegerType, SharedType
from kvtrace.verdicts.pipeline.faults import (
    OVERWRITES,
    READS_EARLY,
    STORED_EARLY,
    USED_EARLY,
    WRITES_EARLY,
    Early,
    Explored,
    Fault,
    Unexplored,
)
from kvtrace.verdicts.pipeline.numbers import Counted, Numbers
from kvtrace.verdicts.pipeline.relevance import Relevance
from kvtrace.verdicts.pipeline.state import Held, Pending, State, Use
from kvtrace.verdicts.pipeline.views import View, viewed, whole

#: States at heads of loops, and what may be in flight at once, beyond which the result is unknown.
_MOST_STATES: Final = 1000
_MOST_UNDER_WAY: Final = 128


class _Found(Exception):
    """A fault that is sure."""

    def __init__(self, fault: Fault) -> None:
        super().__init__()
        self.fault = fault


def explore(module: Module) -> Explored:
    """Go through all states of a program of a kernel's TTGIR, up to the first fault.

    Raises:
        Unexplored: an op of which it is not known what it begins, or too many states.
        NoKernel: the module has no function to run.

    """
    if targets_amd(module):
        raise Unexplored("it is made for a GPU of AMD's, whose waits count otherwise")
    if group_size(module) > 1:
        raise Unexplored("a program is of several blocks of threads")
    explorer = _Explorer(module)
    try:
        explorer.run()
    except _Found as found:
        explorer.found.fault = found.fault
    return explorer.found


class _Explorer:
    def __init__(self, module: Module) -> None:
        self.found = Explored()
        self._module = module
        self._relevance = Relevance(module)
        self._numbers = Numbers(module)
        self._uses: dict[Act, Callable[[Op, State], list[State] | None]] = {
            Act.ALLOCATE: self._allocate,
            **dict.fromkeys(VIEWING, self._look),
            Act.READ: self._read,
            Act.WRITE: self._write,
            Act.COPY: self._copy,
            Act.CLOSE: lambda _op, state: state.close(),
            Act.WAIT_COPIES: lambda op, state: state.wait_for_copies(allowed_in_flight(op)),
            Act.BEGIN_PHASES: self._begin_phases,
            Act.EXPECT: self._expect,
            Act.ARRIVE: self._arrive,
            Act.WAIT_PHASE: self._wait_for_phase,
            Act.END_PHASES: lambda op, s: s.end_phases(self._barrier(op, s)),
            Act.PRODUCT: self._product,
            Act.WAIT_PRODUCTS: self._wait_for_products,
            Act.STORE: self._store,
            Act.WAIT_STORES: lambda op, state: state.wait_for_stores(allowed_in_flight(op)),
        }

    def run(self) -> None:
        """Go through the kernel."""
        self._region(self._module.main.body, [State()])

    # -- control ---------------------------------------------------------------------------------

    def _region(self, region: Region, states: list[State]) -> list[State]:
        """Return the states at the end of a region."""
        if len(region.blocks) == 1:
            return self._block(region.blocks[0], states)
        ended: list[State] = []
        seen: set[object] = set()
        waiting = deque((region.blocks[0], state) for state in states)
        while waiting:
            block, state = waiting.popleft()
            if not self._is_new(seen, (id(block), state.key(frozenset(state.values)))):
                continue
            for after in self._block(block, [state]):
                targets = jumps(block.ops[-1])
                if not targets:
                    ended.append(after)
                for target, given in targets:
                    way = after.copy()
                    self._pass(way, given, target.arguments, after)
                    waiting.append((target, way))
        return ended

    def _is_new(self, seen: set[object], key: object) -> bool:
        if key in seen:
            return False
        seen.add(key)
        self.found.states += 1
        if self.found.states > _MOST_STATES:
            raise Unexplored(f"there are more than {_MOST_STATES:,} states")
        return True

    def _block(self, block: Block, states: list[State]) -> list[State]:
        for op in self._relevance.steps[id(block)]:
            if op.name in LOOPS:
                states = self._loop(op, states)
                continue
            after: list[State] = []
            for state in states:
                after += self._step(op, state)
            states = after
        return states

    def _step(self, op: Op, state: State) -> list[State]:
        if not is_known(op):
            raise Unexplored(f"it is not known what {op.name} begins")
        act = act_of(op)
        if operator_of(op) == "where":
            self._choose(op, state)
        elif act is None or act is Act.STORE:
            self._use(op, state)
        if act is not None:
            if act is Act.FREE:
                return [state]
            after = self._uses[act](op, state)
            if state.size > _MOST_UNDER_WAY:
                raise Unexplored(f"nothing waits for what {op.name} begins")
            return [state] if after is None else after
        if op.name in BRANCHES:
            return self._branch(op, state)
        if op.name in CALLS:
            return self._call(op, state)
        if any(isinstance(value.type, SharedType) for value in op.operands):
            if _kind(op) not in (Kind.END, Kind.REMARK):
                raise Unexplored(f"it is not known what {op.name} does to shared memory")
            return [state]
        return self._number(op, state)

    def _loop(self, op: Op, states: list[State]) -> list[State]:
        """Go through a loop until no state at its head is a new one; it may end after any trip."""
        head, body = op.regions[0].blocks[0], op.regions[-1].blocks[0]
        counter = counter_of(op)
        carried = head.arguments[counter is not None :]
        passed = terminator(op, -1).group("passed")
        live, later = self._relevance.live(op), self._relevance.live(op, after=True)
        waiting: deque[tuple[State, Counted | None]] = deque()
        for state in states:
            first, counted = state.copy(), self._counted(op, counter, state)
            self._pass(first, op.group("initial"), carried, state)
            if counted is not None:
                first.values[counted.slot] = counted.first
            first.trips = (*state.trips, 0)
            waiting.append((first, counted))
        seen: set[object] = set()
        left: dict[object, State] = {}
        while waiting:
            at, counted = waiting.popleft()
            if not self._is_new(seen, (at.key(live), counted)):
                continue
            for leaving, staying in self._ways(op, at, counted):
                if leaving is not None:
                    self._leave(leaving, later, left)
                for after in [] if staying is None else self._block(body, [staying]):
                    again = after.copy()
                    self._pass(again, passed, carried, after)
                    if counted is not None:
                        again.values[counted.slot] = counted.after(at)
                    again.trips = (*at.trips[:-1], at.trips[-1] + 1)
                    waiting.append((again, counted))
        return list(left.values())

    def _counted(self, op: Op, counter: Value | None, state: State) -> Counted | None:
        """Return how a loop counts, where that is known and its counter decides something."""
        if counter is None or counter.id not in self._relevance.numbers:
            return None
        first, end, step = (self._value(value, state) for value in deciding(op))
        if not (isinstance(first, int) and isinstance(end, int) and isinstance(step, int)):
            return None
        return Counted(counter.id, first, end, step) if step > 0 else None

    def _ways(
        self, op: Op, at: State, counted: Counted | None
    ) -> Iterator[tuple[State | None, State | None]]:
        """Yield the states in which a loop is left from its head, and in which a trip begins."""
        head = op.regions[0].blocks[0]
        if counter_of(op) is not None:
            over = None if counted is None else counted.is_over(at)
            leaving = at.copy()
            self._pass(leaving, head.arguments[1:], op.results, at)
            yield None if over is False else leaving, None if over else at.copy()
            return
        passed = terminator(op, 0).group("passed")
        for after in self._block(head, [at.copy()]):
            (condition,) = deciding(op)
            known = self._value(condition, after)
            leaving, staying = after.copy(), after.copy()
            self._pass(leaving, passed, op.results, after)
            self._pass(staying, passed, op.regions[1].blocks[0].arguments, after)
            yield None if known == 1 else leaving, None if known == 0 else staying

    def _leave(self, state: State, later: frozenset[int], left: dict[object, State]) -> None:
        state.leave_loop()
        state.trips = state.trips[:-1]
        left.setdefault(state.key(later), state)

    def _branch(self, op: Op, state: State) -> list[State]:
        """Go each way that may be taken; what only one of them leads to is in doubt."""
        ways = list(op.regions)
        known = self._known(op, "condition", state) if KINDS[op.name].has("condition") else None
        if known is not None:
            ways = ways[:1] if known else ways[1:]
        live = self._relevance.live(op, after=True)
        merged: list[dict[object, State]] = []
        for region in ways:
            came: dict[object, State] = {}
            for after in self._region(region, [state.copy()]) if region.blocks else [state.copy()]:
                if region.blocks:
                    end = region.blocks[-1].ops[-1]
                    self._pass(after, end.operands, op.results, after.copy())
                came.setdefault(after.key(live), after)
            merged.append(came)
        together = {key: way for came in merged for key, way in came.items()}
        for key, way in together.items():
            if not way.doubt and not all(key in came for came in merged):
                way.doubt = f"it depends on the condition of {op.name}"
        return list(together.values())

    def _call(self, op: Op, state: State) -> list[State]:
        function = called(op, self._module)
        if function is None or not self._relevance.matters(function):
            return [state]
        raise Unexplored(f"{op.name} runs a function that uses shared memory")

    def _pass(
        self, state: State, given: Iterable[Value], taken: Iterable[Value], source: State
    ) -> None:
        """Have values be copies of others, all at once."""
        found = [self._value(value, source) for value in given]
        for held, value in zip(found, taken, strict=False):
            if held is None:
                state.values.pop(value.id, None)
            else:
                state.values[value.id] = held

    # -- numbers ---------------------------------------------------------------------------------

    def _number(self, op: Op, state: State) -> list[State]:
        """Compute an integer, where what it is made of is known."""
        if not any(value.id in self._relevance.numbers for value in op.results):
            return [state]
        result = op.results[0]
        given = [self._value(value, state) for value in op.operands]
        if all(isinstance(each, int) for each in given):
            number = self._numbers.of(op, [each for each in given if isinstance(each, int)])
            if number is not None:
                state.values[result.id] = number
                return [state]
        state.values.pop(result.id, None)
        if operator_of(op) != "where":
            return [state]
        arms = [self._value(op.operand(name), state) for name in ("first", "second")]
        if None in arms:
            return [state]
        ways = []
        for arm in dict.fromkeys(arms):
            way = state.copy()
            assert arm is not None
            way.values[result.id] = arm
            if arms[0] != arms[1]:
                way.doubt = way.doubt or f"it depends on the condition of {op.name}"
            ways.append(way)
        return ways

    def _value(self, value: Value, state: State) -> Held | None:
        held = state.values.get(value.id)
        if held is not None:
            return held
        if not isinstance(value.type, IntegerType | IndexType):
            return None
        constant = constant_of(value)
        return None if constant is None else int(constant)

    def _known(self, op: Op, name: str, state: State) -> int | None:
        value = op.optional(name)
        held = None if value is None else self._value(value, state)
        return held if isinstance(held, int) else None

    # -- views -----------------------------------------------------------------------------------

    def _view(self, value: Value, state: State) -> View:
        held = state.values.get(value.id)
        if not isinstance(held, View):
            raise Unexplored("it is not known which buffer an op is about")
        return held

    def _allocate(self, op: Op, state: State) -> None:
        view = state.values[op.results[0].id] = whole(op)
        for use in (*state.copies(), *state.read(), *state.stores):
            if not self._relevance.live_together(op, use.view.buffer):
                self.found.given_away = self.found.given_away or (op, use.op)
        if op.optional("source") is not None:
            self._use(op, state)
            self._see_free(op, view, state)

    def _look(self, op: Op, state: State) -> None:
        index = self._known(op, "index", state) if act_of(op) is Act.INDEX else None
        view = self._view(op.operand("shared"), state)
        state.values[op.results[0].id] = viewed(op, view, index)

    # -- what reads and writes -------------------------------------------------------------------

    def _read(self, op: Op, state: State) -> None:
        self._see_arrived(op, self._view(op.operand("shared"), state), state)

    def _write(self, op: Op, state: State) -> None:
        self._use(op, state)
        self._see_free(op, self._view(op.operand("shared"), state), state)

    def _copy(self, op: Op, state: State) -> None:
        view = self._view(op.operand("shared"), state)
        self._see_free(op, view, state)
        masked = mask_of(op) is not None
        state.open = (*state.open, Use(view, op, masked, trips=state.trips))

    def _begin_phases(self, op: Op, state: State) -> None:
        if attribute(op, "count", 1) != 1:
            raise Unexplored(f"{op.name} makes a barrier at which several have to arrive")
        state.begin_phases(self._barrier(op, state))

    def _expect(self, op: Op, state: State) -> None:
        if self._known(op, "predicate", state) == 0:
            return
        barrier = self._barrier(op, state)
        if state.phases[barrier][1] is not None:
            raise Unexplored(f"{op.name} may be of a phase in which copies are expected already")
        state.expect(barrier, int(attribute(op, "size", 0)))

    def _arrive(self, op: Op, state: State) -> None:
        predicate = self._known(op, "predicate", state)
        if predicate == 0:
            return
        view, barrier = self._view(op.operand("shared"), state), self._barrier(op, state)
        self._see_free(op, view, state)
        use = Use(view, op, predicate is None, trips=state.trips)
        state.arriving = (*state.arriving, (barrier, use))

    def _barrier(self, op: Op, state: State) -> View:
        barrier = self._view(op.operand("barrier"), state)
        if not barrier.exact:
            raise Unexplored(f"it is not known which barrier {op.name} is about")
        if barrier not in state.phases and act_of(op) not in (Act.BEGIN_PHASES, Act.END_PHASES):
            raise Unexplored(f"{op.name} is about a barrier that was not begun here")
        return barrier

    def _wait_for_phase(self, op: Op, state: State) -> list[State]:
        if op.optional("predicate") is not None:
            active = self._known(op, "predicate", state)
            if active is None:
                raise Unexplored(f"it is not known whether {op.name} waits")
            if not active:
                return [state]
        parity = self._known(op, "phase", state)
        if parity is None:
            raise Unexplored(f"it is not known for which phase {op.name} waits")
        barrier = self._barrier(op, state)
        current, expected = state.phases[barrier]
        arriving = state.arriving_bytes(barrier)
        if current == parity & 1 and expected is not None and expected != arriving:
            raise Unexplored(
                f"{op.name} waits for {expected:,} bytes where copies of {arriving:,} are begun"
            )
        if state.wait_for_phase(barrier, parity & 1):
            return [state]
        self.found.blocked = self.found.blocked or op
        return []

    def _product(self, op: Op, state: State) -> None:
        views = []
        for name in ("left", "right"):
            value = op.operand(name)
            if isinstance(value.type, SharedType):
                views.append(self._view(value, state))
                self._see_arrived(op, views[-1], state)
            else:
                self._see_made(op, value, state)
        result = op.results[0].id
        if is_asynchronous(op):
            uses = [Use(view, op, trips=state.trips) for view in views]
            state.values[result] = state.begin_product(uses)
        else:  # it is waited for at once, and with it those before it
            state.wait_for_products(0)
            state.values.pop(result, None)

    def _wait_for_products(self, op: Op, state: State) -> None:
        state.wait_for_products(allowed_in_flight(op))
        self._pass(state, op.group("passed"), op.results, state)

    def _store(self, op: Op, state: State) -> None:
        view = self._view(op.operand("value"), state)
        self._see_arrived(op, view, state)
        state.stores = (*state.stores, Use(view, op, trips=state.trips))

    # -- faults ----------------------------------------------------------------------------------

    def _see_arrived(self, op: Op, view: View, state: State) -> None:
        self._see(READS_EARLY, op, view, state.copies(), state)

    def _see_free(self, op: Op, view: View, state: State) -> None:
        self._see(WRITES_EARLY, op, view, state.read(), state)
        self._see(STORED_EARLY, op, view, state.stores, state)
        self._see(OVERWRITES, op, view, state.copies(), state)

    def _see(self, kind: Early, op: Op, view: View, uses: Iterable[Use], state: State) -> None:
        for use in uses:
            if use.view.meets(view):
                doubt = state.doubt
                if not use.view.exact or not view.exact:
                    doubt = doubt or "it is not known which part of the buffer is used"
                elif not use.sure:
                    doubt = doubt or f"{use.op.name} may be masked off in the last trips"
                self._tell(Fault(kind, op, use.op, view, state.trips, use.trips, doubt))

    def _choose(self, op: Op, state: State) -> None:
        """Pass on what a product makes, as Triton does with sums that may begin again."""
        arms = [state.values.get(op.operand(name).id) for name in ("first", "second")]
        pending = next((held for held in arms if isinstance(held, Pending)), None)
        if pending is None:
            state.values.pop(op.results[0].id, None)
        else:
            state.values[op.results[0].id] = pending

    def _use(self, op: Op, state: State) -> None:
        if _kind(op) not in (Kind.END, Kind.LOOP, Kind.BRANCH):
            for value in op.operands:
                self._see_made(op, value, state)

    def _see_made(self, op: Op, value: Value, state: State) -> None:
        held = state.values.get(value.id)
        if isinstance(held, Pending) and state.is_pending(held):
            uses = next((uses for number, uses in state.products if number == held.number), ())
            other, trips = (uses[0].op, uses[0].trips) if uses else (op, state.trips)
            self._tell(Fault(USED_EARLY, op, other, None, state.trips, trips, state.doubt))

    def _tell(self, fault: Fault) -> None:
        if not fault.doubt:
            raise _Found(fault)
        if not any(
            (each.kind, each.op, each.other) == (fault.kind, fault.op, fault.other)
            for each in self.found.possible
        ):
            self.found.possible.append(fault)


def _kind(op: Op) -> Kind | None:
    row = KINDS.get(op.name)
    return None if row is None else row.kind
