"""What one program's shared memory may be in the middle of: a state, and how ops change it.

A state forgets what buffers hold. It knows which copies, products and stores are in flight, in
which order they were begun, and the numbers that decide slots and phases.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from kvtrace.ir import Op
from kvtrace.verdicts.pipeline.views import View, size_bytes


@dataclass(frozen=True, slots=True)
class Pending:
    """What a product makes that may not have ended: the product's number."""

    number: int


Held = int | View | Pending


@dataclass(frozen=True, slots=True)
class Use:
    """A view that an op reads or writes while the program continues.

    `masked`: not in all programs and trips, it may be; `left`: since then a loop was left, whose
    last trips begin nothing new. `trips` are those of the loops around it when it began.
    """

    view: View
    op: Op
    masked: bool = False
    left: bool = False
    trips: tuple[int, ...] = field(default=(), compare=False)

    @property
    def sure(self) -> bool:
        """Whether it is certain that it was begun, and where."""
        return self.view.exact and not (self.masked and self.left)


@dataclass(slots=True)
class State:
    """Where a program may be, as far as what is in flight decides it.

    Attributes:
        values: what is known of values, by their ids.
        open: copies of the group that is not closed.
        groups: closed groups of copies, the oldest first.
        arriving: copies that a barrier's phase is about, each with the barrier.
        phases: of each barrier the parity of the phase that is not over, and how many bytes are
            expected in it; None: nobody has arrived.
        products: products by number, the oldest first, with what they read.
        stores: what is copied to memory, the oldest first.
        begun: how many products there were.
        trips: of the loops around, the outermost first.
        doubt: why a program may never be here; empty: nothing speaks against it.
    """

    values: dict[int, Held] = field(default_factory=dict)
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
        """Return one that goes another way from here."""
        return replace(self, values=dict(self.values), phases=dict(self.phases))

    def key(self, live: frozenset[int]) -> object:
        """Return what two states that continue alike share; only `live` values are kept."""
        self.forget(live)
        values = frozenset(
            (slot, Pending(held.number - self.begun) if isinstance(held, Pending) else held)
            for slot, held in self.values.items()
        )
        products = tuple((number - self.begun, uses) for number, uses in self.products)
        phases = frozenset(self.phases.items())
        return values, self.open, self.groups, self.arriving, phases, products, self.stores

    def forget(self, live: frozenset[int]) -> None:
        """Forget values that are used no more, and of which products they were that have ended."""
        under_way = {number for number, _ in self.products}
        self.values = {
            slot: held
            for slot, held in self.values.items()
            if slot in live and not (isinstance(held, Pending) and held.number not in under_way)
        }

    # -- what is in flight -----------------------------------------------------------------------

    @property
    def size(self) -> int:
        """How much is in flight."""
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
        """Yield what products may still read."""
        for _, uses in self.products:
            yield from uses

    def is_pending(self, held: Held | None) -> bool:
        """Whether the product that a value comes from may not have ended."""
        return isinstance(held, Pending) and any(held.number == n for n, _ in self.products)

    # -- what ops do -----------------------------------------------------------------------------

    def close(self) -> None:
        """Close the group of copies that is open."""
        self.groups = (*self.groups, self.open)
        self.open = ()

    def wait_for_copies(self, left: int) -> None:
        """Have all closed groups land but the last ones."""
        self.groups = self.groups[-left:] if left else ()

    def begin_product(self, uses: Iterable[Use]) -> Pending:
        """Begin a product that reads some views until it is waited for."""
        self.begun += 1
        self.products = (*self.products, (self.begun, tuple(uses)))
        return Pending(self.begun)

    def wait_for_products(self, left: int) -> None:
        """Have all products end but the last ones."""
        ended = self.begun - left
        self.products = tuple(each for each in self.products if each[0] > ended)

    def wait_for_stores(self, left: int) -> None:
        """Have all stores but the last ones no longer read their views."""
        self.stores = self.stores[-left:] if left else ()

    def begin_phases(self, barrier: View) -> None:
        """Make a barrier new; what was masked off it never was about."""
        self.end_phases(barrier)
        self.phases[barrier] = (0, None)

    def end_phases(self, barrier: View) -> None:
        """Give a barrier up."""
        self.phases.pop(barrier, None)
        self.arriving = tuple(
            (about, use) for about, use in self.arriving if about != barrier or not use.masked
        )

    def expect(self, barrier: View, size: int) -> None:
        """Have copies of so many bytes expected in a barrier's phase."""
        self.phases[barrier] = (self.phases[barrier][0], size)

    def arriving_bytes(self, barrier: View) -> int:
        """Return how many bytes the copies bring that a barrier's phase is about."""
        return sum(size_bytes(use.op) for about, use in self.arriving if about == barrier)

    def wait_for_phase(self, barrier: View, parity: int) -> bool:
        """Have a barrier's phase of a parity be over; False: it never will be."""
        current, expected = self.phases[barrier]
        if current != parity:
            return True
        if expected is None:
            return False
        self.arriving = tuple(each for each in self.arriving if each[0] != barrier)
        self.phases[barrier] = (1 - current, None)
        return True

    def leave_loop(self) -> None:
        """Note of masked copies that the loop they are in has been left."""

        def noted(uses: tuple[Use, ...]) -> tuple[Use, ...]:
            return tuple(replace(u, left=True) if u.masked and not u.left else u for u in uses)

        self.open = noted(self.open)
        self.groups = tuple(map(noted, self.groups))
        barriers, uses = [b for b, _ in self.arriving], noted(tuple(u for _, u in self.arriving))
        self.arriving = tuple(zip(barriers, uses, strict=True))
