"""Data that decides addresses or masks of accesses, and the tensors of which it was not recorded.

Also conditions on loaded integers under which two accesses do not race. Either each integer stays
within a program's own part, such as a row (`0 <= index < 301`), which is proven to suffice before
it is reported; or all integers that programs load there must differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from kvtrace.evaluate import TensorArgument
from kvtrace.symbolic.prover import Given, Interval, follows
from kvtrace.symbolic.prover.digits import Common, Side
from kvtrace.symbolic.terms import Atom, Symbol
from kvtrace.verdicts.conflicts.outcomes import Undecided
from kvtrace.verdicts.conflicts.sharers import Sharer, sharers_of

if TYPE_CHECKING:
    from kvtrace.verdicts.binding import BoundCall


def data_behind(bound: BoundCall, sharers: Sequence[Sharer]) -> Undecided | None:
    """Return the outcome `Undecided` if data decides addresses or masks of accesses, else None."""
    sources: dict[str, None] = {}
    missing: dict[str, None] = {}
    in_address = False
    for access in (sharer.access for sharer in sharers):
        atoms = access.offset.atoms() | access.active.atoms()
        for symbol in sorted(_loaded(atoms), key=lambda symbol: symbol.order):
            tensors = _sources(bound, symbol)
            if not tensors:
                sources[str(symbol.key[-1] if isinstance(symbol.key, tuple) else "data")] = None
            sources.update(dict.fromkeys(f"the contents of {t.name}" for t in tensors))
            hidden = [t.name for t in tensors if t.storage.data is None]
            missing.update(dict.fromkeys(hidden))
            in_address = in_address or (bool(hidden) and symbol in access.offset.atoms())
        sources.update((opaque.reason, None) for opaque in access.active.opaques())
    if missing:
        reason = f"it depends on {unrecorded(missing)}"
        return Undecided(reason, evaluating=not in_address)
    return Undecided(f"it depends on {' and '.join(sources)}") if sources else None


def unrecorded(names: Iterable[str]) -> str:
    """Return a phrase for tensors without recorded contents, and the setting to record them."""
    setting = "set KVTRACE_TENSORS=int"
    return f"the contents of {', '.join(names)}, which were not recorded ({setting})"


def is_loaded(atoms: Iterable[Atom]) -> bool:
    """Return whether any atom was loaded from memory, or is not tracked."""
    return next(_loaded(atoms), None) is not None


def _loaded(atoms: Iterable[Atom]) -> Iterator[Symbol]:
    for atom in atoms:
        if isinstance(atom, Symbol) and atom.kind in ("content", "unknown"):
            yield atom


def _sources(bound: BoundCall, symbol: Symbol) -> tuple[TensorArgument, ...]:
    """Return the tensors that an integer was loaded from, or in which an atomic read it."""
    index = symbol.key[0] if isinstance(symbol.key, tuple) else symbol.key
    loaded = bound.contents.sources(symbol)
    arguments = (s.access.argument for s in sharers_of(bound) if s.access.op.index == index)
    atomics = [bound.call.arguments[argument] for argument in arguments if argument is not None]
    return loaded or tuple(a for a in atomics if isinstance(a, TensorArgument))


def assumption_of(
    bound: BoundCall, pair: tuple[Sharer, Sharer], common: Common | None, axes: Sequence[Symbol]
) -> str | None:
    """Return a condition on the contents of one tensor under which a pair does not race, else None.

    `common` has the variables that are equal on both sides without the condition, if known.
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
    """Yield the largest values of an integer that stay below an address's next digit.

    They descend.
    """
    rooms = set()
    for sharer in pair:
        coefficients = bound.ranges.form(sharer.access.offset).coefficients
        for symbol in contents & coefficients.keys():
            factor = abs(coefficients[symbol])
            larger = (abs(number) for number in coefficients.values())
            rooms |= {number // factor - 1 for number in larger if number > factor}
    yield from sorted(rooms, reverse=True)


def _suffices(
    bound: BoundCall,
    pair: tuple[Sharer, Sharer],
    contents: set[Symbol],
    span: Interval,
    axes: Sequence[Symbol],
) -> bool:
    """Return whether the pair does not race, and nothing wraps, for loaded values in a span."""
    ranges = bound.supposing({(symbol.kind, symbol.key): span for symbol in contents})
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
        form = ranges.form(access.offset).shifted(tensor.offset_bytes)
        given = Given(bound.active(access).exact, ranges)
        sides.append(Side(form, access.element_bytes, given))
    return Common(sides[0], sides[1]).are_equal(axes)
