"""Programs whose loops count past the ends of 32 bits, or have no trip for another reason."""

import torch
import triton
import triton.language as tl

from corpus.questions.places import B, after, itself, numbers, trips
from corpus.questions.races import (
    Touch,
    between,
    cases_of,
    clash_free,
    one_program,
    within,
)


def counters(first, end, step):
    """Return the counters of the loop range(first, end, step), which wrap around at 32 bits."""
    while first < end:
        yield first
        first = (first + step + 2**31) % 2**32 - 2**31


def counted_trips(*bounds):
    return trips(sum(1 for _ in counters(*bounds)))


WRAPS = (2**30 - 4, 2**30, 3 * 2**29)


@within(
    "counter that wraps",
    False,
    "2^30 - 4 is followed by two trips",
    numbers(*WRAPS),
    counted_trips(*WRAPS),
)
@within("counter that ends", True, "there is one trip", numbers(0, 7, 7), counted_trips(0, 7, 7))
@within(
    "counter from above",
    True,
    "7 < 0 is false: there is no trip",
    numbers(7, 0, -1),
    counted_trips(7, 0, -1),
)
@triton.jit
def counted_shift(x, first, end, step, BLOCK: tl.constexpr = 512):
    lanes = tl.arange(0, BLOCK)
    for _ in range(first, end, step):
        values = tl.load(x + (lanes + 1) % BLOCK)
        tl.debug_barrier()
        tl.store(x + lanes, values)


def held(*numbers):
    waits = ["|" for _ in counters(*numbers)]
    return lambda: one_program(B, ("r", after), *waits, ("w", itself))


@within(
    "barrier in steps down", False, "7 < 0 is false: no barrier", numbers(7, 0, -1), held(7, 0, -1)
)
@within("barrier in steps up", True, "there is one trip", numbers(0, 7, 7), held(0, 7, 7))
@triton.jit
def counted_barrier(x, first, end, step, BLOCK: tl.constexpr = 512):
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + (lanes + 1) % BLOCK)
    for _ in range(first, end, step):
        tl.debug_barrier()
    tl.store(x + lanes, values)


def waits_while_positive(*numbers):
    steps = (
        step
        for k in counters(*numbers)
        for step in (("r", after), "|", ("w", itself), *(["|"] if k >= 0 else []))
    )
    return lambda: one_program(B, *steps)


@within(
    "barrier behind a counter that is positive",
    True,
    "no counter of three is negative",
    numbers(0, 3, 1),
    waits_while_positive(0, 3, 1),
)
@within(
    "barrier behind a counter that wraps",
    False,
    "the second counter is negative, so that the third trip does not wait",
    numbers(*WRAPS),
    waits_while_positive(*WRAPS),
)
@triton.jit
def guarded_shift(x, first, end, step, BLOCK: tl.constexpr = 512):
    lanes = tl.arange(0, BLOCK)
    for k in range(first, end, step):
        values = tl.load(x + (lanes + 1) % BLOCK)
        tl.debug_barrier()
        tl.store(x + lanes, values)
        if k >= 0:
            tl.debug_barrier()


def remainder(number, divisor):
    return number - int(number / divisor) * divisor


def by_remainder(*numbers):
    steps = (
        step
        for k in counters(*numbers)
        for step in (
            ("r", lambda lane, k=k: (4 + remainder(k, 3)) * B + after(lane)),
            ("w", lambda lane: 3 * B + lane),
        )
    )
    return lambda: one_program(B, *steps)


def rows(*numbers):
    return lambda: (torch.arange(8.0 * B), *numbers)


@within(
    "slot by a remainder",
    True,
    "remainders of positive numbers are 0 to 2",
    rows(2**30 - 4, 2**30 + 2, 2),
    by_remainder(2**30 - 4, 2**30 + 2, 2),
)
@within(
    "slot by a remainder of what wraps",
    False,
    "a counter that wraps around has the remainder -1",
    rows(*WRAPS),
    by_remainder(*WRAPS),
)
@triton.jit
def slot_by_remainder(x, first, end, step, BLOCK: tl.constexpr = 512):
    lanes = tl.arange(0, BLOCK)
    for k in range(first, end, step):
        values = tl.load(x + (4 + k % 3) * BLOCK + (lanes + 1) % BLOCK)
        tl.store(x + 3 * BLOCK + lanes, values)


def by_product(count):
    steps = (
        ("w", lambda lane, k=k: (k * 2**30 + 2**31) % 2**32 // 2**30 * B + (lane + k) % B)
        for k in range(count)
    )
    return lambda: one_program(B, *steps)


@within(
    "row by a product", True, "4 rows at -2 to 1 are all different", rows(4, False), by_product(4)
)
@within(
    "row by a product that wraps",
    False,
    "4 * 2^30 is 0, so that trips 0 and 4 store to one row",
    rows(5, False),
    by_product(5),
)
@within(
    "row by a product of 64 bits",
    True,
    "64 bits hold 4 * 2^30",
    rows(5, True),
    lambda: one_program(B, *(("w", lambda lane, k=k: k * B + (lane + k) % B) for k in range(5))),
)
@triton.jit
def row_by_product(x, trips, WIDE: tl.constexpr, BLOCK: tl.constexpr = 512):
    lanes = tl.arange(0, BLOCK)
    for k in range(trips):
        number = k.to(tl.int64) if WIDE else k
        row = (number * 1073741824) >> 30
        tl.store(x + (row + 2) * BLOCK + (lanes + k) % BLOCK, lanes + k * 1.0)


def doubled(first, end, step):
    """Return the counters of a loop that doubles them while they are positive and below `end`."""
    while 0 < first < end:
        yield first
        first = (first + step + 2**31) % 2**32 - 2**31


@within(
    "while a counter is positive",
    True,
    "2^31 - 2 and 2 more is negative: there is one trip",
    numbers(2**31 - 2, 2**31 - 1, 2),
    lambda: trips(len([*doubled(2**31 - 2, 2**31 - 1, 2)]))(),
)
@within(
    "while a counter is positive, twice",
    False,
    "there are two trips before the counter is negative",
    numbers(2**31 - 3, 2**31 - 1, 1),
    lambda: trips(len([*doubled(2**31 - 3, 2**31 - 1, 1)]))(),
)
@triton.jit
def while_positive(x, first, end, step, BLOCK: tl.constexpr = 512):
    lanes = tl.arange(0, BLOCK)
    k = first
    while (k > 0) & (k < end):
        values = tl.load(x + (lanes + 1) % BLOCK)
        tl.debug_barrier()
        tl.store(x + lanes, values)
        k += step


@within(
    "blocks of a size",
    True,
    "(512 + 511) // 512 is one trip",
    numbers(512),
    lambda: one_program(B, ("r", after), "|", ("w", itself)),
)
@within(
    "blocks of a size that wraps",
    False,
    "2^31 - 1 and 511 more is negative: no trip",
    numbers(2**31 - 1),
    lambda: one_program(B, ("r", after), ("w", itself)),
)
@triton.jit
def blocks_of_size(x, size, BLOCK: tl.constexpr = 512):
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + (lanes + 1) % BLOCK)
    for _ in range(tl.cdiv(size, BLOCK)):
        tl.debug_barrier()
    tl.store(x + lanes, values)


def across(first, end, bits):
    wrap = 2 ** (bits - 1)
    count = len(range((first + wrap) % (2 * wrap) - wrap, (end + wrap) % (2 * wrap) - wrap))
    waits = ["|"] * count
    return lambda: one_program(B, ("r", after), *waits, ("w", itself))


@within(
    "counter of 64 bits",
    True,
    "two trips pass 2^31",
    numbers(2**31 - 1, 2**31 + 1, True),
    across(2**31 - 1, 2**31 + 1, 64),
)
@within(
    "counter of 64 bits as one of 32",
    False,
    "from 2^31 - 1 to -2^31 + 1 there is no trip",
    numbers(2**31 - 1, 2**31 + 1, False),
    across(2**31 - 1, 2**31 + 1, 32),
)
@triton.jit
def across_widths(x, first, end, WIDE: tl.constexpr, BLOCK: tl.constexpr = 512):
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + (lanes + 1) % BLOCK)
    begin, stop = first.to(tl.int64), end
    if not WIDE:
        begin, stop = begin.to(tl.int32), stop.to(tl.int32)
    for _ in range(begin, stop):
        tl.debug_barrier()
    tl.store(x + lanes, values)


@within(
    "counter without a sign",
    False,
    "Triton compares with a sign: from 2^31 - 1 to -2^31 + 1 there is no trip",
    numbers(2**31 - 1, -(2**31) + 1),
    lambda: one_program(B, ("r", after), ("w", itself)),
)
@within(
    "counter without a sign, three trips",
    True,
    "Triton compares counters with a sign: -1 to 2 is three trips",
    numbers(-1, 2),
    lambda: one_program(B, ("r", after), *"|||", ("w", itself)),
)
@triton.jit
def without_sign(x, first, end, BLOCK: tl.constexpr = 512):
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + (lanes + 1) % BLOCK)
    for _ in range(first.to(tl.uint32, bitcast=True), end.to(tl.uint32, bitcast=True)):
        tl.debug_barrier()
    tl.store(x + lanes, values)


def outer_wraps(*numbers):
    steps = (
        step
        for k in counters(*numbers)
        for step in (
            ("r", after),
            *["|" for _ in range(min(max(k >> 29, 0), 3))],
            ("w", itself),
            "|",
        )
    )
    return lambda: one_program(B, *steps)


@within(
    "barriers by the outer counter",
    True,
    "2^30 - 4 >> 29 is 1",
    numbers(2**30 - 4, 2**30, 4),
    outer_wraps(2**30 - 4, 2**30, 4),
)
@within(
    "barriers by an outer counter that wraps",
    False,
    "a negative counter has no inner trip",
    numbers(*WRAPS),
    outer_wraps(*WRAPS),
)
@triton.jit
def barriers_by_counter(x, first, end, step, BLOCK: tl.constexpr = 512):
    lanes = tl.arange(0, BLOCK)
    for k in range(first, end, step):
        values = tl.load(x + (lanes + 1) % BLOCK)
        for _ in range(tl.minimum(k >> 29, 3)):
            tl.debug_barrier()
        tl.store(x + lanes, values)
        tl.debug_barrier()


def quadruples(*numbers):
    steps = (
        ("w", lambda lane, k=k: (k * 4 + 2**31) % 2**32 - 2**31 + lane) for k in counters(*numbers)
    )
    return lambda: one_program(B, *steps)


PAST = (2**30, 2**30 + 1, 2**30 + 1)


@within(
    "four times a counter",
    True,
    "there is one trip",
    rows(0, 1, 2**30 + 1),
    quadruples(0, 1, 2**30 + 1),
)
@within(
    "four times a counter that wraps",
    False,
    "four times 2^30, -2^31 + 1, -2^30 + 2 and 3 is 0, 4, 8 and 12",
    rows(*PAST),
    quadruples(*PAST),
)
@triton.jit
def quadruple(x, first, end, step, BLOCK: tl.constexpr = 512):
    lanes = tl.arange(0, BLOCK)
    for k in range(first, end, step):
        tl.store(x + k * 4 + lanes, lanes + k * 1.0)


def low_bits(*numbers):
    steps = (
        step
        for k in counters(*numbers)
        for step in (
            ("r", lambda lane, k=k: (k % 2 + 1) * B + after(lane)),
            ("w", lambda lane: 2 * B + lane),
        )
    )
    return lambda: one_program(B, *steps)


@within("slot by a low bit", True, "the only counter is even", rows(4, 5, 2), low_bits(4, 5, 2))
@within(
    "slot by a low bit of what wraps",
    False,
    "2^30 is even, -2^31 + 1 is odd: the second trip loads what the first one stores",
    rows(*PAST),
    low_bits(*PAST),
)
@triton.jit
def slot_by_bit(x, first, end, step, BLOCK: tl.constexpr = 512):
    lanes = tl.arange(0, BLOCK)
    for k in range(first, end, step):
        values = tl.load(x + ((k & 1) + 1) * BLOCK + (lanes + 1) % BLOCK)
        tl.store(x + 2 * BLOCK + lanes, values)


def one_trip_more(*numbers):
    count = sum(1 for _ in counters(*numbers))
    return lambda: one_program(B, ("r", after), *(["|"] if count == 1 else []), ("w", itself))


@within(
    "barrier after one trip",
    True,
    "a number that is carried is 1 after one trip",
    numbers(0, 7, 7),
    one_trip_more(0, 7, 7),
)
@within(
    "barrier after more trips",
    False,
    "the counter wraps around: a number that is carried is 3 after three trips",
    numbers(*WRAPS),
    one_trip_more(*WRAPS),
)
@triton.jit
def barrier_after_trips(x, first, end, step, BLOCK: tl.constexpr = 512):
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + (lanes + 1) % BLOCK)
    trips = 0
    for _ in range(first, end, step):
        trips += 1
    if trips == 1:
        tl.debug_barrier()
    tl.store(x + lanes, values)


def carried_row(*numbers):
    count = sum(1 for _ in counters(*numbers))
    return lambda: one_program(
        B, ("w", lambda lane: (count + 1) * B + lane), ("r", lambda lane: 2 * B + 4 + lane)
    )


@within(
    "row after no trip",
    True,
    "what is loaded begins behind what is stored",
    rows(7, 0, 7),
    carried_row(7, 0, 7),
)
@within(
    "row after a trip of a step down",
    True,
    "there is no trip in steps down from 7 to 0",
    rows(7, 0, -7),
    carried_row(7, 0, -7),
)
@within(
    "row after a trip",
    False,
    "one trip moves what is stored to what is loaded",
    rows(0, 7, 7),
    carried_row(0, 7, 7),
)
@triton.jit
def row_after_trips(x, first, end, step, BLOCK: tl.constexpr = 512):
    lanes = tl.arange(0, BLOCK)
    row = x + BLOCK
    for _ in range(first, end, step):
        row += BLOCK
    tl.store(row + lanes, lanes + 1.0)
    tl.store(x + 4 * BLOCK + lanes, tl.load(x + 2 * BLOCK + 4 + lanes))


def carried(*numbers):
    count = sum(1 for _ in counters(*numbers))
    return lambda: one_program(
        B, *(("w", lambda lane, trip=trip: 4 * trip + lane) for trip in range(count))
    )


@within("place that is carried", True, "there is one trip", rows(0, 7, 7), carried(0, 7, 7))
@within(
    "place that is carried by a counter that wraps",
    False,
    "three trips store four elements apart, without a barrier",
    rows(*WRAPS),
    carried(*WRAPS),
)
@triton.jit
def carried_place(x, first, end, step, BLOCK: tl.constexpr = 512):
    lanes = x + tl.arange(0, BLOCK)
    for k in range(first, end, step):
        tl.store(lanes, tl.arange(0, BLOCK) + k * 1.0)
        lanes += 4


def carried_rows(*numbers):
    count = sum(1 for _ in counters(*numbers))
    return lambda: clash_free(
        Touch(0, p, "w", p + trip, p) for p in range(4) for trip in range(count)
    )


@between(
    "rows that are carried",
    True,
    "each program stores a row in its one trip",
    rows(0, 7, 7),
    carried_rows(0, 7, 7),
    grid=(4,),
)
@between(
    "rows that are carried by a counter that wraps",
    False,
    "each program stores three rows, its own and those of the next ones",
    rows(*WRAPS),
    carried_rows(*WRAPS),
    grid=(4,),
)
@triton.jit
def carried_row_of(x, first, end, step, BLOCK: tl.constexpr = 512):
    pid = tl.program_id(0)
    place = x + pid * BLOCK + tl.arange(0, BLOCK)
    for _ in range(first, end, step):
        tl.store(place, pid + 0.5)
        place += BLOCK


def after_rows(*numbers):
    count = sum(1 for _ in counters(*numbers))
    return lambda: clash_free(
        [
            *(Touch(0, p, "w", count + p, p) for p in range(4)),
            *(Touch(0, p, "r", 7) for p in range(4)),
        ]
    )


@between(
    "rows behind a loop",
    True,
    "no program stores row 7",
    rows(0, 7, 7),
    after_rows(0, 7, 7),
    grid=(4,),
)
@between(
    "rows behind a loop that wraps",
    False,
    "after four trips programs store rows 4 to 7",
    rows(2**30 - 4, 2**30, 5 * 2**28),
    after_rows(2**30 - 4, 2**30, 5 * 2**28),
    grid=(4,),
)
@triton.jit
def rows_behind_loop(x, first, end, step, BLOCK: tl.constexpr = 512):
    pid = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    row = x + pid * BLOCK
    for _ in range(first, end, step):
        row += BLOCK
    last = tl.load(x + 7 * BLOCK + lanes)
    tl.store(row + lanes, last + pid)


CASES = cases_of(__name__)
