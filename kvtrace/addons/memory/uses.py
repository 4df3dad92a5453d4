"""Uses of what a call reads of a storage: reads that matter, and values that are only copied.

Kernels often load whole blocks and mask only their stores: what is read in the padding is dropped.
A loaded element that flows through elementwise ops alone matters only in the lanes that a choice
(`tl.where`, `&` and `|` of Booleans, `&` and `*` of integers) or a store of the same shape keeps,
and where no later store of the program replaces it. Where lanes are moved or combined,
`symbolic.undefined` says which of them come to a store, an address, a mask or a branch. Of an
integer, only the bytes matter of which some bit does. Anything else counts as a use of all lanes.

A value that is stored unchanged, or cast, is no use: what nobody wrote stays unwritten in the copy
(`carried_values.py`), as in the copies that operators of torch make.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, TypeGuard

from msgspec.structs import replace

from kvtrace.addons.memory.access_bytes import TouchedBytes
from kvtrace.addons.memory.boxed_accesses import Boxing, is_choice
from kvtrace.addons.memory.digit_forms import NoBoxes, cases_of
from kvtrace.addons.memory.first_reads import may_precede, others_may_store
from kvtrace.addons.memory.states import Effect
from kvtrace.ir import Op, Value
from kvtrace.ir.flow import Flow, constant_of, flow_of, forward
from kvtrace.ir.model import number_of
from kvtrace.ir.ops import KINDS, Kind, effect_of, operator_of
from kvtrace.ir.types import integer_bits, shape_of
from kvtrace.ir.updates import data_of
from kvtrace.metrics.byte_ranges import NOTHING, ByteRanges, TooManyRanges
from kvtrace.symbolic.conditions import (
    FALSE,
    TRUE,
    Condition,
    Equal,
    Not,
    Opaque,
    at_least,
    conjunction,
    disjunction,
)
from kvtrace.symbolic.functions import Choice
from kvtrace.symbolic.summary import Access
from kvtrace.symbolic.taint import reached_from
from kvtrace.symbolic.terms import Substitution, lane
from kvtrace.symbolic.undefined.flow import Taints, marker, places_in

if TYPE_CHECKING:
    from collections.abc import Set

    from kvtrace.addons.memory.effects import StorageEffect

_COMBINING: Final = (Kind.REDUCTION, Kind.SCAN)
_DROPPED: Final = "what is computed of it may drop what nobody wrote"
_SAME_LAUNCH: Final = "other programs of the same launch store it, perhaps before it is read"


class Copying(NamedTuple):
    """A load and a store of its unchanged values, lane by lane.

    `source` is the load, narrowed to the bytes of each element that matter, which are behind
    `skipped_bytes`; the store gets a lane's value `surely`, or `perhaps`, under these conditions,
    and keeps it where it `stays`. The load `is_first` if no store of its program may come before.
    """

    source: Access
    skipped_bytes: int
    store: Access
    surely: Condition
    perhaps: Condition
    stays: Condition = TRUE
    is_first: bool = True


def used_effect(boxing: Boxing, effect: StorageEffect) -> tuple[Effect, ByteRanges, list[Copying]]:
    """Return the effect of a call on a storage with the reads that matter, and what it copies.

    The bytes are those that it certainly reads before anything of the launch stores them.
    All reads matter where uses are not known. Between `reads` and `may_read` are also those that a
    choice may drop whose condition is not known.
    """
    call, surely, perhaps = boxing.bound.call, NOTHING, NOTHING
    copies: list[Copying] = []
    try:
        within = [a for a in boxing.accesses if a.argument in (None, *effect.args)]
        reads = [a for a in within if a.kind != "store" and not _is_own(a, within, boxing)]
        is_one = len({access.op for access in reads}) == 1
        for access in reads:
            stores = (other for other in within if other.kind != "load")
            is_first = is_one or not any(_may_follow(access, s, boxing) for s in stores)
            used, may_be_used = _used(access, boxing, effect.size, copies, is_first=is_first)
            surely |= used if is_first else used - effect.may_write
            perhaps |= may_be_used
        may_read = effect.may_read & perhaps
    except (NoBoxes, TooManyRanges):
        loads = (a for a in boxing.accesses if a.argument in (None, *effect.args))
        is_dropped = any(_may_drop(load.op.results, load, boxing) for load in loads)
        surely, may_read, copies = NOTHING if is_dropped else effect.reads, effect.may_read, []
    first, reason = effect.reads, effect.reason or f"{_DROPPED}{boxing.missing_choices}"
    if first & effect.may_write and others_may_store(call, effect.args):
        first, reason = first - effect.may_write, _SAME_LAUNCH
    matters = Effect(first & surely, may_read, effect.writes, effect.may_write, reason)
    return matters, first, copies


def _is_own(access: Access, within: Sequence[Access], boxing: Boxing) -> bool:
    """Return whether each lane of a load gets what its program certainly stored there before."""
    active = set(boxing.of_call(access.active).conjuncts())
    depth = len(access.loops)
    for store in within:
        if store.kind != "store" or store.op.index > access.op.index:
            continue
        # of a loop that has ended, by the store in its first trip
        inner = store.loops[depth:]
        begin = replace(store, loops=store.loops[:depth])
        if places(begin) == places(access) and not any(
            loop.trip in store.offset.atoms() for loop in inner
        ):
            stored = store.active.substitute({loop.trip: 0 for loop in inner})
            if set(boxing.of_call(stored).conjuncts()) <= active and boxing.is_ideal(store):
                return True
    return False


def _is_read_again(store: Access, boxing: Boxing) -> bool:
    """Return whether the same program may load what it stored; what becomes of it is not known."""
    tensor = boxing.bound.call.tensor
    storage = None if store.argument is None else tensor(store.argument).storage
    return any(
        access.kind != "store"
        and (access.argument is None or tensor(access.argument).storage is storage)
        and _may_follow(access, store, boxing)
        for access in boxing.accesses
    )


def _may_follow(read: Access, store: Access, boxing: Boxing) -> bool:
    """Return whether a program may read bytes that it stored before."""
    if any(a.argument is None or a.unknown or not boxing.is_ideal(a) for a in (read, store)):
        return True
    return may_precede(boxing.bound, store, read, listed_first=store.op.index < read.op.index)


def _used(
    access: Access, boxing: Boxing, size: int, copies: list[Copying], *, is_first: bool
) -> tuple[ByteRanges, ByteRanges]:
    """Return the bytes of the lanes whose values are surely used, and of those that may be.

    What is only copied is added to `copies`.
    """
    if effect_of(access.op) != "load":
        active = boxing.touched(access, access.active).listed(size)
        return active, active
    whole, access = access, _narrowed(access, boxing)
    skipped_bytes = (access.offset - whole.offset).constant or 0
    uses = list(uses_of(access, boxing))
    computed = {use.store.op for use in uses if use.store is not None and not use.is_copy}
    copied = [use for use in uses if use.store is not None and use.store.op not in computed]
    kept = [
        disjunction(conjunction((condition, use.reached)) for use, condition in conditions)
        for conditions in (
            [(use, use.surely) for use in uses if use not in copied],
            [
                (use, use.perhaps)
                for use in uses
                if use not in copied or (use.store and _is_read_again(use.store, boxing))
            ],
        )
    ]
    used, may_be_used = (
        boxing.touched(access, conjunction((access.active, condition))).listed(size)
        for condition in kept
    )
    taints = Taints(boxing.bound.summary, access)
    is_followed = not access.calls and taints.are_followed
    if used and is_followed and any(use.store is None for use in uses):
        copying = {use.store.op for use in copied if use.store}
        try:
            surely, perhaps = _used_across(access, boxing, taints, copying)
            used, may_be_used = used & surely.listed(size), may_be_used & perhaps.listed(size)
        except (NoBoxes, TooManyRanges):
            values = [use.value for use in uses if use.value is not None]
            used = NOTHING if _may_drop(values, access, boxing) else used
    copies += [
        Copying(access, skipped_bytes, use.store, use.surely, use.perhaps, use.stays, is_first)
        for use in copied
        if use.store
    ]
    return used, may_be_used


def _may_drop(values: Sequence[Value], access: Access, boxing: Boxing) -> bool:
    """Return whether some op that computes with loaded values may drop lanes of the load."""
    reached = reached_from(boxing.bound.call.module, values)
    for op in boxing.bound.call.module.ops:
        operands = [value for value in op.operands if value.id in reached]
        if operands and (
            op.name not in KINDS
            or (is_choice(op) and any(boxing.chosen(op, v, access) is not TRUE for v in operands))
            or KINDS[op.name].kind in (Kind.PICKED, Kind.SCAN, Kind.COUNT)
            or operator_of(op) == "split"
            or any(a.op is op and a.active != _running(a) for a in boxing.accesses)
        ):
            return True
    return False


def _running(access: Access) -> Condition:
    return conjunction(loop.running for loop in access.loops)


def _used_across(
    access: Access, boxing: Boxing, taints: Taints, copying: Set[Op]
) -> tuple[TouchedBytes, TouchedBytes]:
    """Return the bytes of a load by what becomes of its lanes where ops move or combine them.

    They are surely used, or may be; raise NoBoxes if it is not known. Stores of `copying` are no
    uses.
    """
    surely, perhaps = TouchedBytes(), TouchedBytes()
    if not boxing.has_ideal_choices:
        raise NoBoxes("an integer of a choice may wrap around")
    for sink in taints.sinks():
        if sink.use == "value" and sink.op in copying:
            continue
        place = sink.place
        reached = place.active if isinstance(place, Access) else place.reached
        shape = place.shape if isinstance(place, Access) else ()
        if reached is not TRUE and not boxing.is_ideal(place):
            raise NoBoxes("an integer of a place may wrap around")
        possibly = boxing.of_call(sink.undefined.possibly)
        for case in cases_of(map(_without_choice, possibly.conjuncts())):
            marks = [part for part in case if isinstance(part, Opaque) and _marks(part, access)]
            if not marks:
                perhaps.include(boxing.touched(access, access.active))
                continue
            moved = Substitution(dict(zip(places_in(access), marks[0].at, strict=True)))
            offset = boxing.of_call(moved(access.offset))
            source = replace(access, offset=offset, shape=shape, loops=place.loops)
            others = [part for part in case if part not in marks]
            active = boxing.of_call(access.active.substitute(moved))
            lanes = [active, boxing.of_call(reached), *others]
            known = [part for lane in lanes for part in lane.conjuncts() if boxing.is_known(part)]
            perhaps.include(boxing.touched(source, conjunction(known)))
            if len(marks) == 1 and all(map(boxing.is_known, lanes)):
                surely.include(boxing.touched(source, conjunction(lanes)))
    return surely, perhaps


def _without_choice(part: Condition) -> Condition:
    """Return the condition of a mask that was made an integer, if that integer is not 0."""
    if isinstance(part, Not) and isinstance(part.inner, Equal):
        constant, atoms = part.inner.term.affine() or (1, {})
        (atom,) = atoms if len(atoms) == 1 else (None,)
        if isinstance(atom, Choice) and not constant and atom.otherwise.constant == 0:
            return atom.condition if atom.then.constant else part
    return part


def _marks(part: Opaque, access: Access) -> bool:
    return part.key == marker(access).key


class Use(NamedTuple):
    """A use of a load's lanes, and the conditions that a lane's value comes there and stays.

    `store` has the same lanes, lane by lane; None: any other use. A choice whose condition is not
    known keeps no lane `surely`, and each one `perhaps`. `is_copy`: nothing is computed of it.
    `stays`: no later store of the program replaces it. `value` is what is used without a store.
    """

    store: Access | None
    surely: Condition
    perhaps: Condition
    is_copy: bool
    stays: Condition = TRUE
    value: Value | None = None

    @property
    def reached(self) -> Condition:
        """The condition that a lane is active in the store, and stays."""
        return TRUE if self.store is None else self.store.active & self.stays


def uses_of(access: Access, boxing: Boxing) -> Iterator[Use]:
    """Yield the uses of the values of a load's lanes."""
    stores = {store.op: store for store in boxing.accesses if store.kind == "store"}
    counts = Counter(store.op for store in boxing.accesses)
    flow = flow_of(boxing.bound.call.module)
    followed: set[tuple[int, Condition, Condition, bool]] = set()
    pending: list[tuple[Value, Condition, Condition, bool]]
    pending = [(value, TRUE, TRUE, True) for value in access.op.results]
    while pending:
        value, surely, perhaps, is_copy = pending.pop()
        if (value.id, surely, perhaps, is_copy) in followed:
            continue
        followed.add((value.id, surely, perhaps, is_copy))
        for use in flow.uses(value):
            if is_choice(use):
                chosen = boxing.chosen(use, value, access)
                surely_kept = conjunction((surely, chosen or FALSE))
                perhaps_kept = conjunction((perhaps, chosen or TRUE))
                copies = is_copy and use.name == "arith.select" and use.operands[0] is not value
                pending += [(r, surely_kept, perhaps_kept, copies) for r in use.results]
            elif len(use.results) > 1 and use.name in KINDS and KINDS[use.name].kind in _COMBINING:
                is_in_lanes = shape_of(value.type) == access.shape
                needed, may_be_needed = _needed(use, value, flow)
                if may_be_needed is not FALSE:
                    surely_used = surely & needed if is_in_lanes else FALSE
                    perhaps_used = perhaps & may_be_needed if is_in_lanes else perhaps
                    yield Use(None, surely_used, perhaps_used, is_copy=False, value=value)
            elif use.name in KINDS and KINDS[use.name].kind is Kind.ELEMENTWISE:
                copies = is_copy and operator_of(use) in ("cast", "bitcast")
                pending += [(result, surely, perhaps, copies) for result in use.results]
            elif _is_beside(store := stores.get(use), access) and _stores_value(use, value):
                is_one = store.argument is not None and counts[use] == counts[access.op] == 1
                yield Use(store, surely, perhaps, is_copy and is_one, ~_replaced(store, boxing))
            else:
                yield Use(None, surely, perhaps, is_copy=False, value=value)


def _needed(combining: Op, value: Value, flow: Flow) -> tuple[Condition, Condition]:
    """Return in which elements of a value a reduction or scan of several surely, or perhaps, needs.

    Of results that nothing uses, it needs none. A result that depends on the value as a right
    operand alone does not need a scan's first element, and in a reduction the order decides.
    """
    (body,), count = combining.regions[0].blocks, len(combining.results)
    results = {result.id for result in combining.results if any(flow.uses(result))}

    def is_needed(side: int, sides: tuple[int, ...]) -> bool:
        """Return whether a used result depends on the value as an operand of one side.

        What it is combined to is an operand of `sides` in later steps.
        """

        def onwards(op: Op, reached: Value) -> list[Value]:
            if op is not body.ops[-1]:
                return list(op.results)
            places = [place for place, operand in enumerate(op.operands) if operand is reached]
            carried = [body.arguments[place + later] for place in places for later in sides]
            return carried + [combining.results[place] for place in places]

        return any(
            results & forward(flow, [body.arguments[place + side]], onwards)
            for place, operand in enumerate(combining.operands)
            if operand is value
        )

    is_first_needed = is_needed(0, (0,))
    if is_first_needed or not is_needed(count, (0, count)):
        surely = TRUE if is_first_needed and is_needed(count, (0, count)) else FALSE
        return surely, TRUE if is_first_needed else FALSE
    if KINDS[combining.name].kind is Kind.REDUCTION:
        return FALSE, TRUE
    axis = number_of(combining, "axis")
    extent = shape_of(value.type)[axis]
    index = lane(axis, extent)
    later = at_least(extent - 2 - index if number_of(combining, "reverse") else index - 1)
    return later, later


def _stores_value(use: Op, value: Value) -> bool:
    """Return whether an op stores a value, and does not use it as an address or a mask."""
    return effect_of(use) == "store" and all(
        operand is not value or operand in data_of(use) for operand in use.operands
    )


def _is_beside(store: Access | None, access: Access) -> TypeGuard[Access]:
    """Return whether a store has the lanes of an access, in the same trips of loops."""
    return store is not None and (store.shape, store.loops) == (access.shape, access.loops)


def _replaced(store: Access, boxing: Boxing) -> Condition:
    """Return the condition that a later store of a program replaces what it stored, unread."""
    call = boxing.bound.call
    if store.argument is None:
        return FALSE
    storage = call.tensor(store.argument).storage
    later: list[Condition] = []
    for access in boxing.accesses:
        if access.kind == "store":
            if access.op.index > store.op.index and places(access) == places(store):
                active = boxing.of_call(access.active)
                later += [active] if boxing.is_known(active) else []
        elif access.argument is None or call.tensor(access.argument).storage is storage:
            return FALSE
    return disjunction(later)


def places(access: Access) -> tuple[object, ...]:
    """Return what tells the addresses of a program's accesses apart."""
    return (
        access.argument, access.offset, access.shape, access.loops, access.calls,
        access.element_bytes,
    )  # fmt: skip


def _narrowed(access: Access, boxing: Boxing) -> Access:
    """Return a load as one of the bytes of each integer of which some bit matters."""
    (value,) = access.op.results
    width = integer_bits(value.type)
    if width != 8 * access.element_bytes:
        return access
    bits = _demanded_bits(value, boxing, width)
    first = ((bits & -bits).bit_length() - 1) // 8 if bits else 0
    end = -(-bits.bit_length() // 8)
    return replace(access, offset=access.offset + first, element_bytes=max(end - first, 1))


def _demanded_bits(value: Value, boxing: Boxing, width: int) -> int:
    """Return the bits of an integer on which what becomes of it may depend, as a number."""
    demanded, full = 0, (1 << width) - 1
    for use in flow_of(boxing.bound.call.module).uses(value):
        result_width = integer_bits(use.results[0].type) if len(use.results) == 1 else None
        operator = operator_of(use)
        if result_width is None or operator not in _OF_SOME_BITS:
            return full
        bits = _demanded_bits(use.results[0], boxing, result_width)
        if operator == "cast":
            is_signed = use.name == "arith.extsi" and bits >> width
            demanded |= bits & full | (is_signed and 1 << (width - 1))
            continue
        other = constant_of(use.operand("right"))
        if not isinstance(other, int) or use.operand("left") is not value:
            return full
        if operator == "&":
            demanded |= bits & other
        elif not 0 <= other < width:
            return full
        elif operator == "<<":
            demanded |= bits >> other
        else:
            is_signed = use.name == "arith.shrsi" and bits >> (width - other)
            demanded |= bits << other & full | (is_signed and 1 << (width - 1))
    return demanded


#: Operators of which some bits of an integer decide nothing.
_OF_SOME_BITS: Final = ("cast", "&", "<<", ">>")
