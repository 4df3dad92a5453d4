"""What data decides where accesses go, or whether they happen, and which of it was not recorded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kvtrace.evaluate import TensorArgument
from kvtrace.symbolic.terms import Atom, Symbol
from kvtrace.verdicts.races.sharers import Sharer, sharers_of

if TYPE_CHECKING:
    from kvtrace.verdicts.binding import BoundCall


@dataclass(frozen=True)
class Data:
    """Why it depends on data where accesses go; `evaluating` the grid may tell all the same."""

    reason: str
    evaluating: bool = True


def data_behind(bound: BoundCall, sharers: Sequence[Sharer]) -> Data | None:
    """Say what data decides where accesses go, None if none does."""
    found: dict[str, None] = {}
    missing: dict[str, None] = {}
    in_address = False
    for access in (sharer.access for sharer in sharers):
        atoms = access.offset.atoms() | access.active.atoms()
        for symbol in sorted(_loaded(atoms), key=lambda symbol: symbol.order):
            tensors = _sources(bound, symbol)
            if not tensors:
                found[str(symbol.key[-1] if isinstance(symbol.key, tuple) else "data")] = None
            found.update(dict.fromkeys(f"what {t.name} holds" for t in tensors))
            hidden = [t.name for t in tensors if t.storage.data is None]
            missing.update(dict.fromkeys(hidden))
            in_address = in_address or (bool(hidden) and symbol in access.offset.atoms())
        found.update((opaque.reason, None) for opaque in access.active.opaques())
    if missing:
        reason = f"where it goes depends on {unrecorded(missing)}"
        return Data(reason, evaluating=not in_address)
    return Data(f"where it goes depends on {' and '.join(found)}") if found else None


def unrecorded(names: Iterable[str]) -> str:
    """Say that what tensors hold is not known, and what would record it."""
    setting = "KVTRACE_TENSORS=int records it"
    return f"what {', '.join(names)} holds, which was not recorded ({setting})"


def is_loaded(atoms: Iterable[Atom]) -> bool:
    """Tell whether some of the atoms comes from memory, or is not followed."""
    return next(_loaded(atoms), None) is not None


def _loaded(atoms: Iterable[Atom]) -> Iterator[Symbol]:
    for atom in atoms:
        if isinstance(atom, Symbol) and atom.kind in ("content", "unknown"):
            yield atom


def _sources(bound: BoundCall, symbol: Symbol) -> tuple[TensorArgument, ...]:
    """Return the tensors that an integer was loaded from, or that an atomic found it in."""
    index = symbol.key[0] if isinstance(symbol.key, tuple) else symbol.key
    loaded = bound.contents.sources(symbol)
    found = (s.access.argument for s in sharers_of(bound) if s.access.op.index == index)
    atomics = [bound.call.arguments[argument] for argument in found if argument is not None]
    return loaded or tuple(a for a in atomics if isinstance(a, TensorArgument))
