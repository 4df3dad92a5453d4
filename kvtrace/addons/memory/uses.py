"""Uses of what a call reads of a storage: reads that matter, and values that are only copied.

Kernels often load whole blocks and mask only their stores: what is read in the padding is dropped.
`symbolic.undefined` says which loaded lanes come to a store, an address, a mask or a branch; what a
later store of the program replaces does not matter. Of an integer, only the bytes matter of which
some bit does.

A value that is stored unchanged, or cast, is no use: what nobody wrote stays unwritten in the copy
(`carried_values.py`), as in the copies that operators of torch make.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache, partial
from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec.structs import replace

from kvtrace.addons.memory.access_bytes import TouchedBytes
from kvtrace.addons.memory.boxed_accesses import Boxing, deciding_values
from kvtrace.addons.memory.digit_forms import NoBoxes, cases_of
from kvtrace.addons.memory.first_reads import may_meet_elsewhere, may_precede, others_may_store
from kvtrace.addons.memory.kept_bits import carried_bits, demanded_bits
from kvtrace.addons.memory.states import Effect
from kvtrace.ir import Module, Value
from kvtrace.ir.flow import flow_of
from kvtrace.ir.ops import effect_of, operator_of
from kvtrace.ir.types import integer_bits
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
from kvtrace.symbolic.terms import Atom, Substitution, Symbol, Term
from kvtrace.symbolic.undefined.flow import Sink, Taints, marker, places_in

if TYPE_CHECKING:
    from kvtrace.addons.memory.effects import StorageEffect

_DROPPED: Final = "what is computed of it may drop what nobody wrote"
_SAME_LAUNCH: Final = (
    "other programs of the same launch store it, perhaps before it is read: their order is not "
    "followed, and nothing recorded would tell"
)


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
    within = [a for a in boxing.accesses if a.argument in (None, *effect.args)]
    try:
        reads = [a for a in within if a.kind != "store" and not _is_own(a, within, boxing)]
        is_one = len({access.op for access in reads}) == 1
        for access in reads:
            stores = (other for other in within if other.kind != "load")
            is_first = is_one or not any(_may_follow(access, s, boxing) for s in stores)
            used, may_be_used = _used(access, boxing, effect, copies, is_first=is_first)
            if is_one and not boxing.is_known(boxing.of_call(access.active)):
                uses = (use for use in uses_of(access, boxing) if not use.is_copy)
                used = effect.reads if any(use.takes_all(access, boxing) for use in uses) else used
            surely |= used if is_first else used - effect.may_write
            perhaps |= may_be_used
        may_read = effect.may_read & perhaps
    except (NoBoxes, TooManyRanges):
        loads = [access for access in within if effect_of(access.op) == "load"]
        is_used = all(any(use.takes_all(a, boxing) for use in uses_of(a, boxing)) for a in loads)
        surely, may_read, copies = effect.reads if is_used else NOTHING, effect.may_read, []
    first, reason = effect.reads, effect.reason
    if first & effect.may_write and others_may_store(call, effect.args):
        first, reason = first - effect.may_write, _SAME_LAUNCH
    elif not reason and may_read - (first & surely):
        reason = f"{_DROPPED}{boxing.missing_choices}"
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
            if set(boxing.of_call(stored).conjuncts()) <= active and boxing.bound.is_ideal(store):
                return True
    return False


def _is_read_again(store: Access, boxing: Boxing) -> bool:
    """Return whether the same program may load what it stored; what becomes of it is not known."""
    beside = _accesses_beside(store, boxing)
    return any(access.kind != "store" and _may_follow(access, store, boxing) for access in beside)


def _may_follow(read: Access, store: Access, boxing: Boxing) -> bool:
    """Return whether a program may read bytes that it stored before."""
    if any(a.argument is None or a.unknown or not boxing.bound.is_ideal(a) for a in (read, store)):
        return True
    return may_precede(boxing.bound, store, read, listed_first=store.op.index < read.op.index)


def _used(
    access: Access, boxing: Boxing, effect: StorageEffect, copies: list[Copying], *, is_first: bool
) -> tuple[ByteRanges, ByteRanges]:
    """Return the bytes of the lanes whose values are surely used, and of those that may be.

    What is only copied is added to `copies`.
    """
    if effect_of(access.op) != "load":
        active = boxing.touched(access, access.active).listed(effect.size)
        return active, active
    possible, certain = _parts(access, boxing)
    first, last = possible[0], possible[-1]
    size = (last.offset - first.offset).constant or 0
    read = replace(first, element_bytes=size + last.element_bytes)
    skipped_bytes = (first.offset - access.offset).constant or 0
    used, may_be_used = TouchedBytes(), TouchedBytes()
    for use in uses_of(access, boxing):
        if use.is_copy and use.store is not None:
            copies.append(
                Copying(
                    read, skipped_bytes, use.store, use.surely, use.perhaps, use.stays, is_first
                )
            )
            if not _is_read_again(use.store, boxing):
                continue
        bytes_of = cache(partial(_bytes, use, boxing=boxing))  # nearly all parts are in both
        for part in possible:
            may_be_used.include(bytes_of(part)[1])
        for part in certain if not use.is_copy else ():
            used.include(bytes_of(part)[0])
    return used.listed(effect.size), may_be_used.listed(effect.size)


def _bytes(use: Use, access: Access, boxing: Boxing) -> tuple[TouchedBytes, TouchedBytes]:
    """Return the bytes of a load that are surely used by a sink, and those that may be."""
    surely, perhaps, place = TouchedBytes(), TouchedBytes(), use.sink.place
    reached = conjunction((place.active if isinstance(place, Access) else place.reached, use.stays))
    is_followed = reached is TRUE or boxing.bound.is_ideal(place) or (
        use.stays is TRUE and boxing.has_ideal_lanes(place)
    )  # fmt: skip
    cases = use.cases if is_followed else (_ANYWHERE,)
    for at, lanes, is_whole in cases:
        if at is None:
            perhaps.include(boxing.touched(access, conjunction((access.active, lanes))))
            continue
        moved = Substitution(dict(zip(places_in(access), at, strict=True)))
        source = replace(
            access, offset=boxing.of_call(moved(access.offset)), loops=place.loops,
            shape=place.shape if isinstance(place, Access) else (),
        )  # fmt: skip
        parts = boxing.of_call(access.active.substitute(moved)), boxing.of_call(reached), lanes
        known = [part for one in parts for part in one.conjuncts() if boxing.is_known(part)]
        perhaps.include(boxing.touched(source, conjunction(known)))
        if is_whole and all(map(boxing.is_known, parts)):
            surely.include(boxing.touched(source, conjunction(parts)))
    return surely, perhaps


def _without_choice(part: Condition) -> Condition:
    """Return the condition of a mask that was made an integer, if that integer is not 0."""
    if isinstance(part, Not) and isinstance(part.inner, Equal):
        constant, atoms = part.inner.term.affine() or (1, {})
        (atom,) = atoms if len(atoms) == 1 else (None,)
        if isinstance(atom, Choice) and not constant and atom.otherwise.constant == 0:
            return atom.condition if atom.then.constant else part
    return part


class Case(NamedTuple):
    """Lanes of a sink that get an element of a load.

    `at` has the element's lanes and trips, by those of the sink; None: any element. `lanes` is what
    is known of the condition, `is_whole` whether that is all of it.
    """

    at: tuple[Term, ...] | None
    lanes: Condition = TRUE
    is_whole: bool = False


_ANYWHERE: Final = Case(None)


class Use(NamedTuple):
    """A sink that a load's values come to, and in which cases.

    `store` has the same lanes, lane by lane; None: any other use. `is_copy`: nothing is computed of
    the values. `stays` is where no later store of the program replaces them.
    """

    sink: Sink
    cases: tuple[Case, ...]
    store: Access | None
    is_copy: bool
    stays: Condition = TRUE

    @property
    def surely(self) -> Condition:
        """The condition that a lane of the store gets the load's value."""
        return disjunction(case.lanes for case in self.cases if case.is_whole)

    @property
    def perhaps(self) -> Condition:
        """The condition without which a lane does not get it."""
        return disjunction(case.lanes for case in self.cases)

    @property
    def reached(self) -> Condition:
        """The condition that a lane is active in the store, and stays."""
        return TRUE if self.store is None else self.store.active & self.stays

    def takes_all(self, access: Access, boxing: Boxing) -> bool:
        """Return whether each element that the load reads comes there."""
        place, places = self.sink.place, [boxing.of_call(s.term) for s in places_in(access)]
        reached = place.active if isinstance(place, Access) else place.reached
        _, certain = _parts(access, boxing)
        if sum(part.element_bytes for part in certain) < access.element_bytes:
            return False
        is_after = set(place.loops).isdisjoint(access.loops)
        return set(reached.conjuncts()) <= set(access.active.conjuncts()) and any(
            at is not None and is_whole and lanes is TRUE and len(set(at)) == len(at)
            and all(_is_any(*pair, is_after=is_after) for pair in zip(at, places, strict=True))
            for at, lanes, is_whole in self.cases
        )  # fmt: skip


def _is_any(term: Term, place: Term, *, is_after: bool) -> bool:
    """Return whether a term is a symbol with the range of another one, or with a wider range.

    That is an earlier trip: `is_after` the loop, any of those in which the load is active.
    """
    if term == place or not isinstance(_only_atom(term), Symbol):
        return term == place
    is_wider = term.low <= place.low and place.high <= term.high
    return is_wider and (is_after or (term.low, term.high) == (place.low, place.high))


def _only_atom(term: Term) -> Atom | None:
    """Return the atom that a term is; None: it is a sum or a product."""
    constant, atoms = term.affine() or (1, {})
    return next(iter(atoms)) if not constant and [*atoms.values()] == [1] else None


def uses_of(access: Access, boxing: Boxing) -> Iterator[Use]:
    """Yield the uses of the values of a load's lanes."""
    module, counts = boxing.bound.call.module, Counter(each.op for each in boxing.accesses)
    taints = Taints(boxing.bound.summary, access)
    identity = tuple(boxing.of_call(symbol.term) for symbol in places_in(access))
    copied = _copied(access, module)
    whole = next(each for each in boxing.accesses if each.op is access.op)
    is_one_call = len({each.calls for each in boxing.accesses if each.op is access.op}) == 1
    is_ideal = is_one_call and boxing.bound.are_ideal(deciding_values(module))
    sinks = taints.sinks()
    kept = _kept(access, taints, boxing)
    for sink in sinks:
        cases = tuple(_cases(sink, access, boxing, kept)) if is_ideal else (_ANYWHERE,)
        place = sink.place
        if (
            sink.use == "value"
            and isinstance(place, Access)
            and place.kind == "store"
            and (place.shape, place.loops) == (access.shape, access.loops)
            and all(case.at == identity for case in cases)
        ):
            is_one = place.argument is not None and counts[place.op] == counts[access.op] == 1
            bits, is_masked = carried_bits(access, place, module)
            if is_one and is_masked and bits is not None and places(whole) == places(place):
                if not _are_replaced(place, bits, boxing):
                    cases = tuple(case._replace(is_whole=False) for case in cases)
                    yield Use(sink, cases, place, is_copy=True)
                continue
            is_copy = is_one and sink.value in copied
            yield Use(sink, cases, place, is_copy, _staying(place, boxing))
        else:
            yield Use(sink, cases, None, is_copy=False)


def _kept(access: Access, taints: Taints, boxing: Boxing) -> Condition:
    """Return a condition without which selects drop what was loaded before all else."""
    kept: list[Condition] = []
    for op in taints.flow.uses(access.op.results[0]):
        if operator_of(op) != "where":
            return TRUE
        possibly = boxing.of_call(taints.of(op.results[0]).possibly).conjuncts()
        others = [part for part in possibly if part != boxing.of_call(marker(access))]
        kept.append(conjunction(part for part in others if boxing.is_known(part)))
    return disjunction(kept)


def _cases(sink: Sink, access: Access, boxing: Boxing, kept: Condition) -> Iterator[Case]:
    possibly = boxing.of_call(sink.undefined.possibly)
    try:
        cases = cases_of(map(_without_choice, possibly.conjuncts()))
    except NoBoxes:
        cases = [()]
    places, key = places_in(access), marker(access).key
    for case in cases if possibly is not FALSE else ():
        marks = [part for part in case if isinstance(part, Opaque) and part.key == key]
        if not marks:
            yield Case(None, kept)
            continue
        any_element = Substitution(dict(_not_followed(marks[0].at, places, boxing)))
        at = tuple(map(any_element, marks[0].at))
        moved = access.active.substitute(dict(zip(places, at, strict=True)))
        active = boxing.of_call(moved).conjuncts()
        others = [
            part for each in case if each not in marks
            for part in each.substitute(any_element).conjuncts() if part not in active
        ]  # fmt: skip
        known = [part for part in others if boxing.is_known(part)]
        is_whole = len(marks) == 1 and at == marks[0].at and len(known) == len(others)
        yield Case(at, conjunction(known), is_whole)


def _not_followed(
    at: Sequence[Term], places: Sequence[Symbol], boxing: Boxing
) -> Iterator[tuple[Atom, Term]]:
    """Yield indices of an element that are no formulas, each with any one in its place."""
    for term, place in zip(at, places, strict=True):
        atom = _only_atom(term)
        if atom is not None and not boxing.is_known(at_least(term - 1)):
            yield atom, Symbol(place.kind, ("any", place.key), place.low, place.high).term


def _copied(access: Access, module: Module) -> set[Value]:
    """Return the values that are those of a load, cast or chosen, of which nothing is computed."""
    flow = flow_of(module)
    copies: dict[Value, None] = dict.fromkeys(access.op.results)
    computed: list[Value] = []
    for value in (pending := list(copies)):
        for op in flow.uses(value):
            is_chosen = operator_of(op) == "where" and op.operand("condition") is not value
            if not is_chosen and operator_of(op) not in ("cast", "bitcast"):
                computed += op.results
                continue
            pending += [result for result in op.results if result not in copies]
            copies |= dict.fromkeys(op.results)
    reached = reached_from(module, computed)
    return {value for value in copies if value.id not in reached}


def _staying(store: Access, boxing: Boxing) -> Condition:
    """Return the condition that no later store of a program replaces what it stored, unread."""
    call = boxing.bound.call
    if store.argument is None:
        return TRUE
    storage = call.tensor(store.argument).storage
    later: list[Condition] = []
    for access in boxing.accesses:
        if access.kind == "store":
            if access.op.index > store.op.index and places(access) == places(store):
                active = boxing.of_call(access.active)
                later += [active] if boxing.is_known(active) else []
        elif access.argument is None or call.tensor(access.argument).storage is storage:
            return TRUE
    return ~disjunction(later) if later else TRUE


def _are_replaced(store: Access, bits: int, boxing: Boxing) -> bool:
    """Return whether later stores of a program replace some bits of what a store leaves, unread.

    What comes to them is accessed at the same place, and in no loop.
    """
    bound, module = boxing.bound, boxing.bound.call.module
    active = set(boxing.of_call(store.active).conjuncts())
    loaded: dict[Access, int] = {}
    later = [store]
    for access in sorted(_accesses_beside(store, boxing), key=lambda one: one.op.index):
        is_later = access.op.index > store.op.index and places(access) == places(store)
        if access.kind == "store" and not is_later:
            continue
        if access.kind == "load" and not _may_follow(access, store, boxing):
            continue
        is_atomic = access.kind == "atomic"
        if not is_later or is_atomic or access.loops or may_meet_elsewhere(bound, store, access):
            return False
        if access.kind == "load":
            demanded = demanded_bits(access.op.results[0], module)
            loaded |= {access: bits} if demanded & bits else {}
            continue
        if not set(boxing.of_call(access.active).conjuncts()) <= active:
            return False
        later.append(access)
        bits = 0
        for load, part in loaded.items():
            carried = carried_bits(load, access, module, part).bits
            if carried is None:
                return False
            bits |= carried
    sinks = (sink for load in loaded for sink in Taints(bound.summary, load).sinks())
    return not bits and all(sink.use == "value" and sink.place in later for sink in sinks)


def _accesses_beside(store: Access, boxing: Boxing) -> Iterator[Access]:
    """Yield the other accesses that may go to a store's storage."""
    call = boxing.bound.call
    for access in boxing.accesses:
        if access is not store and (
            None in (access.argument, store.argument)
            or call.tensor(access.argument or 0).storage is call.tensor(store.argument or 0).storage
        ):
            yield access


def places(access: Access) -> tuple[object, ...]:
    """Return what tells the addresses of a program's accesses apart."""
    return (
        access.argument, access.offset, access.shape, access.loops, access.calls,
        access.element_bytes,
    )  # fmt: skip


def _parts(access: Access, boxing: Boxing) -> tuple[list[Access], list[Access]]:
    """Return a load as loads of the bytes that may matter, and of those that surely do.

    Of a load that takes several elements at once, any op that drops bits may drop some.
    """
    (value,) = access.op.results
    module, argument = boxing.bound.call.module, boxing.bound.call.tensor_at(access.argument)
    if integer_bits(value.type) != 8 * access.element_bytes:
        return [access], [access]
    possible = _parts_with(access, demanded_bits(value, module)) or [
        replace(access, element_bytes=1)
    ]
    if argument is None or access.element_bytes <= argument.element.bytes:
        return possible, possible
    return possible, _parts_with(access, demanded_bits(value, module, unknown=0))


def _parts_with(access: Access, bits: int) -> list[Access]:
    """Return a load of integers as loads of the bytes that have some of their bits."""
    parts: list[Access] = []
    bytes_ = range(access.element_bytes)
    for matters, run in groupby(bytes_, lambda byte: bits >> 8 * byte & 0xFF != 0):
        if matters:
            first, *others = run
            offset = access.offset + first
            parts.append(replace(access, offset=offset, element_bytes=1 + len(others)))
    return parts
