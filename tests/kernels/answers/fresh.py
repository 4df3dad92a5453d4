"""Questions asked afresh, in three sets; each guess was committed before the device was asked.

The first two sets showed what the evaluator lacked, the third whether more is missing.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from tests.kernels.answers import corners
from tests.kernels.answers.corners import INF, NAN, Corner
from tests.kernels.answers.question import BITS, LAST_BITS, ORDER, Question

corner = partial(corners.corner, module="fresh")

NEAR = {"fp32": 12, "fp16": 6, "bf16": 4, "fp64": 27}
"""Exponents e for which (1 + 2^-e)² is no number of a type: 2^-2e is cut off."""


def near_one(dtype: str) -> tuple[float, float, float]:
    """Return a number near 1, its square as rounded, and what rounding cut off."""
    step = 2.0 ** -NEAR[dtype]
    return 1 + step, 1 + 2 * step, step * step


def used_products(dtype: str) -> Corner:
    a, square, rest = near_one(dtype)
    return corner(
        "product used twice", "product_used_twice",
        {"x": (dtype, [a, a]), "y": (dtype, [a, -a]), "z": (dtype, [-square, square])},
        {"out": (dtype, [square, -square, rest, -rest, -2 * square - rest, 2 * square + rest])},
        N=2,
    )  # fmt: skip


def products_alone(dtype: str) -> Corner:
    """By the compiler: a product is added to itself unrounded, less itself leaves what was cut."""
    a, square, rest = near_one(dtype)
    return corner(
        "product with itself", "products_alone",
        {"x": (dtype, [a, 3]), "y": (dtype, [a, 5])},
        {"out": (dtype, [2 * square, 30, rest, 0, rest, -16])}, N=2,
    )  # fmt: skip


def fused_pairs(dtype: str) -> Iterator[Corner]:
    a, square, rest = near_one(dtype)
    three = {"x": (dtype, [a, -a]), "y": (dtype, [a, a]), "z": (dtype, [-square, square])}
    opposite = {**three, "z": (dtype, [square, -square])}
    yield corner("product negated", "product_negated", opposite, {"out": (dtype, [0, 0])}, N=2)
    yield corner("product in a branch", "product_in_branch", {**three, "flag": 1},
                 {"out": (dtype, [rest, -rest])}, N=2)  # fmt: skip
    yield corner("product chosen", "product_chosen", three,
                 {"out": (dtype, [0, square])}, N=2)  # fmt: skip
    yield corner("product before a loop", "product_in_loop", {**three, "n": 1},
                 {"out": (dtype, [0, 0])}, N=2)  # fmt: skip


def first() -> Iterator[Corner]:
    """Yield the first set."""
    for dtype in ("fp32", "fp16", "bf16", "fp64"):
        yield used_products(dtype)
    for dtype in ("fp32", "fp16"):
        yield products_alone(dtype)
        yield from fused_pairs(dtype)
    a, square, rest = near_one("fp16")
    fp16 = {"x": ("fp16", [a, a]), "y": ("fp16", [a, -a]), "z": ("fp16", [-square, square])}
    yield corner("product widened", "product_widened", fp16, {"out": ("fp16", [rest, -rest])}, N=2)
    yield corner("product widened", "product_widened", fp16, {"out": ("fp32", [0, 0])}, N=2)
    yield corner("product narrowed", "product_narrowed", fp16, {"out": ("fp16", [rest, -rest])},
                 N=2)  # fmt: skip
    a, square, rest = near_one("fp32")
    yield corner(
        "product spread", "product_spread",
        {"x": ("fp32", [a, 2]), "y": ("fp32", [a, 3]), "z": ("fp32", [-square, 1])},
        {"out": ("fp32", [rest, 1 + square, 6 - square, 7])}, M=2, N=2, options={"num_warps": 1},
    )  # fmt: skip
    yield corner(
        "product of scalars", "product_of_scalars",
        {"x": ("fp32", [a]), "y": ("fp32", [a]), "z": ("fp32", [-square, 1, 0, square])},
        {"out": ("fp32", [rest, 1 + square, square, 2 * square])}, N=4,
    )  # fmt: skip
    yield corner(
        "product by a number", "product_by_number",
        {"x": ("fp16", [40000, -40000]), "z": ("fp16", [-30000, 50000])},
        {"out": ("fp16", [50000, -30000])}, C=2.0, N=2,
    )  # fmt: skip
    yield corner("division of constants", "divided_constants", {"x": ("i32", [-7])},
                 {"out": ("i32", [-4, 1, -3, -1])}, A=-7, B=2)  # fmt: skip
    yield boolean_bytes()
    yield corner("to Boolean", "converted_to_boolean", {"x": ("fp32", [0.25, NAN, -0.0, 1e-45])},
                 {"out": ("i32", [1, 1, 0, 1])}, N=4)  # fmt: skip
    yield corner("to Boolean", "converted_to_boolean", {"x": ("i32", [256, 2, 0, -(2**31)])},
                 {"out": ("i32", [1, 1, 0, 1])}, N=4)  # fmt: skip
    yield corner("converted on the way", "converted", {"x": ("fp32", [65520, 1 + 2**-11])},
                 {"out": ("fp32", [INF, 1])}, DTYPE="float16", N=2)  # fmt: skip
    yield corner("converted on the way", "converted", {"x": ("i32", [300, -129])},
                 {"out": ("i32", [44, 127])}, DTYPE="int8", N=2)  # fmt: skip
    yield corner("^ of two widths", "of_two", {"x": ("u8", [255, 1]), "y": ("i32", [-1, 3])},
                 {"out": ("i32", [-256, 2])}, OP="^", N=2)  # fmt: skip
    yield corner("/ of halves, kept wide", "of_two",
                 {"x": ("bf16", [1, 2]), "y": ("bf16", [3, 3])},
                 {"out": ("fp32", [0.333984375, 0.66796875])}, OP="/", N=2)  # fmt: skip
    yield corner("~ of unsigned, kept wide", "of_one", {"x": ("u8", [0, 200])},
                 {"out": ("i32", [255, 55])}, OP="~", N=2)  # fmt: skip
    yield corner("a number too small for the type", "of_one", {"x": ("fp16", [0.0, 2**-24])},
                 {"out": ("fp16", [0.0, 2**-24])}, OP="+ 1e-8", N=2)  # fmt: skip
    yield corner("+ of Booleans and a number", "with_constant", {"x": ("i1", [1, 0])},
                 {"out": ("i32", [2, 1])}, OP="+", C=1, N=2)  # fmt: skip
    yield corner("reduce to the first", "reduced_to_first", {"x": ("i32", np.arange(64) + 7)},
                 {"out": ("i32", [7])}, N=64)  # fmt: skip
    yield complex_products(8)
    yield corner("sum of halves in float32", "summed_wide",
                 {"x": ("fp16", [60000, 60000, 1, 2**-24] * 2)},
                 {"out": ("fp32", [120001, 120001])}, M=2, N=4)  # fmt: skip
    yield corner("extremes of all, kept", "extremes_of_all", {"x": ("i8", [5, -128, 127, 3])},
                 {"out": ("i32", [127, -128, _xor([5, -128, 127, 3])])}, M=2, N=2)  # fmt: skip
    yield corner("least with its place", "least_with_place",
                 {"x": ("fp32", [3, -1, -1, 0, INF, 2, 2, 9])},
                 {"out": ("fp32", [-1, 2]), "places": ("i32", [1, 1])}, M=2, N=4)  # fmt: skip
    yield corner("scalars joined and split", "scalars_joined", {"x": ("fp32", [1, -0.0])},
                 {"out": ("fp32", [-0.0, 1, 1])})  # fmt: skip
    yield from windows()


def boolean_bytes() -> Corner:
    """Bytes of Booleans that are neither 0 nor 1 are true."""
    result = corner("Boolean bytes", "read_as_boolean", {"x": ("i1", [0] * 4)},
                    {"out": ("i32", [2, 1, 1, 1, 0, 1, 1, 1])}, N=4)  # fmt: skip
    buffer = result.question.arguments["x"]
    buffer.bits[:] = [0, 1, 2, 255]  # type: ignore[union-attr]
    return result


def _xor(numbers: list[int]) -> int:
    total = 0
    for number in numbers:
        total ^= number
    return total


def complex_products(columns: int) -> Corner:
    real = np.arange(2 * columns).reshape(2, columns) % 5 - 2
    other = np.arange(2 * columns).reshape(2, columns) % 3 - 1
    whole = (real + 1j * other).prod(1)
    return corner(
        "reduce by complex products", "complex_products", {"x": ("i32", real), "y": ("i32", other)},
        {"out": ("i32", [*whole.real.round(), *whole.imag.round()])}, M=2, N=columns,
    )  # fmt: skip


def second() -> Iterator[Corner]:
    """Yield the second set."""
    numbers = np.arange(16)
    yield corner("four axes turned", "turned", {"x": ("i16", numbers)},
                 {"out": ("i16", numbers.reshape(2, 2, 2, 2).transpose(3, 1, 0, 2))},
                 A=2, B=2, C=2, D=2)  # fmt: skip
    yield corner("flip of the first axis", "flipped_first", {"x": ("bf16", numbers)},
                 {"out": ("bf16", numbers.reshape(4, 4)[::-1])}, M=4, N=4)  # fmt: skip
    index = np.array([[3, 0], [1, 1], [2, 3], [0, 2]])
    yield corner("gather along columns", "gathered_columns",
                 {"x": ("fp16", numbers), "index": ("i32", index)},
                 {"out": ("fp16", np.take_along_axis(numbers.reshape(4, 4), index, 1))},
                 M=4, N=4, K=2)  # fmt: skip
    yield from assembled()
    yield from looped()
    yield from fused_again()
    yield from operators_again()
    rows = np.array([[3, -1, 7, 7], [0, -5, -6, -4]])
    yield corner("topk of rows", "largest_rows", {"x": ("i32", rows)},
                 {"out": ("i32", [7, 7, 0, -4])}, M=2, N=4, K=2)  # fmt: skip
    running = np.maximum.accumulate(rows[::-1], 0)[::-1]
    yield corner("running along both axes", "counted_rows", {"x": ("i64", rows)},
                 {"out": ("i64", [*rows[:, ::-1].cumsum(1)[:, ::-1].reshape(-1),
                                  *running.reshape(-1)])}, M=2, N=4)  # fmt: skip
    yield corner("choice by a scalar", "spread_flag",
                 {"x": ("fp16", [1, 2]), "y": ("fp16", [3, NAN]), "flag": 0},
                 {"out": ("fp16", [3, 3, NAN, NAN])}, N=2)  # fmt: skip
    yield corner("dot of infinity and zero", "small_product",
                 {"a": ("fp16", np.where(np.arange(256) == 0, INF, 0)),
                  "b": ("fp16", np.arange(256) < 8)},
                 {"out": ("fp32", [*[INF] * 8, *[NAN] * 8, *[0] * 240])},
                 M=16, N=16, K=16, agreement=ORDER)  # fmt: skip
    yield complex_products(64)


def windows() -> Iterator[Corner]:
    cube = np.arange(3 * 5 * 16).reshape(3, 5, 16) + 1
    for a, b, c in ((1, 2, 0), (2, 4, 8), (-1, 0, 0), (0, 5, 0)):
        whole = np.zeros((9, 15, 48))
        whole[3:6, 5:10, 16:32] = cube
        yield corner(
            f"descriptor of three axes at {a}, {b}, {c}", "window_of_three",
            {"x": ("i32", cube), "a": a, "b": b, "c": c},
            {"out": ("i32", whole[3 + a : 5 + a, 5 + b : 9 + b, 16 + c : 32 + c])}, A=3, B=5, C=16,
        )  # fmt: skip
    block = np.arange(128).reshape(8, 16) % 9 - 4
    for dtype, row, column in (("fp32", 6, 16), ("fp16", 2, 24), ("i32", 9, 0)):
        start = np.full((8, 32), 3)
        part = start[row : row + 8, column : column + 16]
        part += block[: part.shape[0], : part.shape[1]]
        yield corner(
            f"descriptor's addition at {row}, {column}", "clipped_addition",
            {"x": (dtype, block), "out": (dtype, np.full((8, 32), 3)), "row": row,
             "column": column},
            {"out": (dtype, start)}, ROWS=8, COLUMNS=32,
        )  # fmt: skip
    block = np.arange(16).reshape(4, 4) + 1
    whole = np.zeros((6, 6))
    whole[4:6, 0:4] = block[:2]
    whole[0:1, 4:6] = 2 * block[3:, :2]
    yield corner("block pointer moved", "moved_window", {"x": ("i32", block)},
                 {"out": ("i32", whole)}, ROWS=6, COLUMNS=6, B=4)  # fmt: skip


def assembled() -> Iterator[Corner]:
    for code, x, y, z, result in (
        ("prmt.b32 $0, $1, $2, $3;", [0x03020100, -1], [0x07060504, 0], [0x7531, 0x8C04],
         [0x07050301, -1 - 0xFF00 - 0xFF0000 - 0 + 0xFFFF00 - 0xFFFF00 + 0xFF0000]),
        ("lop3.b32 $0, $1, $2, $3, 0x96;", [12, -1], [10, 5], [6, 3], [12 ^ 10 ^ 6, -1 ^ 5 ^ 3]),
        ("bfe.s32 $0, $1, $2, $3;", [0b11011000, -8], [3, 40], [5, 4], [-5, -1]),
        ("bfe.u32 $0, $1, $2, $3;", [0b11011000, -1], [3, 28], [5, 8], [27, 15]),
        ("dp4a.s32.s32 $0, $1, $2, $3;", [0x01FF02FE, -1], [0x01010101, 0x7F7F7F7F], [5, -1],
         [5, -509]),
        ("shf.l.wrap.b32 $0, $1, $2, $3;", [-1, 1], [0, 2], [33, 4], [1, 32]),
        ("mad.lo.s32 $0, $1, $2, $3;", [2**30, -3], [4, 5], [7, -1], [7, -16]),
        ("sad.s32 $0, $1, $2, $3;", [-5, 7], [5, 7], [1, -2], [11, -2]),
    ):  # fmt: skip
        if code.startswith("prmt"):
            result = [0x07050301, _prmt(-1, 0, 0x8C04)]
        yield corner(
            f"assembly {code.split()[0]}", "assembled_three",
            {"x": ("i32", x), "y": ("i32", y), "z": ("i32", z)}, {"out": ("i32", result)},
            CODE=code, KINDS="=r,r,r,r", N=2,
        )  # fmt: skip


def _prmt(low: int, high: int, selectors: int) -> int:
    """Return bytes chosen by four bits each; the highest of these spreads the byte's sign."""
    both = (low & 0xFFFFFFFF) | (high & 0xFFFFFFFF) << 32
    result = 0
    for n in range(4):
        selector = selectors >> 4 * n & 15
        byte = both >> 8 * (selector & 7) & 255
        if selector & 8:
            byte = 255 if byte & 128 else 0
        result |= byte << 8 * n
    return result - (1 << 32) if result >> 31 else result


def looped() -> Iterator[Corner]:
    steps = []
    for n in (1, 2, 7, 27):
        count = 0
        while n > 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            count += 1
        steps.append(count)
    yield corner("a function of elements mapped", "mapped", {"x": ("i32", [1, 2, 7, 27])},
                 {"out": ("i32", steps)}, N=4)  # fmt: skip
    ends = [3, 9, 4]
    totals = [sum(i * 10 + j for i in range(p + 2) for j in range(i, ends[p])) for p in range(3)]
    yield corner("programs that return early", "left_early", {"x": ("i32", ends)},
                 {"out": ("i32", [totals[0], 0, totals[2]])}, grid=3)  # fmt: skip
    yield corner("conditional expressions", "chosen_scalars", {"x": ("i32", [0, -4]), "n": 2},
                 {"out": ("i32", [-4, 2, 4, 5, -398])})  # fmt: skip
    total = 0
    for i in range(5, -5, -3):
        total = total * 2 + i
    yield corner("loops unrolled", "unrolled_backward", {"x": ("i32", [3])},
                 {"out": ("i32", [total + 3 * 10])}, N=5)  # fmt: skip
    yield corner("a mask of numbers alone", "masked_by_numbers",
                 {"x": ("fp64", [1, NAN, -INF, 0.1]), "out": ("fp64", [9, 9, 9, 9])},
                 {"out": ("fp64", [2, 9, -INF, 0.2])}, N=4)  # fmt: skip
    for dtype, name, memory, operand, result in (
        ("fp16", "atomic_add", [1, 2, 65504, 4], [2**-11, 5, 16, 5], [1, 2, INF, 4]),
        ("u32", "atomic_max", [5, 5, 7, 7], [2**32 - 1, 9, 3, 9], [2**32 - 1, 5, 7, 7]),
        ("fp32", "atomic_xchg", [1, 2, 3, 4], [NAN, 5, -0.0, 5], [NAN, 2, -0.0, 4]),
    ):
        before = [memory[0], 0, memory[2], 0]
        yield corner(
            f"{name}, masked, in a scope", "atomic_with_mask",
            {"x": (dtype, operand), "memory": (dtype, memory)},
            {"memory": (dtype, result), "old": (dtype, before)}, NAME=name, N=4,
        )  # fmt: skip


def fused_again() -> Iterator[Corner]:
    a, square, rest = near_one("fp64")
    fp64 = {"x": ("fp64", [a, -a]), "y": ("fp64", [a, a]), "z": ("fp64", [-square, square])}
    yield corner("product in a branch", "product_in_branch", {**fp64, "flag": 1},
                 {"out": ("fp64", [rest, -rest])}, N=2)  # fmt: skip
    for fused in (True, False):
        kept = rest if fused else 0
        yield corner(
            "products in a loop" + ("" if fused else ", not fused"), "products_in_loop",
            {"x": ("fp64", [a, -a]), "y": ("fp64", [a, a]), "z": ("fp64", [-square, square]),
             "n": 1},
            {"out": ("fp64", [kept, -kept])}, N=2, options={"enable_fp_fusion": fused},
        )  # fmt: skip
    x = np.array([0.3, -1.7, 2.9, 1e3], np.float32)
    c = [np.float32(number) for number in (0.1, 0.7, -0.3, 1.1)]
    result = _fma(_fma(_fma(x, c[0], c[1]), x, c[2]), x, c[3])
    yield corner("Horner's scheme", "by_horner", {"x": ("fp32", x)}, {"out": ("fp32", result)}, N=4)
    y, t = np.array([1, 2, -3, 1e-3], np.float32), np.array([0.1, 0.9, 1 / 3, 0.5], np.float32)
    yield corner(
        "interpolation", "interpolated", {"x": ("fp32", x), "y": ("fp32", y), "z": ("fp32", t)},
        {"out": ("fp32", [*_fma(t, y - x, x), *_fma(1 - t, x, t * y)])}, N=4,
    )  # fmt: skip
    yield corner("IEEE quotient and sum", "divided_and_added",
                 {"x": ("fp32", x), "y": ("fp32", y), "z": ("fp32", -x / y)},
                 {"out": ("fp32", [0, 0, 0, 0])}, N=4)  # fmt: skip
    a, square, rest = near_one("bf16")
    bf16 = {"x": ("bf16", [a, -a]), "y": ("bf16", [a, a]), "z": ("bf16", [-square, square])}
    yield corner("product widened", "product_widened", bf16, {"out": ("bf16", [rest, -rest])}, N=2)


def _fma(a: Any, b: Any, c: Any) -> np.ndarray:
    return np.asarray(np.float64(a) * np.float64(b) + np.float64(c)).astype(np.float32)


def operators_again() -> Iterator[Corner]:
    for op, left, a, right, b, target, result in (
        ("<<", "i8", [100, 1], "i8", [1, 7], "i32", [-56, -128]),
        ("+", "i8", [127, -128], "u8", [1, 255], "i32", [128, 127]),
        ("*", "i1", [1, 0], "fp32", [2.5, NAN], "fp32", [2.5, NAN]),
        ("<", "fp16", [NAN, 1], "i32", [1, 2], "i1", [0, 1]),
        ("&", "i64", [-1, 6], "u8", [255, 3], "i64", [255, 2]),
        ("cdiv", "i32", [-7, 7], "i32", [2, 2], "i32", [-3, 4]),
    ):
        yield corner(f"{op} of two, afresh", "of_two", {"x": (left, a), "y": (right, b)},
                     {"out": (target, result)}, OP=op, N=2)  # fmt: skip
    for op, number, dtype, a, target, result in (
        ("+", 2**40, "i64", [1, -1], "i64", [2**40 + 1, 2**40 - 1]),
        ("<<", 3, "u8", [255, 1], "i32", [248, 8]),
        (">>", 1, "i16", [-3, 3], "i16", [-2, 1]),
        ("&", 2**32 - 2, "u32", [7, 2**32 - 1], "i64", [6, 2**32 - 2]),
        ("number //", 7, "i32", [-2, 2], "i32", [-3, 3]),
    ):
        yield corner(f"{op} {number}, afresh", "with_constant", {"x": (dtype, a)},
                     {"out": (target, result)}, OP=op, C=number, N=2)  # fmt: skip
    yield corner("abs of the least", "of_one", {"x": ("i16", [-32768, -1])},
                 {"out": ("i32", [-32768, 1])}, OP="abs", N=2)  # fmt: skip
    yield corner("few rounds of Philox", "few_rounds", {"seed": 7},
                 {"out": ("i32", _philox(7, 3, 4))}, ROUNDS=3, N=4)  # fmt: skip


def _philox(seed: int, rounds: int, count: int) -> np.ndarray:
    """Return the first word of Philox 4x32 for counters 0, 1, …, as its authors define it."""
    mask = 0xFFFFFFFF
    words = []
    for first in range(count):
        c, keys = [first, 0, 0, 0], [seed, 0]
        for _ in range(rounds):
            wide = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
            c = [(wide[1] >> 32) ^ c[1] ^ keys[0], wide[1] & mask,
                 (wide[0] >> 32) ^ c[3] ^ keys[1], wide[0] & mask]  # fmt: skip
            keys = [(keys[0] + 0x9E3779B9) & mask, (keys[1] + 0xBB67AE85) & mask]
        words.append(c[0])
    return np.array(words, np.uint32).view(np.int32)


def third() -> Iterator[Corner]:
    """Yield the third set, asked after what the second showed was mended."""
    for op, dtype, numbers, target, result in (
        ("-", "i16", [-32768, 5], "i32", [32768, -5]),
        ("-", "i8", [-128, 5], "i32", [-128, -5]),
        ("-", "i32", [-(2**31), 5], "i64", [-(2**31), -5]),
        ("abs", "i8", [-128, -5], "i32", [-128, 5]),
        ("abs", "i16", [-32768, -5], "i64", [32768, 5]),
        ("abs", "i16", [-32768, -5], "fp32", [-32768, 5]),
        ("~", "i1", [1, 0], "i32", [0, 1]),
    ):
        yield corner(f"{op} at the end of a type", "of_one", {"x": (dtype, numbers)},
                     {"out": (target, result)}, OP=op, N=2)  # fmt: skip
    for op, left, a, right, b, target, result in (
        ("*", "u8", [255, 16], "u8", [255, 17], "i32", [1, 16]),
        ("<", "i64", [-1, 1], "u64", [1, 2], "i1", [0, 1]),
        ("/", "i8", [-128, 1], "i8", [-1, 4], "fp32", [128, 0.25]),
        ("+", "bf16", [1, 256], "fp16", [2**-11, 1], "fp32", [1 + 2**-11, 257]),
        ("^", "i1", [1, 1], "i1", [1, 0], "i32", [0, 1]),
        ("<<", "u32", [2**31 + 1, 7], "u32", [1, 31], "i64", [2, 2**31]),
        ("cdiv", "u32", [2**32 - 1, 7], "u32", [2, 7], "i64", [0, 1]),
        ("&", "i8", [-2, 15], "i16", [255, -256], "i32", [254, 0]),
    ):
        yield corner(f"{op} of two, once more", "of_two", {"x": (left, a), "y": (right, b)},
                     {"out": (target, result)}, OP=op, N=2,
                     agreement=LAST_BITS if op == "/" else BITS)  # fmt: skip
    yield from fused_once_more()
    yield from called_once_more()
    for code, letters, x, y, z, result in (
        ("shf.r.clamp.b32 $0, $1, $2, $3;", "r", [-1, 4], [0, 1], [40, 1], [0, -(2**31) + 2]),
        ("lop3.b32 $0, $1, $2, $3, 0xCA;", "r", [-1, 12], [10, 10], [6, 5], [10, 9]),
        ("mad.hi.u32 $0, $1, $2, $3;", "r", [-1, 2], [-1, 3], [3, 4], [1, 4]),
        ("dp4a.u32.u32 $0, $1, $2, $3;", "r", [-1, 1], [-1, 2], [0, 9], [260100, 11]),
        ("fma.rz.f32 $0, $1, $2, $3;", "f", [1 + 2**-12, 3], [1 + 2**-12, -5], [2**-23, 0.5],
         [1 + 2**-11 + 2**-23, -14.5]),
        ("fma.rn.ftz.f32 $0, $1, $2, $3;", "f", [1e-30, 2], [1e-10, 1e-40], [0, 0], [0, 0]),
    ):  # fmt: skip
        kind = "i32" if letters == "r" else "fp32"
        yield corner(
            f"assembly {code.split()[0]}", "assembled_three",
            {"x": (kind, x), "y": (kind, y), "z": (kind, z)}, {"out": (kind, result)},
            CODE=code, KINDS=f"={letters},{letters},{letters},{letters}", N=2,
        )  # fmt: skip
    yield corner("packed assembly", "packed",
                 {"x": ("fp16", [1, 2, -0.0, 65504]), "y": ("fp16", [2**-11, 3, 0.0, 16])},
                 {"out": ("fp16", [1, 5, 0.0, INF])}, CODE="add.f16x2 $0, $1, $2;", PACK=2,
                 N=4)  # fmt: skip
    yield corner("packed assembly", "packed",
                 {"x": ("u8", [1, 255, 3, 7]), "y": ("u8", [3, 15, 5, 255])},
                 {"out": ("u8", [1, 15, 1, 7])}, CODE="and.b32 $0, $1, $2;", PACK=4,
                 N=4)  # fmt: skip


def fused_once_more() -> Iterator[Corner]:
    a, square, rest = near_one("fp32")
    four = {"x": ("fp32", [a, 3]), "y": ("fp32", [a, 1]), "z": ("fp32", [a, 2]),
            "w": ("fp32", [a, 5])}  # fmt: skip
    yield corner("complex product", "complex_multiplied", four,
                 {"out": ("fp32", [rest, 1, 2 * square, 17])}, N=2)  # fmt: skip
    for dtype in ("fp32", "fp64"):
        a, square, rest = near_one(dtype)
        three = {name: (dtype, [a, 2]) for name in "xyz"}
        yield corner(
            "products shared", "products_shared", three,
            {"out": (dtype, [-rest, 0, square, 4, 3 * square, 12, a * 0.25 - square, -3.5])},
            N=2, agreement=LAST_BITS,
        )  # fmt: skip
        yield corner("product by a scalar", "scaled_by_scalar",
                     {"x": (dtype, [a, 1]), "y": (dtype, [a]), "z": (dtype, [square, a])},
                     {"out": (dtype, [rest, 0])}, N=2)  # fmt: skip
    yield corner("product and zero", "product_and_zero",
                 {"x": ("fp32", [-0.0, 1e-30, -1e-30, 2]), "y": ("fp32", [1, 1e-30, 1e-30, 3])},
                 {"out": ("fp32", [0.0, 0.0, -0.0, 6, -0.0, 0.0, -0.0, 6, 0.0, -0.0, 0.0, -6])},
                 N=4)  # fmt: skip


def called_once_more() -> Iterator[Corner]:
    x, y = np.array([1, -2, 3, 4]), np.array([5, 6, -7, 8])
    yield corner("joined and summed", "joined_and_summed", {"x": ("i8", x), "y": ("i8", y)},
                 {"out": ("i32", [*(x + y), np.maximum(x, y).sum()])}, N=4)  # fmt: skip
    block = np.arange(32).reshape(4, 8)
    yield corner("transposed", "transposed", {"x": ("u16", block)}, {"out": ("u16", block.T)},
                 M=4, N=8)  # fmt: skip
    yield corner("pointers that a loop moves", "pointers_carried",
                 {"x": ("i64", np.arange(12)), "n": 3},
                 {"out": ("i64", np.arange(12).reshape(3, 4)[::-1])}, N=4)  # fmt: skip
    yield corner("calls with tuples and keywords", "called_oddly", {"x": ("i32", [3, 4])},
                 {"out": ("i32", [13, 3, 10, 13, 720, -3])})  # fmt: skip
    yield corner("a loop with two conditions", "two_conditions",
                 {"x": ("i32", [4, 5, 6, 7])}, {"out": ("i32", [15, 3])}, N=4)  # fmt: skip
    yield corner("slots that programs take", "slots_taken",
                 {"x": ("i32", [5, 6, 7]), "counter": ("i32", [0])},
                 {"counter": ("i32", [6]), "out": ("i32", [6, 11, 7, 11, 8, 11])},
                 grid=3, N=8)  # fmt: skip
    words = _philox(3, 1, 4).astype(np.int64)
    numbers = np.where(words < 0, -words - 1, words).astype(np.float32)
    yield corner("one round of Philox, uniform", "uniform_few", {"seed": 3},
                 {"out": ("fp32", numbers * np.float32(4.6566127342e-10))}, ROUNDS=1,
                 N=4)  # fmt: skip
    order = [(i // 2 * 2 + (i % 2 * 4 + j) % 2) * 10 + (i % 2 * 4 + j) // 2
             for i in range(4) for j in range(4)]  # fmt: skip
    yield corner("rows swizzled", "rows_swizzled", {}, {"out": ("i32", order)}, M=4, N=4, G=2)
    left = np.arange(256).reshape(16, 16) % 3 - 1
    right = np.arange(256).reshape(16, 16) % 5 - 2
    for dtype in ("fp16", "bf16"):
        yield corner("product of a product", "wide_product",
                     {"a": (dtype, left), "b": (dtype, right)},
                     {"out": ("fp32", (left @ right).T @ right)}, N=16)  # fmt: skip
    rows = np.array([[1.5, -2, NAN, 4], [0, -0.0, 3, -INF]])
    yield corner("flip of the first axis", "flipped_first", {"x": ("fp8e5", rows)},
                 {"out": ("fp8e5", rows[::-1])}, M=2, N=4)  # fmt: skip
    yield corner("topk of rows", "largest_rows", {"x": ("u8", [200, 3, 255, 9, 0, 1, 0, 1])},
                 {"out": ("u8", [255, 200, 1, 1])}, M=2, N=4, K=2)  # fmt: skip
    yield corner("reduce to the first", "reduced_to_first", {"x": ("fp64", np.arange(256) + 0.5)},
                 {"out": ("fp64", [0.5])}, N=256)  # fmt: skip
    yield corner("scalars joined and split", "scalars_joined", {"x": ("i64", [-1, 2**62])},
                 {"out": ("i64", [2**62, -1, -1])})  # fmt: skip
    for dtype, name, memory, operand, result in (
        ("i64", "atomic_min", [5, 5, -7, 7], [-(2**63), 9, 3, 9], [-(2**63), 5, -7, 7]),
        ("i32", "atomic_xor", [5, 5, 6, 7], [-1, 9, 3, 9], [-6, 5, 5, 7]),
        ("fp32", "atomic_min", [1, 2, -3, 4], [-0.5, 5, -0.0, 5], [-0.5, 2, -3, 4]),
    ):
        before = [memory[0], 0, memory[2], 0]
        yield corner(
            f"{name}, masked, in a scope", "atomic_with_mask",
            {"x": (dtype, operand), "memory": (dtype, memory)},
            {"memory": (dtype, result), "old": (dtype, before)}, NAME=name, N=4,
        )  # fmt: skip


def questions() -> Iterator[Question]:
    for each in (*first(), *second(), *third()):
        yield each.question
