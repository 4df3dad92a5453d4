"""The rule `race` on classic kernels: races, apparent races, and undecidable ones."""

import numpy as np
import pytest
import torch

from corpus.kernels import memory
from kvtrace.verdicts.judge import judge
from tests.verdicts import calls
from tests.verdicts import race_kernels as kernels
from tests.verdicts.brute_force import bytes_of, linear, watched_run
from tests.verdicts.racing import (
    call_of,
    floats,
    integers,
    judged,
    on_formulas,
    races,
    verdicts,
)


def product(depth=32, **more):
    return {"a": floats(40, 32), "b": floats(32, 48), "c": torch.zeros(40, 48), "rows": 40,
            "columns": 48, "depth": depth, "a_stride": 32, "b_stride": 48, "c_stride": 48,
            **more}  # fmt: skip


TILES = {"BM": 16, "BN": 16, "BK": 16}


# -- nothing has to be evaluated ------------------------------------------------------------------


def split_k(how):
    return call_of(kernels.split_k, (9, 2), product(), {**TILES, "SPLIT": 2, "HOW": how})


def test_parts_of_a_product_that_are_stored_race():
    (found,) = [v for v in on_formulas(split_k("store")) if v.verdict == "violation"]

    assert found.op is found.other_op
    assert (found.program, found.other_program) == ((0, 0, 0), (0, 1, 0))
    assert (found.access, found.arg, found.address_offset) == ("store", "c", 0)
    assert found.message == (
        "programs (0, 0, 0) and (0, 1, 0) both store to byte 0 of c, and nothing orders them; they "
        "race if the two values differ: it depends on the contents of a, b, which were not "
        "recorded (set KVTRACE_TENSORS=all, which keeps those of a call's first launch)"
    )


def test_parts_of_a_product_that_are_read_and_stored_race_twice():
    (found,) = [v for v in on_formulas(split_k("read")) if v.verdict == "violation"]

    assert found.other_op.name == "tt.load"
    assert "stores to byte 0 of c, which program (0, 1, 0) loads in line" in found.message
    assert found.message.endswith("it races with 1 more op")


def test_parts_of_a_product_that_are_added_atomically_do_not_race():
    (found,) = on_formulas(split_k("atomic"))

    assert (found.verdict, found.access) == ("proven", "atomic")


PROVEN = {
    "grouped product": call_of(
        kernels.grouped_product, (9,), product(), {**TILES, "GROUP": 2}),
    "two axes": call_of(
        kernels.two_axes, (3, 3), {"x": floats(40, 48), "out": floats(40, 48), "rows": 40,
                                   "columns": 48, "stride": 48}, {"BM": 16, "BN": 16}),
    "tiles": call_of(
        kernels.copy_tiles, (4,), {"x": floats(64), "out": floats(64), "n": 60},
        {"STEP": 16, "BLOCK": 16}),
    "in place": call_of(memory.in_place_scale, (4,), {"x": floats(64), "n": 60, "factor": 2.0},
                        {"BLOCK": 16}),
    "rows": call_of(
        kernels.copy_rows, (10,), {"x": floats(100), "out": floats(100), "columns": 10,
                                   "x_stride": 10, "out_stride": 10}, {"BLOCK": 16}),
    "rows with a stride below zero": call_of(
        kernels.copy_rows, (10,), {"x": floats(100), "out": floats(190)[90:], "columns": 10,
                                   "x_stride": 10, "out_stride": -10}, {"BLOCK": 16}),
    "rows in turn": call_of(
        kernels.copy_rows_persistently, (4,), {"x": floats(100), "out": floats(100), "rows": 10,
                                               "columns": 10, "stride": 10}, {"BLOCK": 16}),
    "histogram": call_of(kernels.histogram, (4,), {"x": integers(60), "counts": integers(7),
                                                   "n": 60}, {"SCOPE": "gpu", "BLOCK": 16}),
    "words and half words": call_of(
        kernels.halves_of_words, (4,), {"x": integers(64), "out": integers(64)}, {"BLOCK": 16}),
    "places drawn from a counter": call_of(
        memory.append, (4,), {"x": integers(64), "counter": integers(1), "out": integers(64),
                              "n": 60}, {"BLOCK": 16}),
    "one program": call_of(
        kernels.mark_last, (1,), {"x": floats(60), "out": floats(60), "done": integers(1),
                                  "n": 60}, {"BLOCK": 64}),
}  # fmt: skip


@pytest.mark.parametrize("name", PROVEN)
def test_formulas_prove_that_nothing_races(name):
    assert {v.verdict for v in on_formulas(PROVEN[name])} == {"proven"}


def sharing(shift, gap, n=60):
    """A copy from a buffer into the same buffer, `gap` elements further on."""
    buffer = floats(200)
    arguments = {"x": buffer[:80], "out": buffer[gap:], "shift": shift, "n": n}
    return call_of(kernels.shifted, (4,), arguments, {"BLOCK": 16})


@pytest.mark.parametrize(
    ("shift", "gap", "answer"),
    [
        (0, 0, "proven"),  # each program reads what only it writes
        (1, 0, "violation"),
        (0, 1, "violation"),
        (1, 1, "proven"),  # both shifts cancel
        (0, 59, "violation"),
        (0, 60, "proven"),  # one behind the last that is read
        (-16, 16, "violation"),
    ],
)
def test_fresh_bytes_of_arguments_that_share_a_storage_are_counted_once(shift, gap, answer):
    (found,) = on_formulas(sharing(shift, gap))

    assert found.verdict == answer
    if answer == "violation":
        assert "loads through x in line" in found.message


RACES = {
    "tiles that overlap": (
        kernels.copy_tiles, (4,), {"x": floats(64), "out": floats(64), "n": 60},
        {"STEP": 12, "BLOCK": 16}),
    "rows of stride 0": (
        kernels.copy_rows, (10,), {"x": floats(100), "out": floats(100), "columns": 10,
                                   "x_stride": 10, "out_stride": 0}, {"BLOCK": 16}),
    "rows closer than they are long": (
        kernels.two_axes, (3, 3), {"x": floats(40, 48), "out": floats(40, 48), "rows": 40,
                                   "columns": 48, "stride": 47}, {"BM": 16, "BN": 16}),
    "transposed in place": (
        kernels.transposed_in_place, (2, 2), {"x": floats(32, 32), "rows": 32, "columns": 32},
        {"BM": 16, "BN": 16}),
    "each its own number": (
        kernels.mark_last, (4,), {"x": floats(60), "out": floats(60), "done": integers(1),
                                  "n": 60}, {"BLOCK": 16}),
    "cleared by one of those that count": (
        kernels.zero_then_count, (4,), {"x": integers(60), "counts": integers(1), "n": 60},
        {"BLOCK": 16}),
    "nobody waits": (
        kernels.without_waiting, (4,), {"flag": integers(4), "x": floats(64),
                                        "out": floats(64)}, {"BLOCK": 16}),
    "a flag without acquire": (
        kernels.hand_over, (4,), {"flag": integers(4), "x": floats(64), "out": floats(64)},
        {"ORDER": "relaxed", "BLOCK": 16}),
}  # fmt: skip


@pytest.mark.parametrize("name", RACES)
def test_formulas_find_races_and_show_two_programs_that_touch_a_byte(name):
    call = call_of(*RACES[name])
    seen = watched_run(call.module, call.arguments, call.grid)
    shown = [v for v in on_formulas(call) if v.verdict == "violation"]

    assert shown
    for found in shown:
        assert found.program != found.other_program
        assert None not in (found.address_offset, found.lane, found.iteration)
        mine, others = (
            bytes_of(seen, call.arguments, op, linear(program, call.grid))
            for op, program in (
                (found.op, found.program), (found.other_op, found.other_program),
            )
        )  # fmt: skip
        tensor = next(a for a in call.arguments if a.name == found.arg)
        assert found.address_offset + tensor.offset_bytes in {byte for _, byte in mine}
        assert mine & others


def test_one_value_from_all_programs_is_no_race_and_the_message_says_so():
    arguments = {"x": floats(60), "out": floats(60), "done": integers(1), "n": 60}
    found = on_formulas(call_of(kernels.mark_done, (4,), arguments, {"BLOCK": 16}))

    assert [v.verdict for v in found] == ["proven", "proven"]
    assert "all programs write the same value" in found[1].message


# -- addresses from data --------------------------------------------------------------------------


def scatter(index, *, recorded):
    arguments = {"x": floats(60), "index": index.to(torch.int32), "out": floats(60), "n": 60}
    return call_of(kernels.scatter, (4,), arguments, {"BLOCK": 16}, recorded=recorded)


@pytest.mark.parametrize(
    ("index", "answer"),
    [(torch.arange(60), "proven"), (torch.arange(60) % 30, "violation")],
    ids=["a permutation", "with repeats"],
)
def test_recorded_indices_decide_an_access(index, answer):
    (found,) = judged(scatter(index, recorded=True))

    assert found.verdict == answer
    if answer == "proven":
        assert "for the recorded contents of x, index, out" in found.message


@pytest.mark.parametrize(
    ("slots", "byte"),
    [
        ([0, -1, 3, -1], None),
        ([9, 1, 9, 8], None),
        ([-1, -1, 5, 5], 5 * 64),
        ([7, 7, 8, 8], 7 * 64),
    ],
    ids=["before the cache", "behind it", "before it and in it", "in its last half row and behind"],
)
@pytest.mark.parametrize("before", [0, 1 << 36], ids=["small", "large"])
def test_programs_do_not_race_outside_of_a_tensor(slots, byte, before):
    data = np.array(slots, np.int64) + np.where(np.array(slots) < 0, 0, before)
    given = {"x": calls.tensor(4, 16), "slots": calls.tensor(4, dtype="i64", data=data),
             "cache": calls.tensor(before * 16 + 7 * 16 + 8)}  # fmt: skip
    (found,) = on_formulas(calls.call(kernels.rows_to_slots, (4,), WIDTH=16, **given))

    assert found.verdict == ("proven" if byte is None else "violation")
    assert byte is None or found.address_offset == before * 64 + byte


@pytest.mark.parametrize(
    ("chosen", "answer"),
    [([2, 0, 1], "proven"), ([0, 2, 0], "violation")],
    ids=["each row once", "a row twice"],
)
def test_an_index_that_another_one_selects_is_read_for_each_program(chosen, answer):
    given = {
        "chosen": calls.ids(*chosen),
        "starts": calls.ids(0, 16, 32),
        "out": calls.tensor(48, dtype="i32"),
    }
    (found,) = on_formulas(calls.call(kernels.to_chosen_starts, (3,), BLOCK=16, **given))

    assert (found.verdict, found.method) == (answer, "affine")


def test_a_race_by_unrecorded_indices_is_unknown_with_an_assumption():
    (found,) = on_formulas(scatter(torch.arange(60), recorded=False))

    assert (found.verdict, found.evaluating) == ("unknown", False)
    assert "the contents of index, which were not recorded (set KVTRACE_TENSORS=int" in found.reason
    assert found.assumption == "no two programs take the same value from index"


@pytest.mark.parametrize(
    ("target", "answer"),
    [([0, 9, 5], "proven"), ([0, 10, 5], "violation"), ([0, -1, 5], "violation"), (None, None)],
    ids=["in its row", "in the next row", "in the row before", "nobody knows"],
)
def test_an_index_within_a_programs_own_row_is_the_assumption_of_a_race(target, answer):
    chosen = torch.tensor(target or [0, 0, 0], dtype=torch.int64)
    arguments = {"x": floats(3, 10), "target": chosen, "columns": 10}
    recorded = target is not None
    call = call_of(kernels.less_at_target, (3,), arguments, {"BLOCK": 16}, recorded=recorded)
    found = judged(call)

    if recorded:
        assert any(v.verdict == "violation" for v in found) == (answer == "violation")
        assert all(v.verdict != "unknown" for v in found)
    else:
        assert {v.assumption for v in found} == {"0 <= target < 10 where it is used"}


@pytest.mark.parametrize(
    ("kinds", "programs", "answer"),
    [([0, 1, 2], 3, "proven"), ([0, 1, 2, -1], 3, "proven"), ([0, 1, 2, -1, -1], 5, "unknown")],
    ids=["none of the kind", "none of it is read", "two are of it"],
)
def test_a_store_that_no_program_reaches_by_recorded_contents_is_proven(kinds, programs, answer):
    of = calls.tensor(len(kinds), dtype="i32", data=np.array(kinds, np.int32))
    given = {"kinds": of, "index": calls.tensor(16, dtype="i32"), "out": calls.tensor(64)}
    (found,) = judged(calls.call(kernels.of_one_kind, (programs,), BLOCK=16, **given))

    assert found.verdict == answer
    assert answer == "proven" or "the contents of index, which were not recorded" in found.reason


# -- how large the grid is ------------------------------------------------------------------------


@pytest.mark.parametrize("programs", [10**3, 10**6, 10**9])
def test_proofs_hold_for_grids_of_any_size(programs):
    arguments = {"x": floats(64), "n": programs * 16 - 3}
    call = call_of(kernels.scaled_in_place, (programs,), arguments, {"BLOCK": 16})

    assert [v.verdict for v in on_formulas(call)] == ["proven"]


def test_an_index_that_wraps_around_keeps_programs_apart_within_its_width():
    arguments = {"x": floats(64), "n": 60, "factor": 2.0}
    within = call_of(memory.in_place_scale, (1 << 28,), arguments, {"BLOCK": 16})
    beyond = call_of(memory.in_place_scale, ((1 << 28) + 1,), arguments, {"BLOCK": 16})

    assert [v.verdict for v in on_formulas(within)] == ["proven"]
    (found,) = on_formulas(beyond)
    assert found.verdict == "unknown"
    assert "wrap around" in found.reason


# -- one value that all programs store ------------------------------------------------------------


def passed_on(how, **more):
    given = {"x": torch.arange(16, dtype=torch.int32), "out": integers(256), **more}
    return call_of(kernels.passes_on, (4,), given, {"HOW": how, "BLOCK": 16})


PASSED_ON = ("first", "doubled", "row", "sum", "filled", "scanned", "sorted", "woven", "gathered",
             "counted", "multiplied")  # fmt: skip


@pytest.mark.parametrize("how", PASSED_ON)
def test_a_value_that_all_programs_copy_between_two_addresses_is_no_race(how):
    found = judged(passed_on(how))

    assert {v.verdict for v in found} == {"proven"}
    assert any("all programs write the same value" in v.message for v in found)


@pytest.mark.parametrize(
    ("x", "out", "programs"),
    [([5, 5, 5, 5], 0, None), ([5, 5, 6, 5], 0, {1, 2}), ([5.0, 5.0, 5.0, 5.0], 0.0, {}),
     ([5.0, 5.0, 5.0, 7.0], 0.0, {2, 3})],
)  # fmt: skip
def test_recorded_values_decide_whether_stores_to_one_byte_race(x, out, programs):
    """Floats that are equal here may be rounded otherwise on a GPU."""
    given = {"x": torch.tensor(x), "out": torch.tensor([out, out])}
    (found,) = judged(call_of(kernels.stores_doubled, (4,), given, recorded=True))
    (unrecorded,) = judged(call_of(kernels.stores_doubled, (4,), given))

    assert unrecorded.verdict == "violation"
    assert "if the two values differ: it depends on the contents of x," in unrecorded.message
    if programs:
        assert {found.program[0], found.other_program[0]} == programs
        assert found.message.endswith("nothing orders them")
    else:
        assert found.verdict == ("proven" if programs is None else "unknown")


OWN = ("unfilled", "own", "turned", "shifted", "volatile", "own scanned", "own reduced",
       "unfilled scanned", "shifted scan", "shifted weave", "shifted counts")  # fmt: skip


@pytest.mark.parametrize("how", OWN)
def test_storing_values_that_differ_between_programs_is_a_race(how):
    assert races(passed_on(how))


@pytest.mark.parametrize("how", PASSED_ON)
def test_values_loaded_from_written_memory_may_differ_between_programs(how):
    memory = torch.arange(1, 257, dtype=torch.int32)

    assert verdicts(passed_on(how, x=memory, out=memory)) != {"proven"}


# -- a table that all programs store, and each loads from -----------------------------------------


def read_back(how, programs=6):
    rows = torch.ones(16, dtype=torch.int32)
    given = {"x": rows, "starts": integers(32), "out": integers(16 * 32), "n": 6}
    constants = {"HOW": how, "BLOCK": 16}
    return call_of(kernels.reads_back, (programs,), given, constants, recorded=True)


@pytest.mark.parametrize("how", ["plain", "address"])
def test_programs_may_load_entries_that_all_programs_store_alike(how):
    found = judged(read_back(how))

    assert {v.verdict for v in found} == {"proven"}
    assert any("each program loads what it has itself stored" in v.message for v in found)


BROKEN = ("early", "others' part", "own number", "perhaps", "another one", "shifted", "next")


@pytest.mark.parametrize("how", BROKEN)
def test_loading_entries_that_other_programs_stored_is_a_race(how):
    assert verdicts(read_back(how)) != {"proven"}
    assert not any("itself stored" in v.message for v in judged(read_back(how)))


def test_an_entry_masked_off_by_the_store_does_not_count_as_stored():
    assert not any("itself stored" in v.message for v in judged(read_back("plain", programs=7)))


@pytest.mark.parametrize(("step", "answer"), [(1 << 61, "violation"), (1 << 60, "proven")])
def test_places_that_are_2_to_the_64_bytes_apart_are_one(step, answer):
    far = calls.call(kernels.far_rows, (2,), x=calls.tensor(8), out=calls.tensor(8), step=step)

    assert {v.verdict for v in judge(far, ["race"])} == {answer}


@pytest.mark.parametrize(
    ("width", "source", "answer"),
    [("i64", None, "unknown"), ("i32", None, "proven"), ("i64", "i64", "proven"),
     ("i64", "i32", "unknown")],
)  # fmt: skip
def test_of_wide_indices_only_what_lies_at_the_place_is_the_same(width, source, answer):
    by_index = calls.call(
        kernels.by_wide_index, (4,), index=calls.tensor(4, dtype=width), OF_X=source is not None,
        x=calls.tensor(8, dtype=source or "i64"), out=calls.tensor(8, dtype="i64"),
    )  # fmt: skip

    assert [v.verdict for v in judge(by_index, ["race"])] == [answer]


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("data", "it depends on the contents of x, which were not recorded (set KVTRACE_TENSORS"),
        ("drawn", "what atomics return may be another number in others"),
        ("rounded", "a GPU may round what they compute in another way"),
    ],
)
def test_why_one_result_in_the_orders_that_were_run_proves_nothing_is_said(how, reason):
    arguments = {"x": integers(32) if how == "data" else floats(32), "out": integers(4)}
    arguments |= {"counter": integers(1)}
    found = judged(
        call_of(kernels.stores_one_number, (8,), arguments, {"HOW": how}, recorded=how == "drawn")
    )

    (store,) = [v for v in found if v.access == "store"]
    assert store.verdict == "unknown"
    assert reason in store.reason
