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
from kvtrace.symbolic.terms import Atom, Symbol
from kvtrace.verdicts.binding import BoundCall
from kvtrace.verdicts.conflicts.outcomes import Undecided
from kvtrace.verdicts.conflicts.sharers import Sharer, sharers_of
from kvtrace.verdicts.contents.loaded import depends_on


def data_behind(bound: BoundCall, sharers: Sequence[Sharer]) -> Undecided | None:
    """Return Undecided if loaded or untracked data determines addresses or masks, else None."""
    source_phrases: dict[str, None] = {}
    unrecorded: dict[TensorArgument, None] = {}
    in_address = False
    for access in (sharer.access for sharer in sharers):
        atoms = access.offset.atoms() | access.active.atoms()
        for symbol in in_order(_loaded_symbols(atoms)):
            tensors = _sources(bound, symbol)
            if not tensors:
                source_phrases[str(symbol.key[-1] if isinstance(symbol.key, tuple) else "data")] = (
                    None
                )
            source_phrases.update(dict.fromkeys(f"the contents of {t.name}" for t in tensors))
            hidden = [t for t in tensors if t.storage.data is None]
            unrecorded.update(dict.fromkeys(hidden))
            in_address = in_address or (bool(hidden) and symbol in access.offset.atoms())
        source_phrases.update((opaque.reason, None) for opaque in in_order(access.active.opaques()))
    if unrecorded:
        return Undecided(depends_on(unrecorded), evaluating=not in_address)
    return Undecided(f"it depends on {' and '.join(source_phrases)}") if source_phrases else None


def is_loaded(atoms: Iterable[Atom]) -> bool:
    """Return whether any of the atoms is a loaded or untracked value."""
    return next(_loaded_symbols(atoms), None) is not None


def _loaded_symbols(atoms: Iterable[Atom]) -> Iterator[Symbol]:
    for atom in atoms:
        if isinstance(atom, Symbol) and atom.kind in ("content", "unknown"):
            yield atom


def _sources(bound: BoundCall, symbol: Symbol) -> tuple[TensorArgument, ...]:
    """Return the tensors that an integer was loaded from, or that its atomic updates."""
    index = symbol.key[0] if isinstance(symbol.key, tuple) else symbol.key
    load_sources = bound.contents.sources(symbol)
    atomic_arguments = (s.access.argument for s in sharers_of(bound) if s.access.op.index == index)
    atomic_tensors = [
        bound.call.arguments[argument] for argument in atomic_arguments if argument is not None
    ]
    return load_sources or tuple(a for a in atomic_tensors if isinstance(a, TensorArgument))


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
    """Yield, descending, the values of an index below the next larger factor of its address."""
    limits = set()
    for sharer in pair:
        coefficients = bound.ranges.form(sharer.access.offset).coefficients
        for symbol in contents:
            factor = abs(coefficients.get((symbol,), 0))
            if not factor:
                continue
            factors = (abs(larger) for variable, larger in coefficients.items() if variable)
            limits |= {
                larger_factor // factor - 1 for larger_factor in factors if larger_factor > factor
            }
    yield from sorted(limits, reverse=True)


def _prevents_race(
    bound: BoundCall,
    pair: tuple[Sharer, Sharer],
    contents: set[Symbol],
    span: Interval,
    axes: Sequence[Symbol],
) -> bool:
    """Return whether loaded values in a span exclude a race and any wrap-around."""
    ranges = bound.ranges.supposing({(symbol.kind, symbol.key): span for symbol in contents})
    sides = []
    for access in (sharer.access for sharer in pair):
        tensor = None if access.argument is None else bound.call.arguments[access.argument]
        if access.unknown is not None or not isinstance(tensor, TensorArgument):
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
