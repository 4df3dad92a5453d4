"""Size envelope of a kernel: the values of each quantity for which every rule is proven.

A quantity (see `growth`), or the values of an index tensor, becomes a symbol, and the numbers that
depend on it become terms (`sized.py`). A search finds the greatest range around the recorded value
for which every claim (`sized_claims.py`) is proven at once. Each row names the assumptions that the
recorded launches do not prove.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from kvtrace.evaluate import TensorArgument
from kvtrace.symbolic.conditions import at_least
from kvtrace.symbolic.prover import Refuted
from kvtrace.symbolic.terms import Symbol, Term, signed_range
from kvtrace.symbolic.walk import summarize
from kvtrace.symbolic.walk_types import integer_bits
from kvtrace.verdicts.binding import BoundCall
from kvtrace.verdicts.sizes.condition import conditions_of
from kvtrace.verdicts.sizes.contracts import Contract, assumed_ranges, ends_of, named_in, symbols_of
from kvtrace.verdicts.sizes.envelope_rows import (
    NOT_COVERED,
    SECONDS_A_ROW,
    AssumedRanges,
    Kernel,
    Kind,
    ProvenRange,
    Row,
    Subject,
    broken_of,
    proven_range,
    recorded_ranges,
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

GRID_LIMITS: Final = ((1 << 31) - 1, 65_535, 65_535)

if TYPE_CHECKING:
    from kvtrace.recorded_calls.recorded import Call

Broken = tuple[Mapping[Number, int], str]
"""The numbers of a recorded launch, and the message of its violation."""


def envelope(
    relations: Relations,
    contracts: Sequence[Contract] = (),
    seconds: float = float("inf"),
    broken: Sequence[Broken] = (),
) -> list[Row]:
    """Return rows for each quantity that decides an access or the grid, and each index tensor.

    Args:
        relations: the relations of the recorded launches of a variant.
        contracts: promises on index tensors at other sizes.
        seconds: processor time for all rows together.
        broken: recorded launches that break a rule.

    Raises:
        NoKernel: the module has no function to run.

    """
    relevant = _deciding_numbers(relations) | named_in(contracts, relations)
    subjects: list[Quantity | int] = [
        quantity for quantity in relations.quantities if not relations.is_derived(quantity)
    ]
    subjects += index_tensors(relations.call)
    whole = Clock(seconds)
    kernel = _Launches(relations, contracts, whole)
    rows: list[Row] = []
    for number, subject in enumerate(subjects):
        share = whole.remaining() / (len(subjects) - number)
        clock = Clock(min(SECONDS_A_ROW, share))
        if isinstance(subject, int):
            rows += ValuesOfTensor(kernel, relations, subject, clock).rows()
        else:
            of_quantity = _of_quantity(kernel, relations, subject, contracts, relevant, clock)
            rows += [_without_broken(row, subject[0], broken) for row in of_quantity]
    return rows


def _without_broken(row: Row, number: Number, broken: Sequence[Broken]) -> Row:
    """Return a row without its range if a recorded launch of a size in the range breaks a rule."""
    for numbers, message in broken:
        size = numbers.get(number)
        if row.fine is not None and size is not None and row.fine[0] <= size <= row.fine[1]:
            what = f"in another recorded launch, {message}"
            return replace(
                row, kind="rule", first_bad=size, what=what, op=None, contract=None, fine=None
            )
    return row


class _Launches(Kernel):
    """A kernel, and the claims that its recorded launch does not satisfy."""

    def __init__(self, relations: Relations, contracts: Sequence[Contract], clock: Clock) -> None:
        super().__init__(relations.call)
        terms, _ = relations.numbers_with({})
        contents = _assumed_contents(relations, contracts, terms)
        sized = Sized(relations.call, terms, contents, clock, (1, 1))
        try:
            self.broken: tuple[Claim, ...] | None = broken_of(sized, self.claims)
        except OutOfTime:
            self.broken = None


def _assumed_contents(
    relations: Relations, contracts: Sequence[Contract], terms: Mapping[Number, Term]
) -> AssumedContents:
    """Return the assumed values of integer loads: by contract, else the recorded range."""
    ends: dict[Key, tuple[Term, Term]] = {}
    for contract in contracts:
        contract_ends = ends_of(contract, relations, terms)
        for _, symbol in symbols_of(contract, relations.call) if contract_ends else ():
            assert contract_ends is not None
            ends[symbol.kind, symbol.key] = contract_ends
    ranges = recorded_ranges(relations.call)
    return AssumedContents({key: value for key, value in ranges.items() if key not in ends}, ends)


def _of_quantity(
    kernel: _Launches,
    relations: Relations,
    quantity: Quantity,
    contracts: Sequence[Contract],
    relevant: set[Number],
    clock: Clock,
) -> list[Row]:
    try:
        terms, along = relations.numbers_with({quantity: SIZE.term})
    except Ambiguous as error:
        if relevant.isdisjoint(quantity):
            return []
        name, recorded = relations.name(quantity[0]), relations.base[quantity[0]]
        return [Row(name, recorded, "unknown", reason=str(error))]
    if not any(terms[number].constant is None for number in relevant):
        return []
    return _Size(kernel, relations, quantity, contracts, terms, along, clock).rows(kernel.broken)


def _deciding_numbers(relations: Relations) -> set[Number]:
    """Return the numbers that decide accesses, and the grid."""
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


def accesses_last_element(call: Call, place: int) -> bool:
    """Return whether formulas show that a launch accesses a tensor's last element."""
    tensor = call.arguments[place]
    if not isinstance(tensor, TensorArgument):
        return False
    bound = BoundCall(call, (), BUDGET)
    for access in bound.summary.accesses:
        if access.argument == place and access.unknown is None:
            before_last = tensor.view_bytes[1] - access.element_bytes - 1
            claim = at_least(before_last - access.offset)
            decision = bound.prove(claim, bound.active(access))
            if isinstance(decision, Refuted) and not bound.doubts(decision.model):
                return True
    return False


# -- limits of a launch ---------------------------------------------------------------------------


def limit_of(relations: Relations, numbers: Mapping[Number, int]) -> tuple[Kind, str] | None:
    """Return why no launch of this variant has these numbers, or None if one may."""
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
        now, before = ({s: at[k] for s, k in keys.items()} for at in (values, base))
        if condition.value(before) and not condition.value(now):
            return "constants", NOT_COVERED
    return None


def _refusal(relations: Relations, numbers: Mapping[Number, int]) -> tuple[Kind, str] | None:
    """Return why no launch has these numbers, or why Triton compiles another variant; else None."""
    for axis, most in enumerate(GRID_LIMITS):
        if numbers["grid", axis, 0] > most:
            return "grid", f"grid_{'xyz'[axis]} is more than {most:,}, which CUDA does not launch"
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


class _Size(Subject):
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
        super().__init__(kernel, name, sized, (*along, *self._assumed()), basis, 0, MOST)
        self.end = self._first_refused(recorded)
        self.least = self._least()
        self._negative: Sized | None = None

    def _assumed(self) -> Iterator[str]:
        call = self._relations.call
        bound = {
            call.arguments[place].name
            for contract in self._contracts
            for place, _ in symbols_of(contract, call)
        }
        for tensor, (low, high) in ranges_by_tensor(call, self._contents):
            if tensor.name not in bound:
                yield f"values of {tensor.name} stay within {low:,} to {high:,}"
        yield from (contract.text for contract in self._contracts)

    def _first_refused(self, recorded: int) -> int:
        """Return the first value at which there is no launch of this variant, at most `MOST`."""

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
        """Return the least value that a launch may have: no extent is negative."""
        kinds = {number[0] for number in self._quantity}
        if "grid" in kinds:
            return 1
        numbers = [number for number in self._quantity if number[0] == "scalar"]
        if "shape" in kinds or not self._is_launched(-1):
            return self._least_with_extents()
        parameters = self._relations.call.module.main.arguments
        widths = [integer_bits(parameters[number[1]].type) or 64 for number in numbers]
        least, bad = -1, max(-MOST, signed_range(min(widths))[0]) - 1
        if self._is_launched(bad + 1):
            return bad + 1
        while least - bad > 1:
            middle = (least + bad) // 2
            least, bad = (middle, bad) if self._is_launched(middle) else (least, middle)
        return least

    def _least_with_extents(self) -> int:
        """Return the least value of the size, from 0, at which no extent is negative."""
        bad, good = -1, self.sized.recorded[0]
        while good - bad > 1:
            middle = (good + bad) // 2
            numbers = self.sized.numbers(middle)
            is_possible = all(numbers[n] >= 0 for n in numbers if n[0] == "shape")
            bad, good = (bad, middle) if is_possible else (middle, good)
        return good

    def _is_launched(self, value: int) -> bool:
        """Return whether a launch may have a negative value: its extents and grid are possible."""
        numbers = self.sized.numbers(value)
        least = {"grid": 1, "shape": 0}
        return all(numbers[n] >= least[n[0]] for n in numbers if n[0] in least)

    def below_zero(self, proven: ProvenRange) -> ProvenRange:
        """Return the range extended below zero, with formulas of the symbol `BELOW_ZERO`."""
        try:
            negative = self._below_zero_sized()
            broken = broken_of(negative, self.kernel.claims)
            if broken:
                return replace(proven, lowest=broken[0])
            further = proven_range(negative, self.kernel.claims, (), (self.least, -1), self.is_bad)
        except OutOfTime:
            return replace(proven, spent=True, lowest=self.kernel.claims[0])
        return replace(proven, low=further.low, lowest=further.lowest)

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
        place = summarize(self.kernel.call.module).accesses[claim.access].argument
        varies = self._relations.varies(self._quantity[0])
        if place is None:
            return None
        numbers: list[Number] = [("grid", axis, 0) for axis in range(3)] if varies else []
        shape = [n for n in self.sized.terms if n[:2] == ("shape", place)]
        follows = any(self.sized.terms[n].constant is None for n in shape)
        numbers += shape if varies and not follows else ()
        for number in numbers:
            if number not in self._quantity and self._relations.is_open(number):
                return (
                    f"recorded launches differ in {self._relations.name(number)}, and how it "
                    f"grows with {self.name} is not known"
                )
        if varies or follows:
            return None
        if not accesses_last_element(self.kernel.call, place):
            return None
        name = self.kernel.call.arguments[place].name
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
        """Return the ranges of loads by contract."""
        return assumed_ranges(self._contracts, self._relations, self.sized.numbers(value))

    def runnable(self, value: int) -> Any:
        """Return the launch at a size, with index tensors that hold their greatest values."""
        return filled_to(*self.launch(value))

    def shown_by_run(self, claim: Claim, value: int) -> None:
        """Return None: nothing is run, as contents at other sizes are unknown."""

    def end_reason(self) -> tuple[Kind, str]:
        """Return why no launch of this variant has the value `end`."""
        if self.end >= MOST:
            return "none", ""
        refusal = _refusal(self._relations, self.sized.numbers(self.end))
        assert refusal is not None
        return refusal
