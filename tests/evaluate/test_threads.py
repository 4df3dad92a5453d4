"""Matrix products on one thread: only inside the context, for any order of leaving."""

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from kvtrace.evaluate.threads import OneThread


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
