"""Integer and float arithmetic against definitions in Python's own integers and NumPy."""

import math

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.evaluate.one_op import run_op
from tests.support.thorough import usually

WIDTHS = {"i8": 8, "i16": 16, "i32": 32, "i64": 64}


def signed(number, bits):
    number &= (1 << bits) - 1
    return number - (1 << bits) if number >> (bits - 1) else number


def unsigned(number, bits):
    return number & ((1 << bits) - 1)


def truncated_quotient(a, b):
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


INTEGER_OPS = {
    "arith.addi": lambda a, b, w: a + b,
    "arith.subi": lambda a, b, w: a - b,
    "arith.muli": lambda a, b, w: a * b,
    "arith.andi": lambda a, b, w: a & b,
    "arith.ori": lambda a, b, w: a | b,
    "arith.xori": lambda a, b, w: a ^ b,
    "arith.minsi": lambda a, b, w: min(a, b),
    "arith.maxsi": lambda a, b, w: max(a, b),
    "arith.minui": lambda a, b, w: min(unsigned(a, w), unsigned(b, w)),
    "arith.maxui": lambda a, b, w: max(unsigned(a, w), unsigned(b, w)),
    "arith.divsi": lambda a, b, w: truncated_quotient(a, b) if b else 0,
    "arith.remsi": lambda a, b, w: a - b * truncated_quotient(a, b) if b else a,
    "arith.divui": lambda a, b, w: unsigned(a, w) // unsigned(b, w) if b else 0,
    "arith.remui": lambda a, b, w: unsigned(a, w) % unsigned(b, w) if b else a,
    "arith.shli": lambda a, b, w: a << b if 0 <= b < w else 0,
    "arith.shrui": lambda a, b, w: unsigned(a, w) >> b if 0 <= b < w else 0,
    "arith.shrsi": lambda a, b, w: a >> b if 0 <= b < w else a >> (w - 1),
}


def interesting_integers(bits):
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    edges = st.sampled_from([0, 1, -1, 2, 3, 7, bits - 1, bits, low, low + 1, high, high - 1])
    return st.one_of(edges, st.integers(low, high))


@pytest.mark.parametrize("width", list(WIDTHS))
@pytest.mark.parametrize("name", list(INTEGER_OPS))
@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_integer_ops_wrap_as_two_s_complement(name, width, data):
    bits = WIDTHS[width]
    numbers = st.lists(interesting_integers(bits), min_size=16, max_size=16)
    left, right = data.draw(numbers), data.draw(numbers)

    (result,) = run_op(name, [(width, np.array(left)), (width, np.array(right))], [width])

    expected = [
        signed(INTEGER_OPS[name](a, b, bits), bits) for a, b in zip(left, right, strict=True)
    ]
    assert result.tolist() == expected


PREDICATES = ["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"]


@pytest.mark.parametrize("width", ["i8", "i32", "i64"])
@pytest.mark.parametrize("predicate", range(10))
def test_integer_comparisons_equal_python_for_every_predicate(width, predicate):
    bits = WIDTHS[width]
    edges = [0, 1, -1, 5, -5, -(1 << (bits - 1)), (1 << (bits - 1)) - 1, 2]
    left, right = (np.array(x).reshape(-1) for x in np.meshgrid(edges, edges))
    name = PREDICATES[predicate]

    (result,) = run_op(
        "arith.cmpi", [(width, left), (width, right)], ["i1"], f"predicate = {predicate} : i64"
    )

    def compare(a, b):
        if name[0] == "u":
            a, b = unsigned(int(a), bits), unsigned(int(b), bits)
        kind = name[-2:]
        return {"eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}[
            kind
        ]

    assert result.tolist() == [compare(a, b) for a, b in zip(left, right, strict=True)]


FLOAT_PREDICATES = [
    "false",
    "oeq",
    "ogt",
    "oge",
    "olt",
    "ole",
    "one",
    "ord",
    "ueq",
    "ugt",
    "uge",
    "ult",
    "ule",
    "une",
    "uno",
    "true",
]


@pytest.mark.parametrize("predicate", range(16))
def test_float_comparisons_follow_their_predicate_also_for_nan(predicate):
    edges = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 2.5]
    left, right = (x.reshape(-1) for x in np.meshgrid(edges, edges))
    name = FLOAT_PREDICATES[predicate]

    (result,) = run_op(
        "arith.cmpf", [("f32", left), ("f32", right)], ["i1"], f"predicate = {predicate} : i64"
    )

    def compare(a, b):
        if name in ("false", "true"):
            return name == "true"
        unordered = math.isnan(a) or math.isnan(b)
        if name in ("ord", "uno"):
            return unordered == (name == "uno")
        if unordered:
            return name[0] == "u"
        kinds = {"eq": a == b, "gt": a > b, "ge": a >= b, "lt": a < b, "le": a <= b, "ne": a != b}
        return kinds[name[1:]]

    assert result.tolist() == [compare(a, b) for a, b in zip(left, right, strict=True)]


@pytest.mark.parametrize("element", ["f16", "bf16", "f32", "f64"])
@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("arith.addf", np.add),
        ("arith.subf", np.subtract),
        ("arith.mulf", np.multiply),
        ("arith.divf", np.divide),
    ],
)
def test_float_ops_round_once_to_their_type(element, name, function):
    rng = np.random.default_rng(1)
    memory = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64}
    dtype = memory[element]
    left, right = (rng.standard_normal(64).astype(dtype) for _ in range(2))

    (result,) = run_op(name, [(element, left), (element, right)], [element])

    if element == "f64":
        expected = function(left, right)
    else:  # float64 holds sums and products of these exactly enough to round once
        expected = function(left.astype(np.float64), right.astype(np.float64)).astype(dtype)
    assert result.tobytes() == expected.tobytes()


def test_minimum_and_maximum_ops_differ_for_nan():
    left = np.array([1.0, math.nan, 2.0, math.nan])
    right = np.array([2.0, 1.0, math.nan, math.nan])

    def run(name):
        (result,) = run_op(name, [("f32", left), ("f32", right)], ["f32"])
        return [None if math.isnan(x) else x for x in result.tolist()]

    assert run("arith.maxnumf") == [2.0, 1.0, 2.0, None]
    assert run("arith.minnumf") == [1.0, 1.0, 2.0, None]
    assert run("arith.maximumf") == [2.0, None, None, None]
    assert run("arith.minimumf") == [1.0, None, None, None]


@pytest.mark.parametrize("width", ["i16", "i32", "i64"])
def test_casts_of_floats_to_integers_round_toward_zero_and_saturate(width):
    bits = WIDTHS[width]
    values = [0.9, -0.9, 1.5, -2.5, 1e30, -1e30, math.nan, 100.0]
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1

    (result,) = run_op("arith.fptosi", [("f32", np.array(values))], [width])
    (positive,) = run_op("arith.fptoui", [("f32", np.array(values))], [width])

    nan = low if width == "i64" else 0
    assert result.tolist() == [0, 0, 1, -2, high, low, nan, 100]
    expected = [0, 0, 1, 0, (1 << bits) - 1, 0, abs(nan), 100]
    assert [unsigned(x, bits) for x in positive.tolist()] == expected


_BEYOND = [-1.0, -300.0, 300.0, 40000.0, -40000.0, 127.5]
_SHORT = [0, 0, 300, 40000, 0, 127]


@pytest.mark.parametrize(
    ("target", "source", "width", "signed", "positive"),
    [  # of NVIDIA what an H200 stored (Triton 3.6), of AMD by the compiled instructions
        ("cuda:90", "f32", "i8", [-1, -44, 44, -1, 0, 127], [0, 0, 44, 64, 0, 127]),
        ("cuda:90", "f16", "i8", [-1, -44, 44, -1, 0, 127], [0, 0, 44, 64, 0, 127]),
        ("cuda:90", "f32", "i16", [-1, -300, 300, 32767, -32768, 127], _SHORT),
        ("hip:gfx942", "f32", "i8", [-1, -44, 44, 64, -64, 127], [255, 212, 44, 64, 192, 127]),
        ("hip:gfx942", "f16", "i8", [-1, -44, 44, -1, 0, 127], [255, 212, 44, 255, 0, 127]),
        ("hip:gfx942", "f32", "i16", [-1, -300, 300, -25536, 25536, 127], _SHORT),
        ("hip:gfx942", "f16", "i16", [-1, -300, 300, 32767, -32768, 127], _SHORT),
    ],
)
def test_casts_to_narrow_integers_keep_the_low_bits_of_what_the_target_converts_to(
    target, source, width, signed, positive
):
    numbers = [(source, np.array(_BEYOND))]

    (result,) = run_op("arith.fptosi", numbers, [width], target=target)
    (unsigned_result,) = run_op("arith.fptoui", numbers, [width], target=target)

    assert result.tolist() == signed
    assert [unsigned(x, WIDTHS[width]) for x in unsigned_result.tolist()] == positive


@pytest.mark.parametrize(
    ("name", "source", "target"),
    [
        ("arith.extsi", "i8", "i32"),
        ("arith.extui", "i8", "i32"),
        ("arith.extsi", "i32", "i64"),
        ("arith.extui", "i32", "i64"),
        ("arith.trunci", "i64", "i32"),
        ("arith.trunci", "i32", "i8"),
        ("arith.trunci", "i32", "i1"),
        ("arith.extui", "i1", "i32"),
        ("arith.extsi", "i1", "i32"),
    ],
)
def test_integer_casts_extend_or_truncate_bits(name, source, target):
    bits = {"i1": 1, **WIDTHS}
    width = bits[source]
    edges = [0, 1] if source == "i1" else [0, 1, -1, 127, -128, signed(200, width), 77, -3]
    edges = np.array(edges * (4 if source == "i1" else 1))

    (result,) = run_op(name, [(source, edges)], [target])

    def cast(number):
        number = int(number)
        if source == "i1" and name == "arith.extsi":
            return -number
        wide = unsigned(number, width) if name == "arith.extui" else number
        return wide & 1 if target == "i1" else signed(wide, bits[target])

    assert [int(x) for x in result.tolist()] == [cast(x) for x in edges]


@pytest.mark.parametrize("name", ["arith.sitofp", "arith.uitofp"])
@pytest.mark.parametrize("target", ["f16", "bf16", "f32", "f64"])
def test_casts_of_integers_to_floats_round_once(name, target):
    numbers = [0, 1, -1, (1 << 24) + 1, -(1 << 24) - 3, 2**31 - 1, -(2**31), 65535]
    dtype = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64}

    (result,) = run_op(name, [("i32", np.array(numbers))], [target])

    exact = [x if name == "arith.sitofp" else unsigned(x, 32) for x in numbers]
    with np.errstate(over="ignore"):
        expected = np.array(exact, np.float64).astype(np.float32 if target != "f64" else np.float64)
        expected = expected.astype(dtype[target])
    assert result.tobytes() == expected.tobytes()


def test_bitcasts_do_not_change_bits():
    numbers = np.array([1.5, -0.0, math.inf, 3e-40], np.float32)

    (bits,) = run_op("arith.bitcast", [("f32", numbers)], ["i32"])
    (halves,) = run_op("tt.bitcast", [("bf16", numbers)], ["i16"])

    assert bits.tobytes() == numbers.tobytes()
    assert halves.tobytes() == numbers.astype(ml_dtypes.bfloat16).tobytes()


@settings(max_examples=usually(8, thorough=20), deadline=None)
@given(
    left=st.lists(interesting_integers(64), min_size=8, max_size=8),
    right=st.lists(interesting_integers(64), min_size=8, max_size=8),
)
def test_high_half_of_64_bit_products_equals_python(left, right):
    (mulhi,) = run_op("tt.mulhiui", [("i64", np.array(left)), ("i64", np.array(right))], ["i64"])

    products = [unsigned(a, 64) * unsigned(b, 64) for a, b in zip(left, right, strict=True)]
    assert [unsigned(x, 64) for x in mulhi.tolist()] == [x >> 64 for x in products]


def test_float64_is_rounded_to_bfloat16_only_once():
    # Float32 would round the first two to a tie, and then to even.
    values = np.array([1 + 2**-8 + 2**-40, -1 - 2**-8 - 2**-40, 1 + 2**-8, 1e300, np.inf])

    (result,) = run_op("arith.truncf", [("f64", values)], ["bf16"])

    step = 2.0**-7
    assert result.astype(float).tolist() == [1 + step, -1 - step, 1.0, math.inf, math.inf]


def test_remainders_of_floats_follow_the_rounded_quotient():
    left, right = np.array([1e10, 33554432.0, -7.5, 5.0]), np.array([3.0, 3.0, 2.0, math.inf])

    (narrow,) = run_op("arith.remf", [("f32", left), ("f32", right)], ["f32"])
    (wide,) = run_op("arith.remf", [("f64", left), ("f64", right)], ["f64"])

    assert narrow.tolist() == [256.0, -1.0, -1.5, 5.0]
    assert wide.tolist() == [1.0, 2.0, -1.5, 5.0]


@pytest.mark.parametrize("source", ["i32", "i64"])
def test_integers_become_bf16_by_one_rounding(source):
    numbers = np.array([16842753, -16842753, 16842751, 3])

    (result,) = run_op("arith.sitofp", [(source, numbers)], ["bf16"])

    assert result.astype(np.float32).tolist() == [16908288.0, -16908288.0, 16777216.0, 3.0]


@pytest.mark.parametrize(("target", "right"), [("cuda:80", 0x4B80), ("cuda:100", 0x4B81)])
def test_older_targets_round_to_bf16_twice(target, right):
    number = np.array([16842753])

    (result,) = run_op("arith.sitofp", [("i32", number)], ["bf16"], target=target)

    assert result.view(np.uint16)[0] == right
