"""Dependences between programs: whether all may run at once, or must run one by one in order.

Ops are evaluated over all programs at once, which is right only if no program reads bytes that
another wrote in the same launch. The arguments that each memory op can reach are found statically.
If a storage is both read and written, the launch's addresses are replayed without data, to find the
bytes at which two programs conflict.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from kvtrace.evaluate.arguments import Argument, Storage, TensorArgument
from kvtrace.evaluate.observe import Access, Observer
from kvtrace.evaluate.touches import Touches
from kvtrace.ir import Module
from kvtrace.ir.memory_sites import Site, memory_sites
from kvtrace.ir.ops import AccessKind

_COUNTERS = frozenset({4})
"""Read-modify-write kinds whose old values are a running sum: integer add."""


def written_storages(module: Module, arguments: Sequence[Argument]) -> frozenset[Storage]:
    """Return the storages that the kernel may write to."""
    sites = [site for site in memory_sites(module) if site.kind != "load"]
    return frozenset(
        argument.storage
        for position, argument in enumerate(arguments)
        if isinstance(argument, TensorArgument) and any(site.reaches(position) for site in sites)
    )


def contested_storages(
    module: Module, arguments: Sequence[Argument]
) -> tuple[bool, frozenset[Storage]]:
    """Return whether order certainly matters, and else the storages to replay.

    Order matters if an op waits for memory, or if an atomic's old values are used and depend on the
    order. Storages that are accessed in several ways are to be replayed. Storages without data do
    not count: values read from them are unknown in any order.
    """
    contested: set[Storage] = set()
    reached: dict[Storage, list[Site]] = {}
    for site in memory_sites(module):
        for position, argument in enumerate(arguments):
            if not isinstance(argument, TensorArgument) or argument.storage.data is None:
                continue
            if site.reaches(position):
                sites = reached.setdefault(argument.storage, [])
                if site not in sites:
                    sites.append(site)
    for storage, sites in reached.items():
        kinds = {site.kind for site in sites}
        if kinds == {"load"}:
            continue
        if any(site.waits for site in sites):
            return True, frozenset()
        used_atomics = [site for site in sites if site.kind == "atomic" and site.result_used]
        if used_atomics and (len(sites) > 1 or not _is_counter(used_atomics[0])):
            return True, frozenset()
        if len(kinds) > 1:
            contested.add(storage)
    return False, frozenset(contested)


def _is_counter(site: Site) -> bool:
    """Return whether any order of programs gives valid old values, as ascending order does."""
    if site.in_loop:
        return False
    kind = getattr(site.op.attributes.get("atomic_rmw_op"), "value", None)
    return kind in _COUNTERS or kind == "add"


class ProgramConflicts(Observer):
    """Collects accesses to contested storages, to find whether programs conflict.

    Two programs conflict at a byte that one writes and the other reads, or that one stores and the
    other updates atomically. `uncertain`: an address was unknown.
    """

    def __init__(self, arguments: Sequence[Argument], contested: frozenset[Storage]) -> None:
        self._arguments = arguments
        self._accesses: dict[Storage, list[tuple[int, Access]]] = {s: [] for s in contested}
        self.uncertain = False

    def access(self, access: Access) -> None:
        """Record an access to a contested storage; set `uncertain` if its address is unknown."""
        if access.argument is None:
            self.uncertain = True
            return
        argument = self._arguments[access.argument]
        assert isinstance(argument, TensorArgument)
        accesses = self._accesses.get(argument.storage)
        if accesses is None:
            return
        if access.ranges is None:
            self.uncertain = True
        accesses.append((argument.offset_bytes, access))

    def exist(self, programs: int) -> bool:
        """Return whether any two programs conflict; True if an address was unknown."""
        return self.uncertain or any(
            not _ranges_are_disjoint(accesses, programs) and _bytes_are_shared(storage, accesses)
            for storage, accesses in self._accesses.items()
        )


def _ranges_are_disjoint(accesses: list[tuple[int, Access]], programs: int) -> bool:
    lowest: NDArray[np.int64] = np.full(programs, np.iinfo(np.int64).max)
    highest: NDArray[np.int64] = np.full(programs, -1)
    for start, access in accesses:
        ranges, parts = access.ranges, access.parts
        assert ranges is not None
        assert parts is not None
        first, last, active, linear = np.broadcast_arrays(
            ranges.lowest, ranges.highest, ranges.active > 0, parts.programs
        )
        programs_here = linear[active]
        lowest[programs_here] = np.minimum(lowest[programs_here], first[active] + start)
        highest[programs_here] = np.maximum(
            highest[programs_here], last[active] + start + access.element_bytes
        )
    present = highest >= 0
    order = np.argsort(lowest[present], kind="stable")
    first, last = lowest[present][order], highest[present][order]
    return bool((first[1:] >= last[:-1]).all())


def _bytes_are_shared(storage: Storage, accesses: list[tuple[int, Access]]) -> bool:
    """Return whether accesses of two kinds meet in different programs."""
    touches = Touches[AccessKind](storage.nbytes)
    for start, access in accesses:
        elements = access.elements()
        assert elements is not None
        touches.add(access.kind, elements[0] + start, access.element_bytes, elements[1])
    return any(touches.meeting(*pair) is not None for pair in combinations(touches.kinds, 2))
