"""Accesses of a call as formulas over boxes, from the kernel's symbolic summary.

The evaluator's plan needs offsets that are affine in programs and lanes. Those of a compiler such
as Inductor are affine in *digits*: `x // 128 % 24` and `x % 128` of an element `x = 1024 * program
+ lane`. So programs, trips and lanes are split into digits until no division is left, and masks
into boxes of digits. Example: with `lane = 128 * h + l` and `program = 3 * p + q`, `x % 128` is
`l` and `x // 128 % 24` is `8 * q + h`.

Ideal integers are those of the kernel only where no arithmetic wraps around, which is checked.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kvtrace.evaluate import Access, TensorArgument
from kvtrace.evaluate.observe import AffineAxis, AffineFormula
from kvtrace.symbolic.conditions import AtLeast, Condition, Equal, at_least
from kvtrace.symbolic.functions import Quotient, Remainder, ways
from kvtrace.symbolic.prover import Proven
from kvtrace.symbolic.summary import Access as SymbolicAccess
from kvtrace.symbolic.terms import Atom, Substitution, Symbol, Term
from kvtrace.verdicts.binding import BoundCall, Budget

if TYPE_CHECKING:
    from kvtrace.recorded_calls.recorded import Call

_MOST_SPLITS: Final = 24
_MOST_BOXES: Final = 256

Kinds: Final = ("program", "trip", "lane")
Box = Mapping[Symbol, tuple[int, int]]
"""The first and last number of each digit."""

Form = tuple[int, dict[Symbol, int]]
"""A constant, and coefficients of digits."""


class _NoBoxes(Exception):
    """The error of an access that is no set of boxes; its text says why."""


@dataclass(frozen=True, slots=True, eq=False)
class BoxedAccesses:
    """Accesses of a call in the order of the program; each has a formula without conditions.

    `unresolved` are the ops of which not all accesses are known, with the reason. `lanes` is the
    number of lanes of all memory ops, masked ones included.
    """

    accesses: tuple[Access, ...]
    unresolved: Mapping[int, str]
    lanes: int


def boxed_accesses(call: Call) -> BoxedAccesses:
    """Return the accesses of a call whose offsets and masks are affine in digits."""
    bound = BoundCall(call, budget=Budget(solver_seconds=0.0, solver_seconds_a_call=0.0))
    digits = _Digits(bound)
    accesses: list[Access] = []
    unresolved: dict[int, str] = {}
    for access in bound.summary.accesses:
        try:
            accesses += digits.boxed(access)
        except _NoBoxes as reason:
            unresolved.setdefault(access.op.index, str(reason))
    return BoxedAccesses(
        tuple(access for access in accesses if access.op.index not in unresolved),
        unresolved,
        bound.lanes,
    )


class _Digits:
    """The digits of a call's programs, trips and lanes, in which all accesses are written.

    `_conditions` say which combinations of digits are numbers of the launch: of 10 programs in
    digits of 3, the last has one program only.
    """

    def __init__(self, bound: BoundCall) -> None:
        self._bound = bound
        self._numbers: dict[Symbol, int] = {}
        self._digits: dict[Symbol, tuple[Symbol, ...]] = {}
        self._conditions: dict[Symbol, Condition] = {}
        self._substitution = Substitution({})
        atoms: set[Atom] = {loop.trip for loop in bound.summary.loops}
        for access in bound.summary.accesses:
            atoms |= access.offset.atoms() | access.active.atoms()
        self._settled = Substitution(dict(self._ranges_of(atoms)))
        terms: list[Term | Condition] = [
            part.substitute(self._settled)
            for access in bound.summary.accesses
            for part in (access.offset, access.active)
        ]
        self._split(terms)

    def _ranges_of(self, atoms: Iterable[Atom]) -> Iterator[tuple[Symbol, Term | int]]:
        """Yield symbols with their only value, or with themselves in the range of this call."""
        for atom in atoms:
            if not isinstance(atom, Symbol) or atom.at:
                continue
            low, high = self._bound.ranges.of(atom)
            if low == high:
                yield atom, low
            elif atom.kind in Kinds:
                narrow = Symbol(atom.kind, atom.key, low, high)
                self._digits[narrow] = (narrow,)
                yield atom, narrow.term

    # -- digits --------------------------------------------------------------------------------

    def _split(self, terms: list[Term | Condition]) -> None:
        """Split symbols into digits until no division by a number is left, as far as possible."""
        replaced: dict[Symbol, Term] = {}
        for _ in range(_MOST_SPLITS):
            found = next(_periods(terms), None)
            if found is None:
                break
            symbol, period = found
            last = symbol.high // period
            outer = Symbol(symbol.kind, (symbol.key, "over", period), 0, last)
            inner = Symbol(symbol.kind, (symbol.key, "within", period), 0, period - 1)
            value = outer.term * period + inner.term
            step = Substitution({symbol: value})
            replaced = {name: step(term) for name, term in replaced.items()} | {symbol: value}
            terms = [term.substitute(step) for term in terms]
            self._conditions = {
                name: condition.substitute(step) for name, condition in self._conditions.items()
            }
            if (symbol.high + 1) % period:
                self._conditions[symbol] = at_least(symbol.high - value)
            for name, parts in self._digits.items():
                pairs = [(outer, inner) if digit is symbol else (digit,) for digit in parts]
                self._digits[name] = tuple(itertools.chain.from_iterable(pairs))
        self._substitution = Substitution(replaced)

    def _in_digits(self, part: Term | Condition) -> Term | Condition:
        return part.substitute(self._settled).substitute(self._substitution)

    # -- accesses ------------------------------------------------------------------------------

    def boxed(self, access: SymbolicAccess) -> Iterator[Access]:
        """Yield one access for each box of an access's digits; raise _NoBoxes."""
        if access.argument is None or access.unknown is not None:
            raise _NoBoxes(access.unknown or "its pointer is no argument")
        for arithmetic in self._bound.arithmetic_of(access):
            if not isinstance(self._bound.width(arithmetic), Proven):
                raise _NoBoxes("an integer of its address or mask may wrap around")
        active = self._in_digits(access.active)
        offset = self._in_digits(access.offset)
        assert isinstance(active, Condition)
        assert isinstance(offset, Term)
        digits = self._digits_around(access)
        whole = {digit: (digit.low, digit.high) for digit in digits}
        for conditions, term in ways(offset):
            forms = [
                form
                for condition in (*active.conjuncts(), *conditions, *self._numbers_exist(digits))
                for form in _forms(condition)
            ]
            offset_form = _form(term)
            for box in _boxes(forms, whole):
                yield self._access(access, digits, offset_form, box)

    def _digits_around(self, access: SymbolicAccess) -> list[Symbol]:
        """Return the digits of programs, trips and lanes of an access, slowest first."""
        grid, settled = self._bound.call.grid, self._settled
        symbols = [
            Symbol("program", axis, 0, grid[axis] - 1) for axis in (2, 1, 0) if grid[axis] > 1
        ]
        for loop in access.loops:
            trips = settled(loop.trip.term)
            symbols += [atom for atom in trips.atoms() if isinstance(atom, Symbol)]
        symbols += [
            Symbol("lane", axis, 0, extent - 1)
            for axis, extent in enumerate(access.shape)
            if extent > 1
        ]
        return [digit for symbol in symbols for digit in self._digits.get(symbol, (symbol,))]

    def _numbers_exist(self, digits: Sequence[Symbol]) -> Iterator[Condition]:
        """Yield the conditions on digits that belong to symbols of an access."""
        present = set(digits)
        for condition in self._conditions.values():
            if condition.atoms() <= present:
                yield condition

    def _access(
        self, access: SymbolicAccess, digits: Sequence[Symbol], offset: Form, box: Box
    ) -> Access:
        argument = self._bound.call.arguments[access.argument or 0]
        assert isinstance(argument, TensorArgument)
        constant, steps = offset
        axes = []
        low = high = constant
        for digit in digits:
            first, last = box[digit]
            step = steps.get(digit, 0)
            number = self._numbers.setdefault(digit, len(self._numbers))
            axes.append(AffineAxis(digit.kind, number, step, first, last))  # type: ignore[arg-type]
            low += min(step * first, step * last)
            high += max(step * first, step * last)
        counts = dict.fromkeys(Kinds, 1)
        for axis in axes:
            counts[axis.kind] *= axis.last - axis.first + 1
        executions = counts["program"] * counts["trip"]
        formula = AffineFormula(
            constant, tuple(axes), (0, 0, 0), (), access.shape, self._bound.call.grid,
            argument.offset_bytes,
        )  # fmt: skip
        active = executions * counts["lane"]
        return Access(
            access.op, access.kind, access.argument, access.element_bytes, executions, active,
            active, low, high, formula=formula,
        )  # fmt: skip


def _periods(terms: Iterable[Term | Condition]) -> Iterator[tuple[Symbol, int]]:
    """Yield a symbol inside a division, and the period with which the division needs it."""
    for atom in sorted({a for term in terms for a in term.atoms()}, key=lambda atom: atom.order):
        if not isinstance(atom, Quotient | Remainder):
            continue
        divisor, form = atom.arguments[1].constant, atom.arguments[0].affine()
        if divisor is None or divisor < 2 or form is None:
            continue
        for symbol, factor in form[1].items():
            if not isinstance(symbol, Symbol) or symbol.kind not in Kinds or symbol.at:
                continue
            period = divisor // math.gcd(divisor, factor)
            if symbol.low == 0 and 1 < period <= symbol.high:
                yield symbol, period


# -- boxes -------------------------------------------------------------------------------------


def _form(term: Term) -> Form:
    """Return a term as an affine form of digits; raise _NoBoxes."""
    form = term.affine()
    if form is None:
        raise _NoBoxes("its address or mask is not affine")
    constant, factors = form
    digits: dict[Symbol, int] = {}
    for atom, factor in factors.items():
        if not isinstance(atom, Symbol) or atom.kind not in Kinds:
            raise _NoBoxes(_what_varies(atom))
        digits[atom] = factor
    return constant, digits


def _what_varies(atom: Atom) -> str:
    if any(isinstance(inner, Symbol) and inner.kind == "content" for inner in atom.within()):
        return "its address or mask depends on the contents of a tensor"
    return "its address or mask is not affine"


def _forms(condition: Condition) -> list[Form]:
    """Return forms that are all >= 0 where a condition holds; raise _NoBoxes."""
    if condition.decided is not None:
        return [] if condition.decided else [(-1, {})]
    if isinstance(condition, AtLeast):
        return [_form(condition.term)]
    if isinstance(condition, Equal):
        return [_form(condition.term), _form(-condition.term)]
    if any(isinstance(atom, Symbol) and atom.kind == "content" for atom in condition.atoms()):
        raise _NoBoxes("its address or mask depends on the contents of a tensor")
    raise _NoBoxes("its mask is not a conjunction of comparisons")


def _boxes(forms: Sequence[Form], whole: Box) -> list[Box]:
    """Return disjoint boxes of the points of a box where all forms are >= 0; raise _NoBoxes."""
    pending = [dict(whole)]
    for form in forms:
        pending = list(
            itertools.islice(
                itertools.chain.from_iterable(_cut(form, box) for box in pending), _MOST_BOXES + 1
            )
        )
        if len(pending) > _MOST_BOXES:
            raise _NoBoxes("its mask is not a few boxes of lanes")
    return list(pending)


def _cut(form: Form, box: dict[Symbol, tuple[int, int]]) -> Iterator[dict[Symbol, tuple[int, int]]]:
    """Yield boxes in which a form is >= 0: its digit of the largest step is cut in up to two.

    Where that digit decides, the box is kept or dropped whole; where smaller digits do, each of its
    numbers is a box of its own, which is cut further.
    """
    constant, factors = form
    reaches = {
        digit: sorted((factor * box[digit][0], factor * box[digit][1]))
        for digit, factor in factors.items()
    }
    low = constant + sum(reach[0] for reach in reaches.values())
    high = constant + sum(reach[1] for reach in reaches.values())
    if low >= 0:
        yield box
    if low >= 0 or high < 0:
        return
    digit = max(
        (d for d in factors if box[d][0] < box[d][1]), key=lambda d: (abs(factors[d]), -d.order)
    )
    factor, (first, last) = factors[digit], box[digit]
    rest_low, rest_high = low - reaches[digit][0], high - reaches[digit][1]
    # The form is >= 0 for all smaller digits from `sure` on (in the direction of the factor).
    if factor > 0:
        sure, possible = -(rest_low // factor), -(rest_high // factor)
        begin, end = max(first, sure), last
        undecided = range(max(first, possible), min(last, sure - 1) + 1)
    else:
        sure, possible = rest_low // -factor, rest_high // -factor
        begin, end = first, min(last, sure)
        undecided = range(max(first, sure + 1), min(last, possible) + 1)
    if begin <= end:
        yield {**box, digit: (begin, end)}
    if len(undecided) > _MOST_BOXES:
        raise _NoBoxes("its mask is not a few boxes of lanes")
    for number in undecided:
        yield from _cut(form, {**box, digit: (number, number)})
