"""Order between programs: where it matters they run one by one, elsewhere side by side."""

import threading

import numpy as np
import pytest
import torch

from corpus.kernels import basic, memory
from corpus.kernels.normalization import layer_norm_backward_input
from kvtrace.evaluate import Deadlock, DeviceAssertion, evaluate
from kvtrace.evaluate.engine import order_matters
from kvtrace.evaluate.order import written_storages
from kvtrace.evaluate.scope import Launch
from tests.kernels.launching import bind, compile_for, launch


def runs_in_order(function, grid, arguments, constexprs):
    module = compile_for(function, arguments, constexprs)
    bound = bind(function, arguments)
    full = (*grid, *(1,) * (3 - len(grid)))
    launched = Launch("test", full, tuple(bound), ())
    evaluate(module, bind(function, arguments, unknown=True), grid)  # compiles
    return order_matters(module, launched, written_storages(module, bound))


def test_programs_that_read_elements_of_others_run_in_order():
    x, total = torch.arange(100), torch.zeros(5, dtype=torch.int64)
    arguments = {"x": x, "total": total, "n": 100}

    assert runs_in_order(memory.running_total, (4,), arguments, {"BLOCK": 32})
    launch(memory.running_total, (4,), arguments, {"BLOCK": 32})

    assert total.tolist() == [0, *(int(x[: 32 * (i + 1)].sum()) for i in range(4))]


def test_updates_in_place_without_overlap_run_at_once():
    x = torch.randn(1000)
    expected = x * 3
    arguments = {"x": x, "n": 1000, "factor": 3.0}

    assert not runs_in_order(memory.in_place_scale, (8,), arguments, {"BLOCK": 128})
    launch(memory.in_place_scale, (8,), arguments, {"BLOCK": 128})

    assert torch.equal(x, expected)


@pytest.mark.parametrize("order", [(3, 1, 2, 0), (2, 3)])
def test_programs_run_one_by_one_in_a_chosen_order(order):
    storage = torch.arange(256.0)
    arguments = {"x": storage[:128], "out": storage[64:192], "shift": 0, "n": 128}
    module = compile_for(memory.shifted_copy, arguments, {"BLOCK": 32})
    bound = bind(memory.shifted_copy, arguments)
    evaluate(module, bound, (4,), programs=np.array(order), chunk_bytes=0)

    expected = torch.arange(256.0)
    for low in (32 * program for program in order):
        expected[64 + low : 96 + low] = expected[low : low + 32].clone()
    assert torch.equal(storage, expected)


@pytest.mark.parametrize(("shift", "ordered"), [(0, False), (64, True)])
def test_overlapping_views_of_one_storage_make_programs_run_in_order(shift, ordered):
    storage = torch.arange(256.0)
    arguments = {"x": storage[:128], "out": storage[shift : shift + 128], "shift": 0, "n": 128}

    assert runs_in_order(memory.shifted_copy, (4,), arguments, {"BLOCK": 32}) is ordered
    launch(memory.shifted_copy, (4,), arguments, {"BLOCK": 32})

    expected = torch.arange(256.0)
    for program in range(4):  # each program sees what those before it wrote
        low = program * 32
        expected[shift + low : shift + low + 32] = expected[low : low + 32].clone()
    assert torch.equal(storage, expected)


def test_kernels_with_locks_run_in_order():
    rows, columns = 6, 8
    floats = ["dx", "dy", "x"]
    arguments = {name: torch.randn(rows, columns) for name in floats}
    arguments |= {"weight": torch.randn(columns), "mean_in": torch.zeros(rows)}
    arguments |= {"rstd_in": torch.ones(rows), "lock": torch.zeros(4, dtype=torch.int32)}
    arguments |= {name: torch.zeros(2, columns) for name in ("dw_partial", "db_partial")}
    arguments |= {"stride": columns, "columns": columns}

    assert runs_in_order(layer_norm_backward_input, (rows,), arguments, {"GROUP": 2, "BLOCK": 8})


def test_programs_with_unused_atomic_results_run_at_once():
    x = torch.randint(0, 10, (1000,), dtype=torch.int32)
    counts = torch.zeros(10, dtype=torch.int32)
    arguments = {"x": x, "counts": counts, "n": 1000}

    assert not runs_in_order(memory.histogram_by_atomics, (8,), arguments, {"BLOCK": 128})
    launch(memory.histogram_by_atomics, (8,), arguments, {"BLOCK": 128})

    assert counts.tolist() == torch.bincount(x, minlength=10).tolist()


def test_every_kind_of_atomic_equals_its_definition():
    n = 500
    x = torch.randint(1, 1 << 20, (n,), dtype=torch.int32)
    outs = {name: torch.zeros(4, dtype=torch.int32) for name in ("largest", "any_bit", "parity")}
    outs["smallest"] = torch.full((4,), 1 << 30, dtype=torch.int32)
    outs["all_bits"] = torch.full((4,), -1, dtype=torch.int32)
    add = torch.zeros(4)

    launch(memory.atomic_of_each_kind, (4,), {"x": x, "add": add, **outs, "n": n}, {"BLOCK": 128})

    for slot in range(4):
        values = x[slot::4].tolist()
        either = both = parity = None
        for value in values:
            either = value if either is None else either | value
            both = value if both is None else both & value
            parity = value if parity is None else parity ^ value
        torch.testing.assert_close(float(add[slot]), float(sum(values)), rtol=1e-5, atol=1)
        assert int(outs["largest"][slot]) == max(values)
        assert int(outs["smallest"][slot]) == min(values)
        assert int(outs["any_bit"][slot]) == either
        assert int(outs["all_bits"][slot]) == both
        assert int(outs["parity"][slot]) == parity


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64])
def test_atomic_sums_of_every_float_type_equal_numpy(dtype):
    x, out = torch.randint(-4, 5, (256,)).to(dtype), torch.zeros(8, dtype=dtype)
    launch(memory.atomic_sum, (4,), {"x": x, "out": out}, {"BLOCK": 64})
    assert torch.equal(out, x.view(-1, 8).sum(0))


def test_old_values_of_an_atomic_counter_are_distinct():
    x = torch.randint(-5, 5, (300,), dtype=torch.int32)
    counter, out = torch.zeros(1, dtype=torch.int32), torch.zeros(300, dtype=torch.int32)
    arguments = {"x": x, "counter": counter, "out": out, "n": 300}

    assert not runs_in_order(memory.append, (5,), arguments, {"BLOCK": 64})
    launch(memory.append, (5,), arguments, {"BLOCK": 64})

    positive = x[x > 0]
    assert int(counter) == len(positive)
    assert torch.equal(out[: len(positive)], positive)


def test_the_last_program_reads_the_results_of_all_others():
    x = torch.randn(500)
    partial, out = torch.zeros(8), torch.zeros(1)
    counter = torch.zeros(1, dtype=torch.int32)

    launch(
        memory.last_block_sum,
        (8,),
        {"x": x, "partial": partial, "counter": counter, "out": out, "n": 500},
        {"BLOCK": 64, "PROGRAMS": 8},
    )

    torch.testing.assert_close(out[0], x.sum(), atol=1e-4, rtol=1e-4)


def test_a_lock_that_is_never_released_raises_deadlock():
    lock = torch.zeros(1, dtype=torch.int32)

    with pytest.raises(Deadlock, match=r"memory\.py:\d+.*never_released.*waits forever"):
        launch(memory.never_released, (2,), {"lock": lock})


def test_later_programs_run_while_one_waits_at_a_grid_barrier():
    x, out = torch.zeros(5, 8, dtype=torch.int32), torch.zeros(5, 8, dtype=torch.int32)
    arrived = torch.zeros(1, dtype=torch.int32)

    launch(
        memory.grid_barrier,
        (5,),
        {"x": x, "arrived": arrived, "out": out},
        {"PROGRAMS": 5, "BLOCK": 8},
    )

    assert torch.equal(out, x.roll(-1, 0))
    assert x[4].tolist() == [400 + lane for lane in range(8)]


def test_a_grid_barrier_that_too_few_programs_reach_raises_deadlock():
    x, out = torch.zeros(6, 8, dtype=torch.int32), torch.zeros(5, 8, dtype=torch.int32)
    arrived = torch.zeros(1, dtype=torch.int32)

    with pytest.raises(Deadlock, match="waits forever"):
        launch(
            memory.grid_barrier,
            (5,),
            {"x": x, "arrived": arrived, "out": out},
            {"PROGRAMS": 6, "BLOCK": 8},
        )


@pytest.mark.parametrize("how", ["while", "for", "volatile"])
@pytest.mark.parametrize("is_set", [True, False])
def test_a_loop_of_some_tries_meets_what_it_waits_for_or_ends(how, is_set):
    flags, out = (torch.zeros(4, dtype=torch.int32) for _ in range(2))

    launch(
        memory.waits_for_a_while, (4,), {"flags": flags, "out": out, "tries": 50},
        {"HOW": how, "SET": is_set},
    )  # fmt: skip

    assert flags.tolist() == [1, 1, 1, int(is_set)]
    assert out.tolist() == ([1, 1, 1, 1] if is_set else [1, 1, 0, 1])


def test_an_error_of_one_program_ends_the_waiting_programs():
    x, flag = torch.zeros(1, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
    before = threading.active_count()

    with pytest.raises(DeviceAssertion, match="too small"):
        launch(memory.fails_after_waiting, (2,), {"x": x, "flag": flag, "n": 3}, {}, debug=True)

    assert threading.active_count() <= before + 1


def test_a_launch_does_not_change_read_only_data():
    x, out = torch.arange(64, dtype=torch.float32), torch.zeros(64)
    arguments = {"x": x, "y": x, "out": out, "n": 64}
    module = compile_for(basic.vector_add, arguments, {"BLOCK": 32})
    bound = bind(basic.vector_add, arguments)
    bound[2].storage.data.flags.writeable = False

    evaluate(module, bound, (2,))

    assert not out.any()


def test_writes_to_read_only_data_are_visible_only_inside_the_launch():
    x, total = torch.arange(64), torch.zeros(3, dtype=torch.int64)
    out = torch.zeros(3, dtype=torch.int64)
    arguments = {"x": x, "total": total, "n": 64}
    module = compile_for(memory.running_total, arguments, {"BLOCK": 32})
    bound = bind(memory.running_total, arguments)
    bound[1].storage.data.flags.writeable = False

    evaluate(module, bound, (2,))

    assert torch.equal(total, out)
