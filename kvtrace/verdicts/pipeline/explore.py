"""Reachable states of a program over all trip counts, and operations that come too early in one.

Each op on shared memory changes a state (`state.py`). Loops are repeated until the states at their
heads reach a fixpoint, so the result holds for any number of trips. For an unknown condition both
branches are explored. Barriers between ordinary accesses are ignored: Triton inserts them later.

Example: a loop copies into part `i % 3` of a buffer, waits until at most 2 copies are in flight,
and reads part `(i - 2) % 3`. At the head of trip 5 the same copies into the same parts are in
flight as at the head of trip 2, so the exploration ends. If the wait left 3 copies in flight, the
read in trip 2 would be a fault.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from kvtrace.ir import Block, Module, Op, Region, Value
from kvtrace.ir.asynchronous import (
    VIEWING,
    Act,
    act_of,
    allowed_in_flight,
    group_size,
    is_asynchronous,
    is_known,
)
from kvtrace.ir.flow import called, counter_of, deciding, jumps, terminator
from kvtrace.ir.model import attribute
from kvtrace.ir.ops import BRANCHES, CALLS, KINDS, LOOPS, Kind, mask_of, operator_of
from kvtrace.ir.types import SharedType
from kvtrace.verdicts.pipeline.relevance import (
    Counter,
    Numbers,
    Relevance,
    copy_values,
    known_integer,
    known_value,
)
from kvtrace.verdicts.pipeline.state import Pending, State, Use
from kvtrace.verdicts.pipeline.views import (
    CertainFault,
    Early,
    Fault,
    Findings,
    Unexplored,
    View,
    viewed,
    whole_buffer,
)

#: Limits of states at heads of loops and of operations in flight; beyond, the result is unknown.
_MAX_STATES: Final = 1000
_MAX_IN_FLIGHT: Final = 128


def explore(module: Module) -> Findings:
    """Explore all states of a program of a kernel's TTGIR, up to the first certain fault.

    Raises:
        Unexplored: an op starts unknown operations, or there are too many states.
        NoKernel: the module has no function to run.

    """
    if group_size(module) > 1:
        raise Unexplored("a program has several CTAs")
    exploration = _Exploration(module)
    try:
        exploration.run()
    except CertainFault as error:
        exploration.result.fault = error.fault
    return exploration.result


class _Exploration:
    """The exploration of one module; `result` has its findings."""

    def __init__(self, module: Module) -> None:
        self.result = Findings()
        self._module = module
        self._relevance = Relevance(module)
        self._numbers = Numbers(module)
        self._uses: dict[Act, Callable[[Op, State], list[State] | None]] = {
            Act.ALLOCATE: self._allocate,
            **dict.fromkeys(VIEWING, self._make_view),
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
        """Explore the kernel from its initial state."""
        ends = self._explore_region(self._module.main.body, [State()])
        self.result.unfinished = next((use.op for end in ends for use in end.unfinished()), None)

    # -- control ---------------------------------------------------------------------------------

    def _explore_region(self, region: Region, states: list[State]) -> list[State]:
        """Return the states at the end of a region that is entered in some states."""
        if len(region.blocks) == 1:
            return self._explore_block(region.blocks[0], states)
        end_states: list[State] = []
        keys: set[object] = set()
        pending = deque((region.blocks[0], state) for state in states)
        while pending:
            block, state = pending.popleft()
            if not self._add_state(keys, (id(block), state.key(frozenset(state.values)))):
                continue
            for end_state in self._explore_block(block, [state]):
                targets = jumps(block.ops[-1])
                if not targets:
                    end_states.append(end_state)
                for target, arguments in targets:
                    next_state = end_state.copy()
                    copy_values(next_state, arguments, target.arguments, end_state)
                    pending.append((target, next_state))
        return end_states

    def _add_state(self, keys: set[object], key: object) -> bool:
        """Return whether a state is new, and count it; raise Unexplored beyond the limit."""
        if key in keys:
            return False
        keys.add(key)
        self.result.states += 1
        if self.result.states > _MAX_STATES:
            raise Unexplored(f"there are more than {_MAX_STATES:,} states")
        return True

    def _explore_block(self, block: Block, states: list[State]) -> list[State]:
        for op in self._relevance.steps[id(block)]:
            if op.name in LOOPS:
                states = self._explore_loop(op, states)
                continue
            next_states: list[State] = []
            for state in states:
                next_states += self._explore_op(op, state)
            states = next_states
        return states

    def _explore_op(self, op: Op, state: State) -> list[State]:
        if not is_known(op):
            raise Unexplored(f"it is not known which operations {op.name} starts")
        act = act_of(op)
        if operator_of(op) == "where":
            self._forward_pending(op, state)
        elif act is None or act is Act.STORE:
            self._check_operands(op, state)
        if act is Act.FREE:
            return [state]
        if act is not None:
            next_states = self._uses[act](op, state)
            if state.size > _MAX_IN_FLIGHT:
                raise Unexplored(f"nothing waits for the operations that {op.name} starts")
            return [state] if next_states is None else next_states
        if op.name in BRANCHES:
            return self._explore_branch(op, state)
        if op.name in CALLS:
            return self._skip_call(op, state)
        if any(isinstance(value.type, SharedType) for value in op.operands):
            if not _is(op, Kind.END, Kind.REMARK):
                raise Unexplored(f"it is not known what {op.name} does to shared memory")
            return [state]
        return self._compute_number(op, state)

    def _explore_loop(self, op: Op, states: list[State]) -> list[State]:
        """Return the states after a loop, explored until no new state occurs at its head.

        The loop may end after any trip.
        """
        head, body = op.regions[0].blocks[0], op.regions[-1].blocks[0]
        counter_value = counter_of(op)
        carried = head.arguments[counter_value is not None :]
        yielded = terminator(op, -1).group("passed")
        live, live_after = self._relevance.live(op), self._relevance.live(op, after=True)
        pending: deque[tuple[State, Counter | None]] = deque()
        for state in states:
            first_state, counter = state.copy(), self._known_counter(op, counter_value, state)
            copy_values(first_state, op.group("initial"), carried, state)
            if counter is not None:
                first_state.values[counter.value_id] = counter.first
            first_state.trips = (*state.trips, 0)
            pending.append((first_state, counter))
        keys: set[object] = set()
        after_loop: dict[object, State] = {}
        while pending:
            head_state, counter = pending.popleft()
            if not self._add_state(keys, (head_state.key(live), counter)):
                continue
            trip_ends: list[State] = []
            for leaving, next_trip in self._next_states(op, head_state, counter):
                if leaving is not None:
                    self._leave_loop(leaving, live_after, after_loop)
                if next_trip is not None:
                    trip_ends += self._explore_block(body, [next_trip])
            for end_state in trip_ends:
                next_state = end_state.copy()
                copy_values(next_state, yielded, carried, end_state)
                if counter is not None:
                    next_state.values[counter.value_id] = counter.after(head_state)
                next_state.trips = (*head_state.trips[:-1], head_state.trips[-1] + 1)
                pending.append((next_state, counter))
        return list(after_loop.values())

    def _known_counter(self, op: Op, value: Value | None, state: State) -> Counter | None:
        """Return the counter of a loop if its numbers are known and relevant, else None."""
        if value is None or value.id not in self._relevance.numbers:
            return None
        start, end, step = (known_value(bound, state) for bound in deciding(op))
        if not (isinstance(start, int) and isinstance(end, int) and isinstance(step, int)):
            return None
        return Counter(value.id, start, end, step) if step > 0 else None

    def _next_states(
        self, op: Op, head_state: State, counter: Counter | None
    ) -> Iterator[tuple[State | None, State | None]]:
        """Yield the states after the loop and in a new trip (None: impossible), from its head."""
        head = op.regions[0].blocks[0]
        if counter_of(op) is not None:
            is_over, leaving = counter and counter.is_over(head_state), head_state.copy()
            copy_values(leaving, head.arguments[1:], op.results, head_state)
            yield None if is_over is False else leaving, None if is_over else head_state.copy()
            return
        yielded = terminator(op, 0).group("passed")
        for end_state in self._explore_block(head, [head_state.copy()]):
            (condition,) = deciding(op)
            truth = known_value(condition, end_state)
            leaving, next_trip = end_state.copy(), end_state.copy()
            copy_values(leaving, yielded, op.results, end_state)
            copy_values(next_trip, yielded, op.regions[1].blocks[0].arguments, end_state)
            yield None if truth == 1 else leaving, None if truth == 0 else next_trip

    def _leave_loop(
        self, state: State, live_after: frozenset[int], after_loop: dict[object, State]
    ) -> None:
        state.leave_loop()
        state.trips = state.trips[:-1]
        after_loop.setdefault(state.key(live_after), state)

    def _explore_branch(self, op: Op, state: State) -> list[State]:
        """Return the states after a branch; states of only one of its paths are doubtful."""
        regions = list(op.regions)
        is_true = known_integer(op, "condition", state) if KINDS[op.name].has("condition") else None
        if is_true is not None:
            regions = regions[:1] if is_true else regions[1:]
        live = self._relevance.live(op, after=True)
        paths: list[dict[object, State]] = []
        for region in regions:
            path: dict[object, State] = {}
            end_states = [state.copy()]
            if region.blocks:
                end_states = self._explore_region(region, end_states)
            for end_state in end_states:
                if region.blocks:
                    passed = region.blocks[-1].ops[-1].operands
                    copy_values(end_state, passed, op.results, end_state.copy())
                path.setdefault(end_state.key(live), end_state)
            paths.append(path)
        states_after = {key: end_state for path in paths for key, end_state in path.items()}
        for key, state_after in states_after.items():
            if not state_after.doubt and not all(key in path for path in paths):
                state_after.doubt = _condition_doubt(op)
        return list(states_after.values())

    def _skip_call(self, op: Op, state: State) -> list[State]:
        function = called(op, self._module)
        if function is None or not self._relevance.matters(function):
            return [state]
        raise Unexplored(f"{op.name} runs a function that uses shared memory")

    # -- numbers ---------------------------------------------------------------------------------

    def _compute_number(self, op: Op, state: State) -> list[State]:
        """Return the states after an integer op, with its result if that is known."""
        if not any(value.id in self._relevance.numbers for value in op.results):
            return [state]
        result = op.results[0]
        operands = [known_value(value, state) for value in op.operands]
        integers = [operand for operand in operands if isinstance(operand, int)]
        number = self._numbers.of(op, integers) if len(integers) == len(operands) else None
        if number is not None:
            state.values[result.id] = number
            return [state]
        state.values.pop(result.id, None)
        if operator_of(op) != "where":
            return [state]
        choices = [known_value(op.operand(name), state) for name in ("first", "second")]
        if None in choices:
            return [state]
        branch_states = []
        for choice_value in dict.fromkeys(choices):
            choice = state.copy()
            assert choice_value is not None
            choice.values[result.id] = choice_value
            if choices[0] != choices[1]:
                choice.doubt = choice.doubt or _condition_doubt(op)
            branch_states.append(choice)
        return branch_states

    # -- views -----------------------------------------------------------------------------------

    def _view(self, value: Value, state: State) -> View:
        view = state.values.get(value.id)
        if not isinstance(view, View):
            raise Unexplored("it is not known which buffer an op uses")
        return view

    def _allocate(self, op: Op, state: State) -> None:
        view = state.values[op.results[0].id] = whole_buffer(op)
        for use in (*state.copies(), *state.read(), *state.stores):
            if not self._relevance.live_together(op, use.view.buffer):
                self.result.reused_memory = self.result.reused_memory or (op, use.op)
        if op.optional("source") is not None:
            self._check_operands(op, state)
            self._check_free(op, view, state)

    def _make_view(self, op: Op, state: State) -> None:
        index = known_integer(op, "index", state) if act_of(op) is Act.INDEX else None
        view = self._view(op.operand("shared"), state)
        state.values[op.results[0].id] = viewed(op, view, index)

    # -- reads and writes ------------------------------------------------------------------------

    def _read(self, op: Op, state: State) -> None:
        self._check_arrived(op, self._view(op.operand("shared"), state), state)

    def _write(self, op: Op, state: State) -> None:
        self._check_operands(op, state)
        self._check_free(op, self._view(op.operand("shared"), state), state)

    def _copy(self, op: Op, state: State) -> None:
        view = self._view(op.operand("shared"), state)
        self._check_free(op, view, state)
        is_masked = mask_of(op) is not None
        state.open = (*state.open, Use(view, op, is_masked, trips=state.trips))

    def _begin_phases(self, op: Op, state: State) -> None:
        if attribute(op, "count", 1) != 1:
            raise Unexplored(f"{op.name} makes a barrier that expects several arrivals")
        state.begin_phases(self._barrier(op, state))

    def _expect(self, op: Op, state: State) -> None:
        if known_integer(op, "predicate", state) == 0:
            return
        barrier = self._barrier(op, state)
        if state.phases[barrier][1] is not None:
            raise Unexplored(f"{op.name} may be in a phase that already expects copies")
        state.expect(barrier, int(attribute(op, "size", 0)))

    def _arrive(self, op: Op, state: State) -> None:
        predicate = known_integer(op, "predicate", state)
        if predicate == 0:
            return
        view, barrier = self._view(op.operand("shared"), state), self._barrier(op, state)
        self._check_free(op, view, state)
        use = Use(view, op, predicate is None, trips=state.trips)
        state.arriving = (*state.arriving, (barrier, use))

    def _barrier(self, op: Op, state: State) -> View:
        barrier = self._view(op.operand("barrier"), state)
        if not barrier.exact:
            raise Unexplored(f"it is not known which barrier {op.name} uses")
        if barrier not in state.phases and act_of(op) not in (Act.BEGIN_PHASES, Act.END_PHASES):
            raise Unexplored(f"{op.name} uses a barrier that was not initialized here")
        return barrier

    def _wait_for_phase(self, op: Op, state: State) -> list[State]:
        if op.optional("predicate") is not None:
            active = known_integer(op, "predicate", state)
            if active is None:
                raise Unexplored(f"it is not known whether {op.name} waits")
            if not active:
                return [state]
        parity = known_integer(op, "phase", state)
        if parity is None:
            raise Unexplored(f"it is not known for which phase {op.name} waits")
        barrier = self._barrier(op, state)
        current, expected = state.phases[barrier]
        arriving = state.arriving_bytes(barrier)
        if current == parity & 1 and expected is not None and expected != arriving:
            raise Unexplored(
                f"{op.name} waits for {expected:,} bytes, but {arriving:,} bytes are in flight"
            )
        if state.wait_for_phase(barrier, parity & 1):
            return [state]
        self.result.endless_wait = self.result.endless_wait or op
        return []

    def _product(self, op: Op, state: State) -> None:
        views = []
        for name in ("left", "right"):
            value = op.operand(name)
            if isinstance(value.type, SharedType):
                views.append(self._view(value, state))
                self._check_arrived(op, views[-1], state)
            else:
                self._check_complete(op, value, state)
        result = op.results[0].id
        if is_asynchronous(op):
            uses = [Use(view, op, trips=state.trips) for view in views]
            state.values[result] = state.begin_product(uses)
        else:  # the op itself waits for this and all earlier products
            state.wait_for_products(0)
            state.values.pop(result, None)

    def _wait_for_products(self, op: Op, state: State) -> None:
        state.wait_for_products(allowed_in_flight(op))
        copy_values(state, op.group("passed"), op.results, state)

    def _store(self, op: Op, state: State) -> None:
        view = self._view(op.operand("value"), state)
        self._check_arrived(op, view, state)
        state.stores = (*state.stores, Use(view, op, trips=state.trips))

    # -- faults ----------------------------------------------------------------------------------

    def _check_arrived(self, op: Op, view: View, state: State) -> None:
        self._check_uses("reads early", op, view, state.copies(), state)

    def _check_free(self, op: Op, view: View, state: State) -> None:
        self._check_uses("writes early", op, view, state.read(), state)
        self._check_uses("stored early", op, view, state.stores, state)
        self._check_uses("overwrites", op, view, state.copies(), state)

    def _check_uses(
        self, kind: Early, op: Op, view: View, uses: Iterable[Use], state: State
    ) -> None:
        for use in uses:
            if use.view.meets(view):
                doubt = state.doubt
                if not use.view.exact or not view.exact:
                    doubt = doubt or "it is not known which part of the buffer is used"
                elif not use.sure:
                    doubt = doubt or f"{use.op.name} may be masked off in the last trips"
                self._record_fault(Fault(kind, op, use.op, view, state.trips, use.trips, doubt))

    def _forward_pending(self, op: Op, state: State) -> None:
        """Forward a pending product through a `where`, as Triton does for restarted sums."""
        choices = [state.values.get(op.operand(name).id) for name in ("first", "second")]
        pending = next((value for value in choices if isinstance(value, Pending)), None)
        if pending is None:
            state.values.pop(op.results[0].id, None)
        else:
            state.values[op.results[0].id] = pending

    def _check_operands(self, op: Op, state: State) -> None:
        if not _is(op, Kind.END, Kind.LOOP, Kind.BRANCH):
            for value in op.operands:
                self._check_complete(op, value, state)

    def _check_complete(self, op: Op, value: Value, state: State) -> None:
        pending = state.values.get(value.id)
        if isinstance(pending, Pending) and state.is_pending(pending):
            uses = next((uses for number, uses in state.products if number == pending.number), ())
            started_by, trips = (uses[0].op, uses[0].trips) if uses else (op, state.trips)
            fault = Fault("used early", op, started_by, None, state.trips, trips, state.doubt)
            self._record_fault(fault)

    def _record_fault(self, fault: Fault) -> None:
        if not fault.doubt:
            raise CertainFault(fault)
        if not any(
            (possible.kind, possible.op, possible.other) == (fault.kind, fault.op, fault.other)
            for possible in self.result.possible
        ):
            self.result.possible.append(fault)


def _condition_doubt(op: Op) -> str:
    """Return why a fault may not occur: the kernel may not get there."""
    return f"whether the kernel gets there depends on the condition of {op.name}"


def _is(op: Op, *kinds: Kind) -> bool:
    return op.name in KINDS and KINDS[op.name].kind in kinds
