"""Coordinates of the elements that a store writes, from the formula of the store's address.

The address is `base + factor * position + …`: positions vary over programs, lanes and trips,
factors are strides. Each factor is an axis of the output, and its position is a coordinate.
Formulas are then rewritten: a symbol of the position is replaced by the coordinate.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from math import gcd

from kvtrace.addons.invariance.coordinates import (
    MOST,
    Ambiguous,
    Axis,
    Output,
    Unfollowed,
    byte_strides,
    coordinate,
    divided_index,
    divided_parts,
    division_step,
    is_number,
    number_of_coordinate,
    placing_symbols,
    positions_by_factor,
    solvable_symbol,
)
from kvtrace.evaluate.arguments import TensorArgument
from kvtrace.symbolic.bits import Bitwise, bitwise
from kvtrace.symbolic.conditions import TRUE, Condition, at_least, conjunction, in_order, less
from kvtrace.symbolic.functions import (
    Quotient,
    Remainder,
    multiples,
    quotient,
    remainder,
    single,
)
from kvtrace.symbolic.prover import Given, Ranges, follows
from kvtrace.symbolic.summary import Access
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

_NO_SUM = "the index of the element that a lane writes is not a sum of programs and lanes"


def coordinates_of(
    access: Access,
    tensor: TensorArgument | None,
    ranges: Ranges,
    sizes: Ranges,
    *,
    this_call_only: bool = False,
) -> Output:
    """Return the coordinates of the elements that a store or an atomic update writes.

    Args:
        access: The store or atomic update; its address is a formula.
        tensor: The tensor in a recorded call, whose strides tell apart axes that the kernel has as
            numbers; None: not recorded.
        ranges: Ranges of symbols in that call, which order the axes.
        sizes: Ranges that are assumed of symbols in any call.
        this_call_only: Coordinates are of this call alone, whose grid may have one program.

    Raises:
        Unfollowed: the address is not a formula over programs, lanes and trips.
    """
    if access.argument is None:
        raise Unfollowed(f"it writes through {access.unknown}")
    return _Coordinates(access, tensor, ranges, sizes, this_call_only=this_call_only).output()


class _Coordinates:
    def __init__(
        self,
        access: Access,
        tensor: TensorArgument | None,
        ranges: Ranges,
        sizes: Ranges,
        *,
        this_call_only: bool,
    ) -> None:
        self._here = this_call_only
        self._access = access
        self._strides = [] if tensor is None else byte_strides(tensor)
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
        self._replace_single_symbols()
        offset = self._without_divisions(Substitution(self._replaced)(self._access.offset))
        self._groups = positions_by_factor(offset)
        parts = (position * Term({pure: 1}) for pure, position in self._groups.items())
        self._is_whole = sum(parts, ZERO) == offset
        groups = self._split(self._groups)
        ordered = sorted(groups, key=lambda pair: -abs(self._step(pair[0])))
        for factor, position in sorted(ordered, key=lambda pair: bool(pair[1].symbols("content"))):
            varying = self._without_item_begins(factor, position)
            if varying.atoms():
                self._add_axis(factor, varying, is_index=self._is_whole and varying is position)
        steps = [axis.step for axis in self._axes if not axis.is_entry]
        if len(set(steps)) < len(steps):
            raise Ambiguous(_NO_SUM)
        axes = tuple(sorted(self._axes, key=lambda axis: (not axis.is_entry, -abs(axis.step))))
        return Output(
            self._access, axes, (Substitution(self._replaced),), (Substitution(self._blocks),),
            tuple(self._facts),
        )  # fmt: skip

    def _replace_single_symbols(self) -> None:
        """Replace programs, trips and lanes by 0 if the mask or the call allows one value only.

        For a program axis of one program, this holds in every launch if the axis is not in the
        address, as other programs would write the same elements. It also holds if another axis of
        several programs has the same factor in the address.
        """
        programs = [Symbol("program", axis, 0, MOST_PROGRAMS - 1) for axis in range(3)]
        offset = self._access.offset
        factors_of_long_axes = {
            offset.coefficients.get((program,))
            for program in programs
            if self._ranges.of(program)[1] > 0
        }
        for symbol in programs:
            is_in_address = symbol in offset.atoms() and not self._here
            shares_factor = offset.coefficients.get((symbol,), 0) in factors_of_long_axes
            if (shares_factor or not is_in_address) and self._ranges.of(symbol)[1] == 0:
                self._replaced[symbol] = ZERO
        for symbol in placing_symbols(self._access.offset):
            if follows(less(symbol.term, 1), self._active) is not None:
                self._replaced[symbol] = ZERO

    def _without_divisions(self, offset: Term) -> Term:
        """Return an offset without divisions of addresses by numbers, as of strides by an extent.

        If strides are replaced by those of the recorded call, such a division has no remainder and
        is a sum of programs, trips and lanes.
        """
        replacements: dict[Atom, Term] = {}
        for atom in in_order(offset.atoms()):
            if not isinstance(atom, Quotient) or atom.arguments[1].constant is None:
                continue
            recorded: dict[Atom, int] = {}
            for monomial in atom.arguments[0].coefficients:
                if any(placing_symbols(inner.term) for inner in monomial):
                    scalars = (inner for inner in monomial if isinstance(inner, Symbol))
                    ranges = {
                        inner: self._ranges.of(inner) for inner in scalars if is_number(inner)
                    }
                    recorded |= {inner: low for inner, (low, high) in ranges.items() if low == high}
            with_numbers = Substitution(recorded)(atom.term)
            if (
                recorded
                and not with_numbers.symbols("scalar")
                and with_numbers.atoms() == placing_symbols(with_numbers)
            ):
                replacements[atom] = with_numbers
        return Substitution(replacements)(offset)

    def _step(self, factor: Term) -> int:
        low, high = self._ranges.interval(factor)
        return max(abs(low), abs(high))

    # -- axes that strides tell apart ------------------------------------------------------------

    def _split(self, groups: Mapping[Monomial, Term]) -> list[tuple[Term, Term]]:
        """Return (factor, position) pairs; numeric strides split positions without a factor."""
        factors: list[tuple[Term, Term]] = []
        for factor, positions in groups.items():
            if factor:
                common_step, position = self._common_step(positions)
                factors.append((Term({factor: common_step}), position))
            else:
                factors += self._by_strides(positions)
        return factors

    def _by_strides(self, positions: Term) -> list[tuple[Term, Term]]:
        size = self._access.element_bytes
        stride_arguments = {
            self._step(Term({pure: gcd(*position.coefficients.values())}))
            for pure, position in self._groups.items()
            if pure
        }
        strides = [stride for stride in self._strides if stride not in stride_arguments]
        summands_by_stride: dict[int, dict[Monomial, int]] = {}
        for monomial, number in positions.coefficients.items():
            stride = next((divisor for divisor in strides if number % divisor == 0), size)
            summands_by_stride.setdefault(stride, {})[monomial] = number
        inner_position: Term = ZERO
        pairs = []
        # an inner axis must end where an outer one continues
        for stride in sorted(summands_by_stride):
            summands = Term(summands_by_stride[stride])
            if inner_position.coefficients and not self._stays_below(inner_position, stride):
                return self._split_flat_index(positions)
            inner_position = inner_position + summands
            if summands.atoms():
                step, position = self._common_step(summands)
                pairs.append((as_term(step), position))
        outer_strides = [stride for stride in strides if stride > size]
        is_single_axis = len(pairs) == 1 and len(self._groups) == 1
        if (
            is_single_axis
            and outer_strides
            and not self._stays_below(inner_position, outer_strides[-1])
        ):
            return self._split_flat_index(positions)
        return pairs

    def _common_step(self, positions: Term) -> tuple[int, Term]:
        """Return (greatest common divisor of a position's steps, position divided by the divisor).

        A constant offset that is no multiple of the divisor is left out.
        """
        steps = dict(positions.coefficients)
        constant = steps.pop((), 0)
        divisor = gcd(*steps.values())
        if constant % divisor:
            self._is_whole = False
        elif constant:
            steps[()] = constant
        return divisor, multiples(Term(steps), divisor)[0]

    def _stays_below(self, inner: Term, reach: int) -> bool:
        """Return whether an inner position is within 0 and the outer axis's step."""
        claim = conjunction((at_least(inner), less(inner, reach)))
        return claim is TRUE or follows(claim, self._given) is not None

    def _split_flat_index(self, positions: Term) -> list[tuple[Term, Term]]:
        """Add an axis per tensor axis for a flat index; return pairs that are left to split."""
        step, flat_index = self._common_step(positions)
        strides = self._strides
        if len(strides) < 2 or any(stride % step for stride in strides):
            return [(as_term(step), flat_index)]
        symbol = solvable_symbol(flat_index, self._replaced)
        if symbol is None:
            raise Unfollowed(_NO_SUM)
        combined, outer_stride = ZERO, 0
        for stride in strides:
            highest = MOST if not outer_stride else outer_stride // stride - 1
            index = self._new_coordinate(0, highest)
            combined = combined + index.term * (stride // step)
            self._axes.append(Axis(index, as_term(stride), stride, is_index=self._is_whole))
            outer_stride = stride
        self._replace(symbol, combined - (flat_index - symbol.term), flat_index, combined)
        return []

    # -- coordinates -----------------------------------------------------------------------------

    def _without_item_begins(self, factor: Term, position: Term) -> Term:
        """Return a position without begins of items, loaded integers for which axes are added."""
        remaining: dict[Monomial, int] = {}
        for monomial, number in position.coefficients.items():
            atom = monomial[0] if len(monomial) == 1 else None
            if not isinstance(atom, Symbol) or atom.kind != "content":
                remaining[monomial] = number
                continue
            for entry in self._entry_coordinates(atom):
                self._axes.append(Axis(entry, factor, self._step(factor), is_entry=True))
        return position if len(remaining) == len(position.coefficients) else Term(remaining)

    def _entry_coordinates(self, content: Symbol) -> list[Symbol]:
        """Return the coordinate of the tensor entry that a loaded integer is read from.

        If the entry's index is not followed, one coordinate per symbol that the index depends on.
        """
        address = Substitution(self._replaced)(content.at[0]) if len(content.at) == 1 else ZERO
        if not placing_symbols(address):
            symbols = [
                symbol_of_entry
                for symbol_of_entry in placing_symbols(content.term)
                if symbol_of_entry not in self._replaced
            ]
        elif address.symbols("content"):
            symbols = list(placing_symbols(address))
        else:
            _, position = self._common_step(address)
            try:
                return [self._add_coordinate(position)[0]]
            except Unfollowed:
                symbols = list(placing_symbols(address))
        coordinates = []
        for symbol in in_order(symbols):
            coordinates.append(self._new_coordinate(symbol.low, symbol.high))
            self._replaced[symbol] = coordinates[-1].term
        return coordinates

    def _add_axis(self, factor: Term, position: Term, *, is_index: bool) -> None:
        position = Substitution(self._replaced)(position)
        existing = single(position)
        if isinstance(existing, Symbol) and number_of_coordinate(existing) is not None:
            if all(axis.coordinate is not existing for axis in self._axes):
                self._axes.append(Axis(existing, factor, self._step(factor), is_index=is_index))
            return
        if not placing_symbols(position):
            return
        coordinate_symbol, is_position = self._add_coordinate(position)
        step = self._step(factor)
        self._axes.append(Axis(coordinate_symbol, factor, step, is_index=is_index and is_position))

    def _add_coordinate(self, position: Term) -> tuple[Symbol, bool]:
        """Return (new coordinate of a position, the coordinate equals the position).

        Raises:
            Unfollowed: the position is not numbered by one symbol.
        """
        symbol = solvable_symbol(position, self._replaced)
        if symbol is None and (flipped := self._coordinate_of_flipped(position)) is not None:
            return flipped, True
        if symbol is None:
            return self._coordinate_of_symbol(position - position.coefficients.get((), 0)), False
        low, high = self._ranges_of_sizes.interval(position)
        coordinate = self._new_coordinate(max(low, -MOST), min(high, MOST))
        sign = position.coefficients[(symbol,)]
        other_summands = position - symbol.term * sign
        self._replace(symbol, (coordinate.term - other_summands) * sign, position, coordinate.term)
        return coordinate, True

    def _coordinate_of_flipped(self, position: Term) -> Symbol | None:
        """Return the coordinate of an index with some bits flipped (xor), or None."""
        exchange = single(position)
        if not isinstance(exchange, Bitwise) or exchange.operator != "xor":
            return None
        index, flips = exchange.arguments
        symbol = solvable_symbol(index, self._replaced)
        if symbol is None or flips.constant is None or flips.constant < 0 or index.low < 0:
            return None
        coordinate, sign = self._new_coordinate(0, MOST), index.coefficients[(symbol,)]
        original_index = bitwise("xor", coordinate.term, flips.constant, exchange.bits)
        self._replace(symbol, (original_index - (index - symbol.term * sign)) * sign)
        return coordinate

    def _new_coordinate(self, low: int, high: int) -> Symbol:
        self._count += 1
        return coordinate(self._count - 1, low, high)

    def _coordinate_of_symbol(self, position: Term) -> Symbol:
        """Return a new coordinate that replaces the one symbol of a position."""
        divided_by = single(position)
        if isinstance(divided_by, Quotient | Remainder):
            dividend = divided_index(divided_by)
            index = solvable_symbol(dividend, self._replaced)
            if index is not None and dividend.coefficients[(index,)] == 1:
                digit = self._digit_coordinate(position, dividend, index)
                if digit is not None:
                    return digit
                if dividend == divided_by.arguments[0]:
                    return self._coordinate_of_division(divided_by, index)
        symbols = placing_symbols(position)
        if len(symbols) != 1:
            raise Unfollowed(_NO_SUM)
        (symbol,) = symbols
        coordinate = self._new_coordinate(symbol.low, symbol.high)
        self._replace(symbol, coordinate.term)
        return coordinate

    def _digit_coordinate(self, position: Term, index_sum: Term, index: Symbol) -> Symbol | None:
        """Replace a symbol by digits of an index, one for each division in the address.

        Return the digit that the position equals. None: the position is no digit, or the divisors
        do not divide each other.
        """
        digit_steps = {1}
        for part in Substitution(self._replaced)(self._access.offset).atoms():
            if isinstance(part, Quotient | Remainder) and divided_index(part) == index_sum:
                taken = division_step(part)
                if taken is None:
                    return None
                digit_steps.add(taken)
        sorted_steps = sorted(digit_steps)
        pairs = list(itertools.pairwise(sorted_steps))
        if not pairs or index_sum.low < 0 or any(longer % step for step, longer in pairs):
            return None
        digits = [self._new_coordinate(0, longer // step - 1) for step, longer in pairs]
        digits.append(self._new_coordinate(0, MOST))
        digit_sum = sum(
            (digit_symbol.term * n for digit_symbol, n in zip(digits, sorted_steps, strict=True)),
            ZERO,
        )
        substitution = Substitution({index: digit_sum - (index_sum - index.term)})
        digit = single(substitution(position))
        if not isinstance(digit, Symbol) or digit not in digits:
            return None
        self._replace(index, digit_sum - (index_sum - index.term), index_sum, digit_sum)
        return digit

    def _coordinate_of_division(self, part: Quotient | Remainder, index: Symbol) -> Symbol:
        """Replace a symbol by an index's quotient and remainder; return the one that `part` is."""
        dividend, divisor = part.arguments
        quotient_symbol = self._new_coordinate(0, MOST)
        remainder_symbol = self._new_coordinate(0, max(divisor.high - 1, 0))
        self._replaced |= divided_parts(dividend, divisor, quotient_symbol, remainder_symbol)
        index_of_both = quotient_symbol.term * divisor + remainder_symbol.term
        self._replace(index, index_of_both - (dividend - index.term), dividend, index_of_both)
        self._facts += [at_least(remainder_symbol.term), less(remainder_symbol.term, divisor)]
        return quotient_symbol if isinstance(part, Quotient) else remainder_symbol

    def _is_digit(self, block: Atom) -> bool:
        moves = bool(placing_symbols(block.term)) or number_of_coordinate(block) is not None
        return moves and self._ranges_of_sizes.interval(block.term)[0] >= 0

    def _replace(
        self,
        symbol: Symbol,
        new_term: Term,
        position: Term | None = None,
        index: Term | None = None,
    ) -> None:
        """Replace a symbol by a term of coordinates; then the sum `position` equals `index`."""
        if position is not None and index is not None:
            self._note_blocks(symbol, position, index)
        substitution = Substitution({symbol: new_term})
        self._replaced = {key: substitution(term) for key, term in self._replaced.items()}
        self._replaced[symbol] = new_term
        self._blocks = {
            single(substitution(block.term)) or block: index
            for block, index in self._blocks.items()
        }
        self._facts = [fact.substitute(substitution) for fact in self._facts]
        self._facts += [at_least(new_term, symbol.low), at_least(as_term(symbol.high), new_term)]

    def _note_blocks(self, lane: Symbol, position: Term, index: Term) -> None:
        """Store the formulas of the programs, trips and lanes that compute an index.

        Blocks must not overlap: programs and trips are digits of the index, and each step is larger
        than the sum of all that are shorter.
        """
        if lane.kind != "lane" or position.coefficients[(lane,)] != 1:
            return
        blocks = position - lane.term
        constant = blocks.coefficients.get((), 0)
        digits = self._digits(lane, blocks - constant)
        if digits is None:
            self._note_summed_block(lane, blocks - constant, index - constant)
            return
        index = index - constant
        for step, block in reversed(digits):
            self._blocks[block] = quotient(index, step, floor=True)
            index = remainder(index, step, floor=True)

    def _digits(self, lane: Symbol, blocks: Term) -> list[tuple[int, Atom]] | None:
        """Return (step, block) pairs by ascending step, or None if blocks may overlap."""
        digits: list[tuple[int, Atom]] = []
        for monomial, step in blocks.coefficients.items():
            block = monomial[0] if len(monomial) == 1 else None
            if block is None or not self._is_digit(block):
                return None
            digits.append((step, block))
        digits.sort(key=lambda digit: digit[0])
        reach = self._last_lane(lane, digits[0][0]) if digits else lane.high
        for step, block in digits:
            if step <= reach:
                return None
            reach += step * block.high
        return digits

    def _note_summed_block(self, lane: Symbol, blocks: Term, index: Term) -> None:
        """Store the formula of one block if the blocks' sum is known, as of tiles in groups."""
        step = gcd(*blocks.coefficients.values())
        if self._last_lane(lane, step) >= step:
            return
        block_number, _ = multiples(blocks, step)
        for monomial, factor in block_number.coefficients.items():
            atom = monomial[0]
            others = block_number - atom.term
            if len(monomial) == 1 and factor == 1 and atom not in others.atoms():
                self._blocks[atom] = quotient(index, step, floor=True) - others
                return

    def _last_lane(self, lane: Symbol, step: int) -> int:
        """Return the last active lane; lanes from `step` on may be masked off."""
        if step <= lane.high and follows(less(lane.term, step), self._active) is not None:
            return step - 1
        return lane.high
