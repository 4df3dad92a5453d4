"""What a device may make of a kernel, worked out here by other means, lies within the bounds.

And the bounds are narrow: each test says how wide they may be, relative to what the tensor holds.
"""

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from corpus.kernels import accesses, basic, blocks, normalization
from corpus.kernels import oracle_kernels as kernels
from tests.addons.check.launched import Launched
from tests.backends.compiled_kernels import check_kernels
from tests.kernels.case import random_of
from tests.support.thorough import usually

F32 = np.float32
ULP = 2.0**-23
UNITS = {"float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
SEEDS = range(8)


def agree(launched, possible, widest):
    """All that a device may give agrees, by bounds no wider than that; give how much was used."""
    used = []
    for made in possible:
        found = launched.one(made)
        assert not len(found.differing), (found.argument, found.worst)
        assert found.undecided == 0
        assert found.bound <= widest
        used.append(found.nearest)
    return used


def floats(rng, *shape, low=-1.0, high=1.0):
    return rng.uniform(low, high, shape).astype(F32)


# -- products joined with sums --------------------------------------------------------------------


def nearest(exact: Fraction) -> np.float32:
    """Round once: by way of float64, rounded to odd."""
    wide = float(exact)
    if Fraction(wide) != exact and not np.float64(wide).view(np.int64) & 1:
        wide = math.nextafter(wide, math.inf if exact > Fraction(wide) else -math.inf)
    return F32(wide)


numbers = st.floats(-1e6, 1e6, width=32).filter(lambda x: x == 0 or abs(x) > 1e-6)


@settings(max_examples=usually(10, thorough=40))
@given(*[arrays(F32, 16, elements=numbers)] * 3)
def test_bounds_contain_products_with_and_without_rounding(a, b, c):
    launched = Launched(
        kernels.fused, {"a": a, "b": b, "c": c, "out": np.zeros(16, F32)}, ("out",), {"N": 16}
    )
    joined = np.array(
        [nearest(Fraction(x) * Fraction(y) + Fraction(z))
         for x, y, z in zip(a.tolist(), b.tolist(), c.tolist(), strict=True)], F32,
    )  # fmt: skip
    agree(launched, [{"out": joined}, {"out": (a * b + c).astype(F32)}], 4 * ULP)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("seed", SEEDS)
def test_bounds_contain_16_bit_products_with_and_without_rounding(dtype, seed):
    held = np.dtype(getattr(ml_dtypes, dtype, None) or dtype)
    rng = random_of("fused", dtype, seed)
    a, b, c = (floats(rng, 256, low=-9, high=9).astype(held) for _ in range(3))
    launched = Launched(
        kernels.fused, {"a": a, "b": b, "c": c, "out": np.zeros(256, held)}, ("out",), {"N": 256}
    )
    joined = a.astype(np.float64) * b.astype(np.float64) + c.astype(np.float64)
    possible = [{"out": joined.astype(F32).astype(held)}, {"out": ((a * b) + c).astype(held)}]
    agree(launched, possible, 2 * UNITS[dtype])


# -- sums in other orders -------------------------------------------------------------------------


def in_tree(x, rng):
    """Add what is there pair by pair, each time other ones."""
    while len(x) > 1:
        x = x[rng.permutation(len(x))]
        half = len(x) // 2
        x = np.concatenate([x[:half] + x[half : 2 * half], x[2 * half :]])
    return x[0]


def one_by_one(x, rng):
    total = x.dtype.type(0)
    for each in x[rng.permutation(len(x))]:
        total = x.dtype.type(total + each)
    return total


@pytest.mark.parametrize("dtype", UNITS)
def test_bounds_contain_sums_in_any_order(dtype):
    """Sums of 16-bit floats may be rounded to 16 bits as they go."""
    held = np.dtype(getattr(ml_dtypes, dtype, None) or dtype)
    count = 256 if dtype == "float32" else 32
    rng = random_of("sums", dtype)
    x = floats(rng, 4, count, low=0.0).astype(held)
    launched = Launched(
        kernels.row_sums, {"x": x, "out": np.zeros(4, held)}, ("out",), {"N": count}, (4,)
    )
    possible = [
        {"out": np.array([way(row, rng) for row in rows]).astype(held)}
        for way in (in_tree, one_by_one)
        for rows in (x, x.astype(F32))
        for _ in SEEDS
    ]
    agree(launched, possible, 1.1 * (count + math.log2(count)) * UNITS[dtype])


def test_sums_of_integers_have_zero_bounds():
    x = random_of("whole").integers(-9, 9, (4, 256)).astype(F32)
    launched = Launched(
        kernels.row_sums, {"x": x, "out": np.zeros(4, F32)}, ("out",), {"N": 256}, (4,)
    )
    agree(launched, [{"out": x.sum(1)}], 0.0)
    assert len(launched.one({"out": np.nextafter(x.sum(1), F32(99))}).differing) == 4


def test_bounds_contain_running_sums_in_another_order():
    rng = random_of("running")
    x = floats(rng, 2, 128)
    launched = Launched(
        kernels.running_sums, {"x": x, "out": np.zeros_like(x)}, ("out",), {"N": 128}, (2,)
    )
    chunks = np.cumsum(x.reshape(2, 4, 32), axis=2, dtype=F32)
    before = np.cumsum(chunks[:, :, -1], axis=1, dtype=F32) - chunks[:, :, -1]
    by_warp = (chunks + before[:, :, None]).reshape(2, 128)
    agree(launched, [{"out": np.cumsum(x, axis=1, dtype=F32)}, {"out": by_warp}], 1e-4)


@pytest.mark.parametrize("seed", SEEDS)
def test_bounds_contain_atomic_sums_in_any_order(seed):
    rng = random_of("atomic", seed)
    x, memory = floats(rng, 8, 64), floats(rng, 16)
    launched = Launched(
        accesses.contended, {"x": x, "memory": memory}, ("memory",),
        {"NAME": "atomic_add", "N": 64, "SLOTS": 16}, (8,),
    )  # fmt: skip
    made = memory.copy()
    for place in rng.permutation(x.size):
        made[place % 16] += x.reshape(-1)[place]
    agree(launched, [{"memory": made}], 64 * ULP * 16)


def test_bounds_contain_atomic_sums_of_partial_sums():
    rng = random_of("atomic of sums")
    x = floats(rng, 1000)
    launched = Launched(
        check_kernels.total, {"x": x, "out": np.zeros(1, F32), "n": 1000}, ("out",),
        {"BLOCK": 256}, (4,),
    )  # fmt: skip
    possible = []
    for _ in SEEDS:
        parts = np.array([in_tree(x[at : at + 256], rng) for at in range(0, 1000, 256)])
        possible.append({"out": np.array([one_by_one(parts, rng)])})
    agree(launched, possible, 300 * ULP * float(np.abs(x).sum() / abs(x.sum())))


# -- products of matrices -------------------------------------------------------------------------


def truncated(x, mantissa):
    """Leave so many bits of each float32."""
    mask = np.uint32(0xFFFFFFFF << (23 - mantissa) & 0xFFFFFFFF)
    return (np.ascontiguousarray(x, F32).view(np.uint32) & mask).view(F32)


def rounded(x, mantissa):
    """Round each float32 to so many bits, halves away from zero."""
    half = np.uint32(1 << (22 - mantissa))
    return truncated((np.ascontiguousarray(x, F32).view(np.uint32) + half).view(F32), mantissa)


def tensor_core(a, b, c, at_once, bits):
    """Add products to a sum so many at a time, all cut off below the largest one's bits."""
    total = c.astype(np.float64)
    for k in range(0, a.shape[1], at_once):
        left = a[:, k : k + at_once].astype(np.float64)
        right = b[k : k + at_once].astype(np.float64)
        terms = np.concatenate([left[:, :, None] * right[None], total[:, None]], axis=1)
        largest = np.abs(terms).max(axis=1, keepdims=True)
        unit = np.exp2(np.floor(np.log2(np.where(largest > 0, largest, 1.0))) - bits)
        total = truncated((np.trunc(terms / unit) * unit).sum(axis=1).astype(F32), 23)
        total = total.astype(np.float64)
    return total.astype(F32)


def product(a, b, c, precision=""):
    (m, k), n = a.shape, b.shape[1]
    return Launched(
        blocks.product, {"a": a, "b": b, "c": c, "out": np.zeros((m, n), F32)}, ("out",),
        {"PRECISION": precision, "M": m, "N": n, "K": k},
    )  # fmt: skip


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_bounds_contain_sums_of_16_bit_products_in_groups(dtype):
    held = np.dtype(getattr(ml_dtypes, dtype, None) or dtype)
    rng = random_of("product", dtype)
    a, b = floats(rng, 16, 64).astype(held), floats(rng, 64, 16).astype(held)
    c = floats(rng, 16, 16)
    order = rng.permutation(64)
    possible = [tensor_core(a, b, c, at_once, 24) for at_once in (4, 8, 16)]
    possible.append(tensor_core(a[:, order], b[order], c, 8, 24))
    possible.append((a.astype(F32) @ b.astype(F32) + c).astype(F32))
    agree(product(a, b, c), [{"out": each} for each in possible], 1e-4)


@pytest.mark.parametrize("cut", [truncated, rounded])
def test_bounds_contain_truncated_and_rounded_tf32(cut):
    rng = random_of("tf32")
    a, b, c = floats(rng, 16, 64), floats(rng, 64, 16), floats(rng, 16, 16)
    made = tensor_core(cut(a, 10), cut(b, 10), c, 4, 24)
    agree(product(a, b, c, "tf32"), [{"out": made}], 2e-2)


def test_bounds_contain_ieee_products_added_one_by_one():
    rng = random_of("ieee")
    a, b, c = floats(rng, 16, 32), floats(rng, 32, 16), floats(rng, 16, 16)
    total = c.copy()
    for k in rng.permutation(32):
        total = (total + (a[:, k, None] * b[None, k]).astype(F32)).astype(F32)
    launched = product(a, b, c, "ieee")
    agree(launched, [{"out": total}], 1e-5)
    assert len(
        launched.one({"out": tensor_core(rounded(a, 10), rounded(b, 10), c, 8, 24)}).differing
    )


def test_bounds_contain_sums_of_8_bit_floats_with_few_bits():
    rng = random_of("fp8")
    a, b = (floats(rng, 32, 32).astype(ml_dtypes.float8_e4m3fn) for _ in range(2))
    made = tensor_core(a, b, np.zeros((32, 32), F32), 32, 13)
    agree(product(a, b, np.zeros((32, 32), F32)), [{"out": made}], 5e-2)


# -- functions, and whole kernels -----------------------------------------------------------------


def moved(rng, x, ulps):
    """Results of an approximate function: off by so many units in the last place at most."""
    return (x * (1 + rng.uniform(-ulps, ulps, x.shape) * ULP / 2)).astype(F32)


def device_exp(rng, x):
    """ex2.approx of a rounded product, as Triton has it for NVIDIA."""
    scaled = (x.astype(F32) * F32(math.log2(math.e))).astype(F32)
    return moved(rng, np.exp2(scaled.astype(np.float64)), 2)


@pytest.mark.parametrize("seed", SEEDS)
def test_bounds_contain_documented_errors_of_functions(seed):
    rng = random_of("functions", seed)
    x, y = floats(rng, 2, 128, low=-20, high=20), floats(rng, 2, 128, low=0.1, high=9)
    launched = Launched(
        kernels.grown, {"x": x, "y": y, "out": np.zeros_like(x)}, ("out",), {"N": 128}, (2,)
    )
    root = moved(rng, np.sqrt(y.astype(np.float64)), 1)
    made = moved(rng, device_exp(rng, x).astype(np.float64) / root, 2)
    agree(launched, [{"out": made}], 3e-5)


@pytest.mark.parametrize("seed", SEEDS)
def test_bounds_contain_errors_of_composed_functions(seed):
    rng = random_of("composed", seed)
    x, y = floats(rng, 4, 256, low=-5, high=5), floats(rng, 4, 256, low=-5, high=5)
    launched = Launched(
        kernels.composed, {"x": x, "y": y, "out": np.zeros_like(x)}, ("out",), {"N": 256}, (4,)
    )
    # Sums and products are rounded once; functions go wrong by their units.
    logarithm = moved(rng, np.log((np.abs(x) + F32(1)).astype(np.float64)), 2)
    left = (logarithm * moved(rng, np.sin(y.astype(np.float64)), 2)).astype(F32)
    below = (y.astype(np.float64) ** 2 + 1).astype(F32)  # joined
    right = moved(rng, device_exp(rng, -np.abs(x)).astype(np.float64) / below, 2)
    root = moved(rng, np.sqrt(np.abs(left).astype(np.float64)), 2)
    made = np.where(x > y, left - right, root + right).astype(F32)
    agree(launched, [{"out": made}], 1e-5)


@pytest.mark.parametrize("seed", SEEDS)
def test_bounds_contain_errors_of_a_softmax(seed):
    rng = random_of("softmax", seed)
    rows, columns = 4, 200
    x = floats(rng, rows, columns, low=-8, high=8)
    launched = Launched(
        basic.softmax,
        {"out": np.zeros_like(x), "x": x, "x_stride": columns, "out_stride": columns,
         "rows": rows, "columns": columns},
        ("out",), {"BLOCK": 256}, (2,),
    )  # fmt: skip
    powers = device_exp(rng, x - x.max(1, keepdims=True))
    totals = np.array([[in_tree(row, rng)] for row in powers])
    made = moved(rng, powers.astype(np.float64) / totals, 2)
    agree(launched, [{"out": made}], 1e-4)


@pytest.mark.parametrize("seed", SEEDS)
def test_bounds_contain_errors_of_a_layer_norm(seed):
    rng = random_of("layer norm", seed)
    rows, columns = 3, 100
    x, weight, bias = floats(rng, rows, columns), floats(rng, columns), floats(rng, columns)
    inputs = {
        "x": x, "y": np.zeros_like(x), "weight": weight, "bias": bias,
        "mean_out": np.zeros(rows, F32), "rstd_out": np.zeros(rows, F32),
        "stride": columns, "columns": columns, "eps": 1e-5,
    }  # fmt: skip
    launched = Launched(
        normalization.layer_norm_forward, inputs, ("y", "mean_out", "rstd_out"), {"BLOCK": 64},
        (rows,),
    )  # fmt: skip
    made = {"y": np.zeros_like(x), "mean_out": np.zeros(rows, F32), "rstd_out": np.zeros(rows, F32)}
    for row in range(rows):
        mean = moved(rng, np.array(in_tree(x[row], rng) / F32(columns), np.float64), 2)
        away = (x[row] - mean).astype(F32)
        square = (away.astype(np.float64) ** 2).astype(F32)
        spread = F32(one_by_one(square, rng) / F32(columns) + F32(1e-5))
        root = moved(rng, np.sqrt(np.array(spread, np.float64)), 1)
        rstd = moved(rng, 1.0 / root.astype(np.float64), 2)
        normal = ((away * rstd).astype(F32) * weight).astype(np.float64)
        made["y"][row] = (normal + bias).astype(F32)
        made["mean_out"][row], made["rstd_out"][row] = mean, rstd
    found = launched.checked(made)
    assert (found.answer, len(found.tensors)) == ("agrees", 3)
    assert all(each.undecided == 0 for each in found.tensors)
    assert max(each.bound for each in found.tensors) < 1e-3
