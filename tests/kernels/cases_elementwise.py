"""Cases of functions and operators that work element by element."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from corpus.kernels import elementwise
from tests.kernels.case import (
    DTYPES,
    EXACT,
    FLOATS,
    INTEGERS,
    NARROW,
    NUMPY,
    ROUNDED,
    SIGNED,
    Bound,
    Case,
    floats,
    integers,
    is_float,
    numbers,
    random_of,
    rounded,
)

N = 256


def lifted(function: Callable[..., float]) -> Callable[..., np.ndarray]:
    """A function of Python's numbers over arrays, in float64; outside its domain NaN."""

    def guarded(*values: Any) -> float:
        try:
            return function(*map(float, values))
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf

    ufunc = np.frompyfunc(guarded, function.__code__.co_argcount if hasattr(
        function, "__code__") else 1, 1)  # fmt: skip
    return lambda *arrays: np.asarray(ufunc(*arrays), np.float64)


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


FAST = Bound(4, why="approximated within 2 ulp, and rounded")
EXP2 = Bound(4, why="ex2.approx is within 2 ulp")
EXP = Bound(24, why="ex2.approx of x * log2(e): the product's rounding counts |x| times")
LIBRARY = Bound(4, why="libdevice is within 2 ulp, and is rounded")
DIVISION = Bound(3, why="div.full is within 2 ulp")

#: name: (function, lowest and highest input, types, how far a GPU may be off in fp32)
FUNCTIONS: dict[str, tuple[Any, float, float, tuple[str, ...], Bound]] = {
    "exp": (lifted(math.exp), -20, 20, ("fp32", "fp64"), EXP),
    "exp2": (np.exp2, -20, 20, ("fp32", "fp64"), EXP2),
    "log": (lifted(math.log), 1e-4, 100, ("fp32", "fp64"), LIBRARY),
    "log2": (lifted(math.log2), 1e-4, 100, ("fp32", "fp64"), LIBRARY),
    "sin": (lifted(math.sin), -50, 50, ("fp32", "fp64"), LIBRARY),
    "cos": (lifted(math.cos), -50, 50, ("fp32", "fp64"), LIBRARY),
    "sqrt": (lifted(math.sqrt), 0, 1e4, ("fp32", "fp64"), FAST),
    "sqrt_rn": (lifted(math.sqrt), 0, 1e4, ("fp32",), EXACT),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 1e-3, 1e4, ("fp32", "fp64"), FAST),
    "erf": (lifted(math.erf), -5, 5, ("fp32", "fp64"), LIBRARY),
    "floor": (np.floor, -100, 100, ("fp32", "fp64"), EXACT),
    "ceil": (np.ceil, -100, 100, ("fp32", "fp64"), EXACT),
    "sigmoid": (lifted(_sigmoid), -20, 20, ("fp32", "fp64"), EXP),
}


def function_cases() -> Iterator[Case]:
    for name, (function, low, high, dtypes, device) in FUNCTIONS.items():
        for dtype in dtypes:
            x = floats(random_of(name, dtype), dtype, N, low, high)
            exact = name in ("floor", "ceil", "sqrt_rn")
            yield Case(
                name,
                dtype,
                elementwise.of_one,
                {"x": x, "out": np.zeros_like(x)},
                ("out",),
                lambda given, f=function, d=dtype: {
                    "out": rounded(f(given["x"].astype(np.float64)), d)
                },
                {"NAME": name, "N": N},
                bound=EXACT if exact else Bound(2, why="NumPy's functions are within 2 ulp"),
                device=device,
            )
    for dtype in DTYPES:
        if dtype in NARROW or dtype == "i1":
            continue
        x = numbers(random_of("abs", dtype), dtype, N)
        yield Case(
            "abs", dtype, elementwise.of_one, {"x": x, "out": np.zeros_like(x)}, ("out",),
            lambda given: {"out": np.abs(given["x"])}, {"NAME": "abs", "N": N},
        )  # fmt: skip


def _wide(array: np.ndarray) -> np.ndarray:
    """Floats in a type in which one operation is exact enough to round once."""
    return array.astype(np.float64)


def _quotient(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Integer division toward zero, in Python's integers; b is not 0."""
    pairs = zip(a.tolist(), b.tolist(), strict=True)
    values = [abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1) for x, y in pairs]
    return _wrapped(values, a.dtype)


def _wrapped(values: list[int], dtype: np.dtype) -> np.ndarray:
    bits = dtype.itemsize * 8
    unsigned = np.array([value & ((1 << bits) - 1) for value in values], np.uint64)
    return unsigned.astype(f"u{dtype.itemsize}").view(dtype)


def _remainder(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    quotient = _quotient(a, b)
    pairs = zip(a.tolist(), quotient.tolist(), b.tolist(), strict=True)
    return _wrapped([x - q * y for x, q, y in pairs], a.dtype)


def _float_result(function: Any, dtype: str) -> Any:
    return lambda a, b: rounded(function(_wide(a), _wide(b)), dtype)


def _number(a: np.ndarray, b: np.ndarray, pick: Any) -> np.ndarray:
    """IEEE maxNum and minNum: a number wins over NaN."""
    a, b = np.where(np.isnan(a), b, a), np.where(np.isnan(b), a, b)
    return np.where(pick(a, b), a, b)


def operator_reference(op: str, dtype: str) -> Any:
    compared = {
        "==": np.equal,
        "!=": np.not_equal,
        "<": np.less,
        "<=": np.less_equal,
        ">": np.greater,
        ">=": np.greater_equal,
    }
    if op in compared:
        return compared[op]
    if op == "where":
        return lambda a, b: np.where(a > b, a, b)
    if is_float(dtype):
        return {
            "+": _float_result(np.add, dtype),
            "-": _float_result(np.subtract, dtype),
            "*": _float_result(np.multiply, dtype),
            "/": lambda a, b: rounded(a.astype(np.float64) / b.astype(np.float64), dtype),
            "%": _float_result(np.fmod, dtype),
            "maximum": lambda a, b: _number(a, b, np.greater),
            "minimum": lambda a, b: _number(a, b, np.less),
            "maximum, NaN kept": lambda a, b: _either_nan(a, b, np.greater),
            "minimum, NaN kept": lambda a, b: _either_nan(a, b, np.less),
            "fdiv": lambda a, b: rounded(a.astype(np.float64) / b.astype(np.float64), dtype),
            "div_rn": lambda a, b: rounded(a.astype(np.float64) / b.astype(np.float64), dtype),
        }[op]
    bits = {"&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor}
    if op in bits:
        return bits[op]
    pairs: dict[str, Any] = {
        "+": lambda x, y: x + y,
        "-": lambda x, y: x - y,
        "*": lambda x, y: x * y,
        "<<": lambda x, y: x << y,
        ">>": lambda x, y: x >> y,
        "cdiv": lambda x, y: (x + y - 1) // y,
        "maximum": max,
        "minimum": min,
        "maximum, NaN kept": max,
        "minimum, NaN kept": min,
    }
    if op == "//":
        return _quotient
    if op == "%":
        return _remainder
    if op == "/":
        return lambda a, b: a.astype(np.float32) / b.astype(np.float32)
    function = pairs[op]
    return lambda a, b: _wrapped(
        [int(function(x, y)) for x, y in zip(a.tolist(), b.tolist(), strict=True)], a.dtype
    )


def _either_nan(a: np.ndarray, b: np.ndarray, pick: Any) -> np.ndarray:
    chosen = np.where(pick(a, b), a, b)
    return np.where(np.isnan(a) | np.isnan(b), np.nan, chosen).astype(a.dtype)


COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
FLOAT_OPERATORS = ("+", "-", "*", "/", "%", "maximum, NaN kept", "minimum, NaN kept", "where")
INTEGER_OPERATORS = ("+", "-", "*", "/", "//", "%", "&", "|", "^", "<<", ">>", "where")
NAMED = {"maximum": (*FLOATS, *INTEGERS), "minimum": (*FLOATS, *INTEGERS), "cdiv": INTEGERS}
NAMED_FLOAT = {"fdiv": ("fp32", "fp64"), "div_rn": ("fp32",)}


def _operands(op: str, dtype: str) -> tuple[np.ndarray, np.ndarray]:
    rng = random_of("operator", op, dtype)
    a, b = numbers(rng, dtype, N), numbers(rng, dtype, N)
    if is_float(dtype):
        if op in ("%",):
            a, b = floats(rng, dtype, N), floats(rng, dtype, N, 0.5, 4)
        elif op in ("fdiv", "div_rn", "/"):
            b = floats(rng, dtype, N, 0.5, 50)
        return a, b
    if op == "<<" or op == ">>":
        return a, rng.integers(0, a.dtype.itemsize * 8, N).astype(a.dtype)
    if op == "cdiv":
        return rng.integers(0, 70, N).astype(a.dtype), rng.integers(1, 50, N).astype(a.dtype)
    if op in ("//", "%"):
        # The smallest integer by -1 leaves the type.
        b = np.where((b == 0) | (b == NUMPY[dtype].type(-1 if dtype in SIGNED else 0)), 3, b)
        return a, b.astype(a.dtype)
    if op == "/":
        b = np.where(b == 0, 1, b).astype(a.dtype)
    return a, b


def operator_cases() -> Iterator[Case]:
    wanted: list[tuple[str, str]] = []
    wanted += [(op, dtype) for op in FLOAT_OPERATORS for dtype in FLOATS]
    wanted += [(op, dtype) for op in INTEGER_OPERATORS for dtype in INTEGERS]
    wanted += [(op, dtype) for op in COMPARISONS for dtype in (*FLOATS, *INTEGERS)]
    wanted += [(f"{op}, NaN kept", dtype) for op in ("maximum", "minimum") for dtype in INTEGERS]
    wanted += [(op, "i1") for op in ("&", "|", "^", "==", "!=")]
    for op, dtype in wanted:
        yield _operator_case(op, dtype, elementwise.operator, {"OP": op})
    for names in (NAMED, NAMED_FLOAT):
        for op, dtypes in names.items():
            for dtype in dtypes:
                yield _operator_case(op, dtype, elementwise.of_two, {"NAME": op})


def _operator_case(op: str, dtype: str, kernel: Any, constexprs: dict[str, str]) -> Case:
    a, b = _operands(op, dtype)
    target = "i1" if op in COMPARISONS else dtype
    if op == "/" and not is_float(dtype):
        target = "fp32"
    reference = operator_reference(op, dtype)
    divides = op in ("/", "fdiv")
    device = DIVISION if divides and (target == "fp32") else EXACT
    if op == "%" and is_float(dtype):
        device = Bound(
            of_largest=2.0 ** -(7 if dtype == "bf16" else 10), why="x - y * trunc(x / y)"
        )
        if dtype in ("fp32", "fp64"):
            device = Bound(of_largest=2.0**-20, why="x - y * trunc(x / y)")
    if divides and target in ("fp16", "bf16"):
        device = ROUNDED
    return Case(
        op,
        dtype,
        kernel,
        {"x": a, "y": b, "out": np.zeros(N, NUMPY[target])},
        ("out",),
        lambda given: {"out": reference(given["x"], given["y"]).astype(NUMPY[target])},
        {**constexprs, "N": N},
        bound=ROUNDED if divides else EXACT,
        device=device,
    )


def unary_operator_cases() -> Iterator[Case]:
    for op, dtypes in (
        ("-x", (*FLOATS, *INTEGERS)),
        ("~x", (*INTEGERS, "i1")),
        ("not x", ("i1",)),
    ):
        for dtype in dtypes:
            x = numbers(random_of(op, dtype), dtype, N)
            target = "i1" if op == "not x" else dtype
            function = {"-x": np.negative, "~x": np.invert, "not x": np.logical_not}[op]
            yield Case(
                op, dtype, elementwise.unary_operator, {"x": x, "out": np.zeros(N, NUMPY[target])},
                ("out",), lambda given, f=function: {"out": f(given["x"])}, {"OP": op, "N": N},
            )  # fmt: skip


def other_cases() -> Iterator[Case]:
    """fma, clamp, umulhi."""
    for dtype in FLOATS:
        rng = random_of("fma", dtype)
        a, b, c = (floats(rng, dtype, N) for _ in range(3))
        c[: N // 2] = rounded(-a.astype(np.float64) * b.astype(np.float64), dtype)[: N // 2]
        yield Case(
            "fma", dtype, elementwise.of_three, {"x": a, "y": b, "z": c, "out": np.zeros_like(a)},
            ("out",), lambda given: {"out": _fused(given["x"], given["y"], given["z"])},
            {"NAME": "fma", "N": N},
        )  # fmt: skip
        for keep in (False, True):
            x = numbers(random_of("clamp", dtype, keep), dtype, N)
            low = floats(rng, dtype, N, -2, 0)
            high = floats(rng, dtype, N, 0, 2)
            yield Case(
                "clamp", dtype, elementwise.clamped,
                {"x": x, "low": low, "high": high, "out": np.zeros_like(x)}, ("out",),
                lambda given, keep=keep: {"out": _clamped(given, keep)},
                {"KEEP": keep, "N": N}, variant="NaN kept" if keep else "",
            )  # fmt: skip
    for dtype in ("i32", "i64", "u32", "u64"):
        a, b = (integers(random_of("umulhi", dtype, i), dtype, N) for i in range(2))
        bits = a.dtype.itemsize * 8
        yield Case(
            "umulhi", dtype, elementwise.of_two, {"x": a, "y": b, "out": np.zeros_like(a)},
            ("out",), lambda given, bits=bits: {"out": _high_half(given["x"], given["y"], bits)},
            {"NAME": "umulhi", "N": N},
        )  # fmt: skip


def _fused(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Exact by way of fractions."""
    from fractions import Fraction

    exact = [
        Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
        for x, y, z in zip(a, b, c, strict=True)
    ]
    near = np.array([float(x) for x in exact])
    if a.dtype == np.float64:
        return near
    # Rounded to odd, so that it can be rounded again.
    toward = np.array([math.inf if x > n else -math.inf for x, n in zip(exact, near, strict=True)])
    inexact = np.array([x != Fraction(n) for x, n in zip(exact, near.tolist(), strict=True)])
    even = (near.view(np.int64) & 1) == 0
    odd = np.where(inexact & even, np.nextafter(near, toward), near)
    return rounded(odd, {2: "fp16", 4: "fp32"}[a.dtype.itemsize] if a.dtype.kind == "f" else "bf16")


def _clamped(given: Any, keep: bool) -> np.ndarray:
    x = given["x"]
    inner = np.where(np.isnan(x), given["low"], x)
    result = np.where(inner < given["low"], given["low"], inner)
    result = np.where(result > given["high"], given["high"], result)
    return np.where(np.isnan(x), x, result) if keep else result


def _high_half(a: np.ndarray, b: np.ndarray, bits: int) -> np.ndarray:
    mask = (1 << bits) - 1
    products = [
        ((x & mask) * (y & mask)) >> bits for x, y in zip(a.tolist(), b.tolist(), strict=True)
    ]
    return _wrapped(products, a.dtype)


def cases() -> Iterator[Case]:
    yield from function_cases()
    yield from operator_cases()
    yield from unary_operator_cases()
    yield from other_cases()
