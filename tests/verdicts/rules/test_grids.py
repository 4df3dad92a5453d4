"""Grids beyond a target's limits are violations, without an evaluation."""

import pytest

from kvtrace.verdicts.binding import BoundCall
from kvtrace.verdicts.rules.grids import judge
from tests.metrics import kernels
from tests.support.replacing import replace
from tests.verdicts.calls import call, tensor


def verdicts_of(grid, target="cuda:90", **facts):
    copied = call(kernels.copy, (1,), source=tensor(9), result=tensor(9), size=9, BLOCK=256)
    module = replace(copied.module, target=target)
    bound = BoundCall(replace(copied, grid=grid, module=module, **facts))
    return [(verdict.verdict, verdict.message) for verdict in judge(bound)]


@pytest.mark.parametrize("grid", [(1, 65_536, 1), (1, 1, 65_536), (4, 100_000, 2)])
def test_a_grid_that_cuda_refuses_is_a_violation(grid):
    ((verdict, message),) = verdicts_of(grid)
    assert verdict == "violation"
    assert "CUDA launches 1 to 65,535: the launch fails" in message


def test_a_grid_that_triton_does_not_launch_is_a_violation():
    ((verdict, message),) = verdicts_of((1 << 16, 1 << 15, 1))
    assert verdict == "violation"
    assert "2,147,483,648 programs" in message
    assert "launches nothing, without an error" in message


@pytest.mark.parametrize("grid", [(1, 65_535, 1), ((1 << 31) - 1, 1, 1), (0, 70_000, 1)])
def test_a_grid_within_the_limits_has_no_row(grid):
    assert verdicts_of(grid) == []


def test_a_cluster_takes_several_blocks_of_the_first_axis():
    assert verdicts_of((1 << 30, 1, 1), ctas=1) == []
    ((verdict, _),) = verdicts_of((1 << 30, 1, 1), ctas=2)
    assert verdict == "violation"


def test_long_second_axes_are_unknown_for_hip():
    ((verdict, message),) = verdicts_of((1, 70_000, 1), "hip:gfx942")
    assert verdict == "unknown"
    assert "drivers differ" in message


@pytest.mark.parametrize(("target", "most"), [("hip:gfx942", 1 << 24), ("hip:gfx1250", 1 << 25)])
def test_hip_counts_the_threads_of_the_targets_own_warps(target, most):
    assert verdicts_of((most - 1, 1, 1), target, warps=4) == []
    ((verdict, _),) = verdicts_of((most, 1, 1), target, warps=4)
    assert verdict == "violation"
