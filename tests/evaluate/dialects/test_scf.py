"""Counted loops: the counter has the width that it has on a device."""

from itertools import chain

import numpy as np
import pytest
import triton
import triton.language as tl

from kvtrace.evaluate import Storage, TensorArgument, evaluate
from kvtrace.evaluate.errors import Deadlock, TooLarge
from kvtrace.ir.integers import counter_ranges
from tests.verdicts.calls import call, tensor
from tests.verdicts.looping_kernels import summed

ROOM = 512
MOST = 2**31 - 1


@triton.jit
def store_counters(out, first, end, step, ROOM: tl.constexpr):
    pid = tl.program_id(0)
    trip = 0
    for k in range(first - pid, end, step):
        tl.store(out + pid * (ROOM + 1) + trip, k.to(tl.int64), mask=trip < ROOM)
        trip += 1
    tl.store(out + pid * (ROOM + 1) + ROOM, trip.to(tl.int64))


def launched(first, end, step, programs=1, *, wide=()):
    data = np.zeros(8 * programs * (ROOM + 1), np.uint8)
    out = TensorArgument("", Storage(data.nbytes, data), 0, "i64", (len(data) // 8,), (1,))
    return call(
        store_counters, (programs,), out=out, first=first, end=end, step=step, ROOM=ROOM, wide=wide
    )


def counters(first, end, step, programs=1, *, wide=()):
    """Return the counters that each program of the kernel stored."""
    one = launched(first, end, step, programs, wide=wide)
    evaluate(one.module, one.arguments, one.grid)
    rows = one.arguments[0].storage.data.view(np.int64).reshape(programs, ROOM + 1)
    return [row[: row[ROOM]].tolist() for row in rows]


LOOPS = [
    (0, 100, 7), (0, 100, -(1 << 28)), (0, 100, -(1 << 28) - 5), (100, 0, 7), (100, 0, -7),
    (MOST - 600, MOST - 99, (1 << 29) + 3), (-5, MOST - 100, MOST), (MOST - 40, MOST, 40),
    (0, MOST - 5_000_000, 3 * ((1 << 28) + 1_000_000)), (-MOST, -MOST + 9, 4),
]  # fmt: skip


@pytest.mark.parametrize(("first", "end", "step"), LOOPS)
def test_loop_counters_equal_those_of_a_compiled_loop(first, end, step):
    assert counters(first, end, step) == [list(chain(*counter_ranges(first, end, step, 32)))]


@pytest.mark.parametrize(
    ("first", "end", "step"),
    [
        (0, 100, 7),
        (0, 100, -(1 << 28)),
        (-5, MOST - 100, MOST),
        (MOST - 600, MOST - 99, (1 << 29) + 3),
    ],
)
def test_programs_with_different_loop_bounds_have_separate_counters(first, end, step):
    expected = [
        list(chain(*counter_ranges(first - program, end, step, 32))) for program in range(3)
    ]

    assert counters(first, end, step, 3) == expected


def test_64_bit_loop_counters_do_not_wrap_where_32_bit_counters_do():
    (result,) = counters(MOST - 1000, MOST + 1000, 300, wide=("first", "end", "step"))

    assert result == list(range(MOST - 1000, MOST + 1000, 300))


def test_a_wrapping_loop_with_too_many_trips_is_refused():
    one = launched(0, MOST - 99, 128)

    with pytest.raises(TooLarge, match=r"passes 2,147,483,647 and continues near -2,147,483,648"):
        evaluate(one.module, one.arguments, one.grid)


def test_a_loop_with_step_zero_is_a_deadlock():
    one = launched(0, 100, 0)

    with pytest.raises(Deadlock, match="never ends: it counts from 0 to 100 in steps of 0"):
        evaluate(one.module, one.arguments, one.grid)


def test_an_endless_loop_is_not_planned():
    n = MOST - 99
    one = call(summed, (1,), x=tensor(n), y=tensor(128), n=n, B=128)

    with pytest.raises(TooLarge, match="trips, the limit for such loops"):
        evaluate(one.module, one.arguments, one.grid)
