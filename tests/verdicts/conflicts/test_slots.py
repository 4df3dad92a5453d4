"""Stores to slots that programs draw from counters: proven if no order makes two share a byte."""

import numpy as np
import pytest
import triton
import triton.language as tl

from kvtrace.evaluate import TensorArgument
from kvtrace.verdicts.binding import BoundCall
from kvtrace.verdicts.judge import judge
from tests.verdicts.calls import call, ids, tensor
from tests.verdicts.slot_kernels import (
    NOT_PROVEN,
    PROVEN,
    by_table,
    compaction,
    far_places,
    reserved,
    tickets_that_end,
    tiles,
    zeros,
)


def verdicts(kernel_call):
    return {v.verdict for v in judge(kernel_call, ["race"]) if v.access == "store"}


@pytest.mark.parametrize("name", PROVEN)
def test_stores_to_drawn_slots_do_not_race(name):
    assert verdicts(PROVEN[name]()) == {"proven"}


@pytest.mark.parametrize("name", NOT_PROVEN)
def test_stores_that_an_order_of_draws_brings_together_are_not_proven(name):
    assert verdicts(NOT_PROVEN[name]()) & {"violation", "unknown"}


# -- tickets: numbers that decide how often a program draws ----------------------------------------


@triton.jit
def tickets_in_trips(counter, out, TRIPS: tl.constexpr, STEP: tl.constexpr):
    for _ in range(TRIPS):
        tl.store(out + tl.atomic_add(counter, STEP), 1.0 * tl.program_id(0))


@triton.jit
def tickets_of_tiles(counter, out, tiles, BLOCK: tl.constexpr, TWICE: tl.constexpr):
    tile = tl.atomic_add(counter, 1)
    while tile < tiles:
        tl.store(out + tile * BLOCK + tl.arange(0, BLOCK), 1.0 * tl.program_id(0))
        if TWICE:
            for _ in range(tile):
                tl.atomic_add(counter, 1)
        tile = tl.atomic_add(counter, 1)


@triton.jit
def tickets_halved(counter, out, tiles, BLOCK: tl.constexpr):
    tile = tl.atomic_add(counter, 1)
    while tile < tiles:
        tl.store(out + tile // 2 * BLOCK + tl.arange(0, BLOCK), 1.0 * tl.program_id(0))
        tile = tl.atomic_add(counter, 1)


TICKETS = {
    "tiles": (lambda: tiles(), "proven"),
    "tiles from the fourth on": (lambda: tiles(counter=(3,)), "proven"),
    "trips": (lambda: call(tickets_in_trips, (4,), counter=zeros(1), out=tensor(64), TRIPS=4,
                           STEP=1), "proven"),
    "a step of 0": (lambda: call(tickets_in_trips, (4,), counter=zeros(1), out=tensor(64),
                                 TRIPS=4, STEP=0), "violation"),
    "numbers that come around": (
        lambda: call(tickets_in_trips, (4,), counter=zeros(1), out=tensor(64), TRIPS=4,
                     STEP=1 << 30), "violation"),
    "half a number": (lambda: tiles(tickets_halved), "violation"),
    "put back": (lambda: tiles(tickets_that_end), "unknown"),
}  # fmt: skip


@pytest.mark.parametrize("name", TICKETS)
def test_tickets_keep_tiles_apart_unless_numbers_come_back(name):
    make, answer = TICKETS[name]

    assert verdicts(make()) == {answer}


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: tiles(), (0, 8 + 2 * 4)),
        (lambda: tiles(counter=(-3,)), (-3, 11 + 2 * 4 - 3)),
        (lambda: tiles(counter=(2**31 - 5,)), None),  # it may wrap around
        (lambda: tiles(tickets_of_tiles, TWICE=False), (0, 8 + 2 * 4)),
        (lambda: tiles(tickets_of_tiles, TWICE=True), None),
        (lambda: tiles(tickets_that_end), None),
    ],
)
def test_a_counter_is_counted_up_by_all_programs_at_most(make, expected):
    bound = BoundCall(make())
    atomic = next(access.op for access in bound.summary.accesses if access.kind == "atomic")
    (symbol,) = bound.summary.values[atomic.results[0].id].symbols("unknown")

    assert bound.counters.range_of(symbol) == expected


# -- places that a draw of several numbers reserves ------------------------------------------------


@pytest.mark.parametrize(
    ("form", "is_proven"),
    [("pointers", True), ("integers", True), ("sums before", True), ("pairs", True), ("all", False),
     ("by program", False), ("fewer", False), ("two counters", False), ("far pairs", False)],
)  # fmt: skip
def test_a_compaction_stores_to_the_places_that_it_has_reserved(form, is_proven):
    assert (verdicts(compaction(form)) == {"proven"}) == is_proven


@pytest.mark.parametrize("form", ["rows", "trips", "lanes"])
def test_as_many_places_as_were_drawn_are_reserved(form):
    assert verdicts(reserved(form, 0)) == {"proven"}
    assert verdicts(reserved(form, 1)) != {"proven"}


def test_numbers_of_another_draw_are_not_those_of_this_one():
    assert verdicts(reserved("draws", 0)) != {"proven"}
    assert verdicts(reserved("trips", 0, counts=(3, -1, 5, 2))) != {"proven"}


@pytest.mark.parametrize(
    ("table", "more", "is_proven"),
    [((3, 1, 0, 2), False, True), ((3, 1, 0, 1), False, False), ((3, 1, 0, 2), True, False)],
)
def test_a_table_by_tickets_keeps_tiles_apart_where_its_entries_differ(table, more, is_proven):
    assert (verdicts(by_table(*table, more=more)) == {"proven"}) == is_proven


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize(
    ("form", "dtype", "least"),
    [("steps", "i64", 62), ("rows", "i64", 60), ("rows of a descriptor", "i32", 62)],
)
def test_numbers_are_distinct_but_places_2_to_the_64_bytes_apart_are_one(form, dtype, least, known):
    assert verdicts(far_places(form, 1 << least, dtype, known)) != {"proven"}
    is_bounded = known or form != "rows"  # an unrecorded counter of 64 bits may itself wrap
    assert (verdicts(far_places(form, 1 << 20, dtype, known)) == {"proven"}) == is_bounded


# -- programs that let others run between two draws ------------------------------------------------


@triton.jit
def peeks(counter, out):
    place = tl.atomic_add(counter, 0)
    tl.atomic_add(counter, 1)
    tl.store(out + place, tl.program_id(0))


@triton.jit
def adds_two_draws(counter, out):
    place = tl.atomic_add(counter, 1)
    tl.store(out + place + tl.atomic_add(counter, 1), tl.program_id(0))


@pytest.mark.parametrize("kernel", [peeks, adds_two_draws])
def test_programs_that_draw_side_by_side_race(kernel):
    """In no order of whole programs do two store to one place."""
    assert verdicts(call(kernel, (4,), counter=zeros(1), out=tensor(32))) == {"violation"}


# -- a counter and its places in one storage -------------------------------------------------------


@triton.jit
def counted_in_one_storage(rows, counter, C: tl.constexpr, KIND: tl.constexpr):
    """A place for each number; by experts: a counter and a row of C places for each of four."""
    program = tl.program_id(0)
    if KIND == "kept":
        lanes = tl.arange(0, 16)
        kept = ((lanes + program) % 3 == 0).to(tl.int32)
        first = tl.atomic_add(counter, tl.sum(kept))
        tl.store(rows + first + tl.cumsum(kept) - kept, lanes, mask=kept > 0)
    else:
        expert = program % 4 if KIND == "experts" else 0
        place = tl.atomic_add(counter + expert, 1)
        tl.store(rows + expert * C + place, program)


def race_beside(counter, rows, kind="one", begin=0, programs=9, capacity=4, **others):
    """The worst verdict if counter and rows begin at these elements of 64."""
    numbers = np.zeros(64, np.int32)
    numbers[counter] = begin
    for element, number in others.items():
        numbers[int(element[1:])] = number
    whole = ids(*numbers)
    views = (
        TensorArgument("", whole.storage, 4 * first, "i32", (64 - first,), (1,))
        for first in (rows, counter)
    )
    given = dict(zip(("rows", "counter"), views, strict=True))
    one = call(counted_in_one_storage, (programs,), **given, C=capacity, KIND=kind)
    found = {verdict.verdict for verdict in judge(one, ["race"])}
    return next(word for word in ("violation", "unknown", "proven") if word in found)


def test_places_of_a_counter_may_lie_beside_it_in_one_storage():
    assert race_beside(counter=0, rows=1) == "proven"
    assert race_beside(counter=0, rows=1, _5=1000) == "proven"
    assert race_beside(counter=15, rows=0) == "proven"
    assert race_beside(counter=0, rows=4, kind="experts", programs=16) == "proven"
    assert race_beside(counter=0, rows=1, kind="kept") == "proven"


def test_places_of_a_counter_that_reach_the_counter_are_no_own_places():
    assert race_beside(counter=8, rows=0) != "proven"
    assert race_beside(counter=8, rows=9, begin=-1) != "proven"
    assert race_beside(counter=12, rows=0, begin=4) != "proven"
    assert race_beside(counter=0, rows=3, kind="experts", programs=16) != "proven"
    assert race_beside(counter=0, rows=4, kind="experts", programs=16, capacity=3) == "violation"
    assert race_beside(counter=40, rows=0, kind="kept") != "proven"
