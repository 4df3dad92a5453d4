"""Data that determines addresses or masks of accesses, and conditions on it that exclude races.

The conditions are on loaded integers. Either each integer stays
within a program's own part, such as a row (`0 <= index < 301`), which is proven to suffice before
it is reported; or all integers that programs load there must differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kvtrace.evaluate import TensorArgument
from kvtrace.symbolic.conditions import in_order
from kvtrace.symbolic.prover import Given, Interval, follows
from kvtrace.symbolic.prover.digits import Common, Side
from kvtrace.symbolic.summary import op_index
from kvtrace.symbolic.terms import Atom, Symbol
from kvtrace.verdicts.binding import BoundCall
from kvtrace.verdicts.conflicts.outcomes import Undecided
from kvtrace.verdicts.conflicts.sharers import Sharer, sharers_of
from kvtrace.verdicts.contents.loaded import depends_on


def data_behind(bound: BoundCall, sharers: Sequence[Sharer]) -> Undecided | None:
    """Return Undecided if loaded or untracked data determines addresses or masks, else None."""
    phrases: list[str] = []
    unrecorded: list[TensorArgument] = []
    in_address = False
    for access in (sharer.access for sharer in sharers):
        atoms = access.offset.atoms() | access.active.atoms()
        for symbol in in_order(_loaded_symbols(atoms)):
            tensors = _sources(bound, symbol)
            phrases += [f"the contents of {tensor.name}" for tensor in tensors]
            if not tensors:
                phrases.append(str(symbol.key[-1] if isinstance(symbol.key, tuple) else "data"))
            hidden = [tensor for tensor in tensors if tensor.storage.data is None]
            unrecorded += hidden
            in_address = in_address or (bool(hidden) and symbol in access.offset.atoms())
        phrases += [opaque.reason for opaque in in_order(access.active.opaques())]
    if unrecorded:
        return Undecided(depends_on(dict.fromkeys(unrecorded)), evaluating=not in_address)
    reason = f"it depends on {' and '.join(dict.fromkeys(phrases))}"
    return Undecided(reason) if phrases else None


def is_loaded(atoms: Iterable[Atom]) -> bool:
    """Return whether any of the atoms is a loaded or untracked value."""
    return next(_loaded_symbols(atoms), None) is not None


def _loaded_symbols(atoms: Iterable[Atom]) -> Iterator[Symbol]:
    for atom in atoms:
        if isinstance(atom, Symbol) and atom.kind in ("content", "unknown"):
            yield atom


def _sources(bound: BoundCall, symbol: Symbol) -> tuple[TensorArgument, ...]:
    """Return the tensors that an integer was loaded from, or that its atomic updates."""
    load_sources = bound.contents.sources(symbol)
    if load_sources:
        return load_sources
    index = op_index(symbol)
    atomics = (s.access for s in sharers_of(bound) if s.access.op.index == index)
    return tuple(filter(None, (bound.call.tensor_at(atomic.argument) for atomic in atomics)))


def assumption_of(
    bound: BoundCall, pair: tuple[Sharer, Sharer], common: Common | None, axes: Sequence[Symbol]
) -> str | None:
    """Return a phrase for a condition on a tensor's contents that excludes a race, else None.

    `common` has the variables that are equal for both accesses even without the condition.
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
    for largest in _largest_indices(bound, pair, contents):
        if _prevents_race(bound, pair, contents, (0, largest), axes):
            return f"0 <= {name} < {largest + 1} where it is used"
    if common is not None and any((symbol,) in common.variables for symbol in contents):
        return f"no two programs take the same value from {name}"
    return None


def _largest_indices(
    bound: BoundCall, pair: tuple[Sharer, Sharer], contents: set[Symbol]
) -> Iterator[int]:
    """Yield, descending, the values up to which an index stays below a larger factor of an address.

    That is 300 for `4 * index + 1204 * program`: an index of 301 is in the next program's part.
    """
    largest = set[int]()
    for sharer in pair:
        coefficients = bound.ranges.form(sharer.access.offset).coefficients
        for symbol in contents:
            factor = abs(coefficients.get((symbol,), 0))
            if not factor:
                continue
            others = (abs(other) for variable, other in coefficients.items() if variable)
            largest |= {other // factor - 1 for other in others if other > factor}
    yield from sorted(largest, reverse=True)


def _prevents_race(
    bound: BoundCall,
    pair: tuple[Sharer, Sharer],
    contents: set[Symbol],
    span: Interval,
    axes: Sequence[Symbol],
) -> bool:
    """Return whether no race and no wrap-around is possible with loaded values in a span."""
    ranges = bound.ranges.supposing({(symbol.kind, symbol.key): span for symbol in contents})
    sides = []
    for access in (sharer.access for sharer in pair):
        tensor = bound.call.tensor_at(access.argument)
        if access.unknown is not None or tensor is None:
            return False
        if not all(
            follows(arithmetic.stays_in_width, Given(bound.given(arithmetic).exact, ranges))
            for arithmetic in bound.arithmetic_of(access)
        ):
            return False
        form = ranges.form(access.offset) + tensor.offset_bytes
        given = Given(bound.active(access).exact, ranges)
        sides.append(Side(form, access.element_bytes, given))
    return Common(sides[0], sides[1]).are_equal(axes)
