"""A call's numbers in its kernel's summary."""

import numpy as np
import triton
import triton.language as tl

from kvtrace.evaluate.scope import linear_program
from kvtrace.symbolic.conditions import at_least, less
from kvtrace.symbolic.prover import Proven, Refuted
from kvtrace.symbolic.terms import Symbol, program, programs, scalar
from kvtrace.verdicts.binding import BoundCall, Budget
from kvtrace.verdicts.judge import judge
from tests.metrics import kernels as older
from tests.verdicts import bounds_kernels as kernels
from tests.verdicts.calls import call, tensor


def copy_call(elements=1000, programs=4):
    return call(
        older.copy, (programs, 3), source=tensor(elements), result=tensor(elements),
        size=elements, BLOCK=256,
    )  # fmt: skip


def test_scalars_and_grid_are_numbers_and_programs_a_range():
    ranges = BoundCall(copy_call()).ranges

    assert ranges.interval(scalar(2)) == (1000, 1000)
    assert ranges.interval(programs(1)) == (3, 3)
    assert ranges.interval(program(0)) == (0, 3)
    assert ranges.interval(program(2)) == (0, 0)


def test_a_summary_is_made_once_for_all_calls_of_a_kernel():
    assert BoundCall(copy_call()).summary is BoundCall(copy_call(2000, 8)).summary


def test_a_loop_has_the_trips_of_its_bounds():
    one = call(older.row_sums, (6,), source=tensor(6, 100), result=tensor(6), rows=6, columns=100,
               BLOCK=32)  # fmt: skip
    bound = BoundCall(one)
    (loop,) = bound.summary.loops

    assert bound.ranges.interval(loop.trip.term) == (0, 3)
    loads = 6 * 4 * 32
    assert bound.lanes == loads + 6


def test_accesses_under_equal_conditions_share_what_is_proven_under_them():
    bound = BoundCall(copy_call())
    load, store = bound.summary.accesses

    assert bound.active(load) is bound.active(store)
    assert bound.given(load) is not bound.active(load)


def test_active_lanes_are_those_that_reach_an_access_and_pass_its_mask():
    bound = BoundCall(copy_call(programs=100))
    load = bound.summary.accesses[0]
    inside = less(load.offset, 4000)

    assert isinstance(bound.prove(inside, bound.active(load)), Proven)
    found = bound.prove(inside, bound.given(load))
    assert isinstance(found, Refuted)
    assert bound.program_of(found.model) == 3
    assert not bound.doubts(found.model)


def test_arithmetic_of_an_address_is_proven_to_fit_or_not():
    small, large = BoundCall(copy_call()), BoundCall(copy_call(programs=2**24))

    assert all(small.may_wrap(access) is None for access in small.summary.accesses)
    arithmetic, decision = large.may_wrap(large.summary.accesses[0])
    assert arithmetic.op.name == "arith.muli"
    assert isinstance(decision, Refuted)
    assert large.program_of(decision.model) == 2**23


def test_contents_have_the_range_that_was_recorded():
    ids = np.array([5, 3, 9, 4] * 8, np.int32)
    sizes = {"width": 24, "WIDTH": 32, "ROWS": 4}
    tensors = {"table": tensor(40, 24), "result": tensor(32, 24)}
    known = BoundCall(
        call(kernels.rows_of, (8,), ids=tensor(32, dtype="i32", data=ids), **tensors, **sizes)
    )
    unknown = BoundCall(
        call(kernels.rows_of, (8,), ids=tensor(32, dtype="i32"), **tensors, **sizes)
    )
    load = next(a for a in known.summary.accesses if a.argument == 0)
    (content,) = load.offset.symbols("content")

    assert known.ranges.of(content) == (0, 9)  # 0: what a lane outside would give
    assert unknown.ranges.of(content) == (-(2**31), 2**31 - 1)
    assert known.unrecorded([content]) == ()
    assert [tensor.name for tensor in unknown.unrecorded([content])] == ["ids"]
    doubts = unknown.doubts({content: 50})
    assert doubts
    assert doubts.symbols == (content,)
    assert [tensor.name for tensor in doubts.unrecorded] == ["ids"]
    assert doubts.reason == "it depends on the contents of ids"
    assert not unknown.doubts({Symbol("program", 0, 0, 7): 3})
    assert unknown.ranges.supposing({("content", content.key): (0, 1)}).of(content) == (0, 1)


def test_contents_that_the_kernel_may_change_have_no_range():
    """The result lies in the same storage as the indices."""
    ids = tensor(32, dtype="i32", data=np.zeros(32, np.int32))
    one = call(older.gather, (1,), source=tensor(8), chosen=ids, result=ids, size=32, BLOCK=32)
    bound = BoundCall(one)
    load = next(a for a in bound.summary.accesses if a.argument == 0)
    (content,) = load.offset.symbols("content")

    shared = BoundCall(
        call(older.gather, (1,), source=tensor(8), chosen=ids, result=tensor(32), size=32, BLOCK=32)
    )
    assert bound.ranges.of(content)[1] == 2**31 - 1
    assert shared.ranges.of(content) == (0, 0)


def test_the_solvers_time_is_limited_for_the_whole_call():
    bound = BoundCall(copy_call(), budget=Budget(solver_seconds=1.0, solver_seconds_a_call=0.0))
    n = program(0)

    found = bound.prove(at_least(n * n * n, n), bound.given(bound.summary.accesses[0]))

    assert found.solver_ns == 0


def test_linear_ids_count_x_fastest():
    assert [linear_program(p, (4, 3, 2)) for p in ((1, 0, 0), (0, 1, 0), (3, 2, 1))] == [1, 4, 23]


@triton.jit
def led_by_floats(x, y, out, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    first = tl.load(x + lanes).to(tl.int32)
    second = tl.load(y + lanes).to(tl.int32, bitcast=True)
    tl.store(out + first + second, first)


def test_integers_that_are_not_tracked_are_one_reason():
    made = call(led_by_floats, (1,), x=tensor(64), y=tensor(64), out=tensor(64), BLOCK=64)
    (verdict,) = (v for v in judge(made, ["out-of-bounds"]) if v.verdict == "unknown")
    assert verdict.reason.count("that kvtrace does not track") == 1
    assert "an integer that kvtrace does not track (" in verdict.reason
    assert " (and 1 more such); it depends on the contents of x, y" in verdict.reason
