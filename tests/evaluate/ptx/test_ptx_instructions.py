"""Each PTX instruction against a reference in plain Python integers, or in wider floats."""

import math

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtrace.evaluate import UnsupportedOp
from kvtrace.evaluate.ptx.lanes import snippet
from kvtrace.evaluate.ptx.table import TABLE
from kvtrace.evaluate.ptx.types import TYPES
from tests.support.thorough import usually
from tests.support.triton_versions import since

CORNERS = [0, 1, 2, 31, 32, 33, 0x7F, 0x80, 0xFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x12345678]
words = st.one_of(st.sampled_from(CORNERS), st.integers(0, 2**32 - 1))
ALL = 2**32 - 1


@pytest.mark.parametrize(
    ("name", "register"),
    [("f16x2", "u4"), ("f32x2", "u8"), ("e4m3x2", "u2"), ("e4m3x4", "u4"), ("e5m2x4", "u4"),
     ("e2m1x2", "u1"), ("e2m1x4", "u2"), ("s16x2", "u4"), ("pred", "u1")],
)  # fmt: skip
def test_register_of_a_type_holds_all_of_its_parts(name, register):
    assert TYPES[name].register == np.dtype(register)


def run(text, *arrays, constraints=None):
    letters = {1: "h", 2: "h", 4: "r", 8: "l"}
    inputs = [np.asarray(array) for array in arrays]
    raw = [np.ascontiguousarray(a).view(f"u{a.dtype.itemsize}") for a in inputs]
    constraints = constraints or ",".join(["=r", *(letters[a.itemsize] for a in raw)])
    with np.errstate(all="ignore"):
        return snippet(text, constraints)(raw)


def run_on_one_number(text, *numbers, constraints=None):
    result = run(text, *(np.array([n], np.uint32) for n in numbers), constraints=constraints)[0]
    return int(result[0])


def signed(number):
    return number - 2**32 if number >> 31 else number


def byte_of(a, b, selector):
    byte = ((b << 32 | a) >> (8 * (selector & 7))) & 0xFF
    return (0xFF if byte & 0x80 else 0) if selector & 8 else byte


def field(a, position, length, *, is_signed):
    """Return a bit field, bit by bit as the PTX ISA defines it."""
    position, length = position & 255, length & 255
    sign = a >> min(position + length - 1, 31) & 1 if length and is_signed else 0
    bits = [(a >> (position + i) & 1) if i < length and position + i < 32 else sign
            for i in range(32)]  # fmt: skip
    return sum(bit << place for place, bit in enumerate(bits))


def insert(a, b, position, length):
    position, length = position & 255, length & 255
    for i in range(length):
        if position + i < 32:
            b = b & ~(1 << (position + i)) | (a >> i & 1) << (position + i)
    return b


WORDS = {
    "add.s32": lambda a, b, c: a + b,
    "sub.u32": lambda a, b, c: a - b,
    "mul.lo.u32": lambda a, b, c: a * b,
    "mul.hi.u32": lambda a, b, c: a * b >> 32,
    "mul.hi.s32": lambda a, b, c: signed(a) * signed(b) >> 32,
    "mad.lo.s32": lambda a, b, c: a * b + c,
    "mad.hi.u32": lambda a, b, c: (a * b >> 32) + c,
    "add.sat.s32": lambda a, b, c: max(-(2**31), min(2**31 - 1, signed(a) + signed(b))),
    "sub.sat.s32": lambda a, b, c: max(-(2**31), min(2**31 - 1, signed(a) - signed(b))),
    "min.s32": lambda a, b, c: min(signed(a), signed(b)),
    "max.u32": lambda a, b, c: max(a, b),
    "div.u32": lambda a, b, c: a // b if b else ALL,
    "rem.u32": lambda a, b, c: a % b if b else a,
    "div.s32": lambda a, b, c: _divided(signed(a), signed(b)) if b else ALL,
    "abs.s32": lambda a, b, c: abs(signed(a)),
    "neg.s32": lambda a, b, c: -signed(a),
    "and.b32": lambda a, b, c: a & b,
    "or.b32": lambda a, b, c: a | b,
    "xor.b32": lambda a, b, c: a ^ b,
    "not.b32": lambda a, b, c: ~a,
    "cnot.b32": lambda a, b, c: int(a == 0),
    "shl.b32": lambda a, b, c: a << min(b, 32),
    "shr.u32": lambda a, b, c: a >> min(b, 32),
    "shr.b32": lambda a, b, c: a >> min(b, 32),
    "shr.s32": lambda a, b, c: signed(a) >> min(b, 31),
    "shf.l.wrap.b32": lambda a, b, c: ((b << 32 | a) << (c & 31)) >> 32,
    "shf.r.wrap.b32": lambda a, b, c: (b << 32 | a) >> (c & 31),
    "shf.l.clamp.b32": lambda a, b, c: ((b << 32 | a) << min(c, 32)) >> 32,
    "shf.r.clamp.b32": lambda a, b, c: (b << 32 | a) >> min(c, 32),
    "popc.b32": lambda a, b, c: a.bit_count(),
    "clz.b32": lambda a, b, c: 32 - a.bit_length(),
    "brev.b32": lambda a, b, c: int(f"{a:032b}"[::-1], 2),
    "bfind.u32": lambda a, b, c: a.bit_length() - 1,
    "bfind.s32": lambda a, b, c: (a ^ (ALL if a >> 31 else 0)).bit_length() - 1,
    "bfind.shiftamt.u32": lambda a, b, c: 32 - a.bit_length() if a else ALL,
    "bfe.u32": lambda a, b, c: field(a, b, c, is_signed=False),
    "bfe.s32": lambda a, b, c: field(a, b, c, is_signed=True),
    "prmt.b32": lambda a, b, c: sum(
        byte_of(a, b, c >> 4 * i & 15) << 8 * i for i in range(4)
    ),
    "sad.u32": lambda a, b, c: c + abs(a - b),
    "dp4a.u32.u32": lambda a, b, c: c + sum(
        (a >> 8 * i & 255) * (b >> 8 * i & 255) for i in range(4)
    ),
    "selp.b32": None,
}  # fmt: skip
ONE = ("abs", "neg", "not", "cnot", "popc", "clz", "brev", "bfind")
THREE = ("mad", "shf", "bfe", "prmt", "sad", "dp4a")


def _divided(a, b):
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


@pytest.mark.parametrize("name", [name for name in WORDS if WORDS[name]])
@settings(max_examples=usually(20, thorough=200), deadline=None)
@given(a=words, b=words, c=words)
def test_integer_instructions_equal_python(name, a, b, c):
    base = name.partition(".")[0]
    count = 1 if base in ONE else 3 if base in THREE else 2
    operands = ", ".join(f"${place}" for place in range(count + 1))
    result = run_on_one_number(f"{name} {operands};", *(a, b, c)[:count])
    assert result == WORDS[name](a, b, c) & ALL


@settings(max_examples=usually(25, thorough=100), deadline=None)
@given(a=words, b=words, c=words, table=st.integers(0, 255))
def test_lop3_equals_its_lookup_table(a, b, c, table):
    result = run_on_one_number(f"lop3.b32 $0, $1, $2, $3, {table:#x};", a, b, c)
    rows = [(a >> i & 1) << 2 | (b >> i & 1) << 1 | c >> i & 1 for i in range(32)]
    assert result == sum((table >> row & 1) << i for i, row in enumerate(rows))


@settings(max_examples=usually(25, thorough=100), deadline=None)
@given(a=words, b=words, position=words, length=words)
def test_bfi_inserts_a_field(a, b, position, length):
    result = run_on_one_number("bfi.b32 $0, $1, $2, $3, $4;", a, b, position, length)
    assert result == insert(a, b, position, length)


@settings(max_examples=usually(15, thorough=60), deadline=None)
@given(a=words, b=words)
def test_wide_products_and_moves_of_halves_equal_python(a, b):
    unsigned = "mul.wide.u32 $0, $1, $2;"
    with_sign = "mul.wide.s32 $0, $1, $2;"
    assert run_on_one_number(unsigned, a, b, constraints="=l,r,r") == a * b
    assert run_on_one_number(with_sign, a, b, constraints="=l,r,r") == signed(a) * signed(b) % 2**64
    swap = "{ .reg .b16 x, y; mov.b32 {x, y}, $1; mov.b32 $0, {y, x}; }"
    assert run_on_one_number(swap, a) == (a >> 16 | a << 16) & ALL
    upper = "{ .reg .b16 y; mov.b32 {_, y}, $1; cvt.s32.s16 $0, y; }"
    assert run_on_one_number(upper, a) == (signed(a) >> 16) & ALL


FLOATS = np.array(
    [0.0, -0.0, 1.0, -1.5, 3.0, 1e-40, -1e-40, 1e-30, 65504, 1e38, np.inf, -np.inf, np.nan, 0.1],
    np.float32,
)
LEFT, RIGHT = (np.repeat(FLOATS, len(FLOATS)), np.tile(FLOATS, len(FLOATS)))
RNG = np.random.default_rng(5)
A, B, C = (RNG.standard_normal((3, 2000)) * 10.0 ** RNG.integers(-9, 9, (3, 2000))).astype("f4")


def floats(text, *arrays, **settings_):
    return run(text, *arrays, **settings_)[0].view(np.float32)


@pytest.mark.parametrize(
    ("name", "reference"),
    [("add", np.add), ("sub", np.subtract), ("mul", np.multiply), ("div", np.divide)],
)
def test_float_sums_and_products_round_in_each_direction(name, reference):
    for direction, holds in (
        ("rz", lambda got, wide: np.abs(got) <= np.abs(wide)),
        ("rm", lambda got, wide: got <= wide),
        ("rp", lambda got, wide: got >= wide),
    ):
        result = floats(f"{name}.{direction}.f32 $0, $1, $2;", A, B).astype(np.float64)
        wide = reference(A.astype(np.longdouble), B.astype(np.longdouble))
        assert holds(result, wide).all()
        np.testing.assert_allclose(result, wide.astype(np.float64), rtol=2e-7)
    exact = floats(f"{name}.rn.f32 $0, $1, $2;", A, B)
    assert np.array_equal(exact, reference(A, B))


def test_fma_rounds_once():
    exact = A.astype(np.longdouble) * B + C
    assert np.array_equal(floats("fma.rn.f32 $0, $1, $2, $3;", A, B, C), exact.astype(np.float32))


def test_ftz_flushes_subnormal_operands_and_results():
    result = floats("mul.ftz.f32 $0, $1, $2;", LEFT, RIGHT)
    small = (np.abs(result) < np.finfo(np.float32).tiny) & (result != 0)
    assert not small.any()
    products = floats("mul.f32 $0, $1, $2;", LEFT, RIGHT)
    assert ((np.abs(products) < np.finfo(np.float32).tiny) & (products != 0)).any()
    assert floats("ex2.approx.ftz.f32 $0, $1;", np.float32([-140]))[0] == 0
    assert floats("ex2.approx.f32 $0, $1;", np.float32([-140]))[0] > 0


def test_sat_limits_results_to_1_and_replaces_nan_by_0():
    result = floats("add.sat.f32 $0, $1, $2;", LEFT, RIGHT)
    total = LEFT + RIGHT
    assert np.array_equal(result, np.where(np.isnan(total), 0, np.clip(total, 0, 1)))


def test_min_and_max_order_zeros_and_return_nan_only_with_the_modifier():
    smaller = floats("min.f32 $0, $1, $2;", LEFT, RIGHT)
    assert np.array_equal(smaller, np.fmin(LEFT, RIGHT), equal_nan=True)
    zeros = (LEFT == 0) & (RIGHT == 0)
    assert np.array_equal(
        np.signbit(smaller[zeros]), np.signbit(LEFT[zeros]) | np.signbit(RIGHT[zeros])
    )
    larger = floats("max.NaN.f32 $0, $1, $2;", LEFT, RIGHT)
    assert np.array_equal(np.isnan(larger), np.isnan(LEFT) | np.isnan(RIGHT))
    crossed = floats("max.NaN.xorsign.abs.f32 $0, $1, $2;", LEFT, RIGHT)
    known = ~np.isnan(crossed)
    expected = np.maximum(np.abs(LEFT), np.abs(RIGHT))
    expected = np.where(np.signbit(LEFT) ^ np.signbit(RIGHT), -expected, expected)
    assert np.array_equal(crossed[known], expected[known])


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("ex2.approx.f32", np.exp2),
        ("lg2.approx.f32", np.log2),
        ("sin.approx.f32", np.sin),
        ("cos.approx.f32", np.cos),
        ("tanh.approx.f32", np.tanh),
        ("sqrt.rn.f32", np.sqrt),
        ("rcp.rn.f32", np.reciprocal),
        ("rsqrt.approx.f32", lambda x: 1 / np.sqrt(x)),
        ("abs.f32", np.abs),
        ("neg.f32", np.negative),
    ],
)
def test_functions_of_floats_equal_numpy(name, function):
    with np.errstate(all="ignore"):
        expected = function(C)
    np.testing.assert_allclose(floats(f"{name} $0, $1;", C), expected, rtol=3e-7)


@pytest.mark.parametrize("comparison", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_ptx_comparisons_with_nan_are_true_only_if_unordered(comparison):
    python = {
        "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b,
        "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
    }[comparison]  # fmt: skip
    for suffix in ("", "u"):
        text = f"{{ .reg .pred p, q; setp.{comparison}{suffix}.f32 p|q, $1, $2; selp.b32 $0, 1, 0, p; @q add.u32 $0, $0, 2; }}"  # noqa: E501
        result = run(text, LEFT, RIGHT)[0]
        for a, b, got in zip(LEFT.tolist(), RIGHT.tolist(), result.tolist(), strict=True):
            either = math.isnan(a) or math.isnan(b)
            holds = bool(suffix) if either else python(a, b)
            assert got == (1 if holds else 2)


def test_ptx_comparisons_of_integers_depend_on_signedness():
    text = "{{ .reg .pred p; setp.{}.{} p, $1, $2; selp.s32 $0, -1, 7, p; }}"
    assert run_on_one_number(text.format("lt", "s32"), ALL, 1) == ALL
    assert run_on_one_number(text.format("lt", "u32"), ALL, 1) == 7
    assert run_on_one_number(text.format("hi", "u32"), ALL, 1) == ALL
    assert run_on_one_number("set.lt.u32.s32 $0, $1, $2;", ALL, 1) == ALL
    joined = "{ .reg .pred p, q; setp.eq.s32 q, $2, 1; setp.gt.and.s32 p, $1, $2, q; selp.b32 $0, 1, 0, p; }"  # noqa: E501
    assert run_on_one_number(joined, 5, 1) == 1
    assert run_on_one_number(joined, 5, 2) == 0


def _bits(values, dtype):
    return np.ascontiguousarray(values.astype(dtype)).view("u2")


@pytest.mark.parametrize(
    ("name", "dtype"), [("f16", np.float16), ("bf16", ml_dtypes.bfloat16)]
)  # fmt: skip
def test_packed_halves_are_computed_separately(name, dtype):
    x, y, z = (RNG.standard_normal((3, 1000)) * 4).astype(dtype)
    for text, wide in (
        (f"add.{name}x2 $0, $1, $2;", x.astype("f8") + y.astype("f8")),
        (f"mul.{name}x2 $0, $1, $2;", x.astype("f8") * y.astype("f8")),
        (f"fma.rn.{name}x2 $0, $1, $2, $3;", x.astype("f8") * y.astype("f8") + z.astype("f8")),
        (f"min.{name}x2 $0, $1, $2;", np.minimum(x.astype("f8"), y.astype("f8"))),
    ):
        given_ = [np.ascontiguousarray(part).view("u4") for part in (x, y, z)]
        result = run(text, *given_[: text.count("$") - 1])[0]
        assert np.array_equal(result.view("u2"), _bits(wide, dtype))


def test_conversions_between_floats_round_in_each_direction():
    pair = run("cvt.rn.f16x2.f32 $0, $1, $2;", A, B)[0]
    with np.errstate(over="ignore"):
        assert np.array_equal(pair >> 16, _bits(A, np.float16))
        assert np.array_equal(pair & 0xFFFF, _bits(B, np.float16))
    pair = run("cvt.rn.bf16x2.f32 $0, $1, $2;", A, B)[0]
    assert np.array_equal(pair >> 16, _bits(A, ml_dtypes.bfloat16))
    for direction, holds in (("rz", np.abs), ("rm", None), ("rp", None)):
        text = f"{{ .reg .b16 h; cvt.{direction}.f16.f32 h, $1; cvt.f32.f16 $0, h; }}"
        small = np.clip(A, -60000, 60000)
        result = floats(text, small)
        if holds is not None:
            assert (np.abs(result) <= np.abs(small)).all()
        else:
            assert ((result <= small) if direction == "rm" else (result >= small)).all()
        np.testing.assert_allclose(result, small, rtol=1e-3, atol=1e-7)


@pytest.mark.parametrize(
    ("name", "dtype"), [("e4m3", ml_dtypes.float8_e4m3fn), ("e5m2", ml_dtypes.float8_e5m2)]
)
def test_conversions_to_8_bit_floats_saturate(name, dtype):
    text = f"{{ .reg .b16 h; cvt.rn.satfinite.{name}x2.f32 h, $1, $2; cvt.u32.u16 $0, h; }}"
    result = run(text, LEFT, RIGHT)[0]
    largest = float(ml_dtypes.finfo(dtype).max)
    wanted = np.clip(LEFT, -largest, largest).astype(dtype).view(np.uint8)
    number = ~np.isnan(LEFT)
    assert np.array_equal((result >> 8)[number], wanted[number])
    back = f"{{ .reg .b16 h; cvt.u16.u32 h, $1; cvt.rn.f16x2.{name}x2 $0, h; }}"
    patterns = np.arange(1 << 16, dtype=np.uint32)
    halves = run(back, patterns)[0].view(np.float16).reshape(-1, 2)
    expected = patterns.astype(np.uint16).view(dtype).astype(np.float16).reshape(-1, 2)
    assert np.array_equal(halves, expected, equal_nan=True)


def test_conversions_to_4_bit_floats_put_the_first_operand_high():
    text = "{ .reg .b8 two; cvt.rn.satfinite.e2m1x2.f32 two, $1, $2; cvt.u32.u8 $0, two; }"
    values = np.float32([0.0, 0.2, 0.25, 0.3, 0.75, 1.7, 2.5, 5.0, 100.0, -0.6, np.nan])
    result = run(text, values, np.zeros_like(values))[0]
    assert (result >> 4).tolist() == [0, 0, 0, 1, 2, 3, 4, 6, 7, 9, 7]


@pytest.mark.parametrize(
    ("mode", "function"), [("rni", np.rint), ("rzi", np.trunc), ("rmi", np.floor), ("rpi", np.ceil)]
)
def test_conversions_to_integers_round_and_saturate(mode, function):
    result = run(f"cvt.{mode}.s32.f32 $0, $1;", np.concatenate([A, FLOATS]))[0].view(np.int32)
    whole = function(np.concatenate([A, FLOATS]).astype(np.float64))
    expected = np.where(np.isnan(whole), 0, np.clip(whole, -(2.0**31), 2.0**31 - 1))
    assert np.array_equal(result, expected.astype(np.int64))
    assert np.array_equal(floats(f"cvt.{mode}.f32.f32 $0, $1;", A), function(A))


def test_conversions_between_integers_wrap_or_saturate():
    low = "{ .reg .b8 b; cvt.u8.u32 b, $1; cvt.s32.s8 $0, b; }"
    assert run_on_one_number(low, 0x1FF) == ALL
    saturated = "{ .reg .b8 b; cvt.sat.s8.s32 b, $1; cvt.s32.s8 $0, b; }"
    assert run_on_one_number(saturated, 300) == 127
    assert run_on_one_number(saturated, -300 % 2**32) == -128 % 2**32
    assert floats("cvt.rn.f32.s32 $0, $1;", np.int32([-7, 2**24 + 1])).tolist() == [-7, 2**24]
    assert floats("cvt.rp.f32.u32 $0, $1;", np.uint32([2**24 + 1]))[0] == 2**24 + 2


def test_a_register_is_unchanged_where_the_guard_is_false():
    text = "mov.b32 $0, 5; { .reg .pred p; setp.lt.s32 p, $1, 3; @p mov.b32 $0, 9; }"
    assert run(text, np.arange(6, dtype=np.int32))[0].tolist() == [9, 9, 9, 5, 5, 5]


def test_a_name_in_an_inner_scope_is_another_register():
    text = "{ .reg .u32 t; mov.u32 t, 1; { .reg .u32 t; mov.u32 t, 2; } add.u32 $0, t, $1; }"
    assert run_on_one_number(text, 10) == 11


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("ld.global.u32 $0, [$1];", "ld.global.u32"),
        ("mma.sync.aligned.m8n8k4.f32 $0, $1;", "mma.sync.aligned.m8n8k4.f32"),
        ("add.rna.f32 $0, $1, $1;", "add.rna.f32"),
        ("mov.u32 $0, %laneid;", "%laneid"),
        ("add.u32 $0, $1, elsewhere;", "elsewhere"),
        ("v_exp_f32 $0, $1", "v_exp_f32"),
        ("done: add.u32 $0, $1, 1;", "done:"),
        ("@p bra done;", "'bra'"),
        ("@p add.u32 $0, $1, 1;", "'p', which is not declared"),
        ("mul.s32 $0, $1, $1;", "mul.s32"),
        ("{ .reg .pred p; setp.f32 p, $1, $1; }", "setp.f32"),
        ("{ .reg .pred p; setp.nan.s32 p, $1, $1; }", "setp.nan.s32"),
        ("cvt.s32.f32 $0, $1;", "cvt.s32.f32"),
        ("{ .reg .b16 h; cvt.rn.e4m3x2.f32 h, $1, $1; }", "cvt.rn.e4m3x2.f32"),
    ],
)
def test_an_unknown_instruction_is_refused_by_name(text, named):
    with pytest.raises(UnsupportedOp) as refused:
        run_on_one_number(text, 1)
    assert named in str(refused.value)


def test_any_text_is_parsed_or_refused():
    @settings(max_examples=usually(75, thorough=300), deadline=None)
    @given(st.text("{};,.$0123abp@!|<>% add.u32mov-_\n/*", max_size=60))
    def check(text):
        try:
            snippet(text, "=r,r")
        except UnsupportedOp:
            return

    check()


MODIFIERS = {
    "fma": ".rn", "mad": ".rn", "div": ".rn", "rcp": ".rn", "sqrt": ".rn", "lg2": ".approx",
    "sin": ".approx", "cos": ".approx", "tanh": ".approx", "rsqrt": ".approx", "ex2": ".approx",
    "setp": ".ne", "set": ".ne", "testp": ".finite", "shf": ".l.wrap", "mul24": ".lo",
    "mad24": ".lo",
}  # fmt: skip
"""What instructions need beside their types; those on floats alone, integers' are below."""


def _example(name, type_, meaning):
    """Return PTX text with an instruction of the table and declarations of its registers."""
    target = {"set": "u32", "slct": "b32"}.get(name, type_)
    names = {"T": type_, "D": target, "wide": type_}
    takes = [names.get(t, t) for t in meaning.takes[: len(meaning.takes) - meaning.optional]]
    gives = names.get(meaning.gives, meaning.gives)
    whole = not type_.startswith(("f", "bf"))
    modifiers = MODIFIERS.get(name, "")
    if name in ("mul", "mad", "div") and whole:
        modifiers = "" if name == "div" else ".lo"
    if name == "ex2" and "bf16" in type_:
        modifiers += ".ftz"
    if name in ("set", "slct", "dp4a"):
        modifiers += f".{type_ if name == 'dp4a' else target}"
    registers = [f"a{place}" for place in range(len(takes))]
    declared = "".join(
        f" .reg .{'pred' if t == 'pred' else f'b{TYPES[t].bits * TYPES[t].parts}'} {r};"
        for t, r in zip([gives, *takes], ["d", *registers], strict=True)
    )
    if name == "lop3":
        registers[-1] = "0x96"
    return f"{{{declared} {name}{modifiers}.{type_} {', '.join(['d', *registers])}; }}"


CONVERSIONS = (
    "cvt.rn.satfinite.e4m3x2.f32 b16, f32, f32",
    "cvt.rn.satfinite.e2m1x2.f32 b8, f32, f32",
    "cvt.rn.f16x2.e5m2x2 b32, b16",
    "cvt.rz.bf16x2.f32 b32, f32, f32",
    "cvt.rn.relu.f16.f32 b16, f32",
    "cvt.rna.tf32.f32 b32, f32",
    "cvt.rn.satfinite.e5m2x2.f16x2 b16, b32",
    "cvt.rn.bf16.s32 b16, b32",
    "cvt.rmi.ftz.f32.f32 f32, f32",
    "cvt.sat.f32.f32 f32, f32",
    "cvt.rp.satfinite.ue8m0x2.f32 b16, f32, f32",
)


@pytest.mark.process
@since(3, 6, "an assembler for Blackwell")
def test_the_table_has_the_instructions_that_the_assembler_accepts(tmp_path):
    """ptxas accepts an example of every entry of the table."""
    import subprocess

    from triton import knobs

    examples = [_example(name, type_, meaning) for (name, type_), meaning in sorted(TABLE.items())
                if name != "cvt"]  # fmt: skip
    for conversion in CONVERSIONS:
        name, _, registers = conversion.partition(" ")
        types = registers.split(", ")
        declared = "".join(f".reg .{r} r{n}; " for n, r in enumerate(types))
        examples.append(f"{{ {declared}{name} {', '.join(f'r{n}' for n in range(len(types)))}; }}")
    assert len(examples) > 250
    for example in examples:
        snippet(example, "=r,r")
    source = tmp_path / "all.ptx"
    head = ".version 8.6\n.target sm_100a\n.address_size 64\n.visible .entry all() {\n"
    source.write_text(head + "\n".join(examples) + "\nret;\n}\n")
    ptxas = knobs.nvidia.ptxas_blackwell.path
    command = [ptxas, "--gpu-name", "sm_100a", "-o", str(tmp_path / "out"), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
