"""Size envelopes of a kernel: for each quantity, the values for which every rule is proven.

A quantity (see `growth`), or the values of an index tensor, becomes a symbol, and the numbers that
depend on it become terms (`sized.py`). A search finds the largest range around the recorded value
for which every claim (`sized_claims.py`) is proven at once. Each row names the assumptions that the
recorded launches do not prove.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kvtrace.evaluate import TensorArgument
from kvtrace.evaluate.grid_limits import CUDA_GRID_LIMITS
from kvtrace.symbolic.conditions import at_least
from kvtrace.symbolic.prover import Refuted
from kvtrace.symbolic.terms import Symbol, Term, signed_range
from kvtrace.symbolic.walk import summarize
from kvtrace.symbolic.walk_types import integer_bits
from kvtrace.verdicts.binding import BoundCall
from kvtrace.verdicts.sizes.condition import conditions_of
from kvtrace.verdicts.sizes.contracts import (
    Contract,
    assumed_ranges,
    contract_bounds,
    contract_numbers,
    symbols_of,
)
from kvtrace.verdicts.sizes.envelope_rows import (
    NOT_COVERED,
    SECONDS_A_ROW,
    AssumedRanges,
    Kernel,
    Kind,
    ProvenRange,
    Row,
    Subject,
    proven_range,
    recorded_ranges,
    unproven_claims,
)
from kvtrace.verdicts.sizes.envelope_values import (
    ValuesOfTensor,
    filled_to,
    index_tensors,
    ranges_by_tensor,
)
from kvtrace.verdicts.sizes.growth import Ambiguous, Quantity, Relations
from kvtrace.verdicts.sizes.launch_numbers import Number, call_with
from kvtrace.verdicts.sizes.sized import (
    BELOW_ZERO,
    BUDGET,
    MOST,
    SIZE,
    AssumedContents,
    Clock,
    Key,
    OutOfTime,
    Sized,
    SizedCall,
    key_of,
)
from kvtrace.verdicts.sizes.sized_claims import Claim

if TYPE_CHECKING:
    from kvtrace.recorded_calls.recorded import Call

RecordedViolation = tuple[Mapping[Number, int], str]
"""The numbers of a recorded launch that breaks a rule, and the violation's message."""


def envelope(
    relations: Relations,
    contracts: Sequence[Contract] = (),
    seconds: float = float("inf"),
    broken: Sequence[RecordedViolation] = (),
) -> list[Row]:
    """Return the rows of each quantity that affects an access or the grid, and of index tensors.

    Args:
        relations: the relations of the recorded launches of a variant.
        contracts: promises on index tensors at other sizes.
        seconds: processor time for all rows together.
        broken: recorded launches that break a rule.

    Raises:
        NoKernel: the module has no function to run.

    """
    relevant = _deciding_numbers(relations) | contract_numbers(contracts, relations)
    subjects: list[Quantity | int] = [
        quantity for quantity in relations.quantities if not relations.is_derived(quantity)
    ]
    subjects += index_tensors(relations.call)
    total_clock = Clock(seconds)
    kernel = _Launches(relations, contracts, total_clock)
    rows: list[Row] = []
    for index, subject in enumerate(subjects):
        seconds_left = total_clock.remaining() / (len(subjects) - index)
        clock = Clock(min(SECONDS_A_ROW, seconds_left))
        if isinstance(subject, int):
            rows += ValuesOfTensor(kernel, relations, subject, clock).rows()
        else:
            quantity_rows = _quantity_rows(kernel, relations, subject, contracts, relevant, clock)
            rows += [_without_broken_range(row, subject[0], broken) for row in quantity_rows]
    return rows


def _without_broken_range(row: Row, number: Number, broken: Sequence[RecordedViolation]) -> Row:
    """Return a row without a range if a recorded launch of a size in the range breaks a rule."""
    for numbers, message in broken:
        size = numbers.get(number)
        if row.fine is not None and size is not None and row.fine[0] <= size <= row.fine[1]:
            message_ = f"in another recorded launch, {message}"
            return replace(
                row, kind="rule", first_bad=size, what=message_, op=None, contract=None, fine=None
            )
    return row


class _Launches(Kernel):
    """A kernel, with the claims that are not proven for its recorded launch."""

    def __init__(self, relations: Relations, contracts: Sequence[Contract], clock: Clock) -> None:
        super().__init__(relations.call)
        terms, _ = relations.numbers_with({})
        contents = _assumed_contents(relations, contracts, terms)
        sized = Sized(relations.call, terms, contents, clock, (1, 1))
        try:
            self.broken: tuple[Claim, ...] | None = unproven_claims(sized, self.claims)
        except OutOfTime:
            self.broken = None


def _assumed_contents(
    relations: Relations, contracts: Sequence[Contract], terms: Mapping[Number, Term]
) -> AssumedContents:
    """Return the assumed values of integer loads: by contract, else the recorded range."""
    bounds: dict[Key, tuple[Term, Term]] = {}
    for contract in contracts:
        loads_bounds = contract_bounds(contract, relations, terms)
        for _, symbol in symbols_of(contract, relations.call) if loads_bounds else ():
            assert loads_bounds is not None
            bounds[symbol.kind, symbol.key] = loads_bounds
    ranges = recorded_ranges(relations.call)
    return AssumedContents(
        {key: value for key, value in ranges.items() if key not in bounds}, bounds
    )


def _quantity_rows(
    kernel: _Launches,
    relations: Relations,
    quantity: Quantity,
    contracts: Sequence[Contract],
    relevant: set[Number],
    clock: Clock,
) -> list[Row]:
    """Return the rows of a quantity; none if it affects no relevant number."""
    try:
        terms, along = relations.numbers_with({quantity: SIZE.term})
    except Ambiguous as error:
        if relevant.isdisjoint(quantity):
            return []
        name, recorded = relations.name(quantity[0]), relations.base[quantity[0]]
        return [Row(name, recorded, "unknown", reason=str(error))]
    if not any(terms[number].constant is None for number in relevant):
        return []
    return _SizeSubject(kernel, relations, quantity, contracts, terms, along, clock).rows(
        kernel.broken
    )


def _deciding_numbers(relations: Relations) -> set[Number]:
    """Return the numbers that affect an access, and the grid."""
    summary = summarize(relations.call.module)
    atoms = frozenset().union(
        *(access.offset.atoms() | access.active.atoms() for access in summary.accesses)
    )
    numbers: set[Number] = {("grid", axis, 0) for axis in range(3)}
    for atom in atoms:
        if isinstance(atom, Symbol) and atom.kind == "scalar":
            key = atom.key
            numbers.add(("scalar", key, 0) if isinstance(key, int) else (key[1], key[0], key[2]))
    return numbers & relations.base.keys()


def accesses_last_element(call: Call, position: int) -> bool:
    """Return whether a launch surely accesses the last element of the tensor at a position."""
    tensor = call.arguments[position]
    if not isinstance(tensor, TensorArgument):
        return False
    bound = BoundCall(call, (), BUDGET)
    for access in bound.summary.accesses:
        if access.argument == position and access.unknown is None:
            before_last = tensor.view_bytes[1] - access.element_bytes - 1
            claim = at_least(before_last - access.offset)
            decision = bound.prove(claim, bound.active(access))
            if isinstance(decision, Refuted) and not bound.doubts(decision.model):
                return True
    return False


# -- limits of a launch ---------------------------------------------------------------------------


def limit_of(relations: Relations, numbers: Mapping[Number, int]) -> tuple[Kind, str] | None:
    """Return the kind and reason why this variant has no launch with these numbers, or None."""
    refusal = _refusal(relations, numbers)
    if refusal is not None:
        return refusal
    values = {key_of(number): value for number, value in numbers.items()}
    base = {key_of(number): value for number, value in relations.base.items()}
    for condition in (c for access in conditions_of(relations.call.module) for c in access.reach):
        symbols = [atom for atom in condition.atoms() if isinstance(atom, Symbol)]
        keys = {symbol: (symbol.kind, symbol.key) for symbol in symbols}
        if not all(key in values for key in keys.values()):
            continue
        new_values, recorded_values = (
            {s: numbers_[k] for s, k in keys.items()} for numbers_ in (values, base)
        )
        if condition.value(recorded_values) and not condition.value(new_values):
            return "constants", NOT_COVERED
    return None


def _refusal(relations: Relations, numbers: Mapping[Number, int]) -> tuple[Kind, str] | None:
    """Return why no launch, or only another variant, can have these numbers, or None."""
    for axis, grid_limit in enumerate(CUDA_GRID_LIMITS):
        if numbers["grid", axis, 0] > grid_limit:
            return (
                "grid",
                f"grid_{'xyz'[axis]} is more than {grid_limit:,}, which CUDA does not launch",
            )
        if numbers["grid", axis, 0] < 1:
            return (
                "grid",
                f"grid_{'xyz'[axis]} is {numbers['grid', axis, 0]:,}: nothing is launched",
            )
    parameters = relations.call.module.main.arguments
    for number, value in numbers.items():
        if number[0] == "shape" and value < 0:
            return "argument", f"{relations.name(number)} is {value:,}, and no extent is negative"
        if number[0] != "scalar" or value == relations.base[number]:
            continue
        low, high = signed_range(bits := integer_bits(parameters[number[1]].type) or 64)
        if not low <= value <= high:
            name = relations.name(number)
            return "argument", f"{name} no longer fits into {bits} bits: Triton compiles again"
    return None


# -- a size ---------------------------------------------------------------------------------------


class _SizeSubject(Subject):
    """A quantity as the subject of a row."""

    def __init__(
        self,
        kernel: Kernel,
        relations: Relations,
        quantity: Quantity,
        contracts: Sequence[Contract],
        terms: Mapping[Number, Term],
        along: tuple[str, ...],
        clock: Clock,
    ) -> None:
        self._relations = relations
        self._quantity = quantity
        self._contracts = [c for c in contracts if symbols_of(c, relations.call)]
        self._contents = recorded_ranges(relations.call)
        recorded = relations.base[quantity[0]]
        contents = _assumed_contents(relations, self._contracts, terms)
        sized = Sized(relations.call, terms, contents, clock, (recorded, recorded))
        name, basis = relations.name(quantity[0]), relations.basis(quantity)
        super().__init__(kernel, name, sized, (*along, *self._assumption_texts()), basis, 0, MOST)
        self.end = self._first_impossible(recorded)
        self.least = self._least()
        self._negative: Sized | None = None

    def _assumption_texts(self) -> Iterator[str]:
        call = self._relations.call
        bound = {
            call.arguments[position].name
            for contract in self._contracts
            for position, _ in symbols_of(contract, call)
        }
        for tensor, (low, high) in ranges_by_tensor(call, self._contents):
            if tensor.name not in bound:
                yield f"values of {tensor.name} stay within {low:,} to {high:,}"
        yield from (contract.text for contract in self._contracts)

    def _first_impossible(self, recorded: int) -> int:
        """Return the first value for which this variant has no launch, at most `MOST`."""

        def is_refused(value: int) -> bool:
            return _refusal(self._relations, self.sized.numbers(value)) is not None

        low, high = recorded, recorded * 2
        while high < MOST and not is_refused(high):
            low, high = high, high * 2
        high = min(high, MOST)
        while high - low > 1 and high < MOST:
            middle = (low + high) // 2
            low, high = (low, middle) if is_refused(middle) else (middle, high)
        return high

    def _least(self) -> int:
        """Return the smallest value of a launch, for which no extent may be negative."""
        kinds = {number[0] for number in self._quantity}
        if "grid" in kinds:
            return 1
        numbers = [number for number in self._quantity if number[0] == "scalar"]
        if "shape" in kinds or not self._is_launched(-1):
            return self._least_with_extents()
        parameters = self._relations.call.module.main.arguments
        widths = [integer_bits(parameters[number[1]].type) or 64 for number in numbers]
        smallest, impossible = -1, max(-MOST, signed_range(min(widths))[0]) - 1
        if self._is_launched(impossible + 1):
            return impossible + 1
        while smallest - impossible > 1:
            middle = (smallest + impossible) // 2
            smallest, impossible = (
                (middle, impossible) if self._is_launched(middle) else (smallest, middle)
            )
        return smallest

    def _least_with_extents(self) -> int:
        """Return the smallest value of the size, from 0, at which no extent is negative."""
        impossible, possible = -1, self.sized.recorded[0]
        while possible - impossible > 1:
            middle = (possible + impossible) // 2
            numbers = self.sized.numbers(middle)
            is_possible = all(numbers[n] >= 0 for n in numbers if n[0] == "shape")
            impossible, possible = (impossible, middle) if is_possible else (middle, possible)
        return possible

    def _is_launched(self, value: int) -> bool:
        """Return whether a launch at a negative value has possible extents and a possible grid."""
        numbers = self.sized.numbers(value)
        minimums = {"grid": 1, "shape": 0}
        return all(numbers[n] >= minimums[n[0]] for n in numbers if n[0] in minimums)

    def below_zero(self, proven: ProvenRange) -> ProvenRange:
        """Return the range extended below zero, by formulas with the symbol `BELOW_ZERO`."""
        try:
            negative = self._below_zero_sized()
            unproven = unproven_claims(negative, self.kernel.claims)
            if unproven:
                return replace(proven, lowest=unproven[0])
            negative_range = proven_range(
                negative, self.kernel.claims, (), (self.least, -1), self.is_bad
            )
        except OutOfTime:
            return replace(proven, spent=True, lowest=self.kernel.claims[0])
        return replace(proven, low=negative_range.low, lowest=negative_range.lowest)

    def _below_zero_sized(self) -> Sized:
        if self._negative is None:
            terms, _ = self._relations.numbers_with({self._quantity: BELOW_ZERO.term})
            contents = _assumed_contents(self._relations, self._contracts, terms)
            call, clock = self._relations.call, self.sized.clock
            self._negative = Sized(call, terms, contents, clock, (-1, -1), size=BELOW_ZERO)
        return self._negative

    def at(self, value: int) -> SizedCall:
        """Return the launch at a size, negative or not."""
        sized = self._below_zero_sized() if value < 0 else self.sized
        return sized.between(value, value, solving=True)

    def doubt(self, claim: Claim) -> str | None:
        """Return why a tensor or the grid may depend on the size in an unknown way, else None."""
        if claim.group != "tensor" or claim.access is None:
            return None
        position = summarize(self.kernel.call.module).accesses[claim.access].argument
        varies = self._relations.varies(self._quantity[0])
        if position is None:
            return None
        numbers: list[Number] = [("grid", axis, 0) for axis in range(3)] if varies else []
        shape = [n for n in self.sized.terms if n[:2] == ("shape", position)]
        shape_grows = any(self.sized.terms[n].constant is None for n in shape)
        numbers += shape if varies and not shape_grows else ()
        for number in numbers:
            if number not in self._quantity and self._relations.is_open(number):
                return (
                    f"recorded launches differ in {self._relations.name(number)}, and how it "
                    f"grows with {self.name} is not known"
                )
        if varies or shape_grows:
            return None
        if not accesses_last_element(self.kernel.call, position):
            return None
        name = self.kernel.call.arguments[position].name
        return (
            f"{name} is as large as the recorded launch needs, and how it grows with {self.name} "
            "is not known: record a launch of another size"
        )

    def launch(self, value: int) -> tuple[Any, AssumedRanges]:
        """Return the launch at a size, and the assumed ranges of its loads."""
        numbers = self.sized.numbers(value)
        ranges = self._contents | assumed_ranges(self._contracts, self._relations, numbers)
        return call_with(self._relations.call, numbers), ranges

    def subject_ranges(self, value: int) -> AssumedRanges:
        """Return the ranges that contracts give to loads at a size."""
        return assumed_ranges(self._contracts, self._relations, self.sized.numbers(value))

    def runnable(self, value: int) -> Any:
        """Return the launch at a size, with index tensors that hold their largest values."""
        return filled_to(*self.launch(value))

    def refutation_by_run(self, claim: Claim, value: int) -> None:
        """Return None: other sizes are not run, as their contents are unknown."""

    def end_reason(self) -> tuple[Kind, str]:
        """Return the kind and reason why this variant has no launch with the value `end`.

        They are "none" and "" for a range without an end.
        """
        if self.end >= MOST:
            return "none", ""
        refusal = _refusal(self._relations, self.sized.numbers(self.end))
        assert refusal is not None
        return refusal
