"""Cases of libdevice: every function that `tl.extra.libdevice` offers for CUDA."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np

from corpus.kernels import elementwise
from tests.kernels.case import EXACT, NUMPY, Bound, Case, floats, integers, random_of, rounded
from tests.kernels.cases_elementwise import N

KERNELS = {
    1: elementwise.library_of_one,
    2: elementwise.library_of_two,
    3: elementwise.library_of_three,
    4: elementwise.library_of_four,
}
NAMES = ("x", "y", "z", "w")

CLOSE = Bound(4, why="libdevice is within 4 ulp")
WIDER = Bound(16, why="libdevice is within 16 ulp (CUDA programming guide, mathematical functions)")
ABSOLUTE = Bound(16, 4e-6, why="near zeros of the function the error is absolute")
APPROXIMATE = Bound(64, 1e-5, why="an approximate instruction with an absolute error")

UNARY: dict[str, tuple[Callable[[float], Any], float, float, Bound]] = {
    "acos": (math.acos, -0.99, 0.99, CLOSE),
    "acosh": (math.acosh, 1.01, 50, WIDER),
    "asin": (math.asin, -0.99, 0.99, CLOSE),
    "asinh": (math.asinh, -50, 50, CLOSE),
    "atan": (math.atan, -50, 50, CLOSE),
    "atanh": (math.atanh, -0.98, 0.98, CLOSE),
    "cbrt": (lambda x: math.copysign(abs(x) ** (1 / 3), x), -50, 50, CLOSE),
    "ceil": (math.ceil, -50, 50, EXACT),
    "cos": (math.cos, -50, 50, CLOSE),
    "cosh": (math.cosh, -20, 20, CLOSE),
    "cospi": (mpmath.cospi, -9, 9, ABSOLUTE),
    "cyl_bessel_i0": (lambda x: mpmath.besseli(0, x), -20, 20, WIDER),
    "cyl_bessel_i1": (lambda x: mpmath.besseli(1, x), -20, 20, WIDER),
    "erf": (math.erf, -4, 4, CLOSE),
    "erfc": (math.erfc, -4, 6, WIDER),
    "erfcinv": (lambda x: mpmath.erfinv(1 - mpmath.mpf(x)), 0.01, 1.99, ABSOLUTE),
    "erfcx": (lambda x: mpmath.exp(mpmath.mpf(x) ** 2) * mpmath.erfc(x), -3, 30, WIDER),
    "erfinv": (mpmath.erfinv, -0.99, 0.99, WIDER),
    "exp": (math.exp, -20, 20, WIDER),
    "exp10": (lambda x: mpmath.mpf(10) ** mpmath.mpf(x), -9, 9, WIDER),
    "exp2": (lambda x: 2.0**x, -20, 20, CLOSE),
    "expm1": (math.expm1, -5, 5, CLOSE),
    "floor": (math.floor, -50, 50, EXACT),
    "j0": (lambda x: mpmath.besselj(0, x), -60, 60, ABSOLUTE),
    "j1": (lambda x: mpmath.besselj(1, x), -60, 60, ABSOLUTE),
    "lgamma": (lambda x: mpmath.log(abs(mpmath.gamma(x))), 0.05, 50, ABSOLUTE),
    "log": (math.log, 1e-3, 100, CLOSE),
    "log10": (math.log10, 1e-3, 100, CLOSE),
    "log1p": (math.log1p, -0.9, 50, CLOSE),
    "log2": (math.log2, 1e-3, 100, CLOSE),
    "logb": (lambda x: math.frexp(x)[1] - 1, 1e-3, 100, EXACT),
    "nearbyint": (round, -50, 50, EXACT),
    "normcdf": (mpmath.ncdf, -5, 5, WIDER),
    "normcdfinv": (
        lambda x: -mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * mpmath.mpf(x)), 0.01, 0.99, ABSOLUTE
    ),
    "rcbrt": (lambda x: math.copysign(abs(x) ** (-1 / 3), x), 0.1, 50, CLOSE),
    "rint": (round, -50, 50, EXACT),
    "round": (lambda x: math.copysign(math.floor(abs(x) + 0.5), x), -50, 50, EXACT),
    "rsqrt": (lambda x: 1 / math.sqrt(x), 1e-3, 100, CLOSE),
    "sin": (math.sin, -50, 50, CLOSE),
    "sinh": (math.sinh, -20, 20, CLOSE),
    "sinpi": (mpmath.sinpi, -9, 9, ABSOLUTE),
    "sqrt": (math.sqrt, 0, 100, CLOSE),
    "tan": (math.tan, -20, 20, WIDER),
    "tanh": (math.tanh, -9, 9, CLOSE),
    "tgamma": (mpmath.gamma, 0.1, 20, WIDER),
    "trunc": (math.trunc, -50, 50, EXACT),
    "y0": (lambda x: mpmath.bessely(0, x), 0.05, 60, ABSOLUTE),
    "y1": (lambda x: mpmath.bessely(1, x), 0.05, 60, ABSOLUTE),
    "abs": (abs, -50, 50, EXACT),
}  # fmt: skip

BESSEL = ("j0", "j1", "y0", "y1")
SMALL = ("cyl_bessel_i0", "cyl_bessel_i1", "erfc", "erfcx", "normcdf")
IN_STEPS = Bound(12, 2.0**-20, "computed in the steps of PTX's approximate instructions")
RELATIVE = Bound(8, why="products of functions that are within 2 ulp, however small")

FAST = {
    "fast_sinf": (math.sin, -3, 3),
    "fast_cosf": (math.cos, -3, 3),
    "fast_tanf": (math.tan, -1.2, 1.2),
    "fast_logf": (math.log, 0.1, 100),
    "fast_log2f": (math.log2, 0.1, 100),
    "fast_log10f": (math.log10, 0.1, 100),
    "fast_expf": (math.exp, -9, 9),
    "fast_exp10f": (lambda x: 10.0**x, -4, 4),
    "rsqrt_rn": (lambda x: 1 / math.sqrt(x), 1e-3, 100),
    "saturatef": (lambda x: min(max(x, 0.0), 1.0), -2, 2),
}

OF_TWO: dict[str, tuple[Callable[[float, float], Any], float, float, Bound]] = {
    "atan2": (math.atan2, -9, 9, CLOSE),
    "copysign": (math.copysign, -9, 9, EXACT),
    "fdim": (lambda a, b: max(a - b, 0.0), -9, 9, EXACT),
    "fmod": (math.fmod, 0.5, 90, EXACT),
    "hypot": (math.hypot, -9, 9, CLOSE),
    "nextafter": (None, -9, 9, EXACT),
    "pow": (lambda a, b: mpmath.mpf(a) ** mpmath.mpf(b), 0.1, 6, WIDER),
    "remainder": (math.remainder, 0.5, 90, EXACT),
    "rhypot": (lambda a, b: 1 / math.hypot(a, b), 0.5, 9, CLOSE),
}

OF_MORE = {
    "norm3d": (3, math.hypot, CLOSE),
    "rnorm3d": (3, lambda *v: 1 / math.hypot(*v), CLOSE),
    "norm4d": (4, math.hypot, CLOSE),
    "rnorm4d": (4, lambda *v: 1 / math.hypot(*v), CLOSE),
}


def _case(
    name: str,
    dtype: str,
    inputs: list[np.ndarray],
    target: str,
    expected: Callable[[list[np.ndarray]], np.ndarray],
    *,
    bound: Bound = EXACT,
    device: Bound | None = None,
) -> Case:
    names = NAMES[: len(inputs)]
    return Case(
        f"libdevice.{name}",
        dtype,
        KERNELS[len(inputs)],
        {**dict(zip(names, inputs, strict=True)), "out": np.zeros(N, NUMPY[target])},
        ("out",),
        lambda given: {"out": expected([given[name] for name in names])},
        {"NAME": name, "N": N},
        bound=bound,
        device=bound if device is None else device,
    )


def _each(function: Callable[..., Any], target: str) -> Callable[[list[np.ndarray]], np.ndarray]:
    def run(arrays: list[np.ndarray]) -> np.ndarray:
        columns = [array.tolist() for array in arrays]
        with mpmath.workprec(120):  # exp(x^2) erfc(x) and the like lose digits
            wide = np.array([float(function(*values)) for values in zip(*columns, strict=True)])
        return rounded(wide, target)

    return run


def float_cases() -> Iterator[Case]:
    near = Bound(2, 1e-15, why="NumPy's functions are within 2 ulp")
    integrated = Bound(2, 1e-13, why="integrals are summed in float64")
    for dtype in ("fp32", "fp64"):
        for name, (function, low, high, device) in UNARY.items():
            x = floats(random_of(name, dtype), dtype, N, low, high)
            tight = EXACT if device is EXACT else near
            tight = integrated if name in BESSEL else tight
            tight = RELATIVE if name in SMALL else tight
            yield _case(name, dtype, [x], dtype, _each(function, dtype), bound=tight, device=device)
        for name, (pair, low, high, device) in OF_TWO.items():
            rng = random_of(name, dtype)
            inputs = [floats(rng, dtype, N, low, high) for _ in range(2)]
            expected = _each(pair, dtype) if pair else lambda arrays: np.nextafter(*arrays)
            tight = EXACT if device is EXACT else near
            yield _case(name, dtype, inputs, dtype, expected, bound=tight, device=device)
        for name, (count, several, device) in OF_MORE.items():
            rng = random_of(name, dtype)
            inputs = [floats(rng, dtype, N, 0.5, 9) for _ in range(count)]
            yield _case(
                name, dtype, inputs, dtype, _each(several, dtype), bound=near, device=device
            )
        yield from _with_integers(dtype)
        yield from _classified(dtype)
    for name, (function, low, high) in FAST.items():
        x = floats(random_of(name), "fp32", N, low, high)
        yield _case(
            name, "fp32", [x], "fp32", _each(function, "fp32"), bound=IN_STEPS, device=APPROXIMATE
        )
    rng = random_of("fast of two")
    a, b = floats(rng, "fp32", N, 0.5, 9), floats(rng, "fp32", N, 0.5, 5)
    yield _case(
        "fast_dividef", "fp32", [a, b], "fp32", _each(lambda x, y: x / y, "fp32"), bound=near,
        device=APPROXIMATE,
    )  # fmt: skip
    yield _case(
        "fast_powf", "fp32", [a, b], "fp32", _each(lambda x, y: x**y, "fp32"), bound=IN_STEPS,
        device=APPROXIMATE,
    )  # fmt: skip


def _with_integers(dtype: str) -> Iterator[Case]:
    rng = random_of("with integers", dtype)
    x, order = floats(rng, dtype, N, 0.2, 20), rng.integers(0, 6, N).astype(np.int32)
    power = rng.integers(-8, 9, N).astype(np.int32)
    near = Bound(2, 1e-13, why="integrals are summed in float64")
    for name in ("ldexp", "scalbn"):
        yield _case(name, dtype, [x, power], dtype, _each(math.ldexp, dtype))
    yield _case(
        "jn", dtype, [order, x], dtype, _each(lambda n, v: mpmath.besselj(n, v), dtype),
        bound=near, device=Bound(64, 1e-5, why="recurrences lose digits"),
    )  # fmt: skip
    yield _case(
        "yn", dtype, [order, x], dtype, _each(lambda n, v: mpmath.bessely(n, v), dtype),
        bound=near, device=Bound(64, 1e-5, why="recurrences lose digits"),
    )  # fmt: skip


def _classified(dtype: str) -> Iterator[Case]:
    x = floats(random_of("classified", dtype), dtype, N)
    x[:6] = [math.inf, -math.inf, math.nan, 0.0, -0.0, 1.0]
    tests = {"isnan": np.isnan, "isinf": np.isinf, "signbit": np.signbit}
    tests["finitef" if dtype == "fp32" else "isfinited"] = np.isfinite
    for name, function in tests.items():
        yield _case(
            name, dtype, [x], "i32",
            lambda arrays, f=function: f(arrays[0]).astype(np.int32),
        )  # fmt: skip
    some = floats(random_of("whole", dtype), dtype, N, -100, 100)
    some[0], some[1] = 2.5, -2.5
    yield _case(
        "ilogb", dtype, [np.abs(some) + 1], "i32",
        lambda arrays: (np.frexp(arrays[0])[1] - 1).astype(np.int32),
    )  # fmt: skip
    yield _case("llrint", dtype, [some], "i64", lambda a: np.rint(a[0]).astype(np.int64))
    yield _case(
        "llround", dtype, [some], "i64",
        lambda a: (np.floor(np.abs(a[0]) + 0.5) * np.sign(a[0])).astype(np.int64),
    )  # fmt: skip


# -- rounding in a direction ------------------------------------------------------------------


def directed(exact: Fraction, direction: str, dtype: str) -> float:
    """The number of a type next to an exact one, by direction."""
    near = float(exact)
    if dtype == "fp32":
        near = float(np.float32(near))
    held = NUMPY[dtype].type(near)

    def step(toward: float) -> Any:
        return np.nextafter(held, NUMPY[dtype].type(toward))

    candidates = [held, step(math.inf), step(-math.inf)]
    ordered = sorted((c for c in candidates if np.isfinite(c)), key=float)
    below = [c for c in ordered if Fraction(float(c)) <= exact]
    above = [c for c in ordered if Fraction(float(c)) >= exact]
    if direction == "rn":
        return float(min(ordered, key=lambda c: (abs(Fraction(float(c)) - exact), _odd(c))))
    if direction == "rd" or (direction == "rz" and exact >= 0):
        return float(below[-1])
    return float(above[0])


def _odd(number: Any) -> int:
    bits = np.array(number).view(np.uint32 if number.dtype == np.float32 else np.uint64)
    return int(bits) & 1


def _root(x: float) -> Fraction:
    """A square root to far more digits than any type has."""
    return Fraction(math.isqrt(int(Fraction(x) * (1 << 300))), 1 << 150)


ARITHMETIC: dict[str, tuple[int, Callable[..., Fraction]]] = {
    "add": (2, lambda a, b: Fraction(a) + Fraction(b)),
    "sub": (2, lambda a, b: Fraction(a) - Fraction(b)),
    "mul": (2, lambda a, b: Fraction(a) * Fraction(b)),
    "div": (2, lambda a, b: Fraction(a) / Fraction(b)),
    "rcp": (1, lambda a: 1 / Fraction(a)),
    "sqrt": (1, _root),
    "fma": (3, lambda a, b, c: Fraction(a) * Fraction(b) + Fraction(c)),
}


def directed_cases() -> Iterator[Case]:
    for dtype in ("fp32", "fp64"):
        for name, (count, function) in ARITHMETIC.items():
            plain = ("",) if name == "fma" else ()
            for direction in ("rn", "rz", "rd", "ru", *plain):
                if (name, direction) == ("mul", "ru"):
                    continue  # takes three operands in Triton's table, by mistake
                rng = random_of(name, dtype)
                inputs = [floats(rng, dtype, N, 0.1, 9) for _ in range(count)]
                if name in ("add", "sub", "mul"):
                    inputs[0][::2] *= -1
                    inputs[1][::3] *= np.asarray(1e-5, inputs[1].dtype)

                def expected(
                    arrays: list[np.ndarray], f: Any = function, d: str = direction, t: str = dtype
                ) -> np.ndarray:
                    columns = [array.tolist() for array in arrays]
                    exact = [f(*values) for values in zip(*columns, strict=True)]
                    return np.array([directed(x, d or "rn", t) for x in exact], NUMPY[t])

                yield _case(f"{name}_{direction}".rstrip("_"), dtype, inputs, dtype, expected)
    yield from _directed_conversions()


_WHOLE = {"rn": np.rint, "rz": np.trunc, "rd": np.floor, "ru": np.ceil}


def _directed_conversions() -> Iterator[Case]:
    for direction, whole in _WHOLE.items():
        x = floats(random_of("narrowed"), "fp64", N)
        yield _case(
            f"double2float_{direction}", "fp64", [x], "fp32",
            lambda a, d=direction: np.array(
                [directed(Fraction(v), d, "fp32") for v in a[0].tolist()], np.float32
            ),
        )  # fmt: skip
        for source, dtype in (("float", "fp32"), ("double", "fp64")):
            for short, target in (("int", "i32"), ("uint", "i32"), ("ll", "i64"), ("ull", "i64")):
                low = 0 if short[0] == "u" else -1e5
                y = floats(random_of("whole", source, short), dtype, N, low, 1e5)
                yield _case(
                    f"{source}2{short}_{direction}", dtype, [y], target,
                    lambda a, w=whole, t=target: w(a[0]).astype(NUMPY[t]),
                )  # fmt: skip
                given = {"int": "i32", "uint": "u32", "ll": "i64", "ull": "u64"}[short]
                if dtype == "fp64" and short in ("int", "uint") and direction != "rn":
                    continue
                z = integers(random_of("from", source, short), given, N)
                yield _case(
                    f"{short}2{source}_{direction}", given, [z], dtype,
                    lambda a, d=direction, t=dtype: np.array(
                        [directed(Fraction(v), d, t) for v in a[0].tolist()], NUMPY[t]
                    ),
                )  # fmt: skip


# -- bits and integers ------------------------------------------------------------------------


@dataclass(frozen=True)
class OnBits:
    """A function of integers as Python's integers see them, and the types of its operands."""

    function: Callable[..., int]
    operands: tuple[str, ...]
    target: str


def _low(value: int, bits: int) -> int:
    return value & ((1 << bits) - 1)


def _signed(value: int, bits: int) -> int:
    value = _low(value, bits)
    return value - (1 << bits) if value >> (bits - 1) else value


def _reverse(value: int, bits: int) -> int:
    return int(f"{_low(value, bits):0{bits}b}"[::-1], 2)


def _permuted(a: int, b: int, s: int) -> int:
    both = _low(a, 32) | _low(b, 32) << 32
    return sum((both >> 8 * ((s >> 4 * i) & 7) & 0xFF) << 8 * i for i in range(4))


ON_BITS = [
    ("clz", OnBits(lambda x: 32 - _low(x, 32).bit_length(), ("i32",), "i32")),
    ("clz", OnBits(lambda x: 64 - _low(x, 64).bit_length(), ("i64",), "i32")),
    ("popc", OnBits(lambda x: _low(x, 32).bit_count(), ("i32",), "i32")),
    ("popc", OnBits(lambda x: _low(x, 64).bit_count(), ("i64",), "i32")),
    ("ffs", OnBits(lambda x: (_low(x, 32) & -_low(x, 32)).bit_length(), ("i32",), "i32")),
    ("ffs", OnBits(lambda x: (_low(x, 64) & -_low(x, 64)).bit_length(), ("i64",), "i32")),
    ("brev", OnBits(lambda x: _reverse(x, 32), ("i32",), "i32")),
    ("brev", OnBits(lambda x: _reverse(x, 64), ("i64",), "i64")),
    ("byte_perm", OnBits(_permuted, ("i32", "i32", "i32"), "i32")),
    ("mulhi", OnBits(lambda x, y: (x * y) >> 32, ("i32", "i32"), "i32")),
    ("mulhi", OnBits(lambda x, y: (x * y) >> 32, ("u32", "u32"), "u32")),
    ("mulhi", OnBits(lambda x, y: (x * y) >> 64, ("i64", "i64"), "i64")),
    ("mulhi", OnBits(lambda x, y: (x * y) >> 64, ("u64", "u64"), "u64")),
    ("mul24", OnBits(lambda x, y: _signed(x, 24) * _signed(y, 24), ("i32", "i32"), "i32")),
    ("mul24", OnBits(lambda x, y: _low(x, 24) * _low(y, 24), ("u32", "u32"), "u32")),
    ("sad", OnBits(lambda x, y, z: abs(x - y) + z, ("i32", "i32", "u32"), "i32")),
    ("sad", OnBits(lambda x, y, z: abs(x - y) + z, ("u32", "u32", "u32"), "u32")),
    ("hadd", OnBits(lambda x, y: (x + y) >> 1, ("i32", "i32"), "i32")),
    ("hadd", OnBits(lambda x, y: (x + y) >> 1, ("u32", "u32"), "u32")),
    ("rhadd", OnBits(lambda x, y: (x + y + 1) >> 1, ("i32", "i32"), "i32")),
    ("rhadd", OnBits(lambda x, y: (x + y + 1) >> 1, ("u32", "u32"), "u32")),
    ("abs", OnBits(abs, ("i32",), "i32")),
    ("abs", OnBits(abs, ("i64",), "i64")),
]

SEEN_AS = (
    ("int_as_float", "i32", "fp32"),
    ("float_as_int", "fp32", "i32"),
    ("uint_as_float", "u32", "fp32"),
    ("float_as_uint", "fp32", "i32"),
    ("longlong_as_double", "i64", "fp64"),
    ("double_as_longlong", "fp64", "i64"),
)


def bit_cases() -> Iterator[Case]:
    for name, what in ON_BITS:
        inputs = [
            integers(random_of(name, what.operands, i), dtype, N)
            for i, dtype in enumerate(what.operands)
        ]

        def expected(arrays: list[np.ndarray], what: OnBits = what) -> np.ndarray:
            bits = NUMPY[what.target].itemsize * 8
            columns = [array.tolist() for array in arrays]
            values = [_low(what.function(*row), bits) for row in zip(*columns, strict=True)]
            return np.array(values, f"u{bits // 8}").view(NUMPY[what.target])

        yield _case(name, what.operands[0], inputs, what.target, expected)
    for name, source, target in SEEN_AS:
        words = integers(random_of(name), source.replace("fp", "i"), N).view(NUMPY[source])
        yield _case(name, source, [words], target, lambda a, t=target: a[0].view(NUMPY[t]))
    x = floats(random_of("halves"), "fp64", N)
    words = x.view(np.int32).reshape(-1, 2)
    yield _case("double2loint", "fp64", [x], "i32", lambda a: a[0].view(np.int32)[::2].copy())
    yield _case("double2hiint", "fp64", [x], "i32", lambda a: a[0].view(np.int32)[1::2].copy())
    yield _case(
        "hiloint2double", "i32", [words[:, 1].copy(), words[:, 0].copy()], "fp64",
        lambda a: np.stack([a[1], a[0]], axis=1).view(np.float64)[:, 0].copy(),
    )  # fmt: skip
    yield _case(
        "rcp64h", "fp64", [x], "fp64",
        lambda a: _high_only(1 / _high_only(a[0])), device=Bound(of_largest=1e-5,
        why="an approximate reciprocal of the high word"),
    )  # fmt: skip


def _high_only(array: np.ndarray) -> np.ndarray:
    return (np.ascontiguousarray(array).view(np.int64) & np.int64(-(1 << 32))).view(np.float64)


def cases() -> Iterator[Case]:
    yield from float_cases()
    yield from directed_cases()
    yield from bit_cases()
