"""Which of the read bytes matter, and which are copied."""

import pytest
import torch

from kvtrace.addons.memory.boxed_accesses import Boxing
from kvtrace.addons.memory.carried_values import Uses
from kvtrace.addons.memory.effects import effects_of
from kvtrace.addons.memory.lives import Birth
from kvtrace.addons.memory.states import State
from kvtrace.addons.memory.uses import used_effect
from kvtrace.metrics.byte_ranges import NOTHING, ByteRanges
from tests.addons.memory import effect_kernels as kernels
from tests.addons.memory import use_kernels
from tests.addons.memory.brute_force import call_of

pytestmark = pytest.mark.usefixtures("free_driver")


def used_reads(call, source):
    """The bytes that are surely used or copied, and those that may be."""
    boxing = Boxing(call)
    used, _, copies = used_effect(boxing, source)
    kept = [
        [
            boxing.touched(c.source, c.store.active & lanes).listed(source.size)
            for lanes in (c.surely, c.perhaps)
        ]
        for c in copies
    ]
    surely, perhaps = zip(*kept, strict=True) if kept else ((), ())
    return (
        ByteRanges.union_of((used.reads, *surely)),
        ByteRanges.union_of((used.may_read, *perhaps)),
    )


@pytest.mark.parametrize(
    ("kernel", "elements"),
    [
        (kernels.padded, 500),
        (kernels.copied, 500),
        (use_kernels.padded_sum, 512),
        (use_kernels.padded_choice, 500),
        (use_kernels.chosen_sum, 500),
        (kernels.chosen_by_data, 512),
        (use_kernels.chosen_by_masked_data, 500),
    ],
    ids=[
        "dropped by a store's mask",
        "masked",
        "summed",
        "a mask",
        "chosen",
        "decides",
        "decides where a mask holds",
    ],
)
def test_padding_is_used_unless_a_mask_drops_it(kernel, elements):
    call = call_of(
        kernel, (8,), {"x": torch.ones(512), "out": torch.ones(512), "n": 500}, {"BLOCK": 64}
    )
    source = next(effect for effect in effects_of(call).storages if effect.args == (0,))

    assert used_reads(call, source) == (ByteRanges.of(0, 4 * elements),) * 2


@pytest.mark.parametrize(
    ("kind", "surely", "perhaps"),
    [
        ("both", 0, 0),
        ("words", 0, 0),
        ("shifted in", 0, 0),
        ("low", 0, 64),
        ("in a loop", 0, 64),
        ("read between", 0, 64),
        ("joined", 64, 64),
    ],
)
@pytest.mark.parametrize("programs", [1, 2])
def test_bits_of_what_nobody_wrote_are_no_use_if_updates_replace_them(
    kind, surely, perhaps, programs
):
    type_ = torch.int32 if kind == "words" else torch.uint8
    tensors = {name: torch.ones(256, dtype=type_) for name in ("x", "out", "other")}
    constants = {"KIND": kind, "STEP": 64, "BLOCK": 64}
    call = call_of(use_kernels.packed, (programs,), {**tensors, "n": 2}, constants)
    storages = effects_of(call).storages
    out = next(effect for effect in storages if effect.args == (1,))
    assert used_reads(call, out) == tuple(
        ByteRanges.of(0, count * programs * type_.itemsize) if count else NOTHING
        for count in (surely, perhaps)
    )


def test_bits_that_another_program_may_read_in_between_are_perhaps_used():
    tensors = {name: torch.ones(256, dtype=torch.uint8) for name in ("x", "out", "other")}
    constants = {"KIND": "both", "STEP": 1, "BLOCK": 64}
    call = call_of(use_kernels.packed, (2,), {**tensors, "n": 2}, constants)
    out = next(effect for effect in effects_of(call).storages if effect.args == (1,))
    assert used_reads(call, out)[1] == ByteRanges.of(0, 65)


@pytest.mark.parametrize(
    ("kernel", "elements"),
    [
        (use_kernels.masked_integers, 500),
        (use_kernels.multiplied_integers, 500),
        (use_kernels.chosen_bits, 500),
        (use_kernels.masked_by_one_more, 501),
        (use_kernels.multiplied_floats, 512),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_integers_of_the_padding_are_dropped_where_a_mask_makes_them_zero(kernel, elements):
    tensors = {name: torch.ones(512, dtype=torch.int32) for name in ("x", "out")}
    call = call_of(kernel, (8,), {**tensors, "n": 500}, {"BLOCK": 64})
    source = next(effect for effect in effects_of(call).storages if effect.args == (0,))

    assert used_reads(call, source) == (ByteRanges.of(0, 4 * elements),) * 2


def test_choice_of_the_other_value_drops_what_it_replaces():
    arguments = {"x": torch.ones(512), "out": torch.ones(512), "n": 500}
    call = call_of(use_kernels.chosen_otherwise, (8,), arguments, {"BLOCK": 64})
    source = next(effect for effect in effects_of(call).storages if effect.args == (0,))

    assert used_reads(call, source) == (ByteRanges.of(2000, 2048),) * 2


def test_all_reads_of_an_unknown_place_are_used():
    index = torch.arange(128)
    arguments = {"index": index, "x": torch.ones(256), "out": torch.ones(256)}
    call = call_of(kernels.scattered, (2,), arguments, {"BLOCK": 64})
    indices, source, _ = effects_of(call).storages

    assert used_reads(call, indices) == (ByteRanges.of(0, 8 * 128),) * 2
    assert used_reads(call, source) == (ByteRanges.of(0, 4 * 128),) * 2


@pytest.mark.parametrize(
    ("kernel", "n", "ranges"),
    [
        (use_kernels.sums_of_rows, 7, [(0, 448)]),
        (kernels.flipped, 16, [(0, 48)]),
        (kernels.running_sums, 48, [(64 * row, 64 * row + 48) for row in range(4)]),
        (use_kernels.most_printed, 1, [(0, 64)]),
    ],
    ids=["a row's sum", "a flip", "sums that a loop carries", "printed"],
)
def test_lanes_are_followed_where_ops_move_or_combine_them(kernel, n, ranges):
    arguments = {"x": torch.ones(512), "out": torch.ones(64), "n": n}
    call = call_of(kernel, (1,), arguments, {"BLOCK": 64})
    source = next(effect for effect in effects_of(call).storages if effect.args == (0,))

    used = ByteRanges.union_of([ByteRanges.of(4 * a, 4 * b) for a, b in ranges])
    assert used_reads(call, source) == (used, used)


def elements(*ranges):
    """The bytes of elements of four bytes each."""
    return ByteRanges.union_of([ByteRanges.of(4 * begin, 4 * end) for begin, end in ranges])


@pytest.mark.parametrize(
    ("kernel", "constants", "more", "ranges"),
    [
        (use_kernels.chosen_in_trips, {"BLOCK": 16}, {}, [(0, 13), (256, 285)]),
        (use_kernels.chosen_by_length, {"BLOCK": 32}, {}, [(0, 13), (32, 61)]),
        (
            use_kernels.chosen_in_pages,
            {"BLOCK": 16, "COLUMNS": 8},
            {"table": torch.tensor([3, 9, 0, 5], dtype=torch.int32)},
            [(3 * 128, 3 * 128 + 13 * 8), (0, 128), (5 * 128, 5 * 128 + 13 * 8)],
        ),
    ],
    ids=["trips of a loop", "lanes", "rows of pages"],
)
def test_recorded_numbers_decide_which_lanes_are_used(kernel, constants, more, ranges):
    lens = torch.tensor([13, 29], dtype=torch.int32)
    arguments = {"x": torch.ones(4096), "out": torch.ones(64), "lens": lens, **more}
    call = call_of(kernel, (2,), arguments, constants)
    source = next(effect for effect in effects_of(call).storages if effect.args == (0,))

    used = elements(*ranges)
    assert used_reads(call, source) == (used, used)


@pytest.mark.parametrize(
    ("kernel", "flag", "surely", "perhaps"),
    [
        (use_kernels.chosen_if, torch.ones(1, dtype=torch.int32), 13, 13),
        (use_kernels.chosen_if, torch.ones(1), 0, 13),
        (use_kernels.summed_if, torch.ones(1), 16, 16),
    ],
    ids=["an integer", "a float", "a float, and nothing drops it"],
)
def test_what_cannot_be_followed_is_used_only_if_nothing_may_drop_it(kernel, flag, surely, perhaps):
    arguments = {"x": torch.ones(16), "out": torch.ones(16), "flag": flag, "n": 13}
    call = call_of(kernel, (1,), arguments, {"BLOCK": 16})
    source = next(effect for effect in effects_of(call).storages if effect.args == (0,))

    assert used_reads(call, source) == (elements((0, surely)), elements((0, perhaps)))


def test_numbers_that_were_not_recorded_leave_open_which_lanes_are_used():
    lens = torch.tensor([13, 29], dtype=torch.int32)
    arguments = {"x": torch.ones(64), "out": torch.ones(64), "lens": lens}
    call = call_of(use_kernels.chosen_by_length, (2,), arguments, {"BLOCK": 32}, unknown=("lens",))
    source = next(effect for effect in effects_of(call).storages if effect.args == (0,))

    assert used_reads(call, source) == (ByteRanges(), elements((0, 64)))
    effect, _, _ = used_effect(Boxing(call), source)
    assert effect.reason.endswith("drop what nobody wrote, by the data of lens")


@pytest.mark.parametrize(
    "kernel",
    [use_kernels.chosen_by_wrapped, use_kernels.summed_by_wrapped, use_kernels.stored_by_wrapped],
)
def test_choices_by_integers_that_wrap_around_are_not_followed(kernel):
    arguments = {"x": torch.ones(16), "out": torch.ones(16), "n": 5}
    call = call_of(kernel, (1,), arguments, {"BLOCK": 16})
    source = next(effect for effect in effects_of(call).storages if effect.args == (0,))

    assert used_reads(call, source) == (ByteRanges(), elements((0, 16)))


@pytest.mark.parametrize(
    ("kernel", "surely"), [(use_kernels.sorted_choice, 0), (use_kernels.merged_with_wrapped, 13)]
)
def test_what_is_dropped_first_is_not_used_whatever_follows(kernel, surely):
    arguments = {"x": torch.ones(16), "out": torch.ones(16), "n": 13}
    call = call_of(kernel, (1,), arguments, {"BLOCK": 16})
    source = next(effect for effect in effects_of(call).storages if effect.args == (0,))

    used, may_be_used = used_reads(call, source)
    assert not may_be_used - elements((0, 13))
    assert bool(used) == bool(surely)


def test_blocks_after_the_first_flag_that_is_not_set_are_not_used():
    flags = torch.tensor([1, 1, 0, 1, 1, 0], dtype=torch.int32)
    arguments = {"x": torch.ones(96), "out": torch.ones(16), "flags": flags, "n": 13}
    call = call_of(use_kernels.chosen_while, (1,), arguments, {"BLOCK": 16})
    source = next(effect for effect in effects_of(call).storages if effect.args == (0,))

    surely, perhaps = used_reads(call, source)
    assert not surely - elements((0, 13), (16, 29))
    assert not elements((0, 13), (16, 29)) - perhaps


@pytest.mark.parametrize(
    ("kernel", "n", "used", "copied"),
    [
        (use_kernels.own_after_choice, 13, (0, 13), None),
        (use_kernels.own_after_trips, 4, (0, 16), None),
        (use_kernels.own_in_part, 5, (0, 0), (5, 16)),
    ],
    ids=["a choice before", "trips before", "in part"],
)
def test_what_a_program_stored_itself_is_not_copied_of_what_nobody_wrote(kernel, n, used, copied):
    arguments = {"x": torch.ones(16), "out": torch.ones(32), "n": n}
    call = call_of(kernel, (1,), arguments, {"BLOCK": 16})
    effects = effects_of(call).storages
    source = next(effect for effect in effects if effect.args == (0,))

    uses = Uses(call, source, effects)
    assert uses.effect.reads == elements(used)
    state = State(source.size, ByteRanges.of(0, source.size))
    carried = [
        values.unwritten for values in uses.copied(state, Birth("allocation", 0), 0).values()
    ]
    assert carried == ([] if copied is None else [elements((16 + copied[0], 16 + copied[1]))])


@pytest.mark.parametrize("kernel", [use_kernels.own_copy, use_kernels.copy_of_copy])
def test_a_copy_of_a_copy_in_one_launch_leaves_open_what_is_used(kernel):
    arguments = {"x": torch.ones(16), "out": torch.ones(32), "n": 16}
    call = call_of(kernel, (1,), arguments, {"BLOCK": 16})
    source = next(effect for effect in effects_of(call).storages if effect.args == (0,))

    effect, _, _ = used_effect(Boxing(call), source)
    assert (effect.reads, effect.may_read) == (ByteRanges(), elements((0, 16)))


@pytest.mark.parametrize(("nodes", "n"), [([3, 5, 7], 4), ([3, 5, -1], 9)])
def test_what_follows_the_last_node_of_a_list_is_not_surely_used(nodes, n):
    following = torch.full((8,), 6, dtype=torch.int32)
    following[[0, 3, 5]] = torch.tensor(nodes, dtype=torch.int32)
    call = call_of(
        use_kernels.list_of_nodes, (1,),
        {"following": following, "values": torch.ones(8), "out": torch.ones(1), "n": n},
        {"END": -1},
    )  # fmt: skip
    of_following, of_values = (
        used_effect(Boxing(call), source)[0] for source in effects_of(call).storages[:2]
    )
    assert not of_following.reads & elements((7, 8))
    assert not of_values.reads - elements(*((node, node + 1) for node in (0, *nodes)))


@pytest.mark.parametrize(
    ("kernel", "used"),
    [
        (use_kernels.gathered_within, 13),
        (use_kernels.scattered_within, 13),
        (use_kernels.rows_within, 13),
        (use_kernels.gathered_by_one_more, 14),
        (use_kernels.gathered_by_block, 16),
    ],
    ids=["gathered", "scattered", "rows that may wrap around", "one more", "bounds of a block"],
)
@pytest.mark.parametrize("unknown", [(), ("x",)], ids=["recorded", "not recorded"])
def test_index_counts_where_the_access_that_it_addresses_is_active(kernel, used, unknown):
    index = torch.arange(16) if kernel is use_kernels.rows_within else torch.arange(16).int()
    arguments = {"x": index, "values": torch.ones(64), "out": torch.ones(64), "n": 13}
    call = call_of(kernel, (1,), arguments, {"BLOCK": 16}, unknown)
    source = next(effect for effect in effects_of(call).storages if effect.args == (0,))

    size = index.element_size()
    effect, _, _ = used_effect(Boxing(call), source)
    assert effect.reads == effect.may_read == ByteRanges.of(0, used * size)


@pytest.mark.parametrize(
    ("taken", "surely", "perhaps"),
    [
        ("low", (0, 1), (0, 1)),
        ("high", (2, 3), (2, 3)),
        ("low after a sum", (0, 1), (0, 1)),
        ("low as a float", (0, 1), (0, 1)),
        ("first and last byte", (0, 3), (0, 3)),
        ("by data", (), (0, 1, 2, 3)),
        ("all", (0, 1, 2, 3), (0, 1, 2, 3)),
    ],
)
def test_of_elements_that_are_read_at_once_those_count_of_which_bits_are_taken(
    taken, surely, perhaps
):
    tensors = {"x": torch.ones(32, dtype=torch.bfloat16), "bits": torch.ones(1).int()}
    arguments = {**tensors, "out": torch.ones(16), "n": 13}
    call = call_of(use_kernels.pairs, (1,), arguments, {"BLOCK": 16, "TAKEN": taken}, ("bits",))
    source = next(effect for effect in effects_of(call).storages if effect.args == (0,))

    assert used_reads(call, source) == tuple(
        ByteRanges.union_of(
            [ByteRanges.of(4 * i + byte, 4 * i + byte + 1) for i in range(13) for byte in bytes_]
        )
        for bytes_ in (surely, perhaps)
    )


@pytest.mark.parametrize(("summed", "slots"), [(True, (0, 6, 7)), (False, ())])
def test_sums_over_trips_use_all_that_they_read_also_where_addresses_wrap(summed, slots):
    arguments = {"x": torch.ones(128), "out": torch.ones(16), "n": 3}
    constants = {"SLOTS": 8, "SUMMED": summed, "BLOCK": 16}
    call = call_of(use_kernels.window_of_ring, (1,), arguments, constants)
    source = next(effect for effect in effects_of(call).storages if effect.args == (0,))

    used, perhaps = used_reads(call, source)
    assert used == elements(*((16 * slot, 16 * slot + 16) for slot in slots))
    assert perhaps == elements((0, 16), (96, 128))


def test_sums_over_trips_of_a_least_number_use_all_that_they_read():
    arguments = {"x": torch.ones(64 * 64), "out": torch.ones(64), "n": 64}
    call = call_of(use_kernels.tiles_past_diagonal, (4,), arguments, {"BLOCK": 16})
    source = next(effect for effect in effects_of(call).storages if effect.args == (0,))

    used, perhaps = used_reads(call, source)
    assert used == perhaps == source.reads
    assert used.size == 4 * 16 * 16 * (2 + 3 + 4 + 4)
