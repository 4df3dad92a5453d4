"""Storages by their address, each from its allocation until its memory is another's."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator
from typing import Literal

from msgspec import Struct

from kvtrace.addons.memory.states import State

Kind = Literal["launch", "operator"]
Origin = Literal["operator", "allocation", "host", "unseen"]


class Birth(Struct, frozen=True):
    """The origin of a storage.

    `row` is the operator's number, or that of the first allocation with its stack. `unseen`: a
    launch or an operator was given a storage that nothing recorded had made. `host`: memory of the
    host, made by an operator or, without a row, by other code.
    """

    origin: Origin
    row: int = -1

    @property
    def is_by_operator(self) -> bool:
        """Return whether `row` is the number of an operator."""
        return self.origin == "operator" or (self.origin == "host" and self.row >= 0)


class Place(Struct, frozen=True):
    """A tensor of a unique call or operator: `argument` is its index there."""

    kind: Kind
    row: int
    argument: int


class Life(Struct, eq=False):
    """A storage from its allocation on.

    Attributes:
        begin: its address.
        size: in bytes; of an allocation that no tensor was seen of yet, rounded up.
        state: what is known of its bytes.
        birth: where it came from.
        made: when it was made, ns.
        written: time of the last write, ns; -1: none.
        writer: what wrote last; None: nothing.
        given: the last kernel that was given it and has a store to it.
        source: the last kernel that wrote, or was given, the memory from which an operator moved
            unwritten bytes into this storage.
        is_read: whether something read it since a kernel wrote to it.
        is_missed: whether something read bytes of it that nobody had written.
        rounded: whether `size` may be larger than its tensor's storage.
    """

    begin: int
    size: int
    state: State
    birth: Birth
    made: int
    written: int = -1
    writer: Place | None = None
    given: Place | None = None
    source: Place | None = None
    is_read: bool = False
    is_missed: bool = False
    rounded: bool = False


class Lives:
    """The storages that are alive, by address; they never overlap."""

    def __init__(self) -> None:
        self._by_begin: dict[int, Life] = {}
        self._begins: list[int] = []  # sorted

    def __iter__(self) -> Iterator[Life]:
        return iter(self._by_begin.values())

    def at(self, begin: int, size: int) -> Life | None:
        """Return the storage that begins at an address and has that size, if it is known."""
        life = self._by_begin.get(begin)
        if life is None or (life.size != size and not (life.rounded and size < life.size)):
            return None
        return life

    def around(self, address: int) -> Life | None:
        """Return the storage that has the byte at an address, if it is known."""
        index = bisect_right(self._begins, address)
        life = self._by_begin[self._begins[index - 1]] if index else None
        return life if life is not None and address < life.begin + life.size else None

    def add(self, life: Life) -> list[Life]:
        """Add a new storage, and return the storages whose memory it takes."""
        same = self._by_begin.get(life.begin)
        if same is not None and same.size == life.size:
            self._by_begin[life.begin] = life
            return [same]
        ended = self.within([(life.begin, life.begin + life.size)])
        for old in ended:
            self.remove(old)
        self._by_begin[life.begin] = life
        insort(self._begins, life.begin)
        return ended

    def end(self, begin: int) -> Life | None:
        """Remove the storage at an address, because its memory was freed."""
        life = self._by_begin.get(begin)
        if life is not None:
            self.remove(life)
        return life

    def within(self, regions: Iterable[tuple[int, int]]) -> list[Life]:
        """Return the storages that have a byte in ranges of addresses, in their order.

        The ranges [begin, end) ascend and are apart.
        """
        begins, by_begin = self._begins, self._by_begin
        storages: list[Life] = []
        index, count = 0, len(begins)
        for begin, end in regions:
            index = bisect_left(begins, begin, index)
            if index:
                before = by_begin[begins[index - 1]]
                is_listed = storages and storages[-1] is before
                if before.begin + before.size > begin and not is_listed:
                    storages.append(before)
            while index < count and begins[index] < end:
                storages.append(by_begin[begins[index]])
                index += 1
        return storages

    def remove(self, life: Life) -> None:
        """Remove a storage."""
        del self._by_begin[life.begin]
        del self._begins[bisect_left(self._begins, life.begin)]
