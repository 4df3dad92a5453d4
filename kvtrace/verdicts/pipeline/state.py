"""States of a program's shared memory: operations in flight, and the effects of ops on them.

A state does not include the contents of buffers. It has the copies, products and stores in flight,
the order in which they were started, and the numbers that select parts of buffers and phases.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from msgspec import Struct, structs

from kvtrace.ir import Op
from kvtrace.verdicts.pipeline.views import View, size_bytes


class Pending(Struct, frozen=True):
    """The result of a product that may be incomplete; `number` identifies the product."""

    number: int


Known = int | View | Pending


@dataclass(frozen=True, slots=True)
class Use:
    """A view that an operation in flight reads or writes.

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
        """The operation was surely started, on a known view."""
        return self.view.exact and not (self.masked and self.loop_ended)


class State(Struct):
    """The operations in flight at a point of a program, and the integers that affect them.

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

    values: dict[int, Known] = {}
    open: tuple[Use, ...] = ()
    groups: tuple[tuple[Use, ...], ...] = ()
    arriving: tuple[tuple[View, Use], ...] = ()
    phases: dict[View, tuple[int, int | None]] = {}
    products: tuple[tuple[int, tuple[Use, ...]], ...] = ()
    stores: tuple[Use, ...] = ()
    begun: int = 0
    trips: tuple[int, ...] = ()
    doubt: str = ""

    def copy(self) -> State:
        """Return a copy with its own values and phases."""
        return structs.replace(self, values=dict(self.values), phases=dict(self.phases))

    def key(self, live: frozenset[int]) -> object:
        """Return a key that is equal for states with equal futures, after dropping dead values."""
        self.drop_dead_values(live)
        values = frozenset(
            (
                value_id,
                Pending(known_value.number - self.begun)
                if isinstance(known_value, Pending)
                else known_value,
            )
            for value_id, known_value in self.values.items()
        )
        products = tuple((number - self.begun, uses) for number, uses in self.products)
        phases = frozenset(self.phases.items())
        return values, self.open, self.groups, self.arriving, phases, products, self.stores

    def drop_dead_values(self, live: frozenset[int]) -> None:
        """Drop values that are no longer used, and results of products that have ended."""
        running = {number for number, _ in self.products}
        self.values = {
            value_id: known_value
            for value_id, known_value in self.values.items()
            if value_id in live
            and not (isinstance(known_value, Pending) and known_value.number not in running)
        }

    # -- operations in flight --------------------------------------------------------------------

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

    def unfinished(self) -> Iterator[Use]:
        """Yield the views that operations surely use if the program ends now."""
        yield from (*self.stores, *self.read())
        yield from (use for use in self.copies() if use.sure)

    def read(self) -> Iterator[Use]:
        """Yield the views that products in flight may still read."""
        for _, uses in self.products:
            yield from uses

    def is_pending(self, value: Known | None) -> bool:
        """Return whether a value is the result of a product that is in flight."""
        return isinstance(value, Pending) and any(value.number == n for n, _ in self.products)

    # -- effects of ops --------------------------------------------------------------------------

    def close(self) -> None:
        """Close the open group of copies."""
        self.groups = (*self.groups, self.open)
        self.open = ()

    def wait_for_copies(self, remaining: int) -> None:
        """Remove all closed groups of copies except for the last `remaining` ones."""
        self.groups = self.groups[-remaining:] if remaining else ()

    def begin_product(self, uses: Iterable[Use]) -> Pending:
        """Add a product that reads views; return its pending result."""
        self.begun += 1
        self.products = (*self.products, (self.begun, tuple(uses)))
        return Pending(self.begun)

    def wait_for_products(self, remaining: int) -> None:
        """Remove all products except for the last `remaining` ones."""
        ended = self.begun - remaining
        self.products = tuple(product for product in self.products if product[0] > ended)

    def wait_for_stores(self, remaining: int) -> None:
        """Remove all stores except for the last `remaining` ones."""
        self.stores = self.stores[-remaining:] if remaining else ()

    def begin_phases(self, barrier: View) -> None:
        """Initialize a barrier, without masked copies of an earlier barrier in its place."""
        self.end_phases(barrier)
        self.phases[barrier] = (0, None)

    def end_phases(self, barrier: View) -> None:
        """Remove a barrier and its masked copies."""
        self.phases.pop(barrier, None)
        self.arriving = tuple(
            (copy_barrier, use)
            for copy_barrier, use in self.arriving
            if copy_barrier != barrier or not use.masked
        )

    def expect(self, barrier: View, size: int) -> None:
        """Set the bytes that a barrier's phase expects."""
        self.phases[barrier] = (self.phases[barrier][0], size)

    def arriving_bytes(self, barrier: View) -> int:
        """Return the total bytes of copies that belong to a barrier's phase."""
        return sum(
            size_bytes(use.op) for copy_barrier, use in self.arriving if copy_barrier == barrier
        )

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
