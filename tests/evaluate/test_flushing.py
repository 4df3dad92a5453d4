"""Denormals of float32 that NVIDIA GPUs take for zeros (values of an H100, Triton 3.6)."""

import numpy as np
import pytest

from kvtrace.evaluate.atomics import read_modify_write
from kvtrace.evaluate.flushing import flush, flush_single
from tests.evaluate.one_op import run_op

DENORMALS = np.array([1e-40, -1e-40], np.float32)


def test_denormals_become_zeros_of_their_sign():
    flushed = flush(np.array([1e-40, -1e-40, 2.0**-126, np.nan, -np.inf], np.float32))

    assert np.signbit(flushed[:2]).tolist() == [False, True]
    assert not flushed[:2].any()
    assert flushed[2] == 2.0**-126
    assert np.isnan(flushed[3])
    assert flush(np.array([1e-310]))[0] == 0
    assert flush_single(np.array([1e-310]))[0] == 1e-310


@pytest.mark.parametrize(
    ("name", "right"),
    [("math.floor", [0.0, -0.0]), ("math.ceil", [0.0, -0.0]), ("math.rsqrt", [np.inf, -np.inf])],
)
def test_functions_flush_for_nvidia_alone(name, right):
    (result,) = run_op(name, [("f32", DENORMALS)], ["f32"], target="cuda:90")
    (kept,) = run_op(name, [("f32", DENORMALS)], ["f32"], target="hip:gfx942")

    assert result.tobytes() == np.array(right, np.float32).tobytes()
    assert kept.tobytes() != result.tobytes()


@pytest.mark.parametrize("wants_old", [False, True])
def test_an_atomic_addition_flushes_operands_and_sums(wants_old):
    memory = np.array([2.0**-126, 2.0**-126, 1e-40], np.float32)
    added = np.array([-(2.0**-127), -1.5 * 2.0**-126, 1.0], np.float32)

    read_modify_write(memory, np.arange(3), added, "fadd", wants_old=wants_old, flushes=True)

    assert memory.tolist() == [2.0**-126, 0.0, 1.0]
    assert np.signbit(memory[1])
