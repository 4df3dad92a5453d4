"""The size envelope of a kernel: the first value of each quantity at which something goes wrong.

A quantity (see `growth`), or the values of an index tensor, is grown until an integer that decides
an access may leave its width, or a limit of the launch is met. The first bad value is searched by
bisection and then shown: at that value the claim that nothing wraps is refuted by a point that is
checked with exact integers, and whose program is run unless that takes too long, and at the value
before it each claim is proven. `below` says whether
all smaller sizes were proven at once, with every number anywhere between what was recorded and what
it is before the first bad value. Where either is missing, the row says unknown, and why.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from kvtrace.evaluate import Storage, TensorArgument
from kvtrace.symbolic.conditions import Condition, Opaque, at_least, conjunction
from kvtrace.symbolic.decide import Decision, Proven, Refuted, Undecided, decide_given, prove
from kvtrace.symbolic.expressions import operation_expression
from kvtrace.symbolic.linear import Interval
from kvtrace.symbolic.summary import Access, Arithmetic
from kvtrace.symbolic.terms import Symbol, signed_range
from kvtrace.symbolic.walk import summarise
from kvtrace.symbolic.walk_types import integer_bits
from kvtrace.verdicts.binding import BoundCall, Budget
from kvtrace.verdicts.generic import conditions_of
from kvtrace.verdicts.growth import Ambiguous, Grown, Number, Relations
from kvtrace.verdicts.ideal import followed
from kvtrace.verdicts.widths import Use, uses

if TYPE_CHECKING:
    from kvtrace.calls.recorded import Call
    from kvtrace.ir import Op

Kind = Literal["overflow", "tensor", "grid", "argument", "constants", "none", "unknown"]

#: Sizes beyond are not looked at: no memory has as many bytes.
MOST: Final = 1 << 48
GRID_LIMITS: Final = ((1 << 31) - 1, 65_535, 65_535)
#: After so long a row is unknown.
SECONDS_A_ROW: Final = 2.0
_SECONDS: Final = 0.2
_BUDGET: Final = Budget(solver_seconds=_SECONDS, solver_seconds_a_call=1.0, lanes=0)

#: What running a program to show a wrap may take.
_MOST_LANES: Final = 1 << 18
_MOST_RUNS: Final = 3
_TOO_LONG: Final = f"it was not decided within {SECONDS_A_ROW:g} s"

_Supposed = Mapping[tuple[str, Any], Interval]


@dataclass(frozen=True)
class Row:
    """One quantity of a kernel, and where it ends.

    Attributes:
        quantity: its name; of an index tensor, "values of NAME".
        recorded: its (greatest) recorded value.
        kind: what ends it: an overflow; a tensor that is left; the grid's limit; an argument that
            no longer fits its type, so that the kernel is compiled anew; constants (a block no
            longer covers it); nothing up to `MOST`; or it is unknown, for `reason`.
        first_bad: the first value that is not fine, or, by an argument or constants, no longer this
            variant's; None where there is none, or it is unknown.
        what: what happens there, in words.
        op: the access, and `expression` the arithmetic that wraps around.
        contract: under which values it is fine.
        along: what was taken to grow along, and what was taken to stay.
        below: "all" if all sizes below were proven at once, "last" if the one before was.

    """

    quantity: str
    recorded: int
    kind: Kind
    first_bad: int | None = None
    what: str = ""
    op: Op | None = None
    expression: str | None = None
    contract: str | None = None
    along: tuple[str, ...] = ()
    below: Literal["all", "last"] | None = None
    reason: str | None = None


def envelope(relations: Relations) -> list[Row]:
    """Return a row for each quantity that decides an access or the grid, and each index tensor.

    Raises:
        NoKernel: the module has no function to run.

    """
    relevant = _relevant(relations)
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
                rows.append(_Quantity(relations, quantity).row())
        except Ambiguous as error:
            if relevant.intersection(quantity):
                recorded = relations.base[quantity[0]]
                rows.append(Row(name, recorded, "unknown", reason=str(error)))
    for place in _index_tensors(relations.call):
        try:
            rows += [_index_row(relations, place), *_room_rows(relations, place)]
        except _Spent:
            name = f"values of {relations.call.arguments[place].name}"
            rows.append(Row(name, 0, "unknown", reason=_TOO_LONG))
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


# -- integers that wrap around --------------------------------------------------------------------


@dataclass(frozen=True)
class _Found:
    """Uses of a launch that wrap around, with a program, and those of which it is not known."""

    wrapping: tuple[tuple[Use, int], ...]
    open: tuple[tuple[Op, str], ...]


class _Spent(Exception):
    """A row took too long; never leaves this file."""


class _Clock:
    """What is left of the time for one row."""

    def __init__(self) -> None:
        self._end = time.monotonic() + SECONDS_A_ROW

    def left(self) -> float:
        """Return what the solver may take for one claim.

        Raises:
            _Spent: nothing is left.

        """
        left = self._end - time.monotonic()
        if left <= 0:
            raise _Spent
        return min(left, _SECONDS)


def _judged(
    call: Call, supposed: _Supposed, all_uses: Sequence[Use], clock: _Clock, *, one: bool
) -> _Found:
    """Decide each use of a launch; `one`: stop at the first that wraps around."""
    bound = BoundCall(call, (), _BUDGET, supposed)
    wrapping: list[tuple[Use, int]] = []
    undecided: list[tuple[Op, str]] = []
    for use in all_uses:
        clock.left()
        given = bound.active(use.access) if use.exact_lanes else bound.given(use.place)
        if given.is_impossible or prove(use.fits, given) is not None:
            continue
        decision = decide_given(use.right, given, budget=clock.left(), order=bound.order)
        if isinstance(decision, Proven):
            continue
        if isinstance(decision, Refuted):
            doubts = _doubts(bound, decision, supposed)
            if not doubts:
                wrapping.append((use, bound.program_of(decision.model)))
                if one:
                    break
                continue
            undecided.append((use.access.op, bound.described_doubts(decision.model)))
        else:
            undecided.append((use.access.op, decision.reason))
    undecided += [
        (access.op, "it is computed in a function that is called")
        for access in bound.summary.accesses
        if access.calls and bound.may_wrap(access) is not None
    ]
    return _Found(tuple(wrapping), tuple(undecided))


def _doubts(bound: BoundCall, refuted: Refuted, supposed: _Supposed) -> list[Symbol | Opaque]:
    """Return what a counterexample rests on besides the launch, and ranges that the row names."""
    return [
        key
        for key in bound.doubts(refuted.model)
        if isinstance(key, Opaque) or (key.kind, key.key) not in supposed
    ]


def _first(holds: Callable[[int], bool], low: int, high: int) -> int:
    """Return the first value above `low` where something holds; it does at `high`."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _shown(call: Call, found: _Found) -> Use | str:
    """Run programs of a launch that wrap around; give the first use that shows, or why none does.

    A run that is too long shows nothing, and what was decided stands.
    """
    for use, program in found.wrapping[:_MOST_RUNS]:
        seen, failure = followed(call, (program,), _MOST_LANES)
        op = use.arithmetic.op.index
        if not seen.shown.keys().isdisjoint(seen.reached.get(op, set()) | {op}):
            return use
        if failure is not None:
            return use
    return "what was decided to wrap around did not show when it was run"


def _wraps(relations: Relations, use: Use) -> tuple[str, str]:
    """Return what happens, and the expression that leaves its width."""
    arithmetic: Arithmetic = use.arithmetic
    text = operation_expression(arithmetic.op, summarise(relations.call.module))
    argument = use.access.argument
    of = "" if argument is None else f" of {relations.call.arguments[argument].name}"
    decides = "" if use.purpose == "address" else f" (by its {use.purpose})"
    what = f"{text} leaves {arithmetic.bits} bits, for the {use.access.kind}{of}{decides}"
    return what, text


def _contents(call: Call) -> dict[tuple[str, Any], Interval]:
    """Return the recorded range of what each load of integers gives, where it is known."""
    bound = BoundCall(call)
    symbols = {
        atom
        for access in bound.summary.accesses
        for part in (access.offset, access.active)
        for atom in part.atoms()
        if isinstance(atom, Symbol) and atom.kind == "content"
    }
    ranges = {(s.kind, s.key): bound.contents.range_of(s) for s in symbols}
    return {key: found for key, found in ranges.items() if found is not None}


class _Quantity:
    """One quantity that is grown."""

    def __init__(self, relations: Relations, quantity: tuple[Number, ...]) -> None:
        self._relations = relations
        self._quantity = quantity
        self._recorded = max(relations.base[number] for number in quantity)
        self._uses = uses(relations.call.module)
        self._contents = _contents(relations.call)
        self._clock = _Clock()

    def row(self) -> Row:
        """Return where the quantity ends."""
        name = self._relations.name(self._quantity[0])
        end = self._end()
        last = end - 1
        try:
            return self._ended_by_overflow(last) or self._ended(end)
        except Ambiguous as error:
            return Row(name, self._recorded, "unknown", reason=str(error))
        except _Spent:
            return Row(name, self._recorded, "unknown", reason=_TOO_LONG)

    def _grown(self, value: int) -> Grown:
        return self._relations.grown({self._quantity: value})

    def _end(self) -> int:
        """Return the first value at which a launch of this variant cannot be, at most `MOST`."""

        def is_refused(value: int) -> bool:
            return limit_of(self._relations, self._grown(value).numbers) is not None

        low, high = self._recorded, self._recorded * 2
        while high < MOST and not is_refused(high):
            low, high = high, high * 2
        return _first(is_refused, low, high) if high < MOST else MOST

    def _at(self, value: int, *, one: bool = False) -> _Found:
        return _judged(self._grown(value).call, self._contents, self._uses, self._clock, one=one)

    def _ended_by_overflow(self, last: int) -> Row | None:
        """Return the row of an overflow up to a value, or of what is not known there."""
        found = self._at(last)
        if not found.wrapping:
            return self._open(last, found) if found.open else None
        if self._at(self._recorded, one=True).wrapping:
            return self._overflow(self._recorded, "the recorded launch already does")
        bad = _first(lambda value: bool(self._at(value, one=True).wrapping), self._recorded, last)
        return self._overflow(bad, None)

    def _overflow(self, bad: int, already: str | None) -> Row:
        name = self._relations.name(self._quantity[0])
        use = _shown(self._grown(bad).call, self._at(bad))
        if isinstance(use, str):
            reason = f"at {bad:,}: {use}"
            return Row(name, self._recorded, "unknown", reason=reason, along=self._along(bad))
        what, text = _wraps(self._relations, use)
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

    def _open(self, value: int, found: _Found) -> Row:
        op, reason = found.open[0] if found.open else (None, "nothing was decided")
        name = self._relations.name(self._quantity[0])
        reason = f"at {value:,}: {reason}"
        return Row(name, self._recorded, "unknown", op=op, reason=reason, along=self._along(value))

    def _along(self, value: int) -> tuple[str, ...]:
        names = [
            f"values of {tensor.name} stay within {low:,} to {high:,}"
            for tensor, (low, high) in _ranges_by_tensor(self._relations.call, self._contents)
        ]
        return (*self._grown(value).along, *names)

    def _below(self, value: int) -> Literal["all", "last"] | None:
        """Prove that nothing wraps up to a value, for all sizes at once, or for that one alone."""
        grown = self._grown(value)
        supposed = dict(self._contents)
        for number, most in grown.numbers.items():
            least = min(self._relations.base[number], most)
            supposed[_symbol_key(number)] = (least, max(most, self._relations.base[number]))
            if number[0] == "grid":
                supposed["program", number[1]] = (0, max(most, 1) - 1)
        found = _judged(grown.call, supposed, self._uses, self._clock, one=True)
        if not found.wrapping and not found.open:
            return "all"
        found = self._at(value)
        return None if found.wrapping or found.open else "last"


# -- the values of index tensors ------------------------------------------------------------------


def _symbols_of(call: Call, place: int) -> list[Symbol]:
    """Return what loads of a tensor give, where it goes into an address."""
    argument = call.arguments[place]
    bound = BoundCall(call)
    atoms = {
        atom
        for access in bound.summary.accesses
        for atom in access.offset.atoms()
        if isinstance(atom, Symbol) and atom.kind == "content"
    }
    found = [atom for atom in atoms if argument in bound.contents.sources(atom)]
    return sorted(found, key=lambda atom: atom.order)


def _index_tensors(call: Call) -> list[int]:
    return [
        place
        for place, argument in enumerate(call.arguments)
        if isinstance(argument, TensorArgument) and _symbols_of(call, place)
    ]


def _ranges_by_tensor(call: Call, ranges: _Supposed) -> Iterator[tuple[TensorArgument, Interval]]:
    for place in _index_tensors(call):
        found = [
            ranges[s.kind, s.key] for s in _symbols_of(call, place) if (s.kind, s.key) in ranges
        ]
        argument = call.arguments[place]
        if found and isinstance(argument, TensorArgument):
            yield argument, (min(low for low, _ in found), max(high for _, high in found))


def _index_row(relations: Relations, place: int) -> Row:
    """Return the first value of an index tensor at which an integer wraps around."""
    call = relations.call
    symbols = _symbols_of(call, place)
    keys = [(symbol.kind, symbol.key) for symbol in symbols]
    known = _contents(call)
    name = f"values of {call.arguments[place].name}"
    recorded = max((known[key][1] for key in keys if key in known), default=0)
    touching = [use for use in uses(call.module) if not use.right.atoms().isdisjoint(symbols)]
    bare = relations.grown({}).call
    clock = _Clock()

    def at(most: int, *, one: bool = False) -> _Found:
        return _judged(bare, {**known, **dict.fromkeys(keys, (0, most))}, touching, clock, one=one)

    others = [
        f"values of {tensor.name} stay within {low:,} to {high:,}"
        for tensor, (low, high) in _ranges_by_tensor(call, known)
        if tensor is not call.arguments[place]
    ]
    along = (f"{name} are never negative", *others)
    most = min(MOST, *(symbol.high for symbol in symbols))
    found = at(most)
    if not found.wrapping:
        if found.open:
            op, reason = found.open[0]
            return Row(name, recorded, "unknown", op=op, reason=reason, along=along)
        return Row(name, recorded, "none", along=along, below="all")
    if at(0, one=True).wrapping:
        reason = "it wraps around even where they are 0"
        return Row(name, recorded, "unknown", reason=reason, along=along)
    bad = _first(lambda value: bool(at(value, one=True).wrapping), 0, most)
    before = at(bad - 1)
    if before.wrapping or before.open:
        reason = before.open[0][1] if before.open else "nothing was decided"
        return Row(name, recorded, "unknown", reason=f"at {bad - 1:,}: {reason}", along=along)
    use = _shown(_filled(bare, place, bad), at(bad))
    if isinstance(use, str):
        return Row(name, recorded, "unknown", reason=f"at {bad:,}: {use}", along=along)
    what, text = _wraps(relations, use)
    return Row(
        name, recorded, "overflow", bad, what, use.access.op, text,
        f"0 <= {name} <= {bad - 1:,}", along, "all",
    )  # fmt: skip


def _filled(call: Call, place: int, value: int) -> Call:
    """Make a launch whose index tensor holds one number everywhere."""
    tensor = call.arguments[place]
    assert isinstance(tensor, TensorArgument)
    size = tensor.element.bytes
    count = tensor.storage.nbytes // size
    data = np.full(count, value, f"{'u' if tensor.dtype[0] == 'u' else 'i'}{size}").view(np.uint8)
    filled = replace(tensor, storage=Storage(data.nbytes, data))
    arguments = (*call.arguments[:place], filled, *call.arguments[place + 1 :])
    recorded = tuple(dict.fromkeys((*call.recorded, tensor.name)))
    return replace(call, arguments=arguments, recorded=recorded)


def _room_rows(relations: Relations, place: int) -> Iterator[Row]:
    """Return the first value of an index tensor at which each access leaves its tensor."""
    call = relations.call
    symbols = _symbols_of(call, place)
    keys = [(symbol.kind, symbol.key) for symbol in symbols]
    known = _contents(call)
    name = f"values of {call.arguments[place].name}"
    recorded = max((known[key][1] for key in keys if key in known), default=0)
    most = min(MOST, *(symbol.high for symbol in symbols))
    clock = _Clock()
    for access in summarise(call.module).accesses:
        tensor = None if access.argument is None else call.arguments[access.argument]
        if not isinstance(tensor, TensorArgument) or access.offset.atoms().isdisjoint(symbols):
            continue
        first, end = tensor.view_bytes
        claim = conjunction(
            (at_least(access.offset, first), at_least(end - access.element_bytes - access.offset))
        )

        def decided(value: int, access: Access = access, claim: Condition = claim) -> Decision:
            supposed = known | dict.fromkeys(keys, (0, value))
            bound = BoundCall(call, (), _BUDGET, supposed)
            given = bound.active(access)
            found = decide_given(claim, given, budget=clock.left(), order=bound.order)
            if isinstance(found, Refuted) and _doubts(bound, found, supposed):
                return Undecided(bound.described_doubts(found.model))
            return found

        if not isinstance(decided(0), Proven):
            continue  # the other numbers decide it, which the conditions say
        if not isinstance(decided(most), Refuted):
            continue
        bad = _first(lambda value: isinstance(decided(value), Refuted), 0, most)
        if isinstance(decided(bad - 1), Proven):
            what = f"the {access.kind} leaves {tensor.name} as it was recorded"
            yield Row(
                name, recorded, "tensor", bad, what, access.op, None,
                f"0 <= {name} <= {bad - 1:,}", (f"{name} are never negative",), "all",
            )  # fmt: skip
