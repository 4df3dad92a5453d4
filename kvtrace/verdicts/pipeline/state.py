"""States of a program's shared memory: operations in flight, and how ops change the state.

A state ignores the contents of buffers. It has the copies, products and stores in flight, the order
in which they were started, and the numbers that decide parts of buffers and phases.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from kvtrace.ir import Op
from kvtrace.verdicts.pipeline.views import View, size_bytes


@dataclass(frozen=True, slots=True)
class Pending:
    """The result of a product that may be incomplete, by the product's number."""

    number: int


Known = int | View | Pending


@dataclass(frozen=True, slots=True)
class Use:
    """A view that an op reads or writes while the program continues.

    `masked`: the op may be masked off in some programs and trips. `loop_ended`: a loop around the
    op has ended since, and its last trips may start nothing new. `trips` are those of the loops
    around the op at its start.
    """

    view: View
    op: Op
    masked: bool = False
    loop_ended: bool = False
    trips: tuple[int, ...] = field(default=(), compare=False)

    @property
    def sure(self) -> bool:
        """The operation was certainly started, and its view is known."""
        return self.view.exact and not (self.masked and self.loop_ended)


@dataclass(slots=True)
class State:
    """A point that a program may reach, as far as operations in flight depend on it.

    Attributes:
        values: known values, by their ids.
        open: copies of the group that is not closed.
        groups: closed groups of copies, the oldest first.
        arriving: copies that belong to a barrier's phase, each with the barrier.
        phases: of each barrier the parity of the phase that is not over, and the bytes that the
            phase expects; None: nothing has arrived.
        products: products by number, the oldest first, with the views that they read.
        stores: copies to global memory, the oldest first.
        begun: the number of products so far.
        trips: of the loops around, the outermost first.
        doubt: why a program may never be here; empty: there is no reason.
    """

    values: dict[int, Known] = field(default_factory=dict)
    open: tuple[Use, ...] = ()
    groups: tuple[tuple[Use, ...], ...] = ()
    arriving: tuple[tuple[View, Use], ...] = ()
    phases: dict[View, tuple[int, int | None]] = field(default_factory=dict)
    products: tuple[tuple[int, tuple[Use, ...]], ...] = ()
    stores: tuple[Use, ...] = ()
    begun: int = 0
    trips: tuple[int, ...] = ()
    doubt: str = ""

    def copy(self) -> State:
        """Return an independent copy."""
        return replace(self, values=dict(self.values), phases=dict(self.phases))

    def key(self, live: frozenset[int]) -> object:
        """Return a key that is equal for states that continue alike; dead values are dropped."""
        self.forget(live)
        values = frozenset(
            (slot, Pending(known.number - self.begun) if isinstance(known, Pending) else known)
            for slot, known in self.values.items()
        )
        products = tuple((number - self.begun, uses) for number, uses in self.products)
        phases = frozenset(self.phases.items())
        return values, self.open, self.groups, self.arriving, phases, products, self.stores

    def forget(self, live: frozenset[int]) -> None:
        """Drop values that are no longer used, and results of products that have ended."""
        under_way = {number for number, _ in self.products}
        self.values = {
            slot: known
            for slot, known in self.values.items()
            if slot in live and not (isinstance(known, Pending) and known.number not in under_way)
        }

    # -- what is in flight -----------------------------------------------------------------------

    @property
    def size(self) -> int:
        """The number of operations in flight."""
        return (
            len(self.open) + len(self.groups) + len(self.arriving) + len(self.products)
            + len(self.stores)
        )  # fmt: skip

    def copies(self) -> Iterator[Use]:
        """Yield the copies that may not have arrived."""
        for group in self.groups:
            yield from group
        yield from self.open
        for _, use in self.arriving:
            yield use

    def read(self) -> Iterator[Use]:
        """Yield the views that products may still read."""
        for _, uses in self.products:
            yield from uses

    def is_pending(self, value: Known | None) -> bool:
        """Return whether the product that a value comes from may not have ended."""
        return isinstance(value, Pending) and any(value.number == n for n, _ in self.products)

    # -- what ops do -----------------------------------------------------------------------------

    def close(self) -> None:
        """Close the open group of copies."""
        self.groups = (*self.groups, self.open)
        self.open = ()

    def wait_for_copies(self, remaining: int) -> None:
        """End all closed groups of copies but the last `remaining` ones."""
        self.groups = self.groups[-remaining:] if remaining else ()

    def begin_product(self, uses: Iterable[Use]) -> Pending:
        """Begin a product that reads views until a wait ends it."""
        self.begun += 1
        self.products = (*self.products, (self.begun, tuple(uses)))
        return Pending(self.begun)

    def wait_for_products(self, remaining: int) -> None:
        """End all products but the last `remaining` ones."""
        ended = self.begun - remaining
        self.products = tuple(product for product in self.products if product[0] > ended)

    def wait_for_stores(self, remaining: int) -> None:
        """End all stores but the last `remaining` ones."""
        self.stores = self.stores[-remaining:] if remaining else ()

    def begin_phases(self, barrier: View) -> None:
        """Initialize a barrier; masked copies of an earlier barrier there do not belong to it."""
        self.end_phases(barrier)
        self.phases[barrier] = (0, None)

    def end_phases(self, barrier: View) -> None:
        """Remove a barrier and its masked copies."""
        self.phases.pop(barrier, None)
        self.arriving = tuple(
            (about, use) for about, use in self.arriving if about != barrier or not use.masked
        )

    def expect(self, barrier: View, size: int) -> None:
        """Set the bytes that a barrier's phase expects."""
        self.phases[barrier] = (self.phases[barrier][0], size)

    def arriving_bytes(self, barrier: View) -> int:
        """Return the bytes of all copies that belong to a barrier's phase."""
        return sum(size_bytes(use.op) for about, use in self.arriving if about == barrier)

    def wait_for_phase(self, barrier: View, parity: int) -> bool:
        """End a barrier's phase of this parity; return False if the phase never ends."""
        current, expected = self.phases[barrier]
        if current != parity:
            return True
        if expected is None:
            return False
        self.arriving = tuple(copy for copy in self.arriving if copy[0] != barrier)
        self.phases[barrier] = (1 - current, None)
        return True

    def leave_loop(self) -> None:
        """Mark masked copies as started in a loop that has ended."""

        def marked(uses: tuple[Use, ...]) -> tuple[Use, ...]:
            return tuple(
                replace(u, loop_ended=True) if u.masked and not u.loop_ended else u for u in uses
            )

        self.open = marked(self.open)
        self.groups = tuple(map(marked, self.groups))
        barriers, uses = [b for b, _ in self.arriving], marked(tuple(u for _, u in self.arriving))
        self.arriving = tuple(zip(barriers, uses, strict=True))
