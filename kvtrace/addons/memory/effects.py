"""The bytes that a unique call stores, and those that it reads before it stores them itself.

All is derived from the kernel's IR and the call's arguments: addresses that are formulas stay
formulas for any size of the grid (`boxed_accesses.py`). Contents of index tensors are used where
they were recorded; what depends on contents that were not, or that the kernel itself changes, is
bounded from below and from above, with the reason.

A read is *first* if no store of the same program to its bytes comes before it; what other programs
of the launch store does not count, as programs have no order. A lane that is masked off reads
nothing. A lane whose value is dropped later, as in an unmasked load before a masked store, reads.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from kvtrace.addons.memory.access_bytes import SCATTERED, TouchedBytes
from kvtrace.addons.memory.boxed_accesses import BoxedAccess, Boxing, deciding_values
from kvtrace.addons.memory.first_reads import FirstReads, accessing_sites, may_precede
from kvtrace.addons.memory.states import Effect
from kvtrace.evaluate import Access, Argument, Observer, Storage, TensorArgument
from kvtrace.evaluate.arguments import with_storages
from kvtrace.evaluate.errors import UNFIT, UnfitOp
from kvtrace.evaluate.order import written_storages
from kvtrace.ir import Module, Op
from kvtrace.ir.feeding import feeding_values
from kvtrace.ir.index_arguments import index_arguments
from kvtrace.ir.memory_sites import PointerRoots, Site
from kvtrace.ir.model import once_per_module
from kvtrace.ir.ops import READING, AccessKind
from kvtrace.metrics.byte_ranges import NOTHING, ByteRanges, TooManyRanges
from kvtrace.recorded_calls.recorded import Call
from kvtrace.schema.errors import KvtraceError
from kvtrace.verdicts.binding import BoundCall
from kvtrace.verdicts.conflicts.parts import ADD, roles_of, updates_by
from kvtrace.verdicts.conflicts.slots import steady_counters
from kvtrace.verdicts.replaying import run

MOST_LANES: Final = 1 << 23
"""Limit of lanes that are evaluated on arrays, for calls without formulas."""

_MOST_PROGRAMS: Final = 1 << 20
"""Limit of programs whose accesses are listed in order."""

_MOST_PAIRS: Final = 1 << 12
"""Limit of pairs of a store and a read that are compared by formulas, for one storage."""

#: The bytes of storages that are certainly and perhaps read first, or why they are not known.
_Order = dict[Storage, tuple[ByteRanges, ByteRanges] | str]

_UNDERIVED: Final = "an address could not be derived"


class Storing(Struct, frozen=True, eq=False):
    """An op that may store to a storage; `runs` is False if no active lane of any program does."""

    op: Op
    runs: bool


class StorageEffect(Effect, frozen=True, eq=False):
    """The effect of a call on one storage; an atomic reads what it updates, and writes it.

    Attributes:
        args: indices in `call.arguments` of the tensors in the storage.
        size: the storage's size in bytes.
        stores: the ops that may store to it, in the order of the IR.
        loads: the ops that may read it.
        leaving: those that read beyond it.
        unlisted_reads: whether `reads` is empty because the bytes could not be listed.
        unlisted_writes: likewise of `writes`.
    """

    args: tuple[int, ...] = ()
    size: int = 0
    stores: tuple[Storing, ...] = ()
    loads: tuple[Op, ...] = ()
    leaving: tuple[Op, ...] = ()
    unlisted_reads: bool = False
    unlisted_writes: bool = False

    @property
    def first_reading_op(self) -> Op:
        """The first op that may read it; of memory that only an opaque op may read, its store."""
        return self.loads[0] if self.loads else self.stores[0].op


class CallEffects(Struct, frozen=True, eq=False):
    """The effects of a call, one for each storage of its tensors, in the order of the arguments.

    `elsewhere`: it may store at addresses that come from no tensor argument (a table of pointers).
    `boxing` has the formulas of its accesses, None if the call does not fit its kernel.
    """

    storages: tuple[StorageEffect, ...]
    elsewhere: bool
    boxing: Boxing | None


def effects_of(call: Call) -> CallEffects:
    """Return what a call stores to each storage, and what it reads there first.

    The time depends on the number of memory ops and of regions of the grid where addresses and
    masks are affine; other calls are evaluated on arrays, up to MOST_LANES lanes.
    """
    call = with_index_contents(call)
    accesses = _Accesses(call, accessing_sites(call.module))
    failure, boxing = _observe(call, accesses)
    order = {} if failure else _order_in_programs(call, accesses)
    return CallEffects(
        tuple(accesses.effect(storage, failure, order) for storage in accesses.storages),
        accesses.elsewhere or (bool(failure) and any(map(_stores_elsewhere, accesses.sites))),
        boxing,
    )


def reading_op(call: Call, effect: StorageEffect, read: ByteRanges) -> tuple[Op, ByteRanges]:
    """Return the first op that reads one of some bytes of a storage, or else may, and those."""
    if len(effect.loads) > 1:
        call = with_index_contents(call)
        accesses = _Accesses(call, accessing_sites(call.module))
        _observe(call, accesses)
        (storage,) = (s for s, args in accesses.storages.items() if args == effect.args)
        for op in effect.loads:
            try:
                if by_op := accesses.loaded(storage, op).listed(effect.size) & read:
                    return op, by_op
            except TooManyRanges:
                continue
    return effect.first_reading_op, read


def _observe(call: Call, accesses: _Accesses) -> tuple[str | None, Boxing | None]:
    """Collect the accesses of a call; return why some may be missing, None if none is; its boxing.

    They come from the symbolic summary if that has all, else from an evaluation on arrays. What is
    too large for that is lost, op by op.
    """
    try:
        boxing = Boxing(call)
        boxed, unresolved = boxing.derived()
    except KvtraceError as error:
        return str(error), None
    except UNFIT as error:  # recorded IR may be anything; reported for the call
        return str(UnfitOp(call.kernel, error)), None
    is_complete = not unresolved and not any(doubt for *_, doubt in boxed)
    if not is_complete and boxing.bound.lanes <= MOST_LANES:
        return run(call, [accesses], contents="all", lanes=MOST_LANES), boxing
    accesses.add_boxed(boxing.bound, boxed, unresolved)
    return None, boxing


def _stores_elsewhere(site: Site) -> bool:
    return site.kind != "load" and site.parameters is None


def _storages(arguments: Sequence[Argument]) -> dict[Storage, tuple[int, ...]]:
    """Return the distinct storages of tensors, with the indices of their arguments."""
    storages: dict[Storage, tuple[int, ...]] = {}
    for index, argument in enumerate(arguments):
        if isinstance(argument, TensorArgument):
            storages[argument.storage] = (*storages.get(argument.storage, ()), index)
    return storages


def depends_on_contents(call: Call) -> bool:
    """Return whether effects of a call are derived from recorded contents of its tensors."""
    return any(
        isinstance(argument, TensorArgument) and argument.storage.data is not None
        for argument in with_index_contents(call).arguments
    )


def with_index_contents(call: Call) -> Call:
    """Return the call without contents that decide no access or choice, or that it changes.

    What is read from a changed storage depends on when it is read, and is not guessed. Counters
    keep theirs where the places that they decide are the same in every order of the programs.
    """
    reads, storages = _deciding_arguments(call.module), _storages(call.arguments)
    has_additions = any(updates_by(op, ADD) for op in call.module.ops)
    counters = steady_counters(BoundCall(call)) if has_additions else frozenset()
    written = _written_storages(call)
    copies: dict[Storage, Storage] = {}
    for storage, args in storages.items():
        decides = storage in counters or (
            storage not in written
            and not (_integers(call) if reads is None else reads).isdisjoint(args)
        )
        copies[storage] = replace(storage, data=storage.data if decides else None)
    return replace(call, arguments=with_storages(call.arguments, copies.__getitem__))


def _written_storages(call: Call) -> frozenset[Storage]:
    """Return the storages that a call may write to; of tables of pointers, with their contents.

    What stores reach loses its contents, until that changes no store; other tables keep theirs.
    """
    written = written_storages(call.module, call.arguments)
    if not any(map(_stores_elsewhere, accessing_sites(call.module))):
        return written
    reached: frozenset[Storage] = frozenset()
    while True:
        copies = {storage: storage for storage in _storages(call.arguments)}
        copies |= {storage: replace(storage, data=None) for storage in reached}
        stores = _Stores()
        with_others = replace(call, arguments=with_storages(call.arguments, copies.__getitem__))
        problem = run(with_others, [stores], lanes=MOST_LANES)
        if problem is not None or None in stores.arguments:
            return written
        stored = {call.tensor(index).storage for index in stores.arguments if index is not None}
        if stored <= reached:
            return reached
        reached |= stored


class _Stores(Observer):
    """The arguments to which an evaluation stores, None for an unknown address."""

    def __init__(self) -> None:
        self.arguments: set[int | None] = set()

    def access(self, access: Access) -> None:
        """Note the argument of a store."""
        if access.kind != "load" and access.active != 0:
            self.arguments.add(access.argument)


@once_per_module
def _deciding_arguments(module: Module) -> frozenset[int] | None:
    """Return the arguments whose contents decide an access, or which lanes are used; None: any."""
    reads = index_arguments(module).read
    chosen_by = feeding_values(deciding_values(module), module)
    loads = [op for op in module.ops if op.index in chosen_by and op.name in READING]
    choosing = PointerRoots(module).of(loads)
    return None if reads is None or choosing is None else reads | choosing


def _integers(call: Call) -> frozenset[int]:
    tensors = ((i, a) for i, a in enumerate(call.arguments) if isinstance(a, TensorArgument))
    return frozenset(index for index, tensor in tensors if tensor.dtype[0] in "iu")


class _StorageBytes(Struct, eq=False):
    """The accesses to one storage: bytes that are certainly or only perhaps accessed.

    `sites` are the ops that may access it, `ran` the indices of those that do, and `loaded` the
    bytes that each may read. `first` are certain reads that no store of the same program can
    precede. `reason` says why an access is uncertain; `lost` are the kinds of accesses at unknown
    addresses; `leaving` are the indices of ops that certainly read beyond the storage.
    """

    sites: Sequence[Site]
    size: int
    ran: set[int] = set()
    leaving: set[int] = set()
    loaded: defaultdict[int, TouchedBytes] = field(
        default_factory=lambda: defaultdict(TouchedBytes)
    )
    stored: TouchedBytes = field(default_factory=TouchedBytes)
    may_store: TouchedBytes = field(default_factory=TouchedBytes)
    may_read: TouchedBytes = field(default_factory=TouchedBytes)
    first: TouchedBytes = field(default_factory=TouchedBytes)
    lost: set[str] = set()
    reason: str = ""

    @property
    def stores(self) -> list[Op]:
        """The ops that may store to it."""
        return [site.op for site in self.sites if site.kind != "load"]

    @property
    def loads(self) -> list[Op]:
        """The ops that may read it."""
        return [site.op for site in self.sites if site.kind != "store"]

    @property
    def is_contested(self) -> bool:
        """The storage may be both read and written."""
        return bool(self.stores and self.loads)

    @property
    def loses_stores(self) -> bool:
        """Some bytes that are stored are not known."""
        return bool(self.lost - {"load"})

    def lose(self, kind: str, reason: str) -> None:
        """Note an access of a kind at an unknown address."""
        self.reason = self.reason or reason or _UNDERIVED
        self.lost.add(kind)

    def add(
        self, index: int, kind: AccessKind, touched: TouchedBytes, doubt: str, *, is_first: bool
    ) -> None:
        """Add the bytes of an access by an op; `doubt` is why it only may happen, "" if it does."""
        self.reason = self.reason or doubt
        if kind != "store":
            self.loaded[index].include(touched)
            self.may_read.include(touched)
            if not doubt and (touched.low < 0 or touched.high > self.size):
                self.leaving.add(index)
            if is_first and not doubt:
                self.first.include(touched)
        if kind != "load":
            self.may_store.include(touched)
            if not doubt:
                self.stored.include(touched)

    def is_all_first(self, size: int) -> bool:
        """Return whether all that may be read is read first; True if it cannot be listed."""
        try:
            return not self.may_read.listed(size) - self.first.listed(size)
        except TooManyRanges:
            return True


class _Accesses(Observer):
    """Collects the bytes of all accesses of a call, storage by storage.

    `storages` have their arguments; `sites` are the memory ops. `elsewhere` as in `CallEffects`.
    """

    def __init__(self, call: Call, sites: Sequence[Site]) -> None:
        self.sites = sites
        self.kinds = {site.op.index: site.kind for site in sites}
        self.storages = _storages(call.arguments)
        self.elsewhere = False
        self._arguments = call.arguments
        self._unseen = roles_of(call.module).unseen
        self._changed = written_storages(call.module, call.arguments)
        self._bytes = {
            storage: _StorageBytes(
                [site for site in sites if any(map(site.reaches, args))], storage.nbytes
            )
            for storage, args in self.storages.items()
        }

    def loaded(self, storage: Storage, op: Op) -> TouchedBytes:
        """Return the bytes of a storage that an op may read."""
        return self._bytes[storage].loaded[op.index]

    def access(self, access: Access) -> None:
        """Add the bytes of an access of an evaluation."""
        index, kind = access.op.index, self.kinds[access.op.index]
        argument = None if access.argument is None else self._arguments[access.argument]
        if not isinstance(argument, TensorArgument):
            self.elsewhere |= access.active != 0 and kind != "load"
            for bytes_ in self._bytes.values() if access.active != 0 else ():
                bytes_.lose(kind, access.reason)
            return
        bytes_ = self._bytes[argument.storage]
        if access.active == 0 or not access.executions:
            return
        bytes_.ran.add(index)
        if access.parts is None:
            bytes_.lose(kind, access.reason)
            return
        touched = TouchedBytes()
        touched.add(access)
        is_certain = access.certain and access.active is not None
        stores = bytes_.may_store
        may_be_preceded = bytes_.loses_stores or (
            bool(stores) and stores.low < touched.high and touched.low < stores.high
        )
        is_first = not (bytes_.is_contested and may_be_preceded)
        doubt = "" if is_certain else access.reason or _UNDERIVED
        bytes_.add(index, kind, touched, doubt, is_first=is_first)

    def add_boxed(
        self, bound: BoundCall, boxed: Sequence[BoxedAccess], unresolved: Mapping[int, str]
    ) -> None:
        """Add accesses by formulas; of ops that these do not resolve, addresses are unknown."""
        accesses: defaultdict[Storage, list[BoxedAccess]] = defaultdict(list)
        for boxed_access in boxed:
            access, touched, doubt = boxed_access
            index = access.op.index
            argument = self._arguments[access.argument or 0]
            assert isinstance(argument, TensorArgument)
            if not touched or index in unresolved:
                continue
            bytes_ = self._bytes[argument.storage]
            bytes_.ran.add(index)
            bytes_.add(index, self.kinds[index], touched, doubt, is_first=not bytes_.is_contested)
            accesses[argument.storage].append(boxed_access)
        for site in self.sites:
            reason = unresolved.get(site.op.index)
            self.elsewhere |= reason is not None and _stores_elsewhere(site)
            for storage, args in self.storages.items() if reason is not None else ():
                if any(map(site.reaches, args)):
                    self._bytes[storage].lose(site.kind, reason or _UNDERIVED)
        for storage, of_storage in accesses.items():
            bytes_ = self._bytes[storage]
            if bytes_.is_contested and not bytes_.loses_stores:
                for touched in self._unpreceded(bound, of_storage):
                    bytes_.first.include(touched)

    def _unpreceded(
        self, bound: BoundCall, accesses: Sequence[BoxedAccess]
    ) -> Iterator[TouchedBytes]:
        """Yield the bytes of certain reads that no store of the same program may precede."""
        kinds = [self.kinds[access.op.index] for access, *_ in accesses]
        stores = [(i, accesses[i][0]) for i, kind in enumerate(kinds) if kind != "load"]
        if len(stores) * len(accesses) > _MOST_PAIRS:
            return
        for number, (read, touched, doubt) in enumerate(accesses):
            if not (doubt or kinds[number] == "store") and not any(
                may_precede(bound, store, read, listed_first=i < number) for i, store in stores
            ):
                yield touched

    def undecided(self) -> list[Storage]:
        """Return storages with reads that a store of the same program may precede."""
        return [
            storage
            for storage, bytes_ in self._bytes.items()
            if bytes_.is_contested and not bytes_.is_all_first(storage.nbytes)
        ]

    def effect(self, storage: Storage, failure: str | None, order: _Order) -> StorageEffect:
        """Return the effect on a storage; `failure` says why accesses may be missing."""
        bytes_, size, unseen = self._bytes[storage], storage.nbytes, self._unseen
        whole = ByteRanges.of(0, size)
        stored, may_store, why_stored = _bounds(bytes_.stored, bytes_.may_store, size)
        read, may_read, why_read = _bounds(bytes_.first, bytes_.may_read, size)
        match order.get(storage):
            case str(problem):
                why_read = why_read or problem
            case (read, may_read):
                why_read = ""
        if unseen is not None or bytes_.loses_stores or (failure and bytes_.stores):
            may_store = whole
        if unseen is not None or bytes_.lost - {"store"} or (failure and bytes_.loads):
            may_read = whole
        if unseen is not None:
            read = NOTHING  # it may have stored before
        reason = ""
        if (stored, read) != (may_store, may_read):
            reasons = (
                failure, unseen and f"the kernel has {unseen}", bytes_.reason, why_stored, why_read,
                _UNDERIVED,
            )  # fmt: skip
            reason = self._with_changed(next(filter(None, reasons)))
        return StorageEffect(
            read or NOTHING, may_read, stored or NOTHING, may_store, reason,
            args=self.storages[storage],
            size=size,
            stores=tuple(Storing(op, op.index in bytes_.ran) for op in bytes_.stores),
            loads=tuple(bytes_.loads),
            leaving=tuple(op for op in bytes_.loads if op.index in bytes_.leaving),
            unlisted_reads=read is None, unlisted_writes=stored is None,
        )  # fmt: skip

    def _with_changed(self, reason: str) -> str:
        """Return a reason, and which of the data that it names the launch itself changes."""
        names = reason.removeprefix("depends on the data of ").split(" and ")[0].split(", ")
        changed = [
            argument.name
            for argument in self._arguments
            if argument.name in names and getattr(argument, "storage", None) in self._changed
        ]
        if not changed:
            return reason
        return (
            f"{reason}; the launch itself changes {', '.join(changed)}, in no order that is known"
        )


def _order_in_programs(call: Call, accesses: _Accesses) -> _Order:
    """Return what is read first in the order of each program, of the storages that need it."""
    storages = accesses.undecided()
    if not storages:
        return {}
    listing = FirstReads(call.arguments, storages, accesses.kinds)
    programs = prod(call.grid)
    if programs > _MOST_PROGRAMS:
        return dict.fromkeys(storages, f"{programs:,} programs are too many to list")
    problem = run(call, [listing], range(programs), contents="all", lanes=MOST_LANES)
    order: _Order = {}
    for storage in storages:
        try:
            order[storage] = listing.bounds(storage) if problem is None else problem
        except TooManyRanges:
            order[storage] = "it reads and stores too many ranges of bytes"
    return order


def _bounds(
    certain: TouchedBytes, possible: TouchedBytes, size: int
) -> tuple[ByteRanges | None, ByteRanges, str]:
    """Return the bytes that are certain, those that are possible, and why they are unknown."""
    try:
        return certain.listed(size), possible.listed(size), ""
    except TooManyRanges:
        return None, possible.hull(size), certain.problem or possible.problem or SCATTERED
