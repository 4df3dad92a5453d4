"""Cases of functions and operators that work element by element, and of conversions."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tests.kernels import elementwise
from tests.kernels.case import (
    DTYPES,
    EXACT,
    FLOATS,
    INTEGERS,
    NARROW,
    NUMPY,
    ROUNDED,
    SIGNED,
    UNSIGNED,
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


# -- conversions ------------------------------------------------------------------------------


def converted(x: np.ndarray, source: str, target: str) -> np.ndarray:
    """What `x.to(target)` gives, for values that the target can hold."""
    if target == "i1":
        return x != 0
    if source == "i1":
        return x.astype(NUMPY[target])
    with np.errstate(all="ignore"):
        if is_float(source) and is_float(target):
            return rounded(x.astype(np.float64), target)
        if is_float(target):
            return rounded(x.astype(np.float32) if target != "fp64" else x, target)
        if is_float(source):
            return np.trunc(x.astype(np.float64)).astype(NUMPY[target])
        return x.astype(NUMPY[target])


def _in_range(rng: np.random.Generator, source: str, target: str) -> np.ndarray:
    if not is_float(source):
        return numbers(rng, source, N)
    if is_float(target):
        x = numbers(rng, source, N)
        x[N // 2 :] = floats(rng, source, N - N // 2, -70000, 70000)
        return x
    top = 30.0 if target in ("i8", "u8") or source in NARROW else 30000.0
    return floats(rng, source, N, 0 if target in UNSIGNED else -top, top)


def conversion_cases() -> Iterator[Case]:
    for source in DTYPES:
        for target in DTYPES:
            if source == target or {source, target} <= {*NARROW, "i1"}:
                continue
            if source in NARROW and not is_float(target):
                continue
            if target in NARROW and not is_float(source):
                continue
            if {source, target} & set(NARROW) and "fp64" in (source, target):
                continue  # Triton has TTIR for it, but cannot compile it for Hopper
            x = _in_range(random_of("to", source, target), source, target)
            if (source, target) == ("fp8e5", "bf16"):
                x = np.where(np.isfinite(x), x, x.dtype.type(1))
            yield Case(
                "to", source, elementwise.converted, {"x": x, "out": np.zeros(N, NUMPY[target])},
                ("out",),
                lambda given, s=source, t=target: {"out": converted(given["x"], s, t)},
                {"ROUNDING": "", "N": N}, variant=target,
            )  # fmt: skip
    for target in ("fp16", "bf16"):
        x = _in_range(random_of("rtz", target), "fp32", target)
        yield Case(
            "to", "fp32", elementwise.converted, {"x": x, "out": np.zeros(N, NUMPY[target])},
            ("out",), lambda given, t=target: {"out": _toward_zero(given["x"], t)},
            {"ROUNDING": "rtz", "N": N}, variant=f"{target}, toward zero",
        )  # fmt: skip


def _toward_zero(x: np.ndarray, target: str) -> np.ndarray:
    near = rounded(x.astype(np.float64), target)
    beyond = np.abs(near.astype(np.float64)) > np.abs(x.astype(np.float64))
    bits = near.view(np.uint16)
    return np.where(beyond, bits - np.uint16(1), bits).astype(np.uint16).view(near.dtype)


SHIFTED = (
    "Triton converts fp8e5 to bf16 for NVIDIA by shifting bits and multiplying by 2**112, which "
    "makes infinity 65536 and NaN a number from 81920 on"
)


def narrow_cases() -> Iterator[Case]:
    """8-bit floats from every pattern of 16 bits, and back from every pattern of 8 bits."""
    for target in NARROW:
        for source in ("fp16", "bf16"):
            x = np.arange(1 << 16, dtype=np.uint16).view(NUMPY[source])
            yield Case(
                "to", source, elementwise.converted,
                {"x": x, "out": np.zeros(len(x), NUMPY[target])}, ("out",),
                lambda given, t=target: {"out": rounded(given["x"].astype(np.float64), t)},
                {"ROUNDING": "", "N": 1024}, (64,), variant=f"{target}, all patterns",
            )  # fmt: skip
        for result in ("fp16", "bf16", "fp32"):
            x = np.arange(1 << 8, dtype=np.uint8).view(NUMPY[target])
            parts = [(x, "all patterns", "")]
            if (target, result) == ("fp8e5", "bf16"):
                odd = ~np.isfinite(x)
                parts = [
                    (np.where(odd, x.dtype.type(0), x), "all finite patterns", ""),
                    (np.resize(x[odd], 256), "infinity and NaN", SHIFTED),
                ]
            for part, which, differs in parts:
                yield Case(
                    "to", target, elementwise.converted,
                    {"x": part, "out": np.zeros(len(part), NUMPY[result])}, ("out",),
                    lambda given, r=result: {
                        "out": given["x"].astype(np.float32).astype(NUMPY[r])
                    },
                    {"ROUNDING": "", "N": 256}, variant=f"{result}, {which}", differs=differs,
                )  # fmt: skip
    for target in ("fp16", "bf16", *NARROW):
        bits = random_of("patterns", target).integers(0, 1 << 32, 1 << 16, np.uint32)
        x = bits.view(np.float32)
        yield Case(
            "to", "fp32", elementwise.converted, {"x": x, "out": np.zeros(1 << 16, NUMPY[target])},
            ("out",), lambda given, t=target: {"out": rounded(given["x"], t)},
            {"ROUNDING": "", "N": 1024}, (64,), variant=f"{target}, random patterns",
        )  # fmt: skip


def out_of_range_cases() -> Iterator[Case]:
    """Yield cases that Triton leaves undefined: the evaluator saturates as PTX's cvt, and clamps.

    To 8 bits, cvt gives 16, of which the low bits are stored.
    """
    for source in ("fp32", "fp64"):
        for target in ("i8", "i32", "i64", "u8", "u32", "u64"):
            values = [1e30, -1e30, math.inf, -math.inf, math.nan, -1.0, 300.0, 5e9]
            x = np.array(values * 2, NUMPY[source])
            given_by_device = target.replace("8", "16")
            yield Case(
                "to", source, elementwise.converted, {"x": x, "out": np.zeros(16, NUMPY[target])},
                ("out",),
                lambda given, d=given_by_device, t=target: {
                    "out": _saturated(given["x"], d).astype(NUMPY[t])
                },
                {"ROUNDING": "", "N": 16}, variant=f"{target}, out of range",
                undefined="a float that the integer type cannot hold",
            )  # fmt: skip
    for dtype in INTEGERS:
        a = integers(random_of("beyond", dtype), dtype, N)
        bits = a.dtype.itemsize * 8
        b = random_of("beyond", dtype, 2).integers(bits, 127, N).astype(a.dtype)
        for op in ("<<", ">>"):
            yield Case(
                op, dtype, elementwise.operator, {"x": a, "y": b, "out": np.zeros_like(a)},
                ("out",), lambda given, op=op: {"out": _shifted_out(given["x"], op)},
                {"OP": op, "N": N}, variant="by the width or more",
                undefined="a shift by the width or more",
            )  # fmt: skip
        zero = np.zeros_like(a)
        for op in ("//", "%"):
            yield Case(
                op, dtype, elementwise.operator, {"x": a, "y": zero, "out": np.zeros_like(a)},
                ("out",), lambda given, op=op: {"out": given["x"] * (op == "%")},
                {"OP": op, "N": N}, variant="by zero", undefined="an integer division by zero",
            )  # fmt: skip


def _saturated(x: np.ndarray, target: str) -> np.ndarray:
    info = np.iinfo(NUMPY[target])
    values = [
        0 if math.isnan(v) else info.max if v > info.max else info.min if v < info.min else int(v)
        for v in x.tolist()
    ]
    return np.array(values, NUMPY[target])


def _shifted_out(x: np.ndarray, op: str) -> np.ndarray:
    signs = np.where(x < 0, -1, 0).astype(x.dtype) if x.dtype.kind == "i" else np.zeros_like(x)
    return signs if op == ">>" else np.zeros_like(x)


def bitcast_cases() -> Iterator[Case]:
    groups = (("i8", "u8", *NARROW), ("i16", "u16", "fp16", "bf16"), ("i32", "u32", "fp32"),
              ("i64", "u64", "fp64"))  # fmt: skip
    for group in groups:
        for source in group:
            for target in group:
                if source == target:
                    continue
                x = numbers(random_of("bitcast", source, target), "i8", N * 8)
                x = x.view(NUMPY[source])[:N].copy()
                yield Case(
                    "to, bitcast", source, elementwise.recast,
                    {"x": x, "out": np.zeros(N, NUMPY[target])}, ("out",),
                    lambda given, t=target: {"out": given["x"].view(NUMPY[t])},
                    {"N": N}, variant=target,
                )  # fmt: skip


def cases() -> Iterator[Case]:
    yield from function_cases()
    yield from operator_cases()
    yield from unary_operator_cases()
    yield from other_cases()
    yield from conversion_cases()
    yield from narrow_cases()
    yield from out_of_range_cases()
    yield from bitcast_cases()
