"""The bytes that a unique call stores, and those that it reads before it stores them itself.

All is derived from the kernel's IR and the call's arguments: addresses that are formulas stay
formulas for any size of the grid (`access_bytes.py`). Contents of index tensors are used where they
were recorded; what depends on contents that were not, or that the kernel itself changes, is bounded
from below and from above, with the reason.

A read is *first* if no store of the same program to its bytes comes before it; what other programs
of the launch store does not count, as programs have no order. A lane that is masked off reads
nothing. A lane whose value is dropped later, as in an unmasked load before a masked store, reads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Final

from kvtrace.addons.memory.access_bytes import NotListed, TouchedBytes
from kvtrace.addons.memory.boxed_accesses import BoxedAccesses, boxed_accesses
from kvtrace.addons.memory.first_reads import FirstReads, accessing_sites, unpreceded
from kvtrace.addons.memory.formulas import FormulaAccess
from kvtrace.evaluate import Access, Argument, Observer, Storage, TensorArgument
from kvtrace.evaluate.arguments import with_storages
from kvtrace.evaluate.errors import UNFIT, UnfitOp
from kvtrace.evaluate.order import written_storages
from kvtrace.ir import Op
from kvtrace.ir.index_arguments import index_arguments
from kvtrace.ir.memory_sites import Site
from kvtrace.ir.ops import AccessKind
from kvtrace.metrics.byte_ranges import NOTHING, ByteRanges, TooManyRanges
from kvtrace.recorded_calls.recorded import Call
from kvtrace.schema.errors import KvtraceError
from kvtrace.verdicts.binding import BoundCall
from kvtrace.verdicts.conflicts.parts import ADD, roles_of, updates_by
from kvtrace.verdicts.conflicts.slots import slot_counters
from kvtrace.verdicts.replaying import TooManyLanes, run

MOST_LANES: Final = 1 << 23
"""Limit of lanes that are evaluated on arrays, for calls without formulas."""

_LEAST_LANES: Final = 1 << 9
"""Lanes that any smaller access counts as, because it takes as long."""

_MOST_PROGRAMS: Final = 1 << 20
"""Limit of programs whose accesses are listed in order."""

_UNDERIVED: Final = "an address could not be derived"


@dataclass(frozen=True, slots=True)
class Unknown:
    """Bytes that could not be derived, and the reason."""

    reason: str


@dataclass(frozen=True, slots=True, eq=False)
class StoreSite:
    """An op that may store to a storage, and the bytes that it certainly stores there.

    `runs` is False if no program runs the op there with an active lane.
    """

    op: Op
    stored: ByteRanges | Unknown
    runs: bool


@dataclass(frozen=True, slots=True, eq=False)
class StorageEffect:
    """The effect of a call on one storage. Offsets are bytes from the storage's begin.

    Attributes:
        args: indices in `call.arguments` of the tensors in the storage.
        size: the storage's size in bytes.
        stored: bytes that the launch certainly stores, atomics included.
        may_store: all bytes that it may store, `stored` among them.
        read_first: bytes that it certainly reads and that no earlier store of the same program
            precedes; an atomic reads what it updates.
        may_read: all bytes that it may read first, `read_first` among them.
        reason: why bounds differ, or why a set is unknown; "" if all sets are exact.
        stores: the ops that may store to it, in the order of the IR.
    """

    args: tuple[int, ...]
    size: int
    stored: ByteRanges | Unknown
    may_store: ByteRanges
    read_first: ByteRanges | Unknown
    may_read: ByteRanges
    reason: str
    stores: tuple[StoreSite, ...]

    @property
    def exact(self) -> bool:
        """All sets are known exactly."""
        return not self.reason


@dataclass(frozen=True, slots=True, eq=False)
class CallEffects:
    """The effects of a call, one for each storage of its tensors, in the order of the arguments.

    `elsewhere`: it may store at addresses that come from no tensor argument (a table of pointers).
    """

    storages: tuple[StorageEffect, ...]
    elsewhere: bool


def effects_of(call: Call) -> CallEffects:
    """Return what a call stores to each storage, and what it reads there first.

    The time depends on the number of memory ops and of regions of the grid where addresses and
    masks are affine; other calls are evaluated on arrays, up to MOST_LANES lanes.
    """
    call = _with_index_contents(call)
    sites = accessing_sites(call.module)
    storages = _storages(call.arguments)
    contested = [
        storage
        for storage, args in storages.items()
        if _reaching(sites, args, writes=False) and _reaching(sites, args, writes=True)
    ]
    kinds = {site.op.index: site.kind for site in sites}
    accesses = _Accesses(call.arguments, storages, contested, kinds)
    failure = _observe(call, accesses, sites)
    order = None if failure else _order_in_programs(call, accesses.undecided(), kinds)
    unseen = roles_of(call.module).unseen
    known = (
        _StorageEffects(args, storage, accesses.of(storage), failure, unseen, order)
        for storage, args in storages.items()
    )
    elsewhere = accesses.elsewhere or (bool(failure) and any(map(_stores_elsewhere, sites)))
    return CallEffects(tuple(effects.effect(sites) for effects in known), elsewhere)


def _observe(call: Call, accesses: _Accesses, sites: Sequence[Site]) -> str | None:
    """Collect the accesses of a call; return why some may be missing, None if none is.

    They come from the symbolic summary if that has all, else from an evaluation on arrays. What is
    too large for that is lost, op by op.
    """
    try:
        boxed = boxed_accesses(call)
    except KvtraceError as error:
        return str(error)
    except UNFIT as error:  # recorded IR may be anything; reported for the call
        return str(UnfitOp(call.kernel, error))
    if not boxed.complete and boxed.lanes <= MOST_LANES:
        return run(call, [accesses], contents="all")
    accesses.add_boxed(boxed, sites)
    return None


def _stores_elsewhere(site: Site) -> bool:
    return site.kind != "load" and site.parameters is None


def _storages(arguments: Sequence[Argument]) -> dict[Storage, tuple[int, ...]]:
    """Return the distinct storages of tensors, with the indices of their arguments."""
    storages: dict[Storage, tuple[int, ...]] = {}
    for index, argument in enumerate(arguments):
        if isinstance(argument, TensorArgument):
            storages[argument.storage] = (*storages.get(argument.storage, ()), index)
    return storages


def _reaching(sites: Sequence[Site], args: Sequence[int], *, writes: bool) -> list[Site]:
    """Return the ops that may write to, or read from, any of some arguments."""
    other = "load" if writes else "store"
    return [site for site in sites if site.kind != other and any(map(site.reaches, args))]


def depends_on_contents(call: Call) -> bool:
    """Return whether effects of a call are derived from recorded contents of its tensors."""
    return any(
        isinstance(argument, TensorArgument) and argument.storage.data is not None
        for argument in _with_index_contents(call).arguments
    )


def _with_index_contents(call: Call) -> Call:
    """Return the call without contents that decide no access, or that the kernel changes.

    What is read from a changed storage depends on when it is read, and is not guessed. Counters of
    slots keep theirs: the slots that are drawn are the same in every order of the programs.
    """
    reads = index_arguments(call.module).read
    written = written_storages(call.module, call.arguments)
    has_additions = any(updates_by(op, ADD) for op in call.module.ops)
    counters = slot_counters(BoundCall(call)) if has_additions else frozenset()
    copies: dict[Storage, Storage] = {}
    for storage, args in _storages(call.arguments).items():
        decides = storage in counters or (
            storage not in written
            and (
                any(_holds_integers(call.arguments[index]) for index in args)
                if reads is None
                else not reads.isdisjoint(args)
            )
        )
        copies[storage] = replace(storage, data=storage.data if decides else None)
    return replace(call, arguments=with_storages(call.arguments, copies.__getitem__))


def _holds_integers(argument: Argument) -> bool:
    return isinstance(argument, TensorArgument) and argument.dtype[0] in "iu"


class ArrayLimit(Observer):
    """Raises TooManyLanes after MOST_LANES lanes of accesses without a formula."""

    def __init__(self) -> None:
        self._lanes = 0

    def access(self, access: Access) -> None:
        """Count the lanes of an access that is not a formula over the grid."""
        if not isinstance(access, FormulaAccess) and access.active != 0:
            self._lanes += max(access.lanes, _LEAST_LANES)
            if self._lanes > MOST_LANES:
                raise TooManyLanes(f"evaluating it takes more than {MOST_LANES:,} lanes")


@dataclass(slots=True, eq=False)
class _SiteBytes:
    """Bytes that one op stores to one storage."""

    stored: TouchedBytes = field(default_factory=TouchedBytes)
    runs: bool = False


@dataclass(slots=True, eq=False)
class _StorageBytes:
    """The accesses to one storage: bytes that are certainly or only perhaps accessed.

    `first` are those of `read` that no store of the same program can precede. `reason` says why an
    access is uncertain; `lost` are the kinds of accesses at unknown addresses. `formulas` and
    `hull` (of stores on arrays) decide what is first.
    """

    sites: dict[int, _SiteBytes] = field(default_factory=dict)
    stored: TouchedBytes = field(default_factory=TouchedBytes)
    may_store: TouchedBytes = field(default_factory=TouchedBytes)
    read: TouchedBytes = field(default_factory=TouchedBytes)
    may_read: TouchedBytes = field(default_factory=TouchedBytes)
    first: TouchedBytes = field(default_factory=TouchedBytes)
    lost: set[str] = field(default_factory=set)
    reason: str = ""
    formulas: list[FormulaAccess] = field(default_factory=list)
    hull: TouchedBytes = field(default_factory=TouchedBytes)


class _Accesses(ArrayLimit):
    """Collects the bytes of all accesses, storage by storage.

    `contested` are the storages that are both read and written; `kinds` are those of the ops, by
    index. `elsewhere` as in `CallEffects`.
    """

    def __init__(
        self,
        arguments: Sequence[Argument],
        storages: dict[Storage, tuple[int, ...]],
        contested: Sequence[Storage],
        kinds: Mapping[int, AccessKind],
    ) -> None:
        super().__init__()
        self._arguments = arguments
        self._kinds = kinds
        self._bytes = {storage: _StorageBytes() for storage in storages}
        self._contested = frozenset(contested)
        self.elsewhere = False

    def of(self, storage: Storage) -> _StorageBytes:
        """Return the bytes of a storage."""
        return self._bytes[storage]

    def access(self, access: Access) -> None:
        """Add the bytes of an access."""
        super().access(access)
        access = replace(access, kind=self._kinds[access.op.index])
        argument = None if access.argument is None else self._arguments[access.argument]
        if not isinstance(argument, TensorArgument):
            self.elsewhere |= access.active != 0 and access.kind != "load"
            for storage_bytes in self._bytes.values() if access.active != 0 else ():
                _lose(storage_bytes, access.kind, access.reason)
            return
        storage_bytes, site = self._bytes[argument.storage], None
        if access.kind != "load":
            site = storage_bytes.sites.setdefault(access.op.index, _SiteBytes())
            site.runs = site.runs or access.active != 0
        if access.active == 0 or not access.executions:
            return
        if access.parts is None and not isinstance(access, FormulaAccess):
            _lose(storage_bytes, access.kind, access.reason)
            return
        self._add(storage_bytes, site, access, argument.storage in self._contested)

    def add_boxed(self, boxed: BoxedAccesses, sites: Sequence[Site]) -> None:
        """Add accesses, which have active lanes alone; `sites` are all memory ops."""
        for access in boxed.accesses:
            self.access(access)
        for site in sites:
            reason = boxed.unresolved.get(site.op.index)
            self.elsewhere |= reason is not None and _stores_elsewhere(site)
            for index, argument in enumerate(self._arguments if reason is not None else ()):
                if isinstance(argument, TensorArgument) and site.reaches(index):
                    _lose(self._bytes[argument.storage], site.kind, reason or _UNDERIVED)

    def _add(
        self, bytes_: _StorageBytes, site: _SiteBytes | None, access: Access, contested: bool
    ) -> None:
        touched, is_formula = TouchedBytes(), isinstance(access, FormulaAccess)
        touched.add(access)
        is_certain = access.certain and access.active is not None
        if not is_certain:
            bytes_.reason = bytes_.reason or access.reason or _UNDERIVED
        if access.kind != "store":
            bytes_.may_read.include(touched)
            if is_certain:
                bytes_.read.include(touched)
                if not contested or not (is_formula or _overlaps(bytes_, touched)):
                    bytes_.first.include(touched)
        if site is not None:
            bytes_.may_store.include(touched)
            if is_certain:
                bytes_.stored.include(touched)
                site.stored.include(touched)
        if contested and isinstance(access, FormulaAccess):
            bytes_.formulas.append(access)
        elif contested and access.kind != "load" and touched.low < touched.high:
            bytes_.hull.low, bytes_.hull.high = _hull(bytes_.hull, touched)

    def undecided(self) -> list[Storage]:
        """Return storages with reads that a store of the same program may precede.

        Reads whose formulas exclude that are added to the first ones; if these have all the bytes
        that are read, nothing is undecided.
        """
        undecided = []
        for storage in self._contested:
            storage_bytes = self._bytes[storage]
            if not storage_bytes.lost - {"load"}:
                for read in unpreceded(storage_bytes.formulas):
                    storage_bytes.first.add(read)
            if not _is_all_first(storage_bytes, storage.nbytes):
                undecided.append(storage)
        return undecided


def _lose(storage_bytes: _StorageBytes, kind: str, reason: str) -> None:
    """Note an access of a kind at an unknown address."""
    storage_bytes.reason = storage_bytes.reason or reason or _UNDERIVED
    storage_bytes.lost.add(kind)


def _hull(first: TouchedBytes, second: TouchedBytes) -> tuple[int, int]:
    if first.low >= first.high:
        return second.low, second.high
    return min(first.low, second.low), max(first.high, second.high)


def _overlaps(storage_bytes: _StorageBytes, touched: TouchedBytes) -> bool:
    """Return whether a store on arrays may have come before an access on arrays."""
    if storage_bytes.lost - {"load"}:
        return True
    hull = storage_bytes.hull
    return hull.low < touched.high and touched.low < hull.high


def _is_all_first(storage_bytes: _StorageBytes, size: int) -> bool:
    try:
        read, first = (part.listed(size) for part in (storage_bytes.may_read, storage_bytes.first))
    except NotListed:
        return True  # a listing would fail, too
    return not read - first


@dataclass(frozen=True, slots=True, eq=False)
class _Order:
    """The accesses to some storages in the order of each program; `problem`: why they are not."""

    storages: Sequence[Storage]
    listing: FirstReads
    problem: str | None


def _order_in_programs(
    call: Call, storages: Sequence[Storage], kinds: Mapping[int, AccessKind]
) -> _Order | None:
    """Return accesses in the order of each program, None if no storage needs it."""
    if not storages:
        return None
    listing = FirstReads(call.arguments, storages, kinds)
    programs = prod(call.grid)
    if programs > _MOST_PROGRAMS:
        return _Order(storages, listing, f"{programs:,} programs are too many to list")
    problem = run(call, [listing, ArrayLimit()], range(programs), contents="all")
    return _Order(storages, listing, problem)


@dataclass(frozen=True, slots=True, eq=False)
class _StorageEffects:
    """All that is known of one storage, from which its effect is made.

    `failure` says why other accesses may happen besides those seen, `unseen` names an op that may
    touch any memory.
    """

    args: tuple[int, ...]
    storage: Storage
    bytes_: _StorageBytes
    failure: str | None
    unseen: str | None
    order: _Order | None

    def effect(self, sites: Sequence[Site]) -> StorageEffect:
        """Return the effect; `sites` are all memory ops of the kernel."""
        size, lost = self.storage.nbytes, self.bytes_.lost
        whole = ByteRanges.of(0, size)
        writers = _reaching(sites, self.args, writes=True)
        readers = _reaching(sites, self.args, writes=False)
        stored, may_store, why_stored = _bounds(self.bytes_.stored, self.bytes_.may_store, size)
        read, may_read, why_read = self._reads()
        if self.unseen is not None or lost - {"load"} or (self.failure and writers):
            may_store = whole
        if self.unseen is not None or lost - {"store"} or (self.failure and readers):
            may_read = whole
        if self.unseen is not None:
            read = NOTHING  # it may have stored before
        reason = ""
        if (stored, read) != (may_store, may_read):
            unseen = None if self.unseen is None else f"the kernel has {self.unseen}"
            reasons = (self.failure, unseen, self.bytes_.reason, why_stored, why_read, _UNDERIVED)
            reason = next(filter(None, reasons))
        return StorageEffect(
            self.args, size, stored, may_store, read, may_read, reason,
            tuple(_site(site, self.bytes_, size) for site in writers),
        )  # fmt: skip

    def _reads(self) -> tuple[ByteRanges | Unknown, ByteRanges, str]:
        """Return the bytes certainly and perhaps read first, and why they may be unknown."""
        bounds = _bounds(self.bytes_.first, self.bytes_.may_read, self.storage.nbytes)
        order = self.order
        if order is None or self.storage not in order.storages:
            return bounds
        read, may_read, why = bounds
        if order.problem is not None:
            return read, may_read, why or order.problem
        try:
            return *order.listing.bounds(self.storage), ""
        except TooManyRanges:
            return read, may_read, why or "it reads and stores too many ranges of bytes"


def _bounds(
    certain: TouchedBytes, possible: TouchedBytes, size: int
) -> tuple[ByteRanges | Unknown, ByteRanges, str]:
    """Return the bytes that are certain, those that are possible, and why they are unknown."""
    try:
        return certain.listed(size), possible.listed(size), ""
    except NotListed as reason:
        return Unknown(str(reason)), possible.hull(size), str(reason)


def _site(site: Site, bytes_: _StorageBytes, size: int) -> StoreSite:
    known = bytes_.sites.get(site.op.index)
    if known is None:
        return StoreSite(site.op, NOTHING, runs=False)
    try:
        stored: ByteRanges | Unknown = known.stored.listed(size)
    except NotListed as reason:
        stored = Unknown(str(reason))
    return StoreSite(site.op, stored, known.runs)
