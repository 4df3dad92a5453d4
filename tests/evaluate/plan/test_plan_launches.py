"""Cost, cache keys and explanations of plans."""

import itertools
import tracemalloc

import torch

from corpus.kernels.accesses import scalar_atomics
from corpus.kernels.basic import matmul, softmax, vector_add
from corpus.kernels.language import early_return
from corpus.kernels.memory import gather_rows, in_place_scale
from kvtrace.evaluate import Observer, ScalarArgument, Storage, TensorArgument, evaluate
from kvtrace.evaluate.plan import explain
from kvtrace.evaluate.plan.launch import plans_of
from tests.evaluate.plan.both_ways import both_ways, reason, values
from tests.kernels.launching import bind, compile_for


class Accesses(Observer):
    def __init__(self):
        self.accesses = []

    def access(self, access):
        self.accesses.append(access)


def large_matmul():
    """Return a matmul launch of 4096 cubed on tensors without data."""
    n = 4096
    unit = torch.empty(1, 1)
    given = {
        "a": unit, "b": unit, "c": unit, "m": n, "n": n, "k": n, "stride_am": n, "stride_ak": 1,
        "stride_bk": n, "stride_bn": 1, "stride_cm": n, "stride_cn": 1,
    }  # fmt: skip
    constexprs = {
        "BM": 128, "BN": 128, "BK": 32, "GROUP": 8, "ACTIVATION": "", "PRECISION": "ieee",
    }  # fmt: skip
    module = compile_for(matmul, given, constexprs)
    arguments = [
        ScalarArgument(name, value)
        if isinstance(value, int)
        else TensorArgument(name, Storage(4 * n * n), 0, "fp32", (n, n), (n, 1))
        for name, value in given.items()
    ]
    return module, arguments, (1024,)


def test_a_large_launch_without_data_takes_little_memory():
    module, arguments, grid = large_matmul()
    recorder = Accesses()

    tracemalloc.start()
    evaluate(module, arguments, grid, observers=(recorder,))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 16 << 20
    loads = [access for access in recorder.accesses if access.kind == "load"]
    assert sum(access.executions for access in loads) == 2 * 1024 * 128
    assert sum(access.active for access in loads) == 2 * 1024 * 128 * 128 * 32
    assert {access.highest for access in loads} == {4 * (4096 * 4096 - 1)}


def test_formulas_of_accesses_contain_all_addresses():
    x = torch.randn(6, 50)
    arguments = {
        "out": torch.empty_like(x), "x": x, "x_stride": 50, "out_stride": 50, "rows": 6,
        "columns": 50,
    }  # fmt: skip
    module = compile_for(softmax, arguments, {"BLOCK": 64})
    recorder = Accesses()

    evaluate(module, bind(softmax, arguments), (3,), observers=(recorder,))

    for access in recorder.accesses:
        formula = access.formula
        assert formula.conditions == ()
        offsets = [
            formula.base + sum(axis.step * at for axis, at in zip(formula.axes, place, strict=True))
            for place in itertools.product(
                *(range(axis.first, axis.last + 1) for axis in formula.axes)
            )
        ]
        assert sorted(offsets) == sorted(access.elements()[0].tolist())


def test_a_cached_plan_is_used_for_any_float_argument_and_contents():
    module = compile_for(in_place_scale, {"x": torch.ones(64), "n": 64, "factor": 1.0},
                         {"BLOCK": 64})  # fmt: skip
    for factor in (2.0, 3.0):
        x = torch.randn(64)
        expected = x * factor
        evaluate(module, bind(in_place_scale, {"x": x, "n": 64, "factor": factor}), (1,))
        assert torch.equal(x, expected)
    assert len(plans_of(module).plans) == 1


def test_another_grid_or_integer_argument_needs_another_plan():
    x = torch.randn(100)
    arguments = {"x": x, "y": x, "out": torch.empty(100), "n": 100}
    module = compile_for(vector_add, arguments, {"BLOCK": 32})
    plans_of(module).plans.clear()  # other tests may have launched it
    for grid, n in (((4,), 100), ((4,), 90), ((3,), 90)):
        out = torch.zeros(100)
        evaluate(module, bind(vector_add, arguments | {"out": out, "n": n}), grid)
        reached = min(n, 32 * grid[0])
        assert torch.equal(out[:reached], (x + x)[:reached])
        assert not out[reached:].any()
    assert len(plans_of(module).plans) == 3


def test_launches_with_data_dependent_addresses_are_not_planned():
    arguments = {
        "index": torch.tensor([1, 0]), "x": torch.randn(3, 12), "out": torch.empty(2, 12),
        "columns": 12,
    }  # fmt: skip
    why = reason(gather_rows, (2,), arguments, {"BLOCK": 16})
    assert why == "an address is not affine, or depends on data"


def test_launches_with_a_branch_on_data_are_not_planned():
    arguments = {
        "flags": torch.tensor([1, 0]), "x": torch.randn(32), "out": torch.empty(32), "n": 32,
    }  # fmt: skip
    why = reason(early_return, (2,), arguments, {"BLOCK": 16})
    assert why == "a branch depends on data"


def test_atomic_updates_with_unused_results_are_planned():
    x, memory = torch.randint(-9, 9, (12,)), torch.zeros(1, dtype=torch.int64)
    arguments, constexprs = {"x": x, "memory": memory}, {"NAME": "atomic_add"}

    assert reason(scalar_atomics, (12,), arguments, constexprs) == "planned"
    (planned, facts), (arrays, array_facts) = both_ways(
        scalar_atomics, (12,), arguments, constexprs
    )
    assert values(planned[1]).tolist() == values(arrays[1]).tolist() == [int(x.sum())]
    assert facts.summary() == array_facts.summary()


def test_launches_with_partly_known_data_are_not_planned():
    arguments = {"x": torch.randn(64), "y": torch.randn(64), "out": torch.empty(64), "n": 64}
    module = compile_for(vector_add, arguments, {"BLOCK": 64})

    some = explain(module, bind(vector_add, arguments, unknown=("y",)), (1,))
    result = explain(module, bind(vector_add, arguments, unknown=("out",)), (1,))

    assert some == "the data of y are not known"
    assert result == "planned"
