"""Unique calls bound to their kernels' symbolic summaries, with ranges and proofs for rules.

Scalars and the grid are numbers here; programs, lanes and trips stay symbols with ranges, so that a
decision holds for all of them and costs the same for any grid.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from msgspec.structs import replace

from kvtrace.evaluate import ScalarArgument, TensorArgument
from kvtrace.evaluate.scope import linear_program
from kvtrace.ir.feeding import feeding, feeding_values_and_trips
from kvtrace.ir.flow import deciding
from kvtrace.ir.model import once_per_module
from kvtrace.schema.cached_property import cached_property
from kvtrace.symbolic.conditions import Condition, Opaque
from kvtrace.symbolic.hashes import hashing_ops
from kvtrace.symbolic.prover import (
    SOLVER_SECONDS,
    Decision,
    Given,
    Interval,
    Point,
    Proven,
    Ranges,
    Refuted,
    Unknown,
    follows,
    nominal_seconds,
    prove,
)
from kvtrace.symbolic.summary import Access, Arithmetic, Loop, Place, Summary
from kvtrace.symbolic.terms import MOST_PROGRAMS, Symbol, signed_range
from kvtrace.symbolic.walk import summarize
from kvtrace.verdicts.carried import CarriedRanges
from kvtrace.verdicts.contents.by_contents import ByContents
from kvtrace.verdicts.contents.loaded import Contents, depends_on
from kvtrace.verdicts.counters import Counters
from kvtrace.verdicts.deciding import stored_index
from kvtrace.verdicts.verdict import Answer, Verdict

if TYPE_CHECKING:
    from kvtrace.ir import Op, Value
    from kvtrace.recorded_calls.recorded import Call
    from kvtrace.verdicts.widths import Use

_UNTRACKED: Final = "that kvtrace does not track"
_PROGRAMS: Final = tuple(Symbol("program", axis, 0, MOST_PROGRAMS - 1) for axis in range(3))


once_per_call: Final = once_per_module
"""Decorator of functions of a `BoundCall`, whose results are cached in it."""


class Budget(Struct, frozen=True):
    """Limits on the cost of judging one call: work of the solver, of proofs and evaluated lanes.

    The solver may spend `solver_seconds` on one claim and `solver_seconds_a_call` on all claims of
    a call, and after `seconds_a_call` of proofs claims are decided by intervals only: all of them
    nominal seconds (`prover/work.py`), so that no verdict depends on load. `lanes` limits the lanes
    of memory accesses (over all programs and trips) of an evaluation that decides verdicts;
    `replay_lanes` limits an evaluation that only confirms a witness.
    """

    solver_seconds: float = SOLVER_SECONDS
    solver_seconds_a_call: float = 1.0
    seconds_a_call: float = 2.0
    lanes: int = 1 << 27
    replay_lanes: int = 1 << 23


class Doubts(Struct, frozen=True):
    """Unknown values that a point assumes and the call does not determine; false if there are none.

    `keys` are symbols of contents, arguments and untracked values; `unrecorded` the tensors
    without contents from which some keys were loaded; `reason` describes all keys.
    """

    keys: tuple[Symbol | Opaque, ...]
    unrecorded: tuple[TensorArgument, ...]
    reason: str

    def __bool__(self) -> bool:
        return bool(self.keys)

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        """The keys that are symbols of integers, without opaque conditions."""
        return tuple(key for key in self.keys if isinstance(key, Symbol))


class BoundCall:
    """One unique call and its kernel's summary, with ranges for the symbols.

    Attributes:
        call: kernel, grid, module, arguments, and names of tensors with recorded contents.
        summary: of the kernel's module, made once.
        counters: the tensors that the kernel only adds to, no negative numbers.
        ranges: of the symbols: scalars and extents are numbers.
        rules: ids of the rules that are judged.
        budget: the limits on the cost.
        use_decisions: decisions of the rule overflow on uses of integers, shared by all rules.
        memo: other results derived from the call, by the function that derives them.
    """

    def __init__(
        self,
        call: Call,
        rules: Iterable[str] = (),
        budget: Budget | None = None,
        supposed: Mapping[tuple[str, Any], Interval] = MappingProxyType({}),
    ) -> None:
        """Bind a call; `supposed` replaces the call's ranges of symbols, by kind and key."""
        self.call = call
        self.summary: Summary = summarize(call.module)
        self.rules = frozenset(rules)
        self.budget = Budget() if budget is None else budget
        self.contents = Contents(call, self.summary)
        self._call_ranges = {**_call_ranges(call), **supposed}
        self.ranges = Ranges(self._call_ranges)
        self.counters = Counters(call, self.summary, self.ranges)
        carried = CarriedRanges(self.summary, self.ranges)
        self.ranges.sources = self.contents.range_of, carried.of, self.counters.range_of
        self._spent = 0.0
        self._solver_ns = 0
        self._decided: dict[tuple[Condition, int], tuple[Decision, Given]] = {}
        self._given: dict[tuple[int, bool], tuple[Place, Given]] = {}
        #: By conditions: accesses under equal ones share what is proven under them.
        self._givens: dict[tuple[Condition, ...], Given] = {}
        self._widths: dict[int, Decision] = {}
        self._wraps: dict[int, tuple[Place, tuple[Arithmetic, Refuted | Unknown] | None]] = {}
        self.use_decisions: dict[object, Decision] = {}
        self.memo: dict[object, Any] = {}
        for loop in self.summary.loops:  # an outer loop comes before those in it
            max_trips = max(self.ranges.interval(loop.trips)[1] + loop.is_asked_once_more, 1)
            trips = self._call_ranges.get(("trip", loop.trip.key), (0, 0))
            self._call_ranges["trip", loop.trip.key] = (0, max(trips[1], max_trips - 1))

    @property
    def programs(self) -> int:
        """Number of programs of the grid."""
        return math.prod(self.call.grid)

    @cached_property
    def order(self) -> tuple[Symbol, ...]:
        """Symbols that a witness should have small, in order: later axes, then trips."""
        return (*reversed(_PROGRAMS), *(loop.trip for loop in self.summary.loops))

    @cached_property
    def lanes(self) -> int:
        """The number of lanes of all accesses over the grid, with masked lanes and the most trips.

        A loop whose trips depend on contents or untracked values counts as one trip.
        """
        program_lanes = 0
        for access in self.summary.accesses:
            program_lanes += math.prod(access.shape) * math.prod(map(self._trips, access.loops))
        return program_lanes * self.programs

    def _trips(self, loop: Loop) -> int:
        if loop.trips.symbols("content") or loop.trips.symbols("unknown"):
            return 1
        return int(self._call_ranges["trip", loop.trip.key][1]) + 1

    def given(self, place: Place) -> Given:
        """Return the conditions under which an op runs: in its loops and on its branches."""
        return self._cached_conditions(place, active=False)

    def active(self, access: Access) -> Given:
        """Return the conditions under which an op runs and a lane of its access is not masked."""
        return self._cached_conditions(access, active=True)

    def _cached_conditions(self, place: Place, *, active: bool) -> Given:
        key = (id(place), active)
        if key not in self._given:
            conditions: list[Condition] = [loop.running for loop in place.loops]
            conditions += place.guard.conjuncts()
            if active:
                assert isinstance(place, Access)
                conditions += place.mask.conjuncts()
            assumed = tuple(conditions)
            if assumed not in self._givens:
                self._givens[assumed] = self.given_of(assumed)
            self._given[key] = (place, self._givens[assumed])
        return self._given[key][1]

    def given_of(self, conditions: Iterable[Condition]) -> Given:
        """Return the conditions as a `Given`, with the ranges of this call's symbols."""
        return Given(conditions, self.ranges)

    def prove(self, claim: Condition, given: Given) -> Decision:
        """Decide a claim under conditions within the remaining solver time; cache the decision."""
        key = (claim, id(given))
        decided = self._decided.get(key)
        if decided is None:
            budget = self.budget
            remaining = budget.solver_seconds_a_call - self._spent
            seconds = max(min(budget.solver_seconds, remaining), 0.0)
            began = nominal_seconds()
            if self._spent > budget.seconds_a_call:
                decision = self._by_intervals(claim, given)
            else:
                decision = self._decide(claim, given, seconds)
            self._spent += nominal_seconds() - began
            self._solver_ns += decision.solver_ns
            decided = self._decided[key] = (decision, given)
        return decided[0]

    def _decide(self, claim: Condition, given: Given, seconds: float) -> Decision:
        """Decide a claim: by the recorded integers if it is about them, else by the prover."""
        conditions = (claim, *given.exact) if self._reads_contents else ()
        if any(self.by_contents.is_about(condition.atoms()) for condition in conditions):
            decision = follows(claim, given) or self.by_contents.prove(claim, given.exact, seconds)
            if not isinstance(decision, Unknown):
                return decision
        return prove(claim, given, seconds=seconds, order=self.order)

    @cached_property
    def _reads_contents(self) -> bool:
        """The contents of some tensor were recorded."""
        tensors = (
            argument for argument in self.call.arguments if isinstance(argument, TensorArgument)
        )
        return any(tensor.storage.data is not None for tensor in tensors)

    @cached_property
    def by_contents(self) -> ByContents:
        """The prover that decides claims by the recorded integers that the launch reads."""
        return ByContents(self.contents, self.ranges, self.order)

    # -- verdicts --------------------------------------------------------------------------------

    def name_of(self, place: Place) -> str | None:
        """Return the name of the tensor that an access may reach, None for another place."""
        argument = place.argument if isinstance(place, Access) else None
        return None if argument is None else self.call.arguments[argument].name

    def names_of(self, accesses: Iterable[Place]) -> str | None:
        """Return the names of all tensors that accesses may reach, None if there are none."""
        return ",".join(sorted(set(filter(None, map(self.name_of, accesses))))) or None

    def verdict(
        self, rule: str, answer: Answer, place: Place, message: str, method: str | None = None,
        **more: Any,
    ) -> Verdict:  # fmt: skip
        """Return a verdict on a place, with the kind and the tensor of an access."""
        kind = place.kind if isinstance(place, Access) else None
        fields = {"access": kind, "arg": self.name_of(place), **more}
        return self.timed(Verdict(rule, answer, place.op, message, method, **fields))

    def timed(self, verdict: Verdict) -> Verdict:
        """Return a verdict with the time of the solver since the verdict before."""
        solver_ns, self._solver_ns = self._solver_ns, 0
        return replace(verdict, solver_ns=verdict.solver_ns or solver_ns) if solver_ns else verdict

    # -- decisions -------------------------------------------------------------------------------

    def _by_intervals(self, claim: Condition, given: Given) -> Decision:
        if given.is_impossible or self.ranges.truth(claim):
            return Proven("interval")
        return Unknown(f"{self.budget.seconds_a_call:g} s of proofs for this call were used up")

    def doubts(self, point: Point) -> Doubts:
        """Return the symbols and conditions of a point whose values the call does not determine."""
        keys = tuple(
            key
            for key in point
            if isinstance(key, Opaque)
            or (
                key.kind not in ("program", "programs", "lane", "trip")
                and self._varies(key)
                and not (key.kind == "content" and self.contents.number(key, point) == point[key])
            )
        )
        unrecorded = self.unrecorded(key for key in keys if isinstance(key, Symbol))
        descriptions = dict.fromkeys(map(self._description, keys))
        untracked = [text for text in descriptions if _UNTRACKED in text]
        listed = [text for text in descriptions if text not in untracked[1:]]
        more = f" (and {len(untracked) - 1} more such)" if len(untracked) > 1 else ""
        return Doubts(keys, unrecorded, f"it depends on {', '.join(listed)}{more}")

    def missing_contents(self, op: Op) -> str:
        """Return a phrase for unrecorded tensors that determine an op's address or execution."""
        return depends_on(self.contents.read_by(feeding(op, self.call.module)))

    def _varies(self, symbol: Symbol) -> bool:
        """Return whether a symbol may have more than one value in this call."""
        low, high = self.ranges.of(symbol)
        return low != high

    def _description(self, key: Symbol | Opaque) -> str:
        if isinstance(key, Opaque):
            return f"a condition {_UNTRACKED} ({key.reason})"
        if key.kind == "content":
            names = [tensor.name for tensor in self.contents.sources(key)]
            return f"the contents of {', '.join(names) or 'memory'}"
        if key.kind == "scalar":
            position = key.key if isinstance(key.key, int) else key.key[0]
            name = self.call.arguments[position].name
            return f"the argument {name}, whose value was not recorded"
        reason = key.key[1] if isinstance(key.key, tuple) else "not tracked"
        return f"an integer {_UNTRACKED} ({reason})"

    def program_of(self, point: Point) -> int:
        """Return the linear id of a point's program; axes without a symbol in the point are 0."""
        ids_by_axis = {key.key: number for key, number in point.items() if _is_program(key)}
        program = (ids_by_axis.get(0, 0), ids_by_axis.get(1, 0), ids_by_axis.get(2, 0))
        return linear_program(program, self.call.grid)

    def may_wrap(self, place: Place) -> tuple[Arithmetic, Refuted | Unknown] | None:
        """Return an integer op that feeds an op's address, mask or execution and may wrap.

        The decision has a point where it wraps, or the reason why none is known. None: all
        arithmetic stays within its width in all programs, lanes and trips, so the kernel computes
        ideal integers. Cached.
        """
        if id(place) not in self._wraps:  # with the place, so that no other one gets its id
            self._wraps[id(place)] = place, self._first_wrap(place)
        return self._wraps[id(place)][1]

    def _first_wrap(self, place: Place) -> tuple[Arithmetic, Refuted | Unknown] | None:
        for arithmetic in self.arithmetic_of(place):
            decision = self.width(arithmetic)
            if not isinstance(decision, Proven):
                return arithmetic, decision
        return None

    def is_unreached(self, place: Place, given: Given) -> bool:
        """Return whether no program runs an op; `given`: its conditions if nothing wraps."""
        return not self.programs or (given.is_impossible and self.may_wrap(place) is None)

    def arithmetic_of(self, place: Place) -> Iterator[Arithmetic]:
        """Yield the arithmetic that determines an op's address, mask and execution.

        Not sums of Booleans, of which formulas have the bit that is left.
        """
        if not self.summary.arithmetic:
            return
        feeders = feeding(place.op, self.call.module)
        for arithmetic in self.summary.arithmetic:
            if arithmetic.op.index in feeders and arithmetic.bits > 1:
                yield arithmetic

    def unrecorded(self, symbols: Iterable[Symbol]) -> tuple[TensorArgument, ...]:
        """Return the tensors without contents that content symbols were loaded from."""
        tensors = {
            tensor.name: tensor
            for symbol in symbols
            if symbol.kind == "content"
            for tensor in self.contents.sources(symbol)
            if tensor.storage.data is None
        }
        return tuple(tensors.values())

    def wraps(self, arithmetic: Arithmetic) -> bool:
        """Return whether the result of an integer op may exceed its width in this call."""
        return not isinstance(self.width(arithmetic), Proven)

    def width(self, arithmetic: Arithmetic) -> Decision:
        """Decide the claim that an integer op's result fits its width wherever it runs; cached."""
        decision = self._widths.get(id(arithmetic))
        if decision is None:
            decision = self._widths[id(arithmetic)] = self._decide_width(arithmetic)
        return decision

    def _decide_width(self, arithmetic: Arithmetic) -> Decision:
        low, high = signed_range(arithmetic.bits)
        smallest, largest = self.ranges.interval(arithmetic.result)
        if low <= smallest and largest <= high:
            return Proven("interval")
        given = self.given(arithmetic)
        claim = arithmetic.stays_in_width
        return follows(claim, given) or self.prove(claim, given)

    def has_use(self, use: Use) -> bool:
        """Return whether a use is one of this call.

        A signed index needs a tensor with signs; what is stored in one without may be a hash.
        """
        tensor = self.call.tensor_at(use.access.argument)
        kind = "" if tensor is None else tensor.dtype[0]
        if use.purpose == "signed index":
            return kind == "i"
        if kind != "u" or use.purpose != "index":
            return True
        module = self.call.module
        is_stored = use.value is stored_index(use.access.op, module)
        return not (is_stored and use.arithmetic.op.index in hashing_ops(module))

    def is_ideal(self, place: Place) -> bool:
        """Return whether no integer of an op's address, mask and execution may wrap around."""
        return self.may_wrap(place) is None and (
            not isinstance(place, Access) or self.has_ideal_address(place)
        )

    def has_ideal_address(self, access: Access) -> bool:
        """Return whether equal addresses are equal offsets: they are far from 2^64 bytes apart."""
        low, high = signed_range(63)
        smallest, largest = self.ranges.interval(access.offset)
        if low <= smallest and largest <= high:
            return True
        claim = access.lies_within(low, high)
        return isinstance(self.prove(claim, self.active(access)), Proven)

    def are_ideal(self, values: Iterable[Value]) -> bool:
        """Return whether no integer op or loop counter that feeds the values may wrap around."""
        feeders = feeding_values_and_trips(values, self.call.module)
        return not any(
            arithmetic.op.index in feeders and arithmetic.bits > 1 and self.wraps(arithmetic)
            for arithmetic in self.summary.arithmetic
        )

    def has_ideal_trips(self, loop: Op) -> bool:
        """Return whether a loop takes the trips of its formula: nothing wraps around.

        Cached by loop.
        """
        results: dict[int, bool] = self.memo.setdefault(BoundCall.has_ideal_trips, {})
        if loop.index not in results:
            counters = [counter for counter in self.summary.arithmetic if counter.op is loop]
            wraps = any(map(self.wraps, counters))
            results[loop.index] = not wraps and self.are_ideal(deciding(loop))
        return results[loop.index]


def _is_program(key: Symbol | Opaque) -> bool:
    return isinstance(key, Symbol) and key.kind == "program"


def _call_ranges(call: Call) -> dict[tuple[str, Any], Interval]:
    """Return the ranges of a call's program ids, grid, shapes, strides and scalars, by symbol."""
    ranges: dict[tuple[str, Any], Interval] = {}
    for axis, extent in enumerate(call.grid):
        ranges["program", axis] = (0, max(extent - 1, 0))
        ranges["programs", axis] = (extent, extent)
    parameters = call.module.main.arguments
    for position, argument in enumerate(call.arguments):
        if isinstance(argument, TensorArgument):
            sizes = (("shape", argument.shape), ("stride", argument.strides))
            for field, extents in sizes:
                for axis, size in enumerate(extents):
                    ranges["scalar", (position, field, axis)] = (size, size)
        elif isinstance(argument, ScalarArgument) and position < len(parameters):
            value = _wrapped_scalar(argument, getattr(parameters[position].type, "width", None))
            if value is not None:
                ranges["scalar", position] = (value, value)
    return ranges


def _wrapped_scalar(argument: ScalarArgument, bits: int | None) -> int | None:
    """Return a scalar wrapped to its parameter's width and read as signed; None: not an integer."""
    value = argument.value
    if bits is None or value is None or isinstance(value, float):
        return None
    low, _ = signed_range(bits)
    return (int(value) - low) % (1 << bits) + low
