"""What loaded integers would have to be for two accesses not to race, as a condition on them.

Either each stays within a program's own part, such as a row (`0 <= index < 301`), which is proven
to suffice before it is reported; or all that programs load there must differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kvtrace.evaluate import TensorArgument
from kvtrace.symbolic.decide import Given
from kvtrace.symbolic.linear import Interval
from kvtrace.symbolic.terms import Symbol
from kvtrace.verdicts.arithmetic import fits
from kvtrace.verdicts.races.digits import Common, Side
from kvtrace.verdicts.races.sharers import Sharer

if TYPE_CHECKING:
    from kvtrace.verdicts.binding import BoundCall


def assumption_of(
    bound: BoundCall, pair: tuple[Sharer, Sharer], common: Common | None, axes: Sequence[Symbol]
) -> str | None:
    """Return a condition on what one tensor holds under which a pair does not race.

    `common` is what two programs have in common without it, if that is known.
    """
    contents = {
        symbol
        for sharer in pair
        for symbol in sharer.access.offset.symbols("content")
        if bound.contents.sources(symbol)
    }
    names = {bound.contents.sources(symbol)[0].name for symbol in contents}
    if len(names) != 1:
        return None
    name = names.pop()
    for most in _rooms(bound, pair, contents):
        if _suffices(bound, pair, contents, (0, most), axes):
            return f"0 <= {name} < {most + 1} where it is used"
    if common is not None and contents & common.variables:
        return f"no two programs take the same value from {name}"
    return None


def _rooms(bound: BoundCall, pair: tuple[Sharer, Sharer], contents: set[Symbol]) -> Iterator[int]:
    """Return up to where an integer may go before it reaches the next digit: the widest first."""
    rooms = set()
    for sharer in pair:
        coefficients = bound.ranges.form(sharer.access.offset).coefficients
        for symbol in contents & coefficients.keys():
            own = abs(coefficients[symbol])
            larger = (abs(number) for number in coefficients.values())
            rooms |= {number // own - 1 for number in larger if number > own}
    yield from sorted(rooms, reverse=True)


def _suffices(
    bound: BoundCall,
    pair: tuple[Sharer, Sharer],
    contents: set[Symbol],
    span: Interval,
    axes: Sequence[Symbol],
) -> bool:
    """Whether the pair does not race, and nothing wraps, with what is loaded within a range."""
    ranges = bound.supposing({(symbol.kind, symbol.key): span for symbol in contents})
    sides = []
    for access in (sharer.access for sharer in pair):
        tensor = None if access.argument is None else bound.call.arguments[access.argument]
        if access.unknown is not None or not isinstance(tensor, TensorArgument):
            return False
        if not all(
            fits(arithmetic, Given(bound.given(arithmetic).exact, ranges))
            for arithmetic in bound.arithmetic_of(access)
        ):
            return False
        form = ranges.form(access.offset).shifted(tensor.offset_bytes)
        given = Given(bound.active(access).exact, ranges)
        sides.append(Side(form, access.element_bytes, given))
    return Common(sides[0], sides[1]).are_equal(axes)
