"""Sums of terms wrap exactly where 32-bit registers do."""

import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus.kernels.shapes import wrapped_sums
from tests.kernels.launching import launch
from tests.support.thorough import usually

BLOCK, PROGRAMS = 16, 3
EDGES = [0, 1, -1, 2, 7, 2**15, 2**16, 2**30, 2**31 - 1, -(2**31), -(2**31) + 5, 46341]
NUMBERS = st.one_of(st.sampled_from(EDGES), st.integers(-(2**31), 2**31 - 1), st.integers(-40, 40))


def expected_of(pid, a, b, c, d):
    """Return the kernel's results in NumPy's 32-bit arithmetic, with every term as an array."""
    a, b, c, d = (np.array(x, np.int32) for x in (a, b, c, d))
    lanes = np.arange(BLOCK, dtype=np.int32)
    rows = (np.int32(pid) + a) * b
    columns = lanes * c - d
    total = rows + columns
    quotient = np.trunc(total.astype(np.float64) / 7).astype(np.int32)
    remainder = total - quotient * np.int32(7)
    compared = (total < d).astype(np.int32) + (columns - rows > b).astype(np.int32) * np.int32(2)
    limited = np.minimum(rows + lanes, columns) - np.maximum(rows, columns + d)
    block = rows + columns[None, :] + columns[:, None]
    product = (rows + lanes) * (columns + a)
    return np.concatenate([block.reshape(-1), product, quotient + remainder, compared, limited])


@settings(max_examples=usually(37, thorough=150), deadline=None)
@given(a=NUMBERS, b=NUMBERS, c=NUMBERS, d=NUMBERS)
def test_sums_of_integer_terms_wrap_like_32_bit_registers(a, b, c, d):
    # Keep Triton from specializing a value of 1 or of another width: all are passed as i32.
    out = torch.empty(PROGRAMS, BLOCK * BLOCK + 4 * BLOCK, dtype=torch.int32)

    launch(
        wrapped_sums, (PROGRAMS,), {"out": out, "a": a, "b": b, "c": c, "d": d}, {"BLOCK": BLOCK}
    )

    with np.errstate(over="ignore"):
        expected = np.stack([expected_of(pid, a, b, c, d) for pid in range(PROGRAMS)])
    np.testing.assert_array_equal(out.numpy(), expected)


@triton.jit
def stored_far(steps, out, FORM: tl.constexpr):
    step = tl.load(steps + tl.program_id(0))
    if FORM == "sum":
        tl.store(out + (1 << 61) + step * (1 << 61), 7)
    elif FORM == "number":
        tl.store(out + (1 + (tl.program_id(0) + 1).to(tl.int64) * (1 << 62)), 7)
    else:
        tl.store(out + 1 + step * (1 << 62) + tl.arange(0, 2), 7)


@pytest.mark.parametrize(("form", "at"), [("sum", [0]), ("number", [1]), ("block", [1, 2])])
@pytest.mark.parametrize("programs", [1, 2])
def test_addresses_wrap_at_64_bits(form, at, programs):
    out = torch.zeros(4, dtype=torch.int32)
    steps = torch.ones(programs, dtype=torch.int64)

    launch(stored_far, (programs,), {"steps": steps, "out": out}, {"FORM": form})

    assert out.nonzero().flatten().tolist() == at
