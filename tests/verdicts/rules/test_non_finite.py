"""NaNs and infinities: where they are born, and whether they count."""

import numpy as np
import pytest
import triton
import triton.language as tl

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


@triton.jit
def twice(x, out, FORM: tl.constexpr, BLOCK: tl.constexpr):
    value = tl.load(x + tl.arange(0, BLOCK))
    if FORM == "sum":
        value = tl.log(value) + tl.sqrt(value)
    elif FORM == "guarded":
        kept = tl.where(tl.log(value) == tl.log(value), tl.exp(value * -100), 0.0)
        value = kept + tl.where(value > 1e30, value, 0.0)
    elif FORM == "chosen":
        value = tl.where(tl.log(value) == tl.sqrt(value), tl.exp(value * -100), 0.0)
    else:
        value = 1.0 / (1.0 + tl.exp(value * -100) + tl.exp2(value * -200))
    tl.store(out + tl.arange(0, BLOCK), value)


@pytest.mark.parametrize(
    ("form", "ops"),
    [("sum", ["math.log", "math.sqrt"]), ("guarded", []), ("chosen", []), ("finite again", [])],
)
def test_two_values_of_which_each_alone_would_spoil_a_sum_are_both_findings(form, ops):
    x = floats(4, data=[1.0, -1.0, 4.0, np.inf])
    found = judge(call(twice, (1,), x=x, out=floats(4), FORM=form, BLOCK=4), RULES)

    assert [verdict.op.name for verdict in found] == ops


def test_a_nan_that_was_loaded_is_no_finding():
    x = floats(64, data=[np.nan] * 32 + [np.inf] * 32)
    out = tensor(64, dtype="fp16", data=np.zeros(64, np.float16))

    assert judge(call(kernels.half, (1,), x=x, out=out, BLOCK=64), RULES) == []


def test_without_contents_the_verdict_is_unknown_and_names_the_setting():
    softmax = call(kernels.softmax, (4,), x=tensor(4, 16), out=tensor(4, 16), BLOCK=16)

    (verdict,) = judge(softmax, RULES)

    assert verdict.verdict == "unknown"
    assert "KVTRACE_TENSORS=all" in verdict.reason


# -- floats that become integers -------------------------------------------------------------------


@triton.jit
def quantized(x, y, out, n, KIND: tl.constexpr, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + lanes, mask=lanes < n, other=0.0) / tl.load(y + lanes, mask=lanes < n)
    if KIND == "stored":
        tl.store(out + lanes, value.to(out.dtype.element_ty), mask=lanes < n)
    elif KIND == "float again":
        tl.store(y + lanes, value.to(tl.int8).to(tl.float32) + 1.0, mask=lanes < n)
    elif KIND == "chosen before":
        kept = tl.where(tl.abs(value) < 100, value, 0.0)
        tl.store(out + lanes, kept.to(out.dtype.element_ty), mask=lanes < n)
    elif KIND == "chosen after":
        number = value.to(out.dtype.element_ty)
        tl.store(out + lanes, tl.where(tl.abs(value) < 100, number, 0), mask=lanes < n)
    elif KIND == "clamped after":
        number = value.to(out.dtype.element_ty)
        tl.store(out + lanes, tl.minimum(tl.maximum(number, 0), 7), mask=lanes < n)
    elif KIND == "masked":
        tl.store(out + lanes, value.to(out.dtype.element_ty), mask=tl.abs(value) < 100)
    else:
        number = value.to(out.dtype.element_ty)
        tl.store(out + lanes, number * 0, mask=lanes < n)


def quantizing(kind, number, by=1.0, dtype="i8", at=21, n=30):
    x, y = np.ones(32), np.ones(32)
    x[at], y[at] = number, by
    given = {"x": floats(32, data=x), "y": floats(32, data=y), "n": n}
    found = judge(
        call(quantized, (2,), **given, out=tensor(32, dtype=dtype), KIND=kind, BLOCK=16), RULES
    )
    return [(v.program[0], v.lane, v.message) for v in found if "becomes an integer" in v.message]


@pytest.mark.parametrize(
    ("kind", "number", "by", "dtype", "text"),
    [
        ("stored", 0.0, 0.0, "i8", "nan becomes an integer"),
        ("stored", 1.0, 0.0, "i32", "inf becomes an integer"),
        ("stored", 1e10, 1.0, "i32", "1e+10 becomes an integer"),
        ("stored", 2.0**31, 1.0, "i32", "2147483648 becomes an integer (i32)"),
        ("stored", -1.0, 1.0, "u8", "-1 becomes an integer (uint8)"),
        ("stored", 128.0, 1.0, "i8", "128 becomes an integer"),
        ("stored", -129.0, 1.0, "i8", "-129 becomes an integer"),
        ("float again", 300.0, 1.0, "i8", "300 becomes an integer"),
        ("clamped after", 1e10, 1.0, "i32", "1e+10 becomes an integer"),
        ("clamped after", -1.0, 0.0, "i32", "-inf becomes an integer"),
    ],
)
def test_a_float_that_no_integer_is_near_is_found_if_it_is_stored(kind, number, by, dtype, text):
    ((program, lane, message),) = quantizing(kind, number, by, dtype)

    assert (program, lane) == (1, (5,))
    assert message.startswith(text)


@pytest.mark.parametrize("number", [127.9, -128.9, 0.5, -0.0])
def test_a_float_within_the_integers_of_its_type_is_no_finding(number):
    assert quantizing("stored", number) == []


@pytest.mark.parametrize("kind", ["chosen before", "chosen after", "masked", "by zero"])
def test_a_lost_float_that_reaches_no_memory_is_no_finding(kind):
    assert quantizing(kind, 1e10) == []


def test_lanes_that_are_not_stored_are_no_finding_nor_the_witness():
    assert quantizing("stored", 1e10, at=31) == []


@triton.jit
def scattered(x, out, KIND: tl.constexpr):
    lanes = tl.arange(0, 16)
    value = tl.load(x + lanes)
    place = value.to(tl.int32) & 3
    is_number = tl.abs(value) < 100
    if KIND == "stored at":
        tl.store(out + place, 1)
    elif KIND == "added at":
        tl.atomic_add(out + place, 1)
    elif KIND == "greatest at":
        tl.atomic_max(out + place, 1)
    elif KIND == "masked":
        tl.atomic_add(out + place, 1, mask=is_number)
    elif KIND == "adds nothing":
        tl.atomic_add(out + place, is_number.to(tl.int32))
    else:
        tl.store(out + tl.where(is_number, place, 0), 1)


@pytest.mark.parametrize(
    ("kind", "count"),
    [
        ("stored at", 1),
        ("added at", 1),
        ("greatest at", 1),
        ("masked", 0),
        ("adds nothing", 0),
        ("chosen", 0),
    ],
)
@pytest.mark.parametrize("number", [np.nan, -np.inf, 1e10])
def test_a_lost_float_that_decides_where_something_is_written_is_found(kind, count, number):
    x = floats(16, data=[1.0] * 5 + [number] + [2.0] * 10)

    found = judge(call(scattered, (1,), x=x, out=tensor(4, dtype="i32"), KIND=kind), RULES)

    assert [verdict.lane for verdict in found] == [(5,)] * count


@triton.jit
def rounded(table, out, factor, LOADS: tl.constexpr):
    lanes = tl.arange(0, 8)
    steps = lanes + tl.load(table + lanes) if LOADS else lanes
    tl.store(out + lanes, (steps * factor).to(tl.float32).to(tl.int32))


@pytest.mark.parametrize(
    ("factor", "loads", "answer"),
    [(306_783_378, False, ["violation"]), (300_000_000, False, []), (1, True, ["unknown"])],
)
def test_floats_that_are_made_of_integers_alone_need_no_contents(factor, loads, answer):
    tensors = {"table": tensor(8, dtype="i32"), "out": tensor(8, dtype="i32")}
    found = judge(call(rounded, (1,), **tensors, factor=factor, LOADS=loads), RULES)

    assert [verdict.verdict for verdict in found] == answer


@triton.jit
def merged(x, y, out, GUARDED: tl.constexpr, BLOCK: tl.constexpr):
    """Merge the logarithms of two sums of exponentials; -inf is that of no summand."""
    lanes = tl.arange(0, BLOCK)
    first, second = tl.load(x + lanes), tl.load(y + lanes)
    top = tl.maximum(first, second)
    shift = tl.where(top == -float("inf"), 0.0, top) if GUARDED else top
    total = tl.exp(first - shift) + tl.exp(second - shift)
    tl.store(out + lanes, tl.where(total == 0.0, top, top + tl.log(total)))


@pytest.mark.parametrize(("guarded", "ops"), [(False, ["arith.subf"] * 2), (True, [])])
def test_a_nan_where_an_infinity_belongs_is_a_finding(guarded, ops):
    data = np.zeros(16)
    data[3] = -np.inf
    parts = {"x": floats(16, data=data), "y": floats(16, data=data), "out": floats(16)}

    found = judge(call(merged, (1,), GUARDED=guarded, BLOCK=16, **parts), RULES)

    assert [verdict.op.name for verdict in found if "NaN" in verdict.message] == ops
