"""Of what nothing can be said, and why: never that a device is wrong."""

import numpy as np

from corpus.kernels import accesses
from corpus.kernels import oracle_kernels as kernels
from tests.addons.check.launched import Launched
from tests.kernels.case import random_of

F32 = np.float32


def floats(*shape, low=-1.0):
    return random_of("undecided", shape).uniform(low, 1, shape).astype(F32)


def undecided(launched, unknown=()):
    made = {name: np.full_like(array, 7) for name, array in launched.meant().items()}
    found = launched.checked(made, unknown)
    assert found.answer == "undecided"
    assert not any(len(each.differing) for each in found.tensors)
    return found.reason


def branching(x):
    return Launched(
        kernels.branching, {"x": x, "y": floats(64), "out": np.zeros(64, F32)}, ("out",), {"N": 64}
    )


def test_launch_with_a_branch_on_a_rounded_sum_is_undecided():
    x = floats(64)
    x[-1] = -x[:-1].sum()  # so that roundings decide
    reason = undecided(branching(x))
    assert "the decision at" in reason
    assert "depends on a rounding or an order that the device chooses" in reason
    assert "kernels.py:" in reason


def test_launch_with_a_branch_on_an_exact_sum_is_decided():
    whole = random_of("whole").integers(-9, 9, 64).astype(F32)
    launched = branching(whole)
    assert launched.checked(launched.meant()).answer == "agrees"
    assert launched.checked({"out": np.full(64, 7, F32)}).answer == "differs"


def test_launch_with_addresses_from_a_rounded_sum_is_undecided():
    x = floats(64)
    x += (3.0 - x.sum()) / 64
    launched = Launched(
        kernels.addressed, {"x": x, "y": floats(64), "out": np.zeros(128, F32)}, ("out",),
        {"N": 64},
    )  # fmt: skip
    assert "writes depends on the device's roundings" in undecided(launched)


def test_launch_with_a_lock_is_undecided():
    launched = Launched(
        accesses.locked_sum,
        {"x": floats(8), "lock": np.zeros(1, np.int32), "total": np.zeros(1, F32)},
        ("total",), {}, (8,),
    )  # fmt: skip
    assert "depends on the order of updates" in undecided(launched)


def test_launch_with_conflicting_atomic_exchanges_is_undecided():
    launched = Launched(
        accesses.contended, {"x": floats(2, 32), "memory": np.zeros(8, F32)}, ("memory",),
        {"NAME": "atomic_xchg", "N": 32, "SLOTS": 8}, (2,),
    )  # fmt: skip
    assert "depends on the order of updates" in undecided(launched)


def test_launch_that_reads_out_of_bounds_is_undecided():
    launched = Launched(
        kernels.beyond, {"x": floats(64), "out": np.zeros(64, F32)}, ("out",), {"N": 64}
    )
    assert "reads outside of its tensor" in undecided(launched)


def test_launch_that_writes_out_of_bounds_is_undecided():
    """On a device that may be the memory of another tensor, which differs then for no fault."""
    launched = Launched(
        kernels.spilled,
        {"x": floats(64), "short": np.zeros(48, F32), "out": np.zeros(64, F32)},
        ("short", "out"),
        {"N": 64},
    )
    assert "writes outside of its tensor" in undecided(launched)


def test_launch_that_reads_unrecorded_memory_is_undecided():
    launched = Launched(
        kernels.fused,
        {"a": floats(16), "b": floats(16), "c": floats(16), "out": np.zeros(16, F32)},
        ("out",), {"N": 16},
    )  # fmt: skip
    reason = undecided(launched, unknown=("b",))
    assert reason == "the stored values of out depend on tensors that were not recorded"


def test_results_undefined_by_the_ir_are_never_wrong():
    """Division by zero, shifts by the width or more, floats that no integer holds."""
    a = np.array([7, -8, 7, 1, -1, 5, 3, 2], np.int32)
    b = np.array([2, 3, 0, 0, 31, 32, -1, 64], np.int32)
    x = np.array([1.5, -2.5, 3e9, -3e9, np.nan, np.inf, -np.inf, 2.0**31], F32)
    outputs = ("quotient", "remainder", "shifted", "whole")
    inputs = {"a": a, "b": b, "x": x} | {name: np.zeros(8, np.int32) for name in outputs}
    launched = Launched(kernels.undefined, inputs, outputs, {"N": 8})
    with np.errstate(all="ignore"):
        meant = launched.meant()
    open_ = {
        "quotient": b == 0,
        "remainder": b == 0,
        "shifted": (b < 0) | (b > 31),
        "whole": np.arange(8) > 1,
    }
    made = {name: np.where(open_[name], 12345, meant[name]) for name in outputs}
    found = launched.checked(made)
    assert found.answer == "agrees"
    assert {each.argument: each.undecided for each in found.tensors} == {
        name: int(where.sum()) for name, where in open_.items()
    }
    for name in outputs:  # and what is defined has to be right
        wrong = {**made, name: made[name] + ~open_[name]}
        (tensor,) = [each for each in launched.checked(wrong).tensors if len(each.differing)]
        assert tensor.argument == name
        assert len(tensor.differing) == (~open_[name]).sum()


def test_sums_that_overflow_in_some_orders_have_infinite_bounds():
    """3e38 + 3e38 - 3e38 is an infinity or not."""
    x = np.zeros((1, 64), F32)
    x[0, :4] = 3e38, 3e38, -3e38, -3e38
    launched = Launched(kernels.row_sums, {"x": x, "out": np.zeros(1, F32)}, ("out",), {"N": 64})
    for made in (np.inf, np.nan, 0.0):
        assert launched.checked({"out": np.array([made], F32)}).answer == "undecided"


def test_launch_with_a_mapped_function_of_several_results_is_undecided():
    launched = Launched(
        kernels.mapped,
        {"x": floats(64), "y": floats(64), "out": np.zeros(64, F32), "other": np.zeros(64, F32)},
        ("out", "other"),
        {"N": 64},
    )
    assert "bounds" in undecided(launched)
