"""Independence of programs, proven on access formulas: none reads bytes that another wrote.

Two accesses of different programs never meet if equal addresses imply equal program ids: each
coefficient is larger than the sum of all smaller terms (digits of a mixed radix). With 4 KiB per
program and 1,024 lanes of 4 bytes, `4096 * program + 4 * lane` determines the program.
"""

from __future__ import annotations

from collections.abc import Sequence

from kvtrace.evaluate.arguments import Argument, TensorArgument
from kvtrace.evaluate.observe import AccessKind
from kvtrace.evaluate.plan.affine import Interval
from kvtrace.evaluate.plan.records import AccessRecord
from kvtrace.evaluate.plan.signals import Unplannable


def refuse_meetings(records: Sequence[AccessRecord], arguments: Sequence[Argument]) -> None:
    """Raise Unplannable unless no program reads bytes that another program writes."""
    active = [record for record in records if record.lanes is not None]
    for store in (record for record in active if record.kind != "load"):
        target = arguments[store.argument]
        assert isinstance(target, TensorArgument)
        for load in (record for record in active if _must_not_meet(store.kind, record.kind)):
            source = arguments[load.argument]
            assert isinstance(source, TensorArgument)
            if source.storage is not target.storage or source.storage.data is None:
                continue
            shift = source.offset_bytes - target.offset_bytes
            if not never_meet(store, load, shift):
                raise Unplannable(f"programs may read what others wrote to {target.name}")


def _must_not_meet(writing: AccessKind, other: AccessKind) -> bool:
    """Return whether the order of two accesses of these kinds matters; each pair once."""
    return other == "load" or (writing == "atomic" and other == "store")


def never_meet(store: AccessRecord, load: AccessRecord, shift: int) -> bool:
    """Return whether no byte is accessed by different programs, through one of the accesses each.

    `shift`: the distance of the load's data pointer from the store's.
    """
    low = load.extremes[0] + shift
    high = load.extremes[1] + shift + load.element_bytes
    if high <= store.extremes[0] or store.extremes[1] + store.element_bytes <= low:
        return True
    if store.region.programs == 1 and store.region is load.region:
        return True
    if store.region.ids is not load.region.ids and store.region.ids != load.region.ids:
        return False
    return _programs_are_digits(store, load, shift)


def _programs_are_digits(store: AccessRecord, load: AccessRecord, shift: int) -> bool:
    """Return whether the difference of both addresses, as digits, determines the programs."""
    gap = load.form.constant + shift - store.form.constant
    digits: dict[int, Interval] = {}
    programs: dict[int, tuple[int, Interval]] = {}
    for symbol in store.region.order:
        first, last = store.region.ranges[symbol]
        other_first, other_last = load.region.ranges[symbol]
        number = store.form.coefficient(symbol)
        if number != load.form.coefficient(symbol):
            return False
        span = (other_first - last, other_last - first)
        if number == 0:
            if span != (0, 0):
                return False  # all programs along this axis share an address
            continue
        if number in programs:
            return False
        programs[number] = (number, span)
    for record, sign in ((load, 1), (store, -1)):
        for number, (first, last) in _inner(record):
            ends = sorted((sign * first, sign * last))
            before = digits.get(number, (0, 0))
            digits[number] = (before[0] + ends[0], before[1] + ends[1])
    return _forced_to_zero(programs, digits, gap, load.element_bytes, store.element_bytes)


def _inner(record: AccessRecord) -> list[tuple[int, Interval]]:
    """Return the coefficients and ranges of trips and lanes."""
    assert record.lanes is not None
    pairs = [(record.form.coefficient(symbol), interval) for symbol, interval in record.trips]
    pairs += list(zip(record.form.lanes, record.lanes, strict=False))
    return [(number, interval) for number, interval in pairs if number]


def _forced_to_zero(
    programs: dict[int, tuple[int, Interval]],
    digits: dict[int, Interval],
    gap: int,
    load_bytes: int,
    store_bytes: int,
) -> bool:
    """Return whether bytes coincide only if all program digits are zero.

    They coincide where -load_bytes < gap + sum(digit * coefficient) < store_bytes.
    """
    low, high = gap - store_bytes + 1, gap + load_bytes - 1
    terms = [(abs(number), number, span, True) for number, (_, span) in programs.items()]
    terms += [(abs(number), number, span, False) for number, span in digits.items()]
    terms.sort(key=lambda term: (term[0], not term[3]))
    above = False
    for size, number, (first, last), is_program in terms:
        above = above or is_program
        if above and (first, last) != (0, 0) and not (-size < low and high < size):
            return False  # smaller parts could make up for one step of this axis
        ends = sorted((number * first, number * last))
        low, high = low + ends[0], high + ends[1]
    return True
