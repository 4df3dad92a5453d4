"""Classes of integer arguments, read from variants as Triton records them."""

import pytest

from kvtrace.converters.profile.argument_classes import Parameter, RecordedCall, parameters_of
from kvtrace.converters.profile.unseen_sizes import unseen_sizes


def call(value: int, variant: int, constexpr: str | None = None, divisibility: int | None = None):
    row = {"name": "n", "constexpr": constexpr, "divisibility": divisibility}
    kernel = {"signature": [row]}
    return RecordedCall(None, {"run": "r", "kernel_id": variant}, kernel, {"n": value}, {})


@pytest.mark.parametrize(
    ("calls", "parameter", "sizes"),
    [
        ([call(5, 0), call(32, 1, None, 16)], Parameter(True, True), ["n 1"]),
        ([call(5, 0), call(1, 1, "1")], Parameter(True, None), []),
        ([call(7, 0), call(1, 1, "1")], Parameter(True, None), []),
        ([call(32, 0), call(7, 0)], Parameter(None, False), ["n 1"]),  # do_not_…_on_alignment, or
        ([call(1, 0), call(7, 0), call(40, 0)], Parameter(False, False), []),  # do_not_specialize
        ([call(17, 0), call(1, 1)], Parameter(None, None), ["n multiples of 16 from 16 to 32"]),
    ],
)
def test_classes_are_those_that_variants_tell_apart(calls, parameter, sizes):
    assert parameters_of(calls) == {"n": parameter}
    unseen = list(unseen_sizes("k", calls, {"n": parameter}))
    assert [text for kernel in unseen for text in kernel.sizes] == sizes
    assert all(
        kernel.certain == (None not in (parameter.one, parameter.aligned)) for kernel in unseen
    )
