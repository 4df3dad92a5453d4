"""Ways to make a NaN or an infinity of numbers; each line that does is marked."""

import triton
import triton.language as tl


@triton.jit
def log_of_zero(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + lanes, mask=lanes < n, other=1.0)
    tl.store(out + lanes, tl.log(values), mask=lanes < n)  # bad


@triton.jit
def inf_minus_inf(x, out, n, BLOCK: tl.constexpr):
    """A row whose largest number is -inf."""
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + lanes, mask=lanes < n, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))  # bad
    tl.store(out + lanes, powers / tl.sum(powers, axis=0), mask=lanes < n)


@triton.jit
def zero_by_zero(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + lanes, mask=lanes < n, other=1.0)
    tl.store(out + lanes, values / values, mask=lanes < n)  # bad


@triton.jit
def overflow(x, out, n, BLOCK: tl.constexpr):
    """Halves have no 80,000."""
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + lanes, mask=lanes < n, other=1.0) * 2.0
    tl.store(out + lanes, values.to(tl.float16), mask=lanes < n)  # bad


@triton.jit
def root_of_less(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + lanes, mask=lanes < n, other=1.0)
    tl.store(out + lanes, tl.sqrt(values), mask=lanes < n)  # bad


@triton.jit
def large_power(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + lanes, mask=lanes < n, other=1.0)
    tl.store(out + lanes, tl.exp(values), mask=lanes < n)  # bad


@triton.jit
def no_variance(x, out, n, BLOCK: tl.constexpr):
    """A normalization without an epsilon."""
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + lanes, mask=lanes < n, other=1.0)
    tl.store(out + lanes, 1.0 / values, mask=lanes < n)  # bad


@triton.jit
def padding_leaks(x, out, n, BLOCK: tl.constexpr):
    """Lanes that nothing is read for hold 0, and are summed up with the others."""
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + lanes, mask=lanes < n, other=0.0)
    inverse = 1.0 / values  # bad
    tl.store(out, tl.sum(inverse, axis=0))


@triton.jit
def padding_stays(x, out, n, BLOCK: tl.constexpr):
    """They are never stored; the logarithm is what counts."""
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + lanes, mask=lanes < n, other=0.0)
    inverse = 1.0 / values
    tl.store(out + lanes, inverse + tl.log(values - 2.0), mask=lanes < n)  # bad


@triton.jit
def large_product(x, out, n, BLOCK: tl.constexpr):
    rows, columns = tl.arange(0, 16)[:, None], tl.arange(0, 16)[None, :]
    values = tl.load(x + rows * 16 + columns)
    product = tl.dot(values, values, input_precision="ieee")  # bad
    tl.store(out + rows * 16 + columns, product)
