"""Slowdown of kernels beside waiting collectives, and the kernels that are not compared."""

import numpy as np

from kvtrace.figures.contention import _slowdown

TIMES = 20


def slowdown(*kernels):
    """Return the slowdown of kernels (number, ns, of which beside a waiting collective)."""
    columns = [kernels[number % len(kernels)] for number in range(TIMES * len(kernels))]
    kernel, took, waiting = map(np.array, zip(*columns, strict=True))
    return _slowdown(kernel, took, waiting, waiting)


def test_slowdown_is_that_of_kernels_that_ran_on_both_sides():
    assert slowdown((1, 46_000, 46_000), (1, 40_000, 0)) == 46 / 40
    # by the time of each, also of one that is not slower
    assert slowdown(
        (1, 46_000, 46_000), (1, 40_000, 0), (2, 46_000, 46_000), (2, 46_000, 0)
    ) == 92 / 86  # fmt: skip


def test_kernels_of_several_sizes_and_of_one_side_say_nothing():
    sizes = [(1, 20_000, 20_000), (1, 80_000, 80_000), (1, 90_000, 0), (1, 10_000, 0)]
    assert slowdown(*sizes) == 1
    assert slowdown((1, 46_000, 46_000), (2, 10_000, 0)) == 1
    # nor do those that ran beside a waiting collective for a part of their time, or are short
    assert slowdown((1, 46_000, 20_000), (1, 40_000, 0)) == 1
    assert slowdown((1, 4_600, 4_600), (1, 4_000, 0)) == 1


def test_no_kernel_is_taken_to_be_faster_beside_a_collective():
    assert slowdown((1, 40_000, 40_000), (1, 46_000, 0)) == 1
