"""Size envelopes of a kernel: for each quantity, the values for which every rule is proven.

A size (see `relations.py`), or the values of an index tensor, becomes a symbol, and the numbers
that follow from it become terms (`sized.py`). A search finds the largest range around the recorded
value for which every claim (`sized_claims.py`) is proven at once. Each row names the formulas.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kvtrace.converters.findings.envelope import EnvelopeRow
from kvtrace.recorded_calls.recorded import Call
from kvtrace.symbolic.terms import Symbol
from kvtrace.symbolic.walk import summarize
from kvtrace.verdicts.sizes.at_size import refusal_of
from kvtrace.verdicts.sizes.envelope_rows import (
    SECONDS_A_ROW,
    Kernel,
    Kind,
    Subject,
    unproven_claims,
)
from kvtrace.verdicts.sizes.index_tensors import (
    Contract,
    ValuesOfTensor,
    assumed_contents,
    contract_numbers,
    filled_to,
    index_tensors,
    ranges_by_tensor,
    ranges_of_loads,
    recorded_ranges,
    symbols_of,
)
from kvtrace.verdicts.sizes.launch_numbers import (
    Ambiguous,
    Number,
    Sizes,
    call_with,
    key_of,
    launch_at,
    numbers_of,
)
from kvtrace.verdicts.sizes.relations import Relations
from kvtrace.verdicts.sizes.sized import (
    MOST,
    SIZE,
    Clock,
    OutOfTime,
    Sized,
    last_holding,
)
from kvtrace.verdicts.sizes.sized_claims import Claim
from kvtrace.verdicts.sizes.unwritten import elements_of, with_gaps
from kvtrace.verdicts.sizes.wraps import AssumedRanges

RecordedViolation = tuple[Mapping[Number, int], str]
"""The numbers of a recorded launch that breaks a rule, and the violation's message."""


def envelope(
    relations: Relations,
    contracts: Sequence[Contract] = (),
    seconds: float = float("inf"),
    broken: Sequence[RecordedViolation] = (),
    calls: Sequence[Call] = (),
) -> list[EnvelopeRow]:
    """Return the row of each quantity that affects an access or the grid, and of index tensors.

    A row is for the launch of `calls` whose other sizes allow the quantity the narrowest range: if
    `rows` may be up to 225 with 4 columns and up to 100 with 9, that with 9 columns.

    Args:
        relations: the relations of the recorded launches of a variant.
        contracts: promises on index tensors at other sizes.
        seconds: nominal seconds of work on all rows together.
        broken: recorded launches that break a rule.
        calls: different recorded launches, to be tried in this order; none: that of `relations`.

    Raises:
        NoKernel: the module has no function to run.

    """
    quantities: list[Number | int] = [*relations.sizes, *index_tensors(relations.call)]
    total_clock = Clock(seconds)
    relevant = relations.deciding_numbers() | contract_numbers(contracts, relations)
    bases = [
        _Base(relations.of(call), contracts, relevant)
        for call in calls or [relations.call]
        if numbers_of(call).keys() == relations.base.keys()
    ]
    rows: list[EnvelopeRow] = []
    for index, quantity in enumerate(quantities):
        share = total_clock.remaining() / (len(quantities) - index)
        row = _worst_row(bases, quantity, Clock(min(SECONDS_A_ROW, share)))
        if row is not None:
            rows.append(row if isinstance(quantity, int) else _within_rules(row, broken, quantity))
    smallest = min(bases, key=lambda base: elements_of(base.relations.call))
    recorded = [base.relations.call for base in bases]
    return with_gaps(rows, smallest.relations, recorded, smallest.text)


class _Base:
    """A recorded launch, whose numbers hold while one quantity changes."""

    def __init__(
        self, relations: Relations, contracts: Sequence[Contract], relevant: set[Number]
    ) -> None:
        self.kernel = Kernel(relations)
        self.relations = relations
        self._contracts = contracts
        self._relevant = relevant
        self._unproven: tuple[Claim, ...] | None = None

    def value(self, quantity: Number) -> int:
        """Return the recorded value of a size."""
        return self.relations.base[quantity]

    def constants(self, quantity: Number | int) -> tuple[object, ...]:
        """Return the numbers and contents that stay as recorded while a quantity changes."""
        relations = self.relations
        contents = recorded_ranges(relations.call).items()
        try:
            sizes = relations.at({} if isinstance(quantity, int) else {quantity: SIZE.term})
        except Ambiguous:
            return *relations.base.items(), *contents
        numbers = relations.base.items()
        constant = [(n, value) for n, value in numbers if sizes.terms[n].constant is not None]
        return *constant, *contents, id(relations.call.module.op)

    def text(self, quantity: Number | int) -> str:
        """Return the sizes other than a quantity: "rows = 4, cols = 1,000"."""
        relations = self.relations
        sizes = (size for size in relations.sizes if size != quantity)
        return ", ".join(f"{relations.name(size)} = {relations.base[size]:,}" for size in sizes)

    def row(
        self, quantity: Number | int, clock: Clock, worst: EnvelopeRow | None
    ) -> EnvelopeRow | None:
        """Return the row of a quantity; None if it affects nothing, or all of `worst` is proven."""
        subject = self._subject(quantity, clock)
        if not isinstance(subject, Subject):
            return subject
        if worst is not None and worst.fine is not None and subject.proves(worst.fine):
            return None
        if isinstance(quantity, int):
            return subject.row()
        if self._unproven is None:
            self._unproven = self._unproven_as_recorded(clock)
        return subject.row(self._unproven)

    def _subject(self, quantity: Number | int, clock: Clock) -> Subject | EnvelopeRow | None:
        """Return the subject of a quantity's row, or the row if nothing is to be searched."""
        relations = self.relations
        if isinstance(quantity, int):
            return ValuesOfTensor(self.kernel, relations, quantity, clock)
        name, recorded = relations.name(quantity), relations.base[quantity]
        kind: Kind = "unknown" if relations.varies(quantity) else "unseen"
        try:
            sizes = relations.at({quantity: SIZE.term})
        except Ambiguous as error:
            return EnvelopeRow(name, recorded, kind, reason=str(error))
        grids = sorted(n for n in self._relevant if n[0] == "grid")
        reasons = [relations.unknown_growth(grid, quantity) for grid in grids]
        unknown = next(filter(None, reasons), None)
        if not unknown and all(sizes.terms[n].constant is not None for n in self._relevant):
            return None
        refusal = refusal_of(relations, relations.base)
        if refusal is not None:
            return EnvelopeRow(name, recorded, refusal[0], first_bad=recorded, what=refusal[1])
        subject = _SizeSubject(self.kernel, relations, quantity, self._contracts, sizes, clock)
        subject.unknown = unknown
        return subject

    def _unproven_as_recorded(self, clock: Clock) -> tuple[Claim, ...] | None:
        """Return the claims that are not proven for the recorded launch, None if time is up."""
        call, sizes = self.relations.call, self.relations.at({})
        contents = assumed_contents(self.relations, self._contracts, sizes)
        try:
            return unproven_claims(Sized(call, sizes, contents, clock, (1, 1)), self.kernel.claims)
        except OutOfTime:
            return None


def _worst_row(bases: Sequence[_Base], quantity: Number | int, clock: Clock) -> EnvelopeRow | None:
    """Return the row of a quantity for the base that allows the narrowest range.

    Of bases that differ in the quantity alone, the one with the smallest value is tried.
    """
    different: dict[tuple[object, ...], _Base] = {}
    for base in bases:
        key = base.constants(quantity)
        other = different.setdefault(key, base)
        if not isinstance(quantity, int) and base.value(quantity) < other.value(quantity):
            different[key] = base
    worst: EnvelopeRow | None = None
    tried: list[str] = []
    for base in different.values():
        has_no_range = worst is not None and worst.fine is None
        if tried and (clock.remaining() <= 0 or has_no_range):
            break
        tried.append(base.text(quantity))
        row = base.row(quantity, clock, worst)
        if row is not None and (worst is None or _range_key(row) < _range_key(worst)):
            worst = replace(row, base=tried[-1])
    if worst is None:
        return None
    return replace(worst, bases=tuple(tried), untried=len(different) - len(tried))


def _range_key(row: EnvelopeRow) -> tuple[float, bool]:
    """Return a key that is least for the narrowest range, and of equal ones for a known end."""
    return row.fine[1] if row.fine else float("-inf"), row.kind == "unknown"


def _within_rules(
    row: EnvelopeRow, broken: Sequence[RecordedViolation], size: Number
) -> EnvelopeRow:
    """Return a row without a range if a recorded launch of a size in the range breaks a rule."""
    violations = [(numbers[size], message) for numbers, message in broken if size in numbers]
    for value, message in sorted(violations):
        if row.fine is not None and row.fine[0] <= value <= row.fine[1]:
            return replace(
                row, kind="rule", first_bad=value, what=f"in another recorded launch, {message}",
                file=None, line=None, contract=None, low=None, high=None,
            )  # fmt: skip
    return row


# -- a size ---------------------------------------------------------------------------------------


class _SizeSubject(Subject):
    """A size as the subject of a row."""

    def __init__(
        self,
        kernel: Kernel,
        relations: Relations,
        size: Number,
        contracts: Sequence[Contract],
        sizes: Sizes,
        clock: Clock,
    ) -> None:
        self._relations = relations
        self._size = size
        self._contracts = [c for c in contracts if symbols_of(c, relations.call)]
        self._contents = recorded_ranges(relations.call)
        recorded = relations.base[size]
        contents = assumed_contents(relations, self._contracts, sizes)
        sized = Sized(relations.call, sizes, contents, clock, (recorded, recorded))
        sized.open_tensors = frozenset(
            number[1]
            for number in relations.base
            if number[0] == "shape" and relations.unknown_growth(number, size)
        )
        along = (*sizes.along, *self._assumption_texts())
        name, basis = relations.name(size), relations.basis(size)
        super().__init__(kernel, name, sized, along, basis, 0, MOST)
        self.end = self._first_impossible(sized)
        self.least = self._least()

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

    def _first_impossible(self, sized: Sized) -> int:
        """Return the first value for which this variant has no launch, at most `MOST`."""

        def is_launched(value: int) -> bool:
            return refusal_of(self._relations, sized.numbers(value)) is None

        low, high = sized.recorded[1], sized.recorded[1] * 2
        while high < MOST and is_launched(high):
            low, high = high, high * 2
        return last_holding(is_launched, low, high) + 1 if high < MOST else MOST

    def _least(self) -> int:
        """Return the smallest value of a launch from 0 on, for which no extent may be negative."""
        if self._size[0] == "grid":
            return 1
        recorded = self.sized.recorded[0]
        return last_holding(self._has_extents, recorded, -1) if recorded >= 0 else recorded

    def _has_extents(self, value: int) -> bool:
        """Return whether no extent is negative at a value."""
        return all(size >= 0 for n, size in self.sized.numbers(value).items() if n[0] == "shape")

    def row(self, broken: tuple[Claim, ...] | None = None) -> EnvelopeRow:
        """Return the row; its kind is "unseen" if no launch shows what is beyond the recorded."""
        row = super().row(broken)
        is_end_known = row.reason is None or row.first_bad is not None
        if is_end_known or self._relations.varies(self._size) or row.high != self.recorded:
            return row
        return replace(row, kind="unseen")

    def doubt(self, claim: Claim) -> str | None:
        """Return why a tensor may depend on the size in an unknown way, else None."""
        numbers = self._numbers_of(claim) if self._position(claim) is not None else ()
        reasons = (self._relations.unknown_growth(n, self._size) for n in numbers)
        return next(filter(None, reasons), None)

    def _position(self, claim: Claim) -> int | None:
        """Return the argument of the tensor that a claim is about, if it is about one."""
        if claim.group != "tensor" or claim.access is None:
            return None
        return summarize(self.kernel.call.module).accesses[claim.access].argument

    def _numbers_of(self, claim: Claim) -> list[Number]:
        """Return the numbers that a claim depends on, those of its tensor first."""
        numbers = list(self._relations.base)
        position = self._position(claim)
        if position is not None:
            access = summarize(self.kernel.call.module).accesses[claim.access or 0]
            atoms = access.offset.atoms() | access.active.atoms()
            keys = {(a.kind, a.key) for a in atoms if isinstance(a, Symbol)}
            keys |= {("programs", key[1]) for key in keys if key[0] == "program"}
            numbers = [n for n in numbers if n[:2] == ("shape", position) or key_of(n) in keys]
        order = ("shape", "scalar", "grid", "stride")
        return sorted(numbers, key=lambda n: (n[:2] != ("shape", position), order.index(n[0])))

    def launch(self, value: int) -> tuple[Any, AssumedRanges]:
        """Return the launch at a size, with the assumed ranges of its loads."""
        relations = self._relations
        numbers, _ = launch_at(relations, {self._size: value})
        ranges = ranges_of_loads(self._contracts, relations, numbers)
        with_masked = {key: (min(low, 0), max(high, 0)) for key, (low, high) in ranges.items()}
        return call_with(relations.call, numbers), self._contents | with_masked

    def certain_ranges(self, ranges: AssumedRanges) -> AssumedRanges:
        """Return the ranges that contracts give to loads, without the recorded ones."""
        contracted = {
            (symbol.kind, symbol.key)
            for contract in self._contracts
            for _, symbol in symbols_of(contract, self._relations.call)
        }
        return {key: bounds for key, bounds in ranges.items() if key in contracted}

    def runnable(self, call: Any, ranges: AssumedRanges) -> Any:
        """Return a launch with index tensors that hold their largest values."""
        return filled_to(call, ranges)

    def end_reason(self) -> tuple[Kind, str]:
        """Return the kind and reason why this variant has no launch with the value `end`.

        They are "none" and "" for a range without an end.
        """
        if self.end >= MOST:
            return "none", ""
        refusal = refusal_of(self._relations, self.sized.numbers(self.end))
        assert refusal is not None
        return refusal
