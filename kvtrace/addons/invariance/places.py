"""Elements of an output that a store writes: its address, solved for programs, trips and lanes.

A store goes to `base + factor * position + …`: positions vary over programs, lanes and trips,
factors are strides. Each factor is an axis of the output. In place of the symbols that a position
varies over, formulas are rewritten over the coordinate itself.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from math import gcd
from typing import TYPE_CHECKING

from kvtrace.addons.invariance.coordinates import (
    MOST,
    Ambiguous,
    Axis,
    Output,
    Unfollowed,
    coordinate,
    is_number,
    number_of_coordinate,
    strides_of,
)
from kvtrace.addons.invariance.digits import (
    divided,
    divided_index,
    divided_parts,
    groups_of,
    placing,
    solvable,
    step_of,
)
from kvtrace.symbolic.bits import Bitwise, bitwise
from kvtrace.symbolic.conditions import TRUE, Condition, at_least, conjunction, less
from kvtrace.symbolic.functions import Quotient, Remainder, quotient, remainder, single
from kvtrace.symbolic.prover import Given, follows
from kvtrace.symbolic.terms import (
    MOST_PROGRAMS,
    ZERO,
    Atom,
    Monomial,
    Substitution,
    Symbol,
    Term,
    as_term,
)

if TYPE_CHECKING:
    from kvtrace.evaluate.arguments import TensorArgument
    from kvtrace.symbolic.prover import Ranges
    from kvtrace.symbolic.summary import Access

_NO_SUM = "which element a lane writes is not a sum over programs and lanes"


def coordinates_of(
    access: Access,
    tensor: TensorArgument | None,
    ranges: Ranges,
    sizes: Ranges,
    *,
    here: bool = False,
) -> Output:
    """Return the coordinates of what a store or an atomic update writes.

    Args:
        access: The store or atomic update; its address is a formula.
        tensor: The tensor in a recorded call, whose strides tell apart axes that the kernel has as
            numbers; None: not recorded.
        ranges: Ranges of symbols in that call, which order the axes.
        sizes: Ranges that are assumed of symbols in any call.
        here: Coordinates are of this call alone, whose grid may have one program.

    Raises:
        Unfollowed: the address is not a formula over programs, lanes and trips.

    """
    if access.argument is None:
        raise Unfollowed(f"it writes through {access.unknown}")
    return _Coordinates(access, tensor, ranges, sizes, here=here).output()


def split_axis(output: Output, divisor: Term, length: int) -> Output:
    """Return an output with its outermost axis split into its index's quotient and remainder.

    Args:
        output: The output, with at least one axis.
        divisor: A number of at least 1 that no lane changes, such as the length of a sequence.
        length: The divisor's value in the recorded call.

    """
    old, *rest = output.axes
    first = coordinate(100)
    second = coordinate(101, 0, max(divisor.high - 1, 0))
    index = old.coordinate.term
    whole = first.term * divisor + second.term
    both = Substitution({old.coordinate: whole, **divided_parts(index, divisor, first, second)})
    inside = (at_least(second.term), less(second.term, divisor))
    return Output(
        output.access,
        (
            Axis(first, old.factor * divisor, old.step * length, is_index=old.is_index),
            Axis(second, old.factor, old.step, is_index=old.is_index),
            *rest,
        ),
        (*output.written, both),
        (*output.blocks, both),
        (*(fact.substitute(both) for fact in output.facts), *inside),
    )


class _Coordinates:
    def __init__(
        self,
        access: Access,
        tensor: TensorArgument | None,
        ranges: Ranges,
        sizes: Ranges,
        *,
        here: bool,
    ) -> None:
        self._here = here
        self._access = access
        self._strides = [] if tensor is None else strides_of(tensor)
        self._ranges = ranges
        self._given = Given(access.active.conjuncts(), ranges)
        self._active = Given(access.active.conjuncts(), sizes)
        self._ranges_of_sizes = sizes
        self._count = 0
        self._replaced: dict[Atom, Term] = {}
        self._blocks: dict[Atom, Term] = {}
        self._facts: list[Condition] = []
        self._axes: list[Axis] = []

    def output(self) -> Output:
        self._drop_single_programs()
        offset = self._without_divisions(Substitution(self._replaced)(self._access.offset))
        self._groups = groups_of(offset)
        parts = (position * Term({pure: 1}) for pure, position in self._groups.items())
        self._is_whole = sum(parts, ZERO) == offset
        groups = self._split(self._groups)
        ordered = sorted(groups, key=lambda pair: -abs(self._step(pair[0])))
        for factor, position in sorted(ordered, key=lambda pair: bool(pair[1].symbols("content"))):
            rest = self._items(factor, position)
            if rest.atoms():
                self._axis(factor, rest, is_index=self._is_whole and rest is position)
        steps = [axis.step for axis in self._axes if not axis.is_own]
        if len(set(steps)) < len(steps):
            raise Ambiguous(_NO_SUM)
        axes = tuple(sorted(self._axes, key=lambda axis: (not axis.is_own, -abs(axis.step))))
        return Output(
            self._access, axes, (Substitution(self._replaced),), (Substitution(self._blocks),),
            tuple(self._facts),
        )  # fmt: skip

    def _drop_single_programs(self) -> None:
        """Write programs, trips and lanes as 0 where there is one, by the mask or by the call.

        Programs along an axis that does not say where they write would write over each other, so
        that an axis of one is of one in every launch. So it is of an axis along which programs
        step as far as along another, of several.
        """
        programs = [Symbol("program", axis, 0, MOST_PROGRAMS - 1) for axis in range(3)]
        offset = self._access.offset
        several = {
            offset.coefficients.get((each,)) for each in programs if self._ranges.of(each)[1] > 0
        }
        for symbol in programs:
            placed = symbol in offset.atoms() and not self._here
            twice = offset.coefficients.get((symbol,), 0) in several
            if (twice or not placed) and self._ranges.of(symbol)[1] == 0:
                self._replaced[symbol] = ZERO
        for symbol in placing(self._access.offset):
            if follows(less(symbol.term, 1), self._active) is not None:
                self._replaced[symbol] = ZERO

    def _without_divisions(self, offset: Term) -> Term:
        """Return an offset without divisions of addresses, as of strides by a tensor's last extent.

        Its strides are numbers there, as they are in the recorded call, where a division of them by
        a number leaves nothing.
        """
        found: dict[Atom, Term] = {}
        for atom in offset.atoms():
            if not isinstance(atom, Quotient) or atom.arguments[1].constant is None:
                continue
            fixed: dict[Atom, int] = {}
            for monomial in atom.arguments[0].coefficients:
                if any(placing(each.term) for each in monomial):
                    scalars = (each for each in monomial if isinstance(each, Symbol))
                    known = {each: self._ranges.of(each) for each in scalars if is_number(each)}
                    fixed |= {each: low for each, (low, high) in known.items() if low == high}
            plain = Substitution(fixed)(atom.term)
            if fixed and not plain.symbols("scalar") and plain.atoms() == placing(plain):
                found[atom] = plain
        return Substitution(found)(offset)

    def _step(self, factor: Term) -> int:
        low, high = self._ranges.interval(factor)
        return max(abs(low), abs(high))

    # -- axes that strides tell apart ------------------------------------------------------------

    def _split(self, groups: Mapping[Monomial, Term]) -> list[tuple[Term, Term]]:
        """Return factors with positions; what has numbers for strides is split by these."""
        factors: list[tuple[Term, Term]] = []
        for pure, positions in groups.items():
            if pure:
                common, position = self._shared(positions)
                factors.append((Term({pure: common}), position))
            else:
                factors += self._by_strides(positions)
        return factors

    def _by_strides(self, positions: Term) -> list[tuple[Term, Term]]:
        size = self._access.element_bytes
        passed = {
            self._step(Term({pure: gcd(*each.coefficients.values())}))
            for pure, each in self._groups.items()
            if pure
        }
        strides = [stride for stride in self._strides if stride not in passed]
        shares: dict[int, dict[Monomial, int]] = {}
        for monomial, number in positions.coefficients.items():
            stride = next((each for each in strides if number % each == 0), size)
            shares.setdefault(stride, {})[monomial] = number
        inner: Term = ZERO
        found = []
        for stride in sorted(shares):  # an inner axis must end where an outer one continues
            share = Term(shares[stride])
            if inner.coefficients and not self._fits(inner, stride):
                return self._flat(positions)
            inner = inner + share
            if share.atoms():
                common, position = self._shared(share)
                found.append((as_term(common), position))
        outer = [stride for stride in strides if stride > size]
        alone = len(found) == 1 and len(self._groups) == 1
        if alone and outer and not self._fits(inner, outer[-1]):
            return self._flat(positions)
        return found

    def _shared(self, positions: Term) -> tuple[int, Term]:
        """Return the common divisor of a position's steps, and the number of the step.

        A constant offset that is no multiple of the divisor is left out.
        """
        steps = dict(positions.coefficients)
        first = steps.pop((), 0)
        common = gcd(*steps.values())
        if first % common:
            self._is_whole = False
        elif first:
            steps[()] = first
        return common, divided(Term(steps), common)

    def _fits(self, inner: Term, reach: int) -> bool:
        """Return whether an inner position stays below where an outer axis takes its next step."""
        claim = conjunction((at_least(inner), less(inner, reach)))
        return claim is TRUE or follows(claim, self._given) is not None

    def _flat(self, positions: Term) -> list[tuple[Term, Term]]:
        """Add an axis per axis of the tensor, for a flat index; return factors still to split."""
        common, linear = self._shared(positions)
        strides = self._strides
        if len(strides) < 2 or any(stride % common for stride in strides):
            return [(as_term(common), linear)]
        atom = solvable(linear, self._replaced)
        if atom is None:
            raise Unfollowed(_NO_SUM)
        whole, outer_stride = ZERO, 0
        for stride in strides:
            most = MOST if not outer_stride else outer_stride // stride - 1
            index = self._coordinate(0, most)
            whole = whole + index.term * (stride // common)
            self._axes.append(Axis(index, as_term(stride), stride, is_index=self._is_whole))
            outer_stride = stride
        self._replace(atom, whole - (linear - atom.term), linear, whole)
        return []

    # -- coordinates -----------------------------------------------------------------------------

    def _items(self, factor: Term, position: Term) -> Term:
        """Remove from a position the begins of items that are loaded from memory."""
        remaining: dict[Monomial, int] = {}
        for monomial, number in position.coefficients.items():
            atom = monomial[0] if len(monomial) == 1 else None
            if not isinstance(atom, Symbol) or atom.kind != "content":
                remaining[monomial] = number
                continue
            for entry in self._entries(atom):
                self._axes.append(Axis(entry, factor, self._step(factor), is_own=True))
        return position if len(remaining) == len(position.coefficients) else Term(remaining)

    def _entries(self, content: Symbol) -> list[Symbol]:
        """Return the coordinate of the entry of a tensor of integers that a content is of.

        Where it is not followed, one for each symbol that says which entry it is.
        """
        address = Substitution(self._replaced)(content.at[0]) if len(content.at) == 1 else ZERO
        if not placing(address):
            symbols = [each for each in placing(content.term) if each not in self._replaced]
        elif address.symbols("content"):
            symbols = list(placing(address))
        else:
            _, position = self._shared(address)
            try:
                return [self._index(position)[0]]
            except Unfollowed:
                symbols = list(placing(address))
        coordinates = []
        for symbol in sorted(symbols, key=lambda each: each.order):
            coordinates.append(self._coordinate(symbol.low, symbol.high))
            self._replaced[symbol] = coordinates[-1].term
        return coordinates

    def _axis(self, factor: Term, position: Term, *, is_index: bool) -> None:
        position = Substitution(self._replaced)(position)
        known = single(position)
        if isinstance(known, Symbol) and number_of_coordinate(known) is not None:
            if all(axis.coordinate is not known for axis in self._axes):
                self._axes.append(Axis(known, factor, self._step(factor), is_index=is_index))
            return
        if not placing(position):
            return
        own, is_position = self._index(position)
        step = self._step(factor)
        self._axes.append(Axis(own, factor, step, is_index=is_index and is_position))

    def _index(self, position: Term) -> tuple[Symbol, bool]:
        """Return a new coordinate of a position, and whether it equals the position.

        Raises:
            Unfollowed: the position is not numbered by one symbol.

        """
        atom = solvable(position, self._replaced)
        if atom is None and (flipped := self._flipped(position)) is not None:
            return flipped, True
        if atom is None:
            return self._renamed(position - position.coefficients.get((), 0)), False
        low, high = self._ranges_of_sizes.interval(position)
        coordinate = self._coordinate(max(low, -MOST), min(high, MOST))
        sign = position.coefficients[(atom,)]
        rest = position - atom.term * sign
        self._replace(atom, (coordinate.term - rest) * sign, position, coordinate.term)
        return coordinate, True

    def _flipped(self, position: Term) -> Symbol | None:
        """Return the coordinate of an index with some bits flipped, as in swapped rows."""
        exchange = single(position)
        if not isinstance(exchange, Bitwise) or exchange.operator != "xor":
            return None
        index, flips = exchange.arguments
        atom = solvable(index, self._replaced)
        if atom is None or flips.constant is None or flips.constant < 0 or index.low < 0:
            return None
        coordinate, sign = self._coordinate(0, MOST), index.coefficients[(atom,)]
        back = bitwise("xor", coordinate.term, flips.constant, exchange.bits)
        self._replace(atom, (back - (index - atom.term * sign)) * sign)
        return coordinate

    def _coordinate(self, low: int, high: int) -> Symbol:
        self._count += 1
        return coordinate(self._count - 1, low, high)

    def _renamed(self, position: Term) -> Symbol:
        """Number an axis by the one symbol that its position varies over, if it is one."""
        divided = single(position)
        if isinstance(divided, Quotient | Remainder):
            whole = divided_index(divided)
            index = solvable(whole, self._replaced)
            if index is not None and whole.coefficients[(index,)] == 1:
                digit = self._digit(position, whole, index)
                if digit is not None:
                    return digit
                if whole == divided.arguments[0]:
                    return self._divided(divided, index)
        symbols = placing(position)
        if len(symbols) != 1:
            raise Unfollowed(_NO_SUM)
        (symbol,) = symbols
        coordinate = self._coordinate(symbol.low, symbol.high)
        self._replace(symbol, coordinate.term)
        return coordinate

    def _digit(self, position: Term, whole: Term, index: Symbol) -> Symbol | None:
        """Write a symbol of an index by all digits that an address takes of it.

        Returns:
            The one that a position is; None: it is not one, or the index has no such digits.

        """
        steps = {1}
        for part in Substitution(self._replaced)(self._access.offset).atoms():
            if isinstance(part, Quotient | Remainder) and divided_index(part) == whole:
                taken = step_of(part)
                if taken is None:
                    return None
                steps.add(taken)
        ordered = sorted(steps)
        pairs = list(itertools.pairwise(ordered))
        if not pairs or whole.low < 0 or any(longer % step for step, longer in pairs):
            return None
        digits = [self._coordinate(0, longer // step - 1) for step, longer in pairs]
        digits.append(self._coordinate(0, MOST))
        found = sum((each.term * n for each, n in zip(digits, ordered, strict=True)), ZERO)
        replaced = Substitution({index: found - (whole - index.term)})
        own = single(replaced(position))
        if not isinstance(own, Symbol) or own not in digits:
            return None
        self._replace(index, found - (whole - index.term), whole, found)
        return own

    def _divided(self, part: Quotient | Remainder, index: Symbol) -> Symbol:
        """Replace a symbol of an index by coordinates for the index's quotient and remainder."""
        whole, by = part.arguments
        first = self._coordinate(0, MOST)
        second = self._coordinate(0, max(by.high - 1, 0))
        self._replaced |= divided_parts(whole, by, first, second)
        index_of_both = first.term * by + second.term
        self._replace(index, index_of_both - (whole - index.term), whole, index_of_both)
        self._facts += [at_least(second.term), less(second.term, by)]
        return first if isinstance(part, Quotient) else second

    def _is_digit(self, block: Atom) -> bool:
        moves = bool(placing(block.term)) or number_of_coordinate(block) is not None
        return moves and self._ranges_of_sizes.interval(block.term)[0] >= 0

    def _replace(
        self, atom: Symbol, by: Term, position: Term | None = None, index: Term | None = None
    ) -> None:
        """Replace a symbol by coordinates; `position` is its sum that equals `index`."""
        if position is not None and index is not None:
            self._determine(atom, position, index)
        earlier = Substitution({atom: by})
        self._replaced = {each: earlier(term) for each, term in self._replaced.items()}
        self._replaced[atom] = by
        self._blocks = {
            single(earlier(block.term)) or block: index for block, index in self._blocks.items()
        }
        self._facts = [fact.substitute(earlier) for fact in self._facts]
        self._facts += [at_least(by, atom.low), at_least(as_term(atom.high), by)]

    def _determine(self, atom: Symbol, position: Term, index: Term) -> None:
        """Note which program, trip or lane computes an index, where blocks do not overlap.

        An index is then a number whose digits they are: of each the steps that it takes are at
        least as long as all that those of shorter steps reach.
        """
        if atom.kind != "lane" or position.coefficients[(atom,)] != 1:
            return
        rest = position - atom.term
        first = rest.coefficients.get((), 0)
        digits = self._digits(atom, rest - first)
        if digits is None:
            self._determine_sum(atom, rest - first, index - first)
            return
        index = index - first
        for step, block in reversed(digits):
            self._blocks[block] = quotient(index, step, floor=True)
            index = remainder(index, step, floor=True)

    def _digits(self, lane: Symbol, blocks: Term) -> list[tuple[int, Atom]] | None:
        """Return steps, ascending, with blocks that do not overlap; None: they may."""
        digits: list[tuple[int, Atom]] = []
        for monomial, step in blocks.coefficients.items():
            block = monomial[0] if len(monomial) == 1 else None
            if block is None or not self._is_digit(block):
                return None
            digits.append((step, block))
        digits.sort(key=lambda digit: digit[0])
        reach = self._reach(lane, digits[0][0]) if digits else lane.high
        for step, block in digits:
            if step <= reach:
                return None
            reach += step * block.high
        return digits

    def _determine_sum(self, lane: Symbol, blocks: Term, index: Term) -> None:
        """Note which block computes an index where a sum numbers blocks, as of tiles in groups."""
        step = gcd(*blocks.coefficients.values())
        if self._reach(lane, step) >= step:
            return
        number = divided(blocks, step)
        for monomial, times in number.coefficients.items():
            atom = monomial[0]
            others = number - atom.term
            if len(monomial) == 1 and times == 1 and atom not in others.atoms():
                self._blocks[atom] = quotient(index, step, floor=True) - others
                return

    def _reach(self, lane: Symbol, step: int) -> int:
        """Return the last lane that is active, where a mask ends lanes before a block's step."""
        if step <= lane.high and follows(less(lane.term, step), self._active) is not None:
            return step - 1
        return lane.high
