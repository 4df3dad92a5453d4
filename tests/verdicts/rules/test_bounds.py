"""Bounds of accesses: what is proven, witnessed or unknown, and of what it costs nothing."""

import re

import numpy as np
import pytest

from kvtrace.evaluate import TensorArgument
from kvtrace.verdicts.binding import Budget
from kvtrace.verdicts.judge import judge
from kvtrace.verdicts.replaying import run
from kvtrace.verdicts.rules.evaluated import EvaluatedBounds
from tests.metrics import kernels as older
from tests.support.replacing import replace
from tests.verdicts import bounds_kernels as kernels
from tests.verdicts.calls import call, tensor
from tests.verdicts.mutants import evaluated

BOUNDS = ("out-of-bounds", "out-of-view")


def judged(one, **settings):
    return judge(one, BOUNDS, **settings)


def copy_of(elements, programs, room=None, kernel=kernels.copy):
    source = tensor(elements, room=room)
    return call(
        kernel, (programs,), wide=("size",), source=source, result=tensor(elements), size=elements,
        BLOCK=1024,
    )  # fmt: skip


@pytest.mark.parametrize("programs", [10**3, 10**6, 10**9])
def test_a_masked_access_is_proven_for_any_grid_without_evaluation(programs, monkeypatch):
    monkeypatch.setattr("kvtrace.verdicts.judge.run", None)
    monkeypatch.setattr("kvtrace.verdicts.rules.bounds_witnesses.run", None)

    verdicts = judged(copy_of(programs * 1024 - 5, programs))

    assert [v.verdict for v in verdicts] == ["proven"] * 2
    assert {v.method for v in verdicts} <= {"interval", "affine"}
    assert {v.solver_ns for v in verdicts} == {None}


@pytest.mark.parametrize("programs", [10**3, 10**6, 10**9])
def test_a_witness_is_the_first_program_and_lane_that_leaves(programs):
    elements = programs * 1024 - 5
    load, store = judged(copy_of(elements, programs, room=elements - 2000))

    assert store.verdict == "proven"
    first = elements - 2000
    assert (load.verdict, load.rule) == ("violation", "out-of-bounds")
    assert load.program == (first // 1024, 0, 0)
    assert load.lane == (first % 1024,)
    assert load.address_offset == 4 * first
    assert load.past_end_bytes == 4
    assert load.expression == "source + index"


@pytest.mark.parametrize("method", ["symbolic", "evaluated"])
@pytest.mark.parametrize("size", [100, 101])
def test_past_the_end_of_a_storage_of_unknown_size_is_unknown(size, method):
    one = copy_of(100, 1)
    size_of = replace(one.arguments[2], value=size)
    tensors = [replace(each, unknown=frozenset({"storage_bytes"})) for each in one.arguments[:2]]
    one = replace(one, arguments=(*tensors, size_of))
    found = judged(one)
    if method == "evaluated":
        seen = EvaluatedBounds(one)
        found = seen.verdicts(run(one, (seen,), contents="none"))
    assert {v.verdict for v in found} == {"proven" if size == 100 else "unknown"}
    if size > 100:
        assert "4 bytes past the end of source, and the size of the storage" in found[0].reason


def test_before_the_start_of_a_storage_of_unknown_size_is_out_of_bounds():
    one = call(kernels.copy, (1,), wide=("size",), source=tensor(2048, offset=0),
               result=tensor(2048), size=2048, BLOCK=1024)  # fmt: skip
    before = replace(one.arguments[0], offset_bytes=-4, unknown=frozenset({"storage_bytes"}))
    load, _ = judged(replace(one, arguments=(before, *one.arguments[1:])))
    assert (load.verdict, load.rule, load.past_end_bytes) == ("violation", "out-of-bounds", -4)


def test_lanes_out_of_bounds_are_counted_only_for_small_grids():
    small = judged(call(kernels.fill, (4,), result=tensor(1000, dtype="i64"), BLOCK=256))
    large = judged(call(kernels.fill, (10**7,), result=tensor(1000, dtype="i64"), BLOCK=256))

    assert [v.lanes for v in small] == [24]
    assert [v.lanes for v in large] == [None]
    assert large[0].program == small[0].program == (3, 0, 0)


def test_a_message_has_the_count_and_the_farthest_lane():
    (small,) = judged(call(kernels.fill, (4,), result=tensor(1000, dtype="i64"), BLOCK=256))

    assert small.past_end_bytes == 8  # the witness is the first lane
    assert small.message == (
        "store ends 8 bytes past the end of result; 24 lanes of the grid are out of bounds, "
        "by up to 192 bytes"
    )


def test_the_farthest_lane_of_a_large_grid_is_decided_by_formulas_and_run():
    programs = 10**7
    (large,) = judged(call(kernels.fill, (programs,), result=tensor(1000, dtype="i64"), BLOCK=256))

    assert large.program == (3, 0, 0)
    assert large.message == (
        "store ends 8 bytes past the end of result; the farthest lane is out of bounds by "
        f"{8 * (256 * programs - 1000):,} bytes"
    )


def test_a_single_lane_out_of_bounds_has_no_note_on_the_farthest():
    (load, _) = judged(one_more())
    assert load.message == "load ends 4 bytes past the end of source"


def one_more(size=299, kernel=kernels.copy_one_more):
    return call(
        kernel, (3,), wide=("size",), source=tensor(size), result=tensor(size), size=size, BLOCK=128
    )


def test_a_reason_has_the_values_that_a_mask_admits_in_the_kernels_names():
    (load, store) = judged(one_more())

    assert (load.lane, load.program) == ((43,), (2, 0, 0))
    assert load.reason == "the mask admits i = 299; source has 299 elements"
    assert (store.verdict, store.reason) == ("proven", None)


def test_a_reason_has_the_strides_of_a_tensor_that_is_not_contiguous():
    """A gradient of `sum()` is one element, with strides of 0."""
    load, _ = judged(
        call(
            kernels.copy_one_more, (1,), source=tensor(4, 30, strides=(0, 0)), result=tensor(30),
            size=29, BLOCK=32,
        )
    )  # fmt: skip

    assert load.reason == "the mask admits i = 1; source has shape [4, 30] and strides [0, 0]"


def test_a_reason_has_the_values_of_both_axes_of_a_mask():
    tiles = call(
        kernels.tile, (2, 2), source=tensor(10, 30), result=tensor(16, 30), rows=10, columns=30,
        BLOCK=16,
    )  # fmt: skip
    (load, store) = judged(tiles)

    assert load.lane == (10, 0)
    assert load.reason == "the mask admits row = 10, column = 0; source has shape [10, 30]"
    assert store.verdict == "proven"


@pytest.mark.parametrize(
    ("levels", "numbers", "loaded", "admitted"),
    [
        (1, [1, 0, 7, 3], "indices[2] = 7", ", and the mask admits row = 2, column = 0"),
        (1, [1, 0, -1, 3], "indices[2] = -1", ", and the mask admits row = 2, column = 0"),
        (2, [3, 0, 1, 9], "indices[0] = 3, indices[3] = 9", ", and the mask admits row = 0"),
        (0, [1, 0, -3, 3], "indices[2] = -3", "; table has shape [7, 4]"),
    ],
)
def test_a_reason_has_the_loaded_integers_of_an_address(
    levels, numbers, loaded, admitted
):  # fmt: skip
    tensors = {
        "indices": tensor(4, dtype="i32", data=np.array(numbers, np.int32)),
        "table": tensor(7, 4),
        "result": tensor(32),
    }
    made = call(kernels.embedded, (1,), **tensors, count=3, width=4, LEVELS=levels, BLOCK=4)
    (found,) = (verdict for verdict in judged(made) if verdict.verdict == "violation")

    assert found.reason.startswith(f"the address is made of {loaded}{admitted}")
    assert found.message.endswith(f", as the address is made of {loaded}")


def test_an_access_without_a_mask_has_no_reason():
    (found,) = judged(call(kernels.fill, (4,), result=tensor(1000, dtype="i64"), BLOCK=256))
    assert found.reason is None


def test_a_witness_of_a_wrapped_index_is_where_it_wraps_around():
    """2^31 / 1024 programs on, the address is negative; no element is ever allocated."""
    load, _ = judged(copy_of(10**12, 10**9, kernel=kernels.copy_narrow))

    assert load.verdict == "violation"
    assert load.program == (2**21, 0, 0)
    assert load.address_offset == -4 * 2**31
    assert load.past_end_bytes < 0


def test_a_negative_step_stays_above_the_start_of_a_view_or_does_not():
    rest = {"result": tensor(64), "step": -64, "BLOCK": 64}
    inside = call(kernels.walk_back, (1,), source=tensor(64, offset=448, room=512), **rest)
    outside = call(kernels.walk_back, (1,), source=tensor(64, offset=447, room=511), **rest)

    (view,) = [v for v in judged(inside) if v.arg == "source"]
    found = {v.rule: v for v in judged(outside) if v.arg == "source"}
    assert (view.rule, view.verdict, view.iteration) == ("out-of-view", "violation", 1)
    assert found["out-of-bounds"].iteration == 7
    assert found["out-of-bounds"].lane == (0,)
    assert found["out-of-bounds"].past_end_bytes == -4


def test_the_nearest_tensor_is_the_next_in_the_same_storage():
    first, second = tensor(100, dtype="i64", room=300), tensor(100, dtype="i64")
    shared = TensorArgument("", first.storage, 8 * 150, "i64", (100,), (1,))
    one = call(older.copy_without_mask, (1,), source=shared, result=first, size=128, BLOCK=128)

    found = {v.rule: v for v in judged(one) if v.arg == "result"}

    assert found["out-of-view"].address_offset == 800
    assert found["out-of-view"].nearest == "source, 400 bytes further on"
    del second


# -- addresses from memory ----------------------------------------------------------------------


def rows(ids, table_rows=40, width=24):
    return call(
        kernels.rows_of, (8,), table=tensor(table_rows, width), ids=ids,
        result=tensor(32, width), width=width, WIDTH=32, ROWS=4,
    )  # fmt: skip


def loads_of_table(verdicts):
    return [v for v in verdicts if v.arg == "table"]


def test_unrecorded_indices_are_unknown_with_a_condition_that_makes_them_safe():
    (found,) = loads_of_table(judged(rows(tensor(32, dtype="i32"))))

    assert found.verdict == "unknown"
    assert "the contents of ids" in found.reason
    assert "KVTRACE_TENSORS=int" in found.reason
    assert found.assumption == "0 <= ids < 40"


@pytest.mark.parametrize(("largest", "verdict"), [(39, "proven"), (40, "violation")])
def test_an_assumption_is_exact(largest, verdict):
    """Recorded contents at the ends of what is assumed, and one beyond."""
    ids = np.arange(32, dtype=np.int32)
    ids[9] = largest
    (found,) = loads_of_table(judged(rows(tensor(32, dtype="i32", data=ids))))

    assert found.verdict == verdict
    if verdict == "proven":
        assert found.method in ("interval", "affine")
        assert "for the recorded contents of ids" in found.message
    else:
        assert (found.program, found.lane, found.method) == ((2, 0, 0), (1, 0), "affine")


def by_floats(places):
    return call(
        kernels.gather_by_floats, (1,), source=tensor(20), places=places, result=tensor(16),
        BLOCK=16,
    )  # fmt: skip


def test_floats_that_were_not_recorded_need_another_setting():
    (found,) = [v for v in judged(by_floats(tensor(16))) if v.arg == "source"]

    assert found.verdict == "unknown"
    assert "the contents of places" in found.reason
    assert "KVTRACE_TENSORS=all" in found.reason


@pytest.mark.parametrize(("largest", "verdict"), [(19.5, "proven"), (20.0, "violation")])
def test_recorded_floats_decide_where_they_make_addresses(largest, verdict):
    places = np.arange(16, dtype=np.float32)
    places[3] = largest
    (found,) = [v for v in judged(by_floats(tensor(16, data=places))) if v.arg == "source"]

    assert (found.verdict, found.method) == (verdict, "evaluated")
    assert found.lane == ((3,) if verdict == "violation" else None)


def test_recorded_trips_decide_a_loop():
    counts = np.array([1, 3, 2, 0], np.int32)
    most = {"source": tensor(24), "result": tensor(32), "BLOCK": 8}
    counted = tensor(4, dtype="i32", data=counts)
    inside = judged(call(kernels.sum_until, (4,), counts=counted, **most))
    counts[2] = 4
    counted = tensor(4, dtype="i32", data=counts)
    outside = judged(call(kernels.sum_until, (4,), counts=counted, **most))

    assert {v.verdict for v in inside} == {"proven"}
    (found,) = [v for v in outside if v.verdict == "violation"]
    assert (found.arg, found.program, found.iteration) == ("source", (2, 0, 0), 3)


def test_a_call_too_large_to_evaluate_is_unknown_with_that_reason():
    ids = np.arange(32, dtype=np.int32)
    one = call(
        kernels.row_of_largest, (8,), table=tensor(40, 16), ids=tensor(32, dtype="i32", data=ids),
        result=tensor(8, 16), WIDTH=16, BLOCK=4,
    )  # fmt: skip
    (found,) = loads_of_table(judged(one, budget=Budget(lanes=10)))

    assert found.verdict == "unknown"
    told = "evaluating [0-9,]{3,} lanes would be more than the budget of 10$"
    assert re.search(told, found.reason)
    assert found.reason in found.message


def test_an_evaluation_ends_where_contents_make_it_too_long():
    counts = np.full(4, 2**30, np.int32)
    one = call(
        kernels.sum_until, (4,), counts=tensor(4, dtype="i32", data=counts),
        source=tensor(24), result=tensor(32), BLOCK=8,
    )  # fmt: skip
    found = judged(one, budget=Budget(lanes=5000, replay_lanes=0))

    assert {v.verdict for v in found if v.arg == "result"} == {"proven"}
    assert {v.verdict for v in found if v.arg == "source"} <= {"violation", "unknown"}


def test_an_empty_grid_touches_nothing():
    one = call(kernels.fill, (0,), result=tensor(1, dtype="i64"), BLOCK=256)

    (found,) = judged(one)

    assert found.verdict == "proven"
    assert "no program reaches it" in found.message
    assert not evaluated(one).broken


def reads_of_table(kernel, elements, **arguments):
    one = call(
        kernel, (1,), source=tensor(64), table=tensor(elements), result=tensor(64), **arguments
    )
    return [v.verdict for v in judged(one) if v.arg == "table"]


def test_an_index_of_a_float_that_is_clamped_between_constants_is_proven_without_its_contents():
    sizes = {"size": 60, "STEPS": 17, "BLOCK": 64}

    assert reads_of_table(kernels.looked_up, 17, **sizes) == ["proven"] * 2
    assert "proven" not in reads_of_table(kernels.looked_up, 16, **sizes)[1:]


@pytest.mark.parametrize("kind", ["clamp", "after a sum", "floor"])
def test_a_clamp_of_floats_ends_at_its_limit_however_it_is_written(kind):
    assert reads_of_table(kernels.clamped_place, 13, LAST=12.0, KIND=kind) == ["proven"]
    assert reads_of_table(kernels.clamped_place, 12, LAST=12.0, KIND=kind) == ["unknown"]


@pytest.mark.parametrize(
    ("kind", "elements"), [("keeps NaN", 13), ("one side", 13), ("rounded up", 10)]
)
def test_a_float_that_may_be_nan_or_pass_its_limit_proves_nothing(kind, elements):
    last = 100.0 if kind == "rounded up" else 12.0

    assert reads_of_table(kernels.clamped_place, elements, LAST=last, KIND=kind) == ["unknown"]


@pytest.mark.parametrize(
    ("again", "expected"),
    [("both", "proven"), ("no", "unknown"), ("either", "unknown"), ("upwards", "unknown")],
)
def test_a_sum_that_wraps_only_where_both_ends_of_its_mask_exclude_it_is_proven(again, expected):
    one = call(
        kernels.neighbors, (1,), source=tensor(128), image=tensor(7, 9), result=tensor(64),
        width=9, height=7, AGAIN=again, BLOCK=64,
    )  # fmt: skip

    assert [v.verdict for v in judged(one) if v.arg == "image"] == [expected]
