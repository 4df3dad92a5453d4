"""The counter of a loop wraps around at its width, and the rule overflow says so."""

import pytest
import triton
import triton.language as tl

from kvtrace.symbolic.walk import summarize
from kvtrace.verdicts.judge import judge
from kvtrace.verdicts.sizes.condition import conditions_of
from kvtrace.verdicts.sizes.wording import width_text
from tests.verdicts import looping_kernels as kernels
from tests.verdicts.calls import call, tensor

MOST = 2**31 - 1


def flat(kernel, n):
    return call(kernel, (1,), x=tensor(n), y=tensor(128), n=n, B=128)


def by_grid(grid, n):
    return call(kernels.copied_by_grid, (grid,), x=tensor(n), y=tensor(n), n=n, B=256)


def picked(first, n, s, extent=100):
    return call(kernels.picked, (1,), x=tensor(extent), y=tensor(1), first=first, n=n, s=s)


def said(one, rule="overflow"):
    return {verdict.verdict for verdict in judge(one, [rule])}


def message(one):
    (found,) = (v for v in judge(one, ["overflow"]) if v.verdict == "violation")
    return found.message


def test_a_counter_past_the_largest_int32_continues_at_the_smallest():
    assert message(flat(kernels.summed, 2_147_483_548)) == (
        "i + 128 is 2,147,483,648, more than 32 bits hold, and wraps around to -2,147,483,648; "
        "it decides the loop around a load of x"
    )
    assert "proven" not in {
        v.verdict
        for v in judge(flat(kernels.summed, 2_147_483_548), ["out-of-bounds"])
        if v.access == "load"
    }


def test_the_last_size_whose_counter_stays_is_proven():
    assert said(flat(kernels.summed, MOST - 127)) == {"proven"}
    assert said(flat(kernels.summed, MOST - 127), "out-of-bounds") == {"proven"}
    assert said(flat(kernels.summed, MOST - 126)) == {"violation"}


def test_a_counter_of_64_bits_does_not_wrap():
    one = call(kernels.summed_wide, (1,), x=tensor(MOST - 99), y=tensor(128), n=MOST - 99, B=128)

    assert said(one) <= {"proven"}
    assert said(one, "out-of-bounds") == {"proven"}


def test_a_step_by_the_grid_is_added_before_it_is_compared():
    assert "violation" in said(by_grid(8_388_600, 100_000))
    assert "violation" in said(by_grid(8_388_600, 100_000), "out-of-bounds")
    assert "proven" not in said(by_grid(8_388_600, 100_000), "race")
    assert said(by_grid(8_388_000, 100_000)) == {"proven"}


@pytest.mark.parametrize(
    ("first", "n", "s", "expected"),
    [
        (0, 100, 3, "proven"), (0, 100, -1, "violation"), (0, 100, 0, "violation"),
        (100, 0, -1, "proven"), (100, 0, 0, "proven"), (0, MOST, 1 << 30, "violation"),
        (0, MOST, MOST, "proven"), (-5, 90, MOST, "proven"), (-5, -4, 1, "proven"),
    ],
)  # fmt: skip
def test_a_loop_is_judged_for_steps_of_either_sign(first, n, s, expected):
    found = said(picked(first, n, s))

    assert ("violation" in found) == (expected == "violation")
    assert expected in found or not found


def test_a_loop_with_step_zero_is_reported_as_endless():
    assert message(picked(0, 100, 0)) == (
        "i + s stays 0, a step of 0, and the loop never ends; it decides the loop around a load "
        "of x"
    )


def test_a_negative_step_leaves_the_tensor_before_it_wraps():
    found = judge(picked(0, 100, -1), ["out-of-bounds"])

    assert "load starts 4 bytes before the start of x" in {verdict.message for verdict in found}


def test_an_unrolled_loop_has_no_counter_to_wrap():
    assert said(flat(kernels.unrolled, MOST)) <= {"proven"}


def test_an_inner_loop_is_counted_too():
    def one(columns):
        return call(
            kernels.nested, (1,), x=tensor(8, 128), y=tensor(8, 128), rows=8, columns=columns,
            B=128,
        )  # fmt: skip

    assert said(one(MOST - 127)) == {"proven"}
    assert "violation" in said(one(MOST - 50))


def test_a_loop_that_counts_down_by_a_constant_counts_up_in_the_code():
    assert said(flat(kernels.downward, MOST - 127)) == {"proven"}
    assert "violation" in said(flat(kernels.downward, MOST - 50))


def test_conditions_name_the_end_of_the_counter():
    module = flat(kernels.summed, 1000).module
    widths = {
        width_text(width, summarize(module))
        for each in conditions_of(module)
        for width in each.widths
    }

    assert widths == {"128 * ((n + 127) // 128) <= 2**31 - 1"}


@triton.jit
def grown(y, n, trips):
    product = tl.program_id(0) + 1
    for _ in range(trips):
        product = product * n
    tl.store(y, 1.0, mask=product < 100)


@pytest.mark.parametrize(
    ("n", "trips", "trip", "text"),
    [(10, 12, 9, "is 10,000,000,000,"), (3, 20, 19, "is 3,486,784,401,")],
)
def test_a_wrap_that_shows_after_its_loop_is_of_the_first_trip(n, trips, trip, text):
    (found,) = judge(call(grown, (1,), y=tensor(1), n=n, trips=trips), ["overflow"])

    assert (found.verdict, found.iteration) == ("violation", trip)
    assert text in found.message
