"""The size envelope of a kernel: the first value of each quantity at which something goes wrong.

A quantity (see `growth`), or the values of an index tensor, is grown until an integer that decides
an access may leave its width, or a limit of the launch is met. The first bad value is searched by
bisection and then shown: at that value the claim that nothing wraps is refuted by a point that is
checked with exact integers, and whose program is run unless that takes too long or too much memory,
and at the value before it each claim is proven. `below` says whether all smaller sizes were proven
at once, with every number anywhere between what was recorded and what it is before the first bad
value. Where either is missing, the row says unknown, and why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from kvtrace.symbolic.linear import Interval
from kvtrace.symbolic.terms import Symbol, signed_range
from kvtrace.symbolic.walk import summarise
from kvtrace.symbolic.walk_types import integer_bits
from kvtrace.verdicts.contracts import Contract, named_in, supposed, symbols_of
from kvtrace.verdicts.envelope_rows import (
    MOST,
    TOO_LONG,
    Clock,
    Found,
    Kind,
    Row,
    Spent,
    contents_of,
    first_where,
    judged,
    shown_by,
    wraps_of,
)
from kvtrace.verdicts.envelope_values import (
    filled_to,
    index_tensors,
    ranges_by_tensor,
    value_rows,
)
from kvtrace.verdicts.generic import conditions_of
from kvtrace.verdicts.growth import Ambiguous, Grown, Number, Relations
from kvtrace.verdicts.widths import uses

GRID_LIMITS: Final = ((1 << 31) - 1, 65_535, 65_535)


def envelope(relations: Relations, contracts: Sequence[Contract] = ()) -> list[Row]:
    """Return a row for each quantity that decides an access or the grid, and each index tensor.

    `contracts` say what index tensors hold at other sizes.

    Raises:
        NoKernel: the module has no function to run.

    """
    relevant = _relevant(relations) | named_in(contracts, relations)
    rows = []
    for quantity in relations.quantities:
        kind, place, _ = quantity[0]
        if (kind == "grid" and relations.follows_grid(place)) or relations.is_derived(quantity):
            continue  # what it follows from has a row
        name = relations.name(quantity[0])
        try:
            changed = _changed(
                relations, relations.grown({quantity: relations.base[quantity[0]] * 2})
            )
            if changed & relevant:
                rows.append(_Quantity(relations, quantity, contracts).row())
        except Ambiguous as error:
            if relevant.intersection(quantity):
                recorded = relations.base[quantity[0]]
                rows.append(Row(name, recorded, "unknown", reason=str(error)))
    for place in index_tensors(relations.call):
        try:
            rows += value_rows(relations, place)
        except Spent:
            name = f"values of {relations.call.arguments[place].name}"
            rows.append(Row(name, 0, "unknown", reason=TOO_LONG))
    return rows


def _relevant(relations: Relations) -> set[Number]:
    """Return the numbers that accesses are decided by, and the grid."""
    summary = summarise(relations.call.module)
    atoms = frozenset().union(
        *(access.offset.atoms() | access.active.atoms() for access in summary.accesses)
    )
    found: set[Number] = {("grid", axis, 0) for axis in range(3)}
    for atom in atoms:
        if isinstance(atom, Symbol) and atom.kind == "scalar":
            key = atom.key
            found.add(("scalar", key, 0) if isinstance(key, int) else (key[1], key[0], key[2]))
    return found


def _changed(relations: Relations, grown: Grown) -> set[Number]:
    return {n for n, value in grown.numbers.items() if value != relations.base[n]}


# -- limits of a launch ---------------------------------------------------------------------------


def limit_of(relations: Relations, numbers: Mapping[Number, int]) -> tuple[Kind, str] | None:
    """Return what keeps a launch of this variant from having these numbers; None: nothing."""
    for axis, most in enumerate(GRID_LIMITS):
        if numbers["grid", axis, 0] > most:
            return "grid", f"grid_{'xyz'[axis]} is more than {most:,}, which CUDA does not launch"
    parameters = relations.call.module.main.arguments
    for number, value in numbers.items():
        if number[0] != "scalar" or value == relations.base[number]:
            continue
        bits = integer_bits(parameters[number[1]].type) or 64
        if value > signed_range(bits)[1]:
            name = relations.name(number)
            return "argument", f"{name} no longer fits {bits} bits: the kernel is compiled anew"
    known = {_symbol_key(number): value for number, value in numbers.items()}
    base = {_symbol_key(number): value for number, value in relations.base.items()}
    for found in conditions_of(relations.call.module):
        for condition in found.reach:
            symbols = [atom for atom in condition.atoms() if isinstance(atom, Symbol)]
            keys = {symbol: (symbol.kind, symbol.key) for symbol in symbols}
            if not all(key in known for key in keys.values()):
                continue
            now, before = ({s: at[k] for s, k in keys.items()} for at in (known, base))
            if condition.value(before) and not condition.value(now):
                return "constants", (
                    "stores no longer reach all that their masks let through: another grid, or "
                    "another block size, and with it another variant"
                )
    return None


def _symbol_key(number: Number) -> tuple[str, Any]:
    kind, place, axis = number
    if kind == "grid":
        return "programs", place
    return "scalar", place if kind == "scalar" else (place, kind, axis)


# -- quantities ---------------------------------------------------------------------------------


class _Quantity:
    """One quantity that is grown."""

    def __init__(
        self,
        relations: Relations,
        quantity: tuple[Number, ...],
        contracts: Sequence[Contract],
    ) -> None:
        self._contracts = contracts
        self._relations = relations
        self._quantity = quantity
        self._recorded = max(relations.base[number] for number in quantity)
        self._uses = uses(relations.call.module)
        self._contents = contents_of(relations.call)
        self._clock = Clock()

    def row(self) -> Row:
        """Return where the quantity ends."""
        name = self._relations.name(self._quantity[0])
        end = self._end()
        last = end - 1
        try:
            return self._ended_by_overflow(last) or self._ended(end)
        except Ambiguous as error:
            return Row(name, self._recorded, "unknown", reason=str(error))
        except Spent:
            return Row(name, self._recorded, "unknown", reason=TOO_LONG)

    def _grown(self, value: int) -> Grown:
        return self._relations.grown({self._quantity: value})

    def _end(self) -> int:
        """Return the first value at which a launch of this variant cannot be, at most `MOST`."""

        def is_refused(value: int) -> bool:
            return limit_of(self._relations, self._grown(value).numbers) is not None

        low, high = self._recorded, self._recorded * 2
        while high < MOST and not is_refused(high):
            low, high = high, high * 2
        return first_where(is_refused, low, high) if high < MOST else MOST

    def _at(self, value: int, *, one: bool = False) -> Found:
        grown = self._grown(value)
        return judged(grown.call, self._held(grown), self._uses, self._clock, one=one)

    def _held(self, grown: Grown) -> dict[tuple[str, Any], Interval]:
        """Return what index tensors hold: by contract, else as recorded."""
        return self._contents | supposed(self._contracts, self._relations, grown.numbers)

    def _ended_by_overflow(self, last: int) -> Row | None:
        """Return the row of an overflow up to a value, or of what is not known there."""
        found = self._at(last)
        if not found.wrapping:
            return self._open(last, found) if found.open else None
        if self._at(self._recorded, one=True).wrapping:
            return self._overflow(self._recorded, "the recorded launch already does")
        bad = first_where(
            lambda value: bool(self._at(value, one=True).wrapping), self._recorded, last
        )
        return self._overflow(bad, None)

    def _overflow(self, bad: int, already: str | None) -> Row:
        name = self._relations.name(self._quantity[0])
        grown = self._grown(bad)
        use = shown_by(filled_to(grown.call, self._held(grown)), self._at(bad))
        if isinstance(use, str):
            reason = f"at {bad:,}: {use}"
            return Row(name, self._recorded, "unknown", reason=reason, along=self._along(bad))
        what, text = wraps_of(self._relations, use)
        below = None if already else self._below(bad - 1)
        if below is None and not already:
            before = self._at(bad - 1)
            return self._open(bad - 1, before)
        return Row(
            name, self._recorded, "overflow", bad, what + (f"; {already}" if already else ""),
            use.access.op, text, None if already else f"{name} <= {bad - 1:,}",
            self._along(bad), below,
        )  # fmt: skip

    def _ended(self, end: int) -> Row:
        name = self._relations.name(self._quantity[0])
        below = self._below(end - 1)
        if end >= MOST:
            return Row(name, self._recorded, "none", along=self._along(end), below=below)
        limit = limit_of(self._relations, self._grown(end).numbers)
        assert limit is not None
        return Row(
            name, self._recorded, limit[0], end, limit[1], contract=f"{name} <= {end - 1:,}",
            along=self._along(end), below=below,
        )  # fmt: skip

    def _open(self, value: int, found: Found) -> Row:
        op, reason = found.open[0] if found.open else (None, "nothing was decided")
        name = self._relations.name(self._quantity[0])
        reason = f"at {value:,}: {reason}"
        return Row(name, self._recorded, "unknown", op=op, reason=reason, along=self._along(value))

    def _along(self, value: int) -> tuple[str, ...]:
        call = self._relations.call
        held = [each for each in self._contracts if symbols_of(each, call)]
        bound = {call.arguments[place].name for each in held for place, _ in symbols_of(each, call)}
        names = [
            f"values of {tensor.name} stay within {low:,} to {high:,}"
            for tensor, (low, high) in ranges_by_tensor(call, self._contents)
            if tensor.name not in bound
        ]
        return (*self._grown(value).along, *names, *(f"assuming {each.text}" for each in held))

    def _below(self, value: int) -> Literal["all", "last"] | None:
        """Prove that nothing wraps up to a value, for all sizes at once, or for that one alone."""
        grown = self._grown(value)
        known = self._held(grown)
        for number, most in grown.numbers.items():
            least = min(self._relations.base[number], most)
            known[_symbol_key(number)] = (least, max(most, self._relations.base[number]))
            if number[0] == "grid":
                known["program", number[1]] = (0, max(most, 1) - 1)
        found = judged(grown.call, known, self._uses, self._clock, one=True)
        if not found.wrapping and not found.open:
            return "all"
        found = self._at(value)
        return None if found.wrapping or found.open else "last"
