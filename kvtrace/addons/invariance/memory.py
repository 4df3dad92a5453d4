"""Loads of memory that the launch itself may have written, which trees do not represent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvtrace.symbolic.conditions import at_least, less
from kvtrace.symbolic.functions import Choice
from kvtrace.symbolic.prover import Given, follows
from kvtrace.symbolic.terms import Atom, Substitution, Symbol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kvtrace.addons.invariance.kernels import Kernel
    from kvtrace.evaluate.arguments import TensorArgument
    from kvtrace.symbolic.prover import Ranges
    from kvtrace.symbolic.summary import Access
    from kvtrace.symbolic.trees.tree import Tree


def read_after_write(tree: Tree, store: Access, kernel: Kernel) -> list[Access]:
    """Return the loads in a tree that may read memory after a store of the same launch.

    Args:
        tree: The tree of a store of the kernel.
        store: A store of the kernel.
        kernel: The kernel, with the tensors of a recorded call: two of one storage may be one.
    """
    loads_in_tree = kernel.loads_of(tree)
    return [
        load
        for load in kernel.summary.accesses
        if load.kind == "load"
        and load.op.index in loads_in_tree
        and _may_share(load, store, kernel)
        and not _comes_before(load, store, kernel.sizes)
    ]


def _may_share(load: Access, store: Access, kernel: Kernel) -> bool:
    """Return whether the memory of two accesses may overlap."""
    if load.argument is None or store.argument is None or load.argument == store.argument:
        return True
    first, second = kernel.call.tensor_at(load.argument), kernel.call.tensor_at(store.argument)
    if first is None or second is None or first.storage is not second.storage:
        return False
    (start, end), (other_start, other_end) = _byte_range(first), _byte_range(second)
    return start < other_end and other_start < end


def _byte_range(tensor: TensorArgument) -> tuple[int, int]:
    first, last = tensor.view_bytes
    return tensor.offset_bytes + first, tensor.offset_bytes + last


def _comes_before(load: Access, store: Access, sizes: Ranges) -> bool:
    """Return whether a load is executed before a store writes the same memory, in each program.

    In a loop around both ops, stores of earlier trips must write other elements.
    """
    if load.calls or store.calls or load.op.index >= store.op.index:
        return False
    store_loops = {loop.op for loop in store.loops}
    common_trips = [loop.trip for loop in load.loops if loop.op in store_loops]
    return not common_trips or all(
        _is_disjoint(load, store, common_trips, at, sizes) for at in range(len(common_trips))
    )


def _is_disjoint(
    load: Access, store: Access, trips: Sequence[Symbol], at: int, sizes: Ranges
) -> bool:
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
    renamed_symbols = {
        atom
        for atom in store.offset.atoms() | store.active.atoms()
        if isinstance(atom, Symbol) and atom.kind in ("lane", "trip") and atom not in trips[:at]
    } | {trips[at]}
    to_earlier_trip = Substitution(
        {
            mask: Symbol("lane", ("earlier", mask.kind, mask.key), mask.low, mask.high).term
            for mask in renamed_symbols
        }
    )
    before = less(to_earlier_trip(trips[at].term), trips[at].term)
    masks = (*load.active.conjuncts(), *store.active.substitute(to_earlier_trip).conjuncts())
    conditions = [mask for mask in masks if not mask.opaques() and _is_placed(mask.atoms())]
    assumptions = Given((*conditions, before), sizes)
    gap = load.offset - to_earlier_trip(store.offset)
    return any(
        follows(at_least(distance, width), assumptions) is not None
        for distance, width in ((gap, store.element_bytes), (-gap, load.element_bytes))
    )


def _is_placed(atoms: frozenset[Atom]) -> bool:
    """Return whether equal symbols imply equal values of a formula with these atoms.

    Loaded integers and values that are not followed may change between trips.
    """
    symbols = [atom for atom in atoms if isinstance(atom, Symbol)]
    conditions = [atom.condition for atom in atoms if isinstance(atom, Choice)]
    return all(item.kind not in ("unknown", "content") for item in symbols) and not any(
        item.opaques() for item in conditions
    )
