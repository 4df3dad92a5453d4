"""Stores of which all programs store the same value."""

import numpy as np
import pytest
import triton
import triton.language as tl

from kvtrace.symbolic.prover.digits import Common
from kvtrace.verdicts.binding import BoundCall
from kvtrace.verdicts.conflicts.same_values import store_same_value
from kvtrace.verdicts.conflicts.sharers import sharers_of
from kvtrace.verdicts.judge import judge
from tests.verdicts.calls import call, ids, tensor


@triton.jit
def stored_twice(x, out, ROUNDED: tl.constexpr):
    """One number in one place, twice; the second may be rounded in another way."""
    number = tl.load(x)
    tl.store(out, number.to(tl.float8e5, fp_downcast_rounding="rtne"))
    tl.store(out, number.to(tl.float8e5, fp_downcast_rounding=ROUNDED))


def alike(rounded):
    one = call(stored_twice, (4,), x=tensor(1), out=tensor(1, dtype="fp8e5"), ROUNDED=rounded)
    bound = BoundCall(one)
    first, second = (s for s in sharers_of(bound) if s.role.writes)
    common = Common(first.side, second.side)
    return store_same_value(bound, first, second, common)


def test_one_number_is_the_same_in_all_programs_unless_it_is_rounded_in_two_ways():
    assert alike("rtne")
    assert not alike("rtz")


@triton.jit
def overlapping(x, out, n, SHIFT: tl.constexpr):
    """Blocks of 64 that begin every 60 elements, the last one shifted back."""
    i = tl.minimum(tl.program_id(0) * 60, n - 64) + tl.arange(0, 64)
    tl.store(out + i, tl.load(x + i * SHIFT) * 2)


@triton.jit
def offset_by_program(x, out, n, SHIFT: tl.constexpr):
    i = tl.program_id(0) * 60 + tl.arange(0, 64)
    tl.store(out + i, tl.load(x + i + tl.program_id(0) * SHIFT))


def is_alike(kernel, shift, **tensors):
    bound = BoundCall(call(kernel, (4,), **tensors, n=200, SHIFT=shift))
    (store,) = (s for s in sharers_of(bound) if s.role.writes)
    return store_same_value(bound, store, store, Common(store.side, store.side))


def test_a_value_that_follows_from_the_address_alone_is_the_same_at_equal_addresses():
    assert is_alike(overlapping, 3, x=tensor(900), out=tensor(300))
    assert is_alike(offset_by_program, 0, x=tensor(900), out=tensor(300))
    assert not is_alike(offset_by_program, 1, x=tensor(900), out=tensor(300))


def test_a_value_loaded_from_where_it_is_stored_is_not_the_same():
    both = tensor(300)

    assert not is_alike(overlapping, 1, x=both, out=both)


@triton.jit
def masked(x, out, n, SHIFT: tl.constexpr):
    """All programs load and store the same lanes; SHIFT more are stored than loaded."""
    lanes = tl.arange(0, 256)
    tl.store(out + lanes, tl.load(x + lanes, mask=lanes < n) * 2, mask=lanes < n + SHIFT)


@triton.jit
def masked_by_address(x, out, n, SHIFT: tl.constexpr):
    i = tl.program_id(0) * 60 + tl.arange(0, 64)
    numbers = tl.load(x + i, mask=i < n)
    tl.store(out + i, tl.where(i < n - SHIFT, numbers + 1, numbers), mask=i < n)


@triton.jit
def masked_by_program(x, out, n, SHIFT: tl.constexpr):
    """The lanes that a program leaves undefined are those of its number."""
    i, limit = tl.arange(0, 256), n + tl.program_id(0)
    numbers = tl.load(x + i, mask=i < limit)
    tl.store(out + i, numbers, mask=i < n + SHIFT)


@triton.jit
def filled_by_program(x, out, n, SHIFT: tl.constexpr):
    i, limit = tl.arange(0, 256), n + tl.program_id(0)
    tl.store(out + i, tl.load(x + i, mask=i < limit, other=0.0), mask=i < n + SHIFT)


@triton.jit
def summed(x, out, n, SHIFT: tl.constexpr):
    """The sum takes the undefined lanes, too."""
    i = tl.arange(0, 256)
    tl.store(out, tl.sum(tl.load(x + i, mask=i < n)))


def test_lanes_that_are_left_undefined_count_where_they_are_stored():
    tensors = {"x": tensor(900), "out": tensor(300)}

    assert is_alike(masked, 0, **tensors)
    assert is_alike(masked, -1, **tensors)
    assert not is_alike(masked, 1, **tensors)
    assert is_alike(masked_by_address, 9, **tensors)
    assert not is_alike(summed, 0, **tensors)


def test_masks_of_loads_may_depend_on_the_program_where_no_stored_lane_does():
    tensors = {"x": tensor(900), "out": tensor(300)}

    assert is_alike(masked_by_program, 0, **tensors)
    assert not is_alike(masked_by_program, 1, **tensors)
    assert not is_alike(filled_by_program, 1, **tensors)


# -- integers that wrap around, and values that only an evaluation compares ------------------------


@triton.jit
def sign_of_nibble(out, SHIFT: tl.constexpr):
    """Equal for all programs only as long as no bit is shifted out."""
    program = tl.program_id(0)
    tl.store(out, (program << SHIFT) >> SHIFT == program)


@triton.jit
def nibbles(out, SHIFT: tl.constexpr):
    """Tiles of 16 lanes begin every 8 elements."""
    lanes = tl.arange(0, 16)
    narrow = lanes.to(tl.int8)
    value = ((narrow << SHIFT) >> SHIFT).to(tl.int32) - lanes
    tl.store(out + tl.program_id(0) * 8 + lanes, value)


@triton.jit
def accumulated(x, out, n, OWN: tl.constexpr):
    """A sum that a loop carries, the same in all programs unless something of it is their OWN."""
    lanes, program = tl.arange(0, 16), tl.program_id(0)
    total = tl.zeros((16,), tl.float32)
    if OWN == "begin":
        total += program
    source = x + lanes
    for start in range(0, n + (16 * program if OWN == "trips" else 0), 16):
        if OWN == "pointer":
            total += tl.load(source)
            source += 16 + program
        elif OWN == "later":
            total = tl.where(start < 16 * program, total, total + tl.load(x + start + lanes))
        else:
            total += tl.load(x + start + lanes)
    tl.store(out + lanes, total)


@triton.jit
def in_two_orders(x, out, OWN: tl.constexpr):
    """A sum of three numbers, rounded in another order by each second program if OWN."""
    first, second, third = tl.load(x), tl.load(x + 1), tl.load(x + 2)
    is_other = (tl.program_id(0) % 2 == 1) & (OWN != 0)
    tl.store(out, tl.where(is_other, first + (second + third), (first + second) + third))


@triton.jit
def by_group(x, out, GROUP: tl.constexpr):
    """Tiles overlap; GROUP elements share a number."""
    places = tl.program_id(0) * 8 + tl.arange(0, 16)
    tl.store(out + places, tl.load(x + places // GROUP))


@triton.jit
def rows_to_one(x, out, STRIDE: tl.constexpr):
    """Each program stores a row of its own to the same place."""
    lanes = tl.arange(0, 16)
    tl.store(out + lanes, tl.load(x + tl.program_id(0) * STRIDE + lanes))


@triton.jit
def flagged(flag, out, OWN: tl.constexpr):
    """Each program loads the number that it stored before, and all others, too."""
    program = tl.program_id(0)
    tl.store(flag, 7 + OWN * program)
    tl.store(out + program, tl.load(flag))


def race_of(kernel, grid, **arguments):
    """The worst verdict of the rule race."""
    found = {verdict.verdict for verdict in judge(call(kernel, grid, **arguments), ["race"])}
    return next(word for word in ("violation", "unknown", "proven") if word in found)


def test_formulas_of_values_that_wrap_around_prove_nothing():
    assert race_of(sign_of_nibble, (16,), out=tensor(1, dtype="i1"), SHIFT=27) == "proven"
    assert race_of(sign_of_nibble, (16,), out=tensor(1, dtype="i1"), SHIFT=28) == "violation"
    assert race_of(nibbles, (2,), out=tensor(32, dtype="i32"), SHIFT=3) != "violation"
    assert race_of(nibbles, (2,), out=tensor(32, dtype="i32"), SHIFT=4) == "violation"


def test_equal_results_of_an_evaluation_are_no_race_and_no_proof():
    tensors = {"x": tensor(64), "out": tensor(64)}

    assert race_of(in_two_orders, (4,), **tensors, OWN=True) == "violation"
    assert race_of(by_group, (4,), **tensors, GROUP=2) == "unknown"
    assert race_of(by_group, (4,), **tensors, GROUP=1) == "proven"


@pytest.mark.parametrize("own", ["begin", "trips", "pointer", "later"])
def test_a_sum_in_a_loop_is_the_same_only_if_nothing_of_it_is_of_the_program(own):
    tensors = {"x": tensor(256), "out": tensor(16)}

    assert race_of(accumulated, (4,), **tensors, n=64, OWN="nothing") == "proven"
    assert race_of(accumulated, (4,), **tensors, n=64, OWN=own) == "violation"


def test_rows_that_are_loaded_out_of_bounds_or_far_apart_are_not_taken_for_equal():
    assert race_of(rows_to_one, (4,), x=tensor(16), out=tensor(16), STRIDE=1 << 20) == "violation"
    for stride in (127, 128, 4096):
        tensors = {"x": tensor(4 * stride), "out": tensor(16)}
        assert race_of(rows_to_one, (4,), **tensors, STRIDE=stride) == "violation"


def test_a_number_that_each_program_stores_before_it_loads_it_is_no_race():
    tensors = {"flag": tensor(1, dtype="i32"), "out": tensor(4, dtype="i32")}

    assert race_of(flagged, (4,), **tensors, OWN=False) == "proven"
    assert race_of(flagged, (4,), **tensors, OWN=True) == "violation"


# -- at places that were loaded under a mask -------------------------------------------------------


@triton.jit
def scattered(index, keep, out, n, KIND: tl.constexpr):
    lanes = tl.program_id(0) * 16 + tl.arange(0, 16)
    inside = lanes < n
    if KIND == "unfilled" or KIND == "undefined":
        place = tl.load(index + lanes, mask=inside)
    else:
        place = tl.load(index + lanes, mask=inside, other=0)
    if KIND == "both":
        inside = inside & (tl.load(keep + lanes, mask=inside, other=0) > 0)
    value = place * 3 + 1
    if KIND == "table" or KIND == "narrower":
        read = inside if KIND == "table" else lanes < n - 40
        value = tl.load(keep + place, mask=read, other=7)
    elif KIND == "filled":
        value = tl.load(index + lanes, mask=lanes < n - 40, other=tl.program_id(0))
    elif KIND == "undefined":
        value = place
        inside = lanes >= 0
    tl.store(out + place, value, mask=inside)


def verdicts_of_scattered(kind):
    numbers = np.random.default_rng(0).integers(0, 9, 64)
    given = {"index": ids(*numbers), "keep": ids(*range(1, 65)), "out": tensor(9, dtype="i32")}
    found = judge(call(scattered, (4,), **given, n=50, KIND=kind), ["race", "lane-conflict"])
    return {v.verdict for v in found if v.access == "store"}


@pytest.mark.parametrize("kind", ["plain", "unfilled", "both", "table"])
def test_what_follows_from_a_place_under_the_mask_of_the_store_is_the_same(kind):
    assert verdicts_of_scattered(kind) == {"proven"}


@pytest.mark.parametrize("kind", ["narrower", "filled", "undefined"])
def test_what_fills_lanes_that_are_stored_is_not_the_same(kind):
    assert "proven" not in verdicts_of_scattered(kind)


# -- at indices without a formula ------------------------------------------------------------------


@triton.jit
def group_walk(x, y, sizes, groups, BLOCK: tl.constexpr, KIND: tl.constexpr):
    """Tiles of groups without a mask: the last tile of a group reaches into the next group."""
    tile = tl.program_id(0)
    last = 0
    begin = 0
    for group in range(groups):
        size = tl.load(sizes + group)
        count = tl.cdiv(size, BLOCK)
        while tile >= last and tile < last + count:
            first = begin + (tile - last) * BLOCK
            p = first + tl.arange(0, BLOCK)
            if KIND == "copy":
                tl.store(y + p, tl.load(x + p) * 2)
            elif KIND == "copy of rows":
                tl.store(
                    y + 3 + first + tl.arange(0, BLOCK), tl.load(x + first + tl.arange(0, BLOCK))
                )
            elif KIND == "constant":
                tl.store(y + p, 1.0)
            elif KIND == "index":
                tl.store(y + p, tl.where(p > 9, p, 7) * 1.0)
            elif KIND == "clamped":
                tl.store(y + p, tl.load(x + tl.minimum(p, 9), mask=p < 20, other=0.0))
            elif KIND == "two ops":
                tl.store(y + p, 2.0, mask=tile > 1)
                tl.store(y + p, 2.0, mask=tile < 2)
            elif KIND == "program":
                tl.store(y + p, tl.load(x + p) * tile)
            elif KIND == "part":
                tl.store(y + first + tl.arange(0, BLOCK), tl.load(x + tl.arange(0, BLOCK)))
            elif KIND == "lane":
                tl.store(y + p, tl.arange(0, BLOCK) * 1.0)
            elif KIND == "in place":
                tl.store(y + p, tl.load(y + p) * 2)
            elif KIND == "other constants":
                tl.store(y + p, 2.0, mask=tile % 2 == 1)
                tl.store(y + p, 3.0, mask=tile % 2 == 0)
            elif KIND == "shifted by the group":
                tl.store(y + p, tl.load(x + p + group))
            elif KIND == "halves":
                tl.store(y + p // 2, tl.load(x + p))
            elif KIND == "masked lanes":
                tl.store(y + p, tl.load(x + p, mask=p < first + 4))
            else:
                total = tl.zeros((BLOCK,), tl.float32)
                for column in range(3):
                    total += tl.load(x + p * 3 + column)
                tl.store(y + p, total)
            tile += tl.num_programs(0)
        last += count
        begin += size


def group_verdicts(kind):
    sizes = tensor(4, dtype="i32", data=np.array([5, 0, 17, 9], np.int32))
    given = {"x": tensor(48 * 3), "y": tensor(51), "sizes": sizes, "groups": 4}
    found = judge(call(group_walk, (3,), **given, BLOCK=8, KIND=kind), ["race"])
    return {verdict.verdict for verdict in found}


@pytest.mark.parametrize(
    "kind", ["copy", "copy of rows", "constant", "index", "clamped", "two ops"]
)
def test_a_value_that_follows_from_an_index_is_the_same_however_that_was_found(kind):
    assert group_verdicts(kind) == {"proven"}


@pytest.mark.parametrize(
    "kind",
    ["program", "part", "lane", "in place", "other constants", "shifted by the group", "halves",
     "masked lanes"],
)  # fmt: skip
def test_a_value_of_a_program_at_an_index_is_not_the_same(kind):
    assert group_verdicts(kind) & {"violation", "unknown"}


def test_programs_that_leave_one_result_in_both_orders_are_unknown():
    assert group_verdicts("sum") == {"unknown"}


@triton.jit
def overlapping_tiles(x, starts, counter, out, HOW: tl.constexpr):
    """Places that no formula compares, as bits of them are turned."""
    places = (tl.load(starts + tl.program_id(0)) ^ 5) + tl.arange(0, 8)
    values = tl.load(x + (places ^ 3))
    if HOW == "ticket":
        values += tl.atomic_add(counter, 1)
    elif HOW == "counter":
        tl.atomic_add(counter, tl.program_id(0))
    elif HOW == "largest":
        values = tl.maximum(values, tl.load(out + places))
    elif HOW == "counts":
        values = tl.load(out + places) + 1
    if HOW == "parts":
        tl.store(out + places, values, mask=places % 2 > 0)
    tl.store(out + places, values, mask=(HOW != "parts") | (places % 2 == 0))


@pytest.mark.parametrize(
    ("how", "answer"),
    [("counter", "unknown"), ("parts", "unknown"), ("largest", "unknown"), ("ticket", "violation"),
     ("counts", "violation")],
)  # fmt: skip
def test_a_race_is_shown_by_two_results(how, answer):
    given = {"x": tensor(64, dtype="i32"), "out": tensor(64, dtype="i32"),
             "counter": ids(0), "starts": ids(1, 7, 13, 20)}  # fmt: skip
    found = judge(call(overlapping_tiles, (4,), **given, HOW=how), ["race"])

    assert answer in {v.verdict for v in found if v.access == "store"} <= {answer, "proven"}


# -- in functions that are called twice ------------------------------------------------------------


@triton.jit(noinline=True)
def put(out, value, trips):
    for _ in range(trips):
        value += 3
    tl.store(out, value)


@triton.jit
def put_twice(out, n, FIRST: tl.constexpr, SECOND: tl.constexpr):
    program = tl.program_id(0)
    put(out, n + program * (FIRST == "value"), n + program * (FIRST == "trips"))
    put(out + 1, n + program * (SECOND == "value"), n + program * (SECOND == "trips"))


@pytest.mark.parametrize(
    ("first", "second"), [("value", ""), ("trips", ""), ("", "value"), ("", "trips")]
)
def test_what_one_call_stores_says_nothing_of_another_call(first, second):
    out = tensor(2, dtype="i32")
    race = race_of(put_twice, (4,), out=out, n=5, FIRST=first, SECOND=second)
    assert race != "proven"
