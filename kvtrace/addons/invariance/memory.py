"""Loads of memory that the launch itself wrote, which trees do not represent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvtrace.symbolic.conditions import at_least, less
from kvtrace.symbolic.functions import Choice
from kvtrace.symbolic.prover import Given, follows
from kvtrace.symbolic.terms import Atom, Substitution, Symbol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kvtrace.addons.invariance.kernels import Kernel
    from kvtrace.addons.invariance.trees import Tree
    from kvtrace.evaluate.arguments import TensorArgument
    from kvtrace.symbolic.prover import Ranges
    from kvtrace.symbolic.summary import Access


def read_after_write(tree: Tree, store: Access, kernel: Kernel) -> list[Access]:
    """Return the loads in a tree that a store of the same program may come before.

    Args:
        tree: The tree of a store of the kernel.
        store: A store of the kernel.
        kernel: The kernel, with the tensors of a recorded call: two of one storage may be one.

    """
    read = kernel.loads_of(tree)
    return [
        load
        for load in kernel.summary.accesses
        if load.kind == "load"
        and load.op.index in read
        and _may_share(load, store, kernel)
        and not _comes_before(load, store, kernel.sizes)
    ]


def _may_share(load: Access, store: Access, kernel: Kernel) -> bool:
    """Return whether two accesses may be to the same memory."""
    if load.argument is None or store.argument is None or load.argument == store.argument:
        return True
    first, second = kernel.tensor(load.argument), kernel.tensor(store.argument)
    if first is None or second is None or first.storage is not second.storage:
        return False
    (start, end), (other_start, other_end) = _reach(first), _reach(second)
    return start < other_end and other_start < end


def _reach(tensor: TensorArgument) -> tuple[int, int]:
    first, last = tensor.view_bytes
    return tensor.offset_bytes + first, tensor.offset_bytes + last


def _comes_before(load: Access, store: Access, sizes: Ranges) -> bool:
    """Return whether what a load gives is over before a store writes it, in each program.

    In the loops that hold both, a load comes after the stores of earlier trips: those must be to
    other elements.
    """
    if load.calls or store.calls or load.op.index >= store.op.index:
        return False
    own = {loop.op for loop in store.loops}
    both = [loop.trip for loop in load.loops if loop.op in own]
    return not both or all(_is_apart(load, store, both, at, sizes) for at in range(len(both)))


def _is_apart(load: Access, store: Access, trips: Sequence[Symbol], at: int, sizes: Ranges) -> bool:
    """Return whether a load reads other elements than a store wrote in an earlier trip of a loop.

    Args:
        load: The load.
        store: A store of the same program.
        trips: The trips of the loops around both ops, the outermost first.
        at: Index of the loop whose trip is earlier; trips of the loops outside of it are equal.
        sizes: Ranges that are assumed of scalars in any call.

    """
    addresses = load.offset.atoms() | store.offset.atoms()
    if load.argument is None or load.argument != store.argument or not _is_placed(addresses):
        return False
    moving = {
        atom
        for atom in store.offset.atoms() | store.active.atoms()
        if isinstance(atom, Symbol) and atom.kind in ("lane", "trip") and atom not in trips[:at]
    } | {trips[at]}
    earlier = Substitution(
        {
            each: Symbol("lane", ("earlier", each.kind, each.key), each.low, each.high).term
            for each in moving
        }
    )
    before = less(earlier(trips[at].term), trips[at].term)
    masks = (*load.active.conjuncts(), *store.active.substitute(earlier).conjuncts())
    known = [each for each in masks if not each.opaques() and _is_placed(each.atoms())]
    given = Given((*known, before), sizes)
    gap = load.offset - earlier(store.offset)
    return any(
        follows(at_least(apart, width), given) is not None
        for apart, width in ((gap, store.element_bytes), (-gap, load.element_bytes))
    )


def _is_placed(atoms: frozenset[Atom]) -> bool:
    """Return whether equal symbols give formulas of these atoms equal values: none is in memory.

    A value that is not followed has one symbol, and may have another value in each trip.
    """
    symbols = [atom for atom in atoms if isinstance(atom, Symbol)]
    conditions = [atom.condition for atom in atoms if isinstance(atom, Choice)]
    return all(each.kind not in ("unknown", "content") for each in symbols) and not any(
        each.opaques() for each in conditions
    )
