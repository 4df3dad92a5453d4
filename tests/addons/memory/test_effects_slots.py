"""Slots that programs draw from counters: known bytes, whatever program draws which."""

import numpy as np
import pytest

from kvtrace.addons.memory.effects import effects_of
from kvtrace.metrics.byte_ranges import ByteRanges
from tests.verdicts import race_kernels
from tests.verdicts import slot_kernels as slots
from tests.verdicts.calls import call, ids, tensor

COUNTS = np.bincount(slots.EXPERTS, minlength=4)


def stored(kernel_call, name="out"):
    (effect,) = [
        effect
        for effect in effects_of(kernel_call).storages
        if name in [kernel_call.arguments[index].name for index in effect.args]
    ]
    return effect.writes if not effect.reason else None


def test_slots_of_all_tokens_are_stored():
    expected = ByteRanges.union_of(
        ByteRanges.of(64 * expert, 64 * expert + 4 * int(count))
        for expert, count in enumerate(COUNTS)
    )

    assert stored(slots.PROVEN["tokens"]()) == expected
    assert stored(slots.PROVEN["experts in turn"]()) == expected
    assert stored(slots.PROVEN["rows"]()) == ByteRanges.of(0, slots.TOKENS * 128)


@pytest.mark.parametrize("first", [0, 3])
def test_tiles_by_tickets_are_stored_from_the_counter_on(first):
    assert stored(slots.tiles(counter=(first,))) == ByteRanges.of(256 * first, 8 * 256)


@pytest.mark.parametrize("kernel", [slots.tickets_that_end, slots.tickets_of_programs])
def test_tiles_that_depend_on_the_order_of_draws_are_not_known(kernel):
    assert stored(slots.tiles(kernel)) is None


@pytest.mark.parametrize(
    ("form", "end"),
    [("pointers", 136), ("sums before", 136), ("integers", 4 * 17), ("all", 0), ("fewer", 0)],
)
def test_a_compaction_stores_to_all_places_that_it_has_reserved(form, end):
    assert stored(slots.compaction(form)) == (ByteRanges.of(0, end) if end else None)


@pytest.mark.parametrize(
    "name",
    ["slot and program", "reset", "steps of data", "by program", "compared", "two draws",
     "others read", "experts in turn of one counter", "counters by a written tensor"],
)  # fmt: skip
def test_places_that_depend_on_the_order_of_draws_are_not_known(name):
    assert stored(slots.NOT_PROVEN[name]()) is None


def test_a_counter_whose_numbers_also_decide_a_load_is_not_followed():
    """Program `token` loads at its slot: which program does, and what it stores, is not known."""
    read = call(
        slots.loaded_by_slot, (8,), counter=ids(0), table=ids(*range(8)), out=tensor(8),
        sums=tensor(64),
    )  # fmt: skip

    assert stored(read, "sums") is None


def test_places_2_to_the_64_bytes_apart_are_one_and_those_outside_are_left_out():
    for step, end in ((1 << 61, 4), (1 << 60, None), (1 << 40, 4), (1, 4)):
        far = call(race_kernels.far_rows, (2,), x=tensor(8), out=tensor(1), step=step)

        assert stored(far) == (end and ByteRanges.of(0, end))
