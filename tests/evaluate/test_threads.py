"""Products on one thread, and denormals: only inside the context, for any order of leaving."""

import numpy as np
import pytest
import triton
import triton.language as tl
from threadpoolctl import threadpool_info, threadpool_limits

from kvtrace.evaluate import evaluate
from kvtrace.evaluate.threads import OneThread
from tests.verdicts.calls import call, tensor


def blas_threads():
    return [
        library["num_threads"]
        for library in threadpool_info()
        if library["user_api"] == "blas" and "numpy" in library["filepath"]
    ]


def test_blas_has_one_thread_inside_the_context_and_as_many_as_before_outside():
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        assert before, "NumPy has no BLAS that can be asked; this test shows nothing"
        one = OneThread()
        with one:
            assert set(blas_threads()) == {1}
            with one:
                assert set(blas_threads()) == {1}
            assert set(blas_threads()) == {1}
        assert blas_threads() == before


def test_an_error_inside_the_context_restores_the_number_of_threads():
    before = blas_threads()
    with pytest.raises(ZeroDivisionError), OneThread():
        raise ZeroDivisionError
    assert blas_threads() == before


def test_pytorch_uses_one_thread_in_the_evaluating_thread():
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with OneThread():
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


@pytest.fixture
def flushing():
    import torch

    torch.set_flush_denormal(True)
    yield
    torch.set_flush_denormal(False)


def is_flushed():
    return np.float32(1e-40) * np.float32(1) == 0


@pytest.mark.usefixtures("flushing")
def test_denormals_are_kept_inside_the_context_and_flushed_again_outside():
    assert is_flushed()
    one = OneThread()
    with one:
        assert not is_flushed()
        with one:
            assert not is_flushed()
        assert not is_flushed()
    assert is_flushed()
    with pytest.raises(ZeroDivisionError), one:
        raise ZeroDivisionError
    assert is_flushed()


@triton.jit
def halved(x, out, BLOCK: tl.constexpr, IS_SORTED: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    numbers = tl.load(x + lanes)
    if IS_SORTED:
        numbers = tl.sort(numbers)
    tl.store(out + lanes, numbers * 0.5)


@pytest.mark.usefixtures("flushing")
@pytest.mark.parametrize("is_sorted", [False, True])
def test_a_launch_has_its_denormals_in_a_program_that_flushes_them(is_sorted):
    bits = np.full(16, 0x10000, np.int32)
    launch = call(halved, (1,), x=tensor(16), out=tensor(16), BLOCK=16, IS_SORTED=is_sorted)
    x, out = (argument.storage for argument in launch.arguments[:2])
    x.data, out.data = bits.view(np.uint8), np.zeros(64, np.uint8)
    evaluate(launch.module, launch.arguments, launch.grid)
    assert set(out.data.view(np.int32)) == {0x8000}
    assert is_flushed()
