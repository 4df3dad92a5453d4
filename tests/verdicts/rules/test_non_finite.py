"""NaNs and infinities: where they are born, and whether they count."""

import numpy as np

from corpus.kernels.blocks import sum_of_all
from kvtrace.verdicts.judge import judge
from tests.verdicts import definedness_kernels as kernels
from tests.verdicts.calls import call, tensor

RULES = ("non-finite",)


def floats(*shape, data=None, dtype="fp32"):
    held = np.ones(shape, np.float32) if data is None else np.asarray(data, np.float32)
    return tensor(*shape, dtype=dtype, data=held.reshape(-1))


def shares(*, kept):
    rows = floats(16, 16)
    return call(kernels.shares, (1,), x=rows, out=floats(16, 16), rows=10, KEPT=kept, BLOCK=16)


def test_zero_by_zero_that_is_stored_is_found_where_it_is_divided():
    (verdict,) = judge(shares(kept=True), RULES)

    assert verdict.verdict == "violation"
    assert verdict.op.name == "arith.divf"
    assert (verdict.program, verdict.lane) == ((0, 0, 0), (10, 0))
    assert "a NaN" in verdict.message


def test_a_nan_that_is_masked_off_at_the_store_is_no_finding():
    assert judge(shares(kept=False), RULES) == []


def test_a_number_that_halves_cannot_hold_is_found_where_it_is_narrowed():
    x = floats(64, data=[1.0] * 60 + [40000.0] * 4)
    out = tensor(64, dtype="fp16", data=np.zeros(64, np.float16))

    (verdict,) = judge(call(kernels.half, (1,), x=x, out=out, BLOCK=64), RULES)

    assert verdict.op.name == "arith.truncf"
    assert verdict.lane == (60,)


def test_a_sum_of_halves_overflows_as_its_partial_sums_do():
    data = np.array([60000.0] * 2 + [0.0] * 14, np.float16)  # the sum of all is no half
    x = tensor(16, dtype="fp16", data=data)

    (verdict,) = judge(call(sum_of_all, (1,), x=x, out=floats(1), N=16), RULES)

    assert verdict.op.name == "tt.reduce"
    assert "gives +inf" in verdict.message


def test_a_row_without_any_finite_number_gives_nan_and_others_do_not():
    data = np.zeros((4, 16))
    data[2] = -np.inf
    softmax = call(kernels.softmax, (4,), x=floats(4, 16, data=data), out=floats(4, 16), BLOCK=16)

    (verdict,) = judge(softmax, RULES)

    assert verdict.op.name == "arith.subf"
    assert verdict.program == (2, 0, 0)


def test_a_nan_that_was_loaded_is_no_finding():
    x = floats(64, data=[np.nan] * 32 + [np.inf] * 32)
    out = tensor(64, dtype="fp16", data=np.zeros(64, np.float16))

    assert judge(call(kernels.half, (1,), x=x, out=out, BLOCK=64), RULES) == []


def test_without_contents_the_verdict_is_unknown_and_names_the_setting():
    softmax = call(kernels.softmax, (4,), x=tensor(4, 16), out=tensor(4, 16), BLOCK=16)

    (verdict,) = judge(softmax, RULES)

    assert verdict.verdict == "unknown"
    assert "KVTRACE_TENSORS=all" in verdict.reason
