"""Questions about functions, operators and conversions that work element by element."""

from collections.abc import Iterator

import numpy as np

from tests.kernels.answers.question import BITS, LAST_BITS, Buffer, Question, empty
from tests.kernels.answers.values import (
    FLOATS,
    FORMATS,
    INTEGERS,
    NARROW,
    Bits,
    decoded,
    halfway,
    held,
    in_range,
    pairs,
    payloads,
    singles,
    specials,
    triples,
)

FUNCTIONS = (
    "exp", "exp2", "log", "log2", "sin", "cos", "sqrt", "rsqrt", "erf", "sigmoid", "sqrt_rn",
    "floor", "ceil", "abs",
)  # fmt: skip
EXACT_FUNCTIONS = ("sqrt_rn", "floor", "ceil", "abs")
COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
ARITHMETIC = ("+", "-", "*", "/", "%", "where", "maximum, NaN kept", "minimum, NaN kept")
INTEGER_OPERATORS = ("//", "&", "|", "^", "<<", ">>")
OF_TWO = ("maximum", "minimum", "cdiv", "fdiv", "div_rn", "umulhi")
DTYPES = tuple(FORMATS)
ROUNDINGS = ("rtne", "rtz")


def question_of(
    op: str, dtype: str, kernel: str, inputs: dict[str, tuple[str, Bits]], target: str,
    constexprs: dict[str, object], *, agreement: str = BITS,
    options: dict[str, object] | None = None,
) -> Question:  # fmt: skip
    """Return a question with one output of as many elements as the first input."""
    count = len(next(iter(inputs.values()))[1])
    buffers = {name: Buffer(kind, bits) for name, (kind, bits) in inputs.items()}
    return Question(
        op, dtype, kernel, {**buffers, "out": empty(target, count)}, ("out",),
        {**constexprs, "N": count}, agreement=agreement, options=options or {},
    )  # fmt: skip


def function_questions() -> Iterator[Question]:
    for name in FUNCTIONS:
        for dtype in DTYPES:
            agreement = BITS if name in EXACT_FUNCTIONS else LAST_BITS
            x = {"x": (dtype, singles(dtype, 128))}
            yield question_of(
                name, dtype, "elementwise.of_one", x, dtype, {"NAME": name}, agreement=agreement
            )
    for op, dtypes in (("-x", (*INTEGERS, *FLOATS)), ("~x", ("i1", *INTEGERS)), ("not x", ("i1",))):
        for dtype in dtypes:
            x = {"x": (dtype, singles(dtype, 128))}
            yield question_of(op, dtype, "elementwise.unary_operator", x, dtype, {"OP": op})


def target_of(op: str, dtype: str) -> str:
    """Return the type to store an operator's result in, wide enough for promoted results."""
    if op in COMPARISONS:
        return "i1"
    form = FORMATS[dtype]
    if op == "/" and not form.is_float:
        return "fp32"
    if op in ("/", "%", "fdiv") and form.is_float and form.width < 32:
        return "fp32"
    return "fp32" if dtype in NARROW else dtype


def defined_operands(op: str, dtype: str) -> tuple[Bits, Bits]:
    """Return pairs of operands for which Triton defines an operator's result."""
    form = FORMATS[dtype]
    a, b = pairs(dtype)
    if form.is_float or dtype == "i1":
        return a, b
    one = form.bits(1)
    if op in ("<<", ">>"):
        return a, b % form.bits(form.width)
    if op in ("//", "%", "cdiv"):
        b = np.where(b == 0, form.bits(3), b).astype(form.bits)
        leaves = (a == form.sign) & (b == form.bits(2**form.width - 1)) & form.signed
        b = np.where(leaves, one, b).astype(form.bits)
    return a, b


def operator_questions() -> Iterator[Question]:
    for op in (*ARITHMETIC, *INTEGER_OPERATORS, *COMPARISONS):
        for dtype in DTYPES:
            if FORMATS[dtype].is_float and op in INTEGER_OPERATORS:
                continue
            if dtype in NARROW and op not in ("+", "=="):
                continue  # refused as these two are
            if dtype == "i1" and op in ("/", "%", "//", "<<", ">>"):
                continue  # a divisor 0, or a shift by the width, is undefined
            yield _operator_question(op, dtype, "elementwise.operator", {"OP": op})
    for op in OF_TWO:
        for dtype in DTYPES:
            if dtype != "i1" and dtype not in NARROW:
                yield _operator_question(op, dtype, "elementwise.of_two", {"NAME": op})


def _operator_question(op: str, dtype: str, kernel: str, constexprs: dict[str, object]) -> Question:
    a, b = defined_operands(op, dtype)
    target = target_of(op, dtype)
    approximate = op in ("/", "fdiv", "%") and FORMATS[target].is_float
    return question_of(
        op, dtype, kernel, {"x": (dtype, a), "y": (dtype, b)}, target, constexprs,
        agreement=LAST_BITS if approximate else BITS,
    )  # fmt: skip


def promotion_questions() -> Iterator[Question]:
    """Operands of unlike types; the result is stored in 64 bits."""
    mixed = [dtype for dtype in DTYPES if dtype not in NARROW]
    for left in mixed:
        for right in mixed:
            if left == right:
                continue
            a, b = specials(left), specials(right)[::-1]
            real = FORMATS[left].is_float or FORMATS[right].is_float
            yield question_of(
                "+ of two types", f"{left} {right}", "elementwise.operator",
                {"x": (left, a), "y": (right, b)}, "fp64" if real else "i64", {"OP": "+"},
            )  # fmt: skip


def ternary_questions() -> Iterator[Question]:
    for dtype in FLOATS:
        a, b, c = triples(dtype)
        three = {"x": (dtype, a), "y": (dtype, b), "z": (dtype, c)}
        yield question_of("fma", dtype, "elementwise.of_three", three, dtype, {"NAME": "fma"})
        for fused in (True, False):
            yield question_of(
                "a * b + c" if fused else "a * b + c, not fused", dtype,
                "elementwise.multiplied_and_added", three, dtype, {},
                options={"enable_fp_fusion": fused},
            )  # fmt: skip
        low, high = ordered_bounds(dtype, b, c)
        for keep in (False, True):
            yield question_of(
                "clamp, NaN kept" if keep else "clamp", dtype, "elementwise.clamped",
                {"x": (dtype, a), "low": (dtype, low), "high": (dtype, high)}, dtype,
                {"KEEP": keep},
            )  # fmt: skip


def ordered_bounds(dtype: str, first: Bits, second: Bits) -> tuple[Bits, Bits]:
    """Return pairs of bounds with the lower first and without NaN, as `clamp` demands."""
    numbers = [np.nan_to_num(decoded(dtype, bits), nan=0.0) for bits in (first, second)]
    nan = [np.isnan(decoded(dtype, bits)) for bits in (first, second)]
    one, two = (
        np.where(missing, bits.dtype.type(0), bits)
        for missing, bits in zip(nan, (first, second), strict=True)
    )
    swapped = numbers[0] > numbers[1]
    return np.where(swapped, two, one), np.where(swapped, one, two)


def cast_questions() -> Iterator[Question]:
    for source in DTYPES:
        for target in DTYPES:
            yield _cast(source, target, "")
            wide, narrow = FORMATS[source], FORMATS[target]
            if wide.is_float and narrow.is_float and narrow.width < wide.width < 64:
                for rounding in ROUNDINGS:
                    yield _cast(source, target, rounding)
            if wide.width == narrow.width and source != target:
                yield question_of(
                    "to, bitcast", f"{source} {target}", "elementwise.recast",
                    {"x": (source, singles(source, 128))}, target, {},
                )  # fmt: skip


def _cast(source: str, target: str, rounding: str) -> Question:
    return question_of(
        f"to, {rounding}" if rounding else "to", f"{source} {target}", "elementwise.converted",
        {"x": (source, cast_operands(source, target))}, target, {"ROUNDING": rounding},
    )  # fmt: skip


def cast_operands(source: str, target: str) -> Bits:
    """Return 128 values of one type that another can hold, or rounds, by Triton's definition."""
    wide, narrow = FORMATS[source], FORMATS[target]
    if source == "i1" or target == "i1":
        return singles(source, 128)
    if not wide.is_float:
        return np.concatenate([singles(source, 128)[:64], halfway(source, target, 64)])
    if narrow.is_float:
        chosen = [specials(source), payloads(source), singles(source, 128)[22:48]]
        few = np.concatenate(chosen)
        return np.concatenate([few, halfway(source, target, 128 - len(few))])
    low = -(2.0 ** (narrow.width - 1)) if narrow.signed else 0.0
    high = 2.0 ** (narrow.width - narrow.signed)
    numbers = in_range(source, singles(source, 128)[:48], low, high)
    return np.concatenate([numbers, halfway(source, target, 80)])


def uniform_questions() -> Iterator[Question]:
    for dtype in ("i32", "i64", "u32", "u64"):
        yield question_of(
            "uint_to_uniform_float", dtype, "accesses.uniform",
            {"x": (dtype, singles(dtype, 128))}, "fp32", {},
        )  # fmt: skip


def histogram_questions() -> Iterator[Question]:
    for dtype in INTEGERS:
        numbers = np.arange(128) * 7 % 16
        yield Question(
            "histogram", dtype, "blocks.counted",
            {"x": Buffer(dtype, held(dtype, numbers)), "mask": empty("i32", 128),
             "out": empty("i32", 16)},
            ("out",), {"MASKED": False, "N": 128, "BINS": 16},
        )  # fmt: skip


def questions() -> Iterator[Question]:
    yield from function_questions()
    yield from operator_questions()
    yield from promotion_questions()
    yield from ternary_questions()
    yield from cast_questions()
    yield from uniform_questions()
    yield from histogram_questions()
