"""Questions about reductions, scans, orders and products of blocks."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.kernels.answers.question import BITS, ORDER, Buffer, Question, empty
from tests.kernels.answers.values import (
    FORMATS,
    NARROW,
    Bits,
    encoded,
    finite,
    held,
    random_of,
    singles,
    specials,
)

DTYPES = tuple(FORMATS)
ROWS = COLUMNS = 16
REDUCTIONS = ("sum", "max", "min", "argmax", "argmin", "xor_sum", "reduce_or")
PRECISIONS = ("tf32", "tf32x3", "ieee", "bf16x3", "bf16x6")


def widest(dtype: str) -> str:
    """Return the type that holds a result however it was promoted."""
    form = FORMATS[dtype]
    if not form.is_float:
        return "i64"
    return "fp32" if form.width < 64 else dtype


def rows_of(dtype: str, *words: object) -> Bits:
    """Return 16 rows of 16: special values alone, among ones, repeated, small and random ones."""
    form, rng = FORMATS[dtype], random_of("rows", dtype, *words)
    if dtype == "i1":
        return rng.integers(0, 2, (ROWS, COLUMNS)).astype(np.uint8)
    values = specials(dtype)
    small = rng.integers(-4, 5, (ROWS, COLUMNS))
    rows = (encoded(dtype, small) if form.is_float else held(dtype, small.reshape(-1))).reshape(
        ROWS, COLUMNS
    )
    rows[0], rows[1] = values, values[::-1]
    rows[2], rows[3] = form.sign, values[1]  # -0.0, or the smallest integer; a denormal
    rows[4, 5], rows[5, 3], rows[5, 9] = values[15], values[8], values[14]
    rows[6, ::5], rows[7, 1::4] = values[7], values[13]
    rows[8, 15], rows[9, 0] = values[8], values[15]
    rows[10, ::2], rows[10, 1::2] = values[0], values[9]
    rows[11], rows[12] = values[7], singles(dtype, 128, "row")[-16:]
    if form.is_float:
        rows[13:] = encoded(dtype, rng.uniform(-4, 4, (3, COLUMNS))).reshape(3, COLUMNS)
        rows[12] = finite(dtype, rows[12])
    return rows


def block_question(
    op: str, dtype: str, kernel: str, block: Bits, target: str, count: int,
    constexprs: dict[str, Any], *, agreement: str = BITS,
) -> Question:  # fmt: skip
    return Question(
        op, dtype, kernel, {"x": Buffer(dtype, block.reshape(-1)), "out": empty(target, count)},
        ("out",), constexprs, agreement=agreement,
    )  # fmt: skip


def reduction_questions() -> Iterator[Question]:
    for dtype in DTYPES:
        block, form = rows_of(dtype), FORMATS[dtype]
        size = {"M": ROWS, "N": COLUMNS}
        for name in REDUCTIONS:
            if name in ("xor_sum", "reduce_or") and form.is_float:
                continue
            target = "i32" if name.startswith("arg") else widest(dtype)
            agreement = ORDER if name == "sum" and form.is_float else BITS
            for axis in (0, 1):
                yield block_question(
                    f"{name}, axis {axis}", dtype, "blocks.reduced", block, target, 16,
                    {"NAME": name, "AXIS": axis, **size}, agreement=agreement,
                )  # fmt: skip
        for op, kernel in (
            ("reduce, NaN kept", "reduced_with_nan"), ("reduce by *", "product_of_all"),
            ("reduce by +", "sum_of_all"),
        ):  # fmt: skip
            ordered = form.is_float and op != "reduce, NaN kept"
            yield Question(
                op, dtype, f"blocks.{kernel}",
                {"x": Buffer(dtype, block.reshape(-1)), "out": empty(widest(dtype), ROWS)},
                ("out",), {"N": COLUMNS}, ROWS, ORDER if ordered else BITS,
            )  # fmt: skip


def scan_questions() -> Iterator[Question]:
    for dtype in DTYPES:
        block, form = rows_of(dtype, "scan"), FORMATS[dtype]
        agreement = ORDER if form.is_float else BITS
        for name in ("cumsum", "cumprod"):
            for reverse in (False, True):
                axis = int(not reverse)
                way = f"axis {axis}" + (", reverse" if reverse else "")
                yield block_question(
                    f"{name}, {way}", dtype, "blocks.scanned", block, widest(dtype), 256,
                    {"NAME": name, "AXIS": axis, "REVERSE": reverse, "M": ROWS, "N": COLUMNS},
                    agreement=agreement,
                )  # fmt: skip
        flags = random_of("flags").integers(0, 4, 256) == 0
        for kind in ("larger", "last", "segmented"):
            yield Question(
                f"associative_scan, {kind}", dtype, "blocks.scanned_by",
                {"x": Buffer(dtype, block.reshape(-1)),
                 "flags": Buffer("i32", flags.astype(np.uint32)), "out": empty(widest(dtype), 256)},
                ("out",), {"KIND": kind, "REVERSE": False, "N": 16}, 16,
                agreement if kind == "segmented" else BITS,
            )  # fmt: skip


def order_questions() -> Iterator[Question]:
    size = {"M": ROWS, "N": COLUMNS}
    for dtype in DTYPES:
        block = rows_of(dtype, "order")
        for down in (False, True):
            yield block_question(
                "sort, descending" if down else "sort", dtype, "blocks.ordered", block, dtype, 256,
                {"NAME": "sort", "DOWN": down, **size},
            )  # fmt: skip
        yield block_question(
            "topk", dtype, "blocks.largest_few", block, dtype, 4 * ROWS, {"K": 4, **size}
        )
        yield block_question("flip", dtype, "blocks.flipped", block, dtype, 256, {"DIM": 1, **size})


def product_operands(left: str, right: str, kind: str, m: int, n: int, k: int) -> tuple[Bits, Bits]:
    """Return M by K and K by N bits whose sums have one term, special terms, or random ones."""
    rng = random_of("product", left, right, kind, m)
    if not FORMATS[left].is_float:
        return singles(left, m * k, kind, "left"), singles(right, k * n, kind, "right")
    if kind == "random":
        return encoded(left, rng.uniform(-4, 4, m * k)), encoded(right, rng.uniform(-4, 4, k * n))
    if kind == "one term":
        a = np.zeros((m, k), FORMATS[left].bits)
        rows = np.arange(m)
        a[rows, rows % k] = finite(left, singles(left, m, kind))
        return a.reshape(-1), finite(right, singles(right, k * n, kind))
    a = encoded(left, rng.integers(-2, 3, m * k))
    b = encoded(right, rng.integers(-2, 3, k * n))
    a[np.arange(0, 16 * k, k + 1)[:15]] = specials(left)[:15]
    b[np.arange(0, n * k, n * 3 + 1)[:5]] = specials(right)[[1, 7, 8, 9, 15]]
    return a, b


def product_questions() -> Iterator[Question]:
    asked = [("fp32", "fp32", "fp32", precision) for precision in PRECISIONS]
    asked += [
        ("fp16", "fp16", "fp32", ""),
        ("fp16", "fp16", "fp16", ""),
        ("bf16", "bf16", "fp32", ""),
    ]
    asked += [("fp64", "fp64", "fp64", ""), ("i8", "i8", "i32", ""), ("u8", "u8", "i32", "")]
    asked += [(left, right, "fp32", "") for left in NARROW for right in NARROW]
    for left, right, target, precision in asked:
        for m in (16, 64):
            for kind in ("one term", "special", "random"):
                yield _product(left, right, target, precision, kind, m)


def _product(left: str, right: str, target: str, precision: str, kind: str, m: int) -> Question:
    n, k = 16, 32
    a, b = product_operands(left, right, kind, m, n, k)
    exact = not FORMATS[target].is_float or kind == "one term"
    label = ", ".join(word for word in ("dot", precision, kind, f"{m} rows") if word)
    return Question(
        label, f"{left} {right} {target}", "blocks.product",
        {"a": Buffer(left, a), "b": Buffer(right, b), "c": empty(target, m * n),
         "out": empty(target, m * n)},
        ("out",), {"PRECISION": precision, "M": m, "N": n, "K": k},
        agreement=BITS if exact else ORDER,
    )  # fmt: skip


SCALED = {"e4m3": "fp8e4nv", "e5m2": "fp8e5", "e2m1": "u8", "bf16": "bf16", "fp16": "fp16"}
SCALES = (127, 0, 1, 126, 128, 140, 143, 150, 113, 100, 64, 190, 254, 255, 120, 130)


def scaled_questions() -> Iterator[Question]:
    for left in SCALED:
        for right in SCALED:
            if {left, right} <= {"bf16", "fp16"}:
                continue
            for kind in ("one term", "special"):
                yield _scaled(left, right, kind)


def _scaled(left: str, right: str, kind: str) -> Question:
    m, n, k = 32, 16, 64
    first, second = SCALED[left], SCALED[right]
    depths = [k // 2 if name == "e2m1" else k for name in (left, right)]
    if "u8" not in (first, second):
        a, b = product_operands(first, second, kind, m, n, k)
    else:
        a = _scaled_operand(first, kind, m * depths[0], "left")
        b = _scaled_operand(second, kind, depths[1] * n, "right")
        if kind == "one term":
            a = _one_term(a, m, depths[0])
    scales = np.array(SCALES, np.uint8)
    with_a, with_b = left not in ("bf16", "fp16"), right not in ("bf16", "fp16")
    constexprs = {
        "A": left, "B": right, "A_DEPTH": depths[0], "B_DEPTH": depths[1], "WITH_A": with_a,
        "WITH_B": with_b, "M": m, "N": n, "K": k,
    }  # fmt: skip
    rows = np.resize(np.repeat(scales, 2), m * 2)
    columns = np.full(n * 2, 127, np.uint8) if with_a else np.resize(scales, n * 2)
    return Question(
        f"dot_scaled, {kind}", f"{left} {right}", "blocks.scaled_product",
        {"a": Buffer(first, a), "a_scale": Buffer("u8", rows),
         "b": Buffer(second, b), "b_scale": Buffer("u8", columns),
         "out": empty("fp32", m * n)},
        ("out",), constexprs, agreement=ORDER,
    )  # fmt: skip


def _scaled_operand(dtype: str, kind: str, count: int, side: str) -> Bits:
    rng = random_of("scaled", dtype, kind, side)
    if dtype == "u8":
        return rng.integers(0, 256, count).astype(np.uint8)
    return encoded(dtype, rng.integers(-3, 4, count))


def _one_term(bits: Bits, rows: int, depth: int) -> Bits:
    """Return rows of which one element, or one packed pair, is kept, the others 0."""
    keep = np.arange(depth)[None, :] == np.arange(rows)[:, None] % depth
    return np.where(keep, bits.reshape(rows, depth), bits.dtype.type(0)).reshape(-1)


def questions() -> Iterator[Question]:
    yield from reduction_questions()
    yield from scan_questions()
    yield from order_questions()
    yield from product_questions()
    yield from scaled_questions()
