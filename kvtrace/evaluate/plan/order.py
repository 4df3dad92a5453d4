"""Independence of programs, proven on access formulas: none reads bytes that another wrote.

Two accesses of different programs never touch the same byte if equal addresses imply equal program
ids: each coefficient is larger than the sum of all smaller terms (digits of a mixed radix). With 4
KiB per program and 1,024 lanes of 4 bytes, `4096 * program + 4 * lane` determines the program.
"""

from __future__ import annotations

from collections.abc import Sequence

from kvtrace.evaluate.arguments import Argument, TensorArgument
from kvtrace.evaluate.observe import AccessKind
from kvtrace.evaluate.plan.affine import Interval
from kvtrace.evaluate.plan.records import AccessRecord
from kvtrace.evaluate.plan.signals import Unplannable


def refuse_conflicts(records: Sequence[AccessRecord], arguments: Sequence[Argument]) -> None:
    """Raise Unplannable if a program may read bytes that another program writes."""
    active = [record for record in records if record.lanes is not None]
    for store in (record for record in active if record.kind != "load"):
        target = arguments[store.argument]
        assert isinstance(target, TensorArgument)
        for load in (record for record in active if _order_matters(store.kind, record.kind)):
            source = arguments[load.argument]
            assert isinstance(source, TensorArgument)
            if source.storage is not target.storage or source.storage.data is None:
                continue
            shift = source.offset_bytes - target.offset_bytes
            if not never_conflict(store, load, shift):
                raise Unplannable(
                    f"programs may read elements of {target.name} that other programs write"
                )


def _order_matters(writing: AccessKind, other: AccessKind) -> bool:
    """Return whether the order of a write and another access matters; each pair once."""
    return other == "load" or (writing == "atomic" and other == "store")


def never_conflict(store: AccessRecord, load: AccessRecord, shift: int) -> bool:
    """Return whether programs never meet; `shift` is between both data pointers in bytes."""
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
    """Return whether the difference of both addresses determines the programs."""
    gap = load.form.constant + shift - store.form.constant
    digits: dict[int, Interval] = {}
    programs: dict[int, tuple[int, Interval]] = {}
    for symbol in store.region.order:
        first, last = store.region.ranges[symbol]
        other_first, other_last = load.region.ranges[symbol]
        coefficient = store.form.coefficient(symbol)
        if coefficient != load.form.coefficient(symbol):
            return False
        span = (other_first - last, other_last - first)
        if coefficient == 0:
            if span != (0, 0):
                return False  # all programs along this axis share an address
            continue
        if coefficient in programs:
            return False
        programs[coefficient] = (coefficient, span)
    for record, sign in ((load, 1), (store, -1)):
        for coefficient, (first, last) in _trip_and_lane_terms(record):
            limits = sorted((sign * first, sign * last))
            before = digits.get(coefficient, (0, 0))
            digits[coefficient] = (before[0] + limits[0], before[1] + limits[1])
    return _digits_are_zero(programs, digits, gap, load.element_bytes, store.element_bytes)


def _trip_and_lane_terms(record: AccessRecord) -> list[tuple[int, Interval]]:
    """Return the non-zero coefficients of trips and lanes, with their ranges."""
    assert record.lanes is not None
    pairs = [(record.form.coefficient(symbol), interval) for symbol, interval in record.trips]
    pairs += list(zip(record.form.lanes, record.lanes, strict=False))
    return [(coefficient, interval) for coefficient, interval in pairs if coefficient]


def _digits_are_zero(
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
    terms = [
        (abs(coefficient), coefficient, span, True) for coefficient, (_, span) in programs.items()
    ]
    terms += [(abs(coefficient), coefficient, span, False) for coefficient, span in digits.items()]
    terms.sort(key=lambda term: (term[0], not term[3]))
    has_program_digit = False
    for size, coefficient, (first, last), is_program in terms:
        has_program_digit = has_program_digit or is_program
        if has_program_digit and (first, last) != (0, 0) and not (-size < low and high < size):
            return False  # smaller parts could make up for one step of this axis
        limits = sorted((coefficient * first, coefficient * last))
        low, high = low + limits[0], high + limits[1]
    return True
