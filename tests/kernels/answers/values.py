"""Operands worth asking about, as bits: special values of each type, halfway and random ones."""

import zlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Bits = npt.NDArray[np.unsignedinteger]


@dataclass(frozen=True)
class Format:
    """A type's width, and of floats the bits of exponent and mantissa (0: an integer)."""

    width: int
    exponent: int = 0
    mantissa: int = 0
    signed: bool = True

    @property
    def is_float(self) -> bool:
        return self.mantissa > 0

    @property
    def bits(self) -> type[np.unsignedinteger]:
        """Return the unsigned type that holds the bits."""
        return {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}[max(8, self.width)]

    @property
    def bias(self) -> int:
        return (1 << (self.exponent - 1)) - 1

    @property
    def infinity(self) -> int:
        """Return the bits of infinity; of e4m3, which has none, those of NaN."""
        return 0x7F if self.mantissa == 3 else ((1 << self.exponent) - 1) << self.mantissa

    @property
    def sign(self) -> int:
        return 1 << (self.width - 1)


FORMATS: dict[str, Format] = {
    "i1": Format(1, signed=False),
    **{f"i{width}": Format(width) for width in (8, 16, 32, 64)},
    **{f"u{width}": Format(width, signed=False) for width in (8, 16, 32, 64)},
    "fp8e4nv": Format(8, 4, 3),
    "fp8e5": Format(8, 5, 2),
    "fp16": Format(16, 5, 10),
    "bf16": Format(16, 8, 7),
    "fp32": Format(32, 8, 23),
    "fp64": Format(64, 11, 52),
}
INTEGERS = tuple(name for name, form in FORMATS.items() if not form.is_float and name != "i1")
FLOATS = ("fp16", "bf16", "fp32", "fp64")
NARROW = ("fp8e4nv", "fp8e5")


def random_of(*words: object) -> np.random.Generator:
    """Return a random generator that is seeded by words."""
    return np.random.default_rng(zlib.crc32(repr(words).encode()))


def held(dtype: str, numbers: list[int] | npt.NDArray[np.int64]) -> Bits:
    """Return integers, wrapped to a type's width, as bits."""
    form = FORMATS[dtype]
    mask = (1 << form.width) - 1
    return np.array([int(number) & mask for number in numbers], form.bits)


def encoded(dtype: str, numbers: npt.ArrayLike) -> Bits:
    """Return numbers as the bits of a float type, cut off toward zero; overflow is its largest."""
    form = FORMATS[dtype]
    wide = np.asarray(numbers, np.float64)
    raw = np.abs(wide).view(np.uint64).astype(object)
    drop = 52 - form.mantissa
    shifted = [(int(bits) >> drop) - ((1023 - form.bias) << form.mantissa) for bits in raw.flat]
    least = 1 << form.mantissa
    unit = 2.0 ** (1 - form.bias - form.mantissa)
    whole = [
        int(abs(number) / unit) if bits < least else min(bits, form.infinity - 1)
        for bits, number in zip(shifted, wide.flat, strict=True)
    ]
    signs = np.signbit(wide).reshape(-1)
    return np.array(
        [bits | (form.sign if sign else 0) for bits, sign in zip(whole, signs, strict=True)],
        form.bits,
    )


def decoded(dtype: str, bits: Bits) -> npt.NDArray[np.float64]:
    """Return the numbers that bits stand for; integers that float64 cannot hold are rounded."""
    form = FORMATS[dtype]
    raw = [int(each) for each in bits.reshape(-1)]
    if not form.is_float:
        top = form.sign if form.signed and form.width > 1 else 0
        return np.array([float(each - 2 * top if each & top else each) for each in raw])
    return np.array([_number(form, each) for each in raw])


def _number(form: Format, bits: int) -> float:
    sign = -1.0 if bits & form.sign else 1.0
    magnitude = bits & (form.sign - 1)
    if magnitude >= form.infinity:
        finite_top = form.mantissa == 3 or magnitude > form.infinity
        return float("nan") if finite_top else sign * float("inf")
    exponent, fraction = divmod(magnitude, 1 << form.mantissa)
    if exponent == 0:
        return float(sign * np.ldexp(float(fraction), 1 - form.bias - form.mantissa))
    whole = float(fraction + (1 << form.mantissa))
    return float(sign * np.ldexp(whole, exponent - form.bias - form.mantissa))


def specials(dtype: str) -> Bits:
    """Return the 16 values of a type that a rule may treat unlike the others."""
    form = FORMATS[dtype]
    if dtype == "i1":
        return np.array([0, 1] * 8, np.uint8)
    if not form.is_float:
        top = form.sign
        edges = [0, 1, 2, 3, 7, 8, -1, -2, -3, -7, top - 1, top - 2, top, top + 1, 85, top // 2]
        return held(dtype, edges)
    least, one = 1 << form.mantissa, form.bias << form.mantissa
    positive = [
        0, 1, least - 1, least, one, one + 1, one + least // 2, form.infinity - 1, form.infinity,
    ]  # fmt: skip
    quiet = form.infinity | least >> 1 if form.mantissa > 3 else (form.infinity | least - 1)
    negative = [0, least // 2 + 1, one - least, one + 2 * least + 1, form.infinity - 1]
    if form.mantissa != 3:
        negative.append(form.infinity)
    else:
        negative.append(least)
    bits = [*positive, *(form.sign | each for each in negative), quiet]
    return np.array(bits, form.bits)


def payloads(dtype: str) -> Bits:
    """Return NaNs of either sign with payloads, one of them signaling."""
    form = FORMATS[dtype]
    if form.mantissa <= 3:
        return held(dtype, [form.infinity | 3, form.sign | form.infinity | 3])
    half = 1 << (form.mantissa - 1)
    raw = [half | 5, form.sign | half, form.sign | half | 9, 3]
    return held(dtype, [form.infinity | each for each in raw])


def singles(dtype: str, count: int, *words: object) -> Bits:
    """Return a type's special values, then random ones: small, in [0, 1], of all magnitudes."""
    form, rng = FORMATS[dtype], random_of(dtype, count, *words)
    if dtype == "i1":
        return rng.integers(0, 2, count).astype(np.uint8)
    anything = rng.integers(0, 1 << form.width, count, np.uint64, endpoint=False) if (
        form.width < 64
    ) else rng.integers(0, 2**64 - 1, count, np.uint64, endpoint=True)  # fmt: skip
    if not form.is_float:
        shifts = rng.integers(0, form.width, count).astype(np.uint64)
        parts = [specials(dtype), (anything >> shifts).astype(form.bits)]
        return np.concatenate(parts)[:count]
    quarter = max((count - 22) // 4, 1)
    halves = encoded(dtype, np.arange(-5, 6) * 0.5)
    parts = [
        specials(dtype), payloads(dtype), halves,
        encoded(dtype, rng.uniform(-10, 10, quarter)),
        encoded(dtype, rng.uniform(0, 1, quarter)),
        encoded(dtype, rng.uniform(-700, 700, quarter // 2)),
        anything.astype(form.bits),
    ]  # fmt: skip
    return np.concatenate(parts)[:count]


def finite(dtype: str, bits: Bits) -> Bits:
    """Return bits with infinities and NaN replaced by 1.5."""
    form = FORMATS[dtype]
    magnitude = bits & form.bits(form.sign - 1)
    return np.where(magnitude >= form.infinity, encoded(dtype, [1.5])[0], bits).astype(form.bits)


def pairs(dtype: str) -> tuple[Bits, Bits]:
    """Return 256 pairs: every special value with every other."""
    values = specials(dtype)
    return np.repeat(values, 16), np.tile(values, 16)


def triples(dtype: str) -> tuple[Bits, Bits, Bits]:
    """Return 256 triples: 216 of six special values, and random ones that nearly cancel."""
    form, rng = FORMATS[dtype], random_of("triples", dtype)
    values = specials(dtype)
    few = values[[0, 1, 6, 7, 8, 9]] if form.is_float else values[[0, 1, 6, 10, 12, 15]]
    a, b, c = (grid.reshape(-1) for grid in np.meshgrid(few, few, few, indexing="ij"))
    if not form.is_float:
        extra = [singles(dtype, 56, "extra", place)[16:] for place in range(3)]
        a, b, c = (np.concatenate(both) for both in zip((a, b, c), extra, strict=True))
        return a, b, c
    x, y = rng.uniform(0.5, 2, 40), rng.uniform(-2, -0.5, 40)
    left, right = encoded(dtype, x), encoded(dtype, y)
    rest = encoded(dtype, -decoded(dtype, left) * decoded(dtype, right))
    return (
        np.concatenate([a, left]), np.concatenate([b, right]), np.concatenate([c, rest])
    )  # fmt: skip


def halfway(source: str, target: str, count: int) -> Bits:
    """Return values of one type that lie at, or next to, the middle of two of another."""
    wide, narrow = FORMATS[source], FORMATS[target]
    rng = random_of("halfway", source, target)
    if wide.is_float and narrow.is_float:
        return _halfway_floats(wide, narrow, rng, count)
    if wide.is_float:
        return _near_integers(source, target, rng, count)
    if narrow.is_float and wide.width > narrow.mantissa + 2:
        return _halfway_integers(source, narrow, rng, count)
    return singles(source, count, "halfway", target)


def _halfway_floats(wide: Format, narrow: Format, rng: np.random.Generator, count: int) -> Bits:
    drop = wide.mantissa - narrow.mantissa
    if drop < 1:
        return rng.integers(0, 1 << min(wide.width, 63), count, np.uint64).astype(wide.bits)
    low, high = 1 - narrow.bias - narrow.mantissa - 2, narrow.bias + 2
    low, high = max(low, 1 - wide.bias), min(high, wide.bias)
    exponents = rng.integers(low, high + 1, count)
    result = []
    for exponent in exponents.tolist():
        below = max(0, 1 - narrow.bias - exponent)  # bits that a denormal result lacks
        cut = min(drop + below, wide.mantissa)
        kept = int(rng.integers(0, 1 << (wide.mantissa - cut))) << cut
        half = 1 << (cut - 1)
        fraction = kept + half + int(rng.integers(-1, 2)) * int(half > 1)
        sign = int(rng.integers(0, 2)) * wide.sign
        result.append(sign | ((exponent + wide.bias) << wide.mantissa) + fraction)
    return np.array(result, wide.bits)


def _near_integers(source: str, target: str, rng: np.random.Generator, count: int) -> Bits:
    form = FORMATS[target]
    low = -(2.0 ** (form.width - 1)) if form.signed else 0.0
    high = 2.0 ** (form.width - form.signed)
    wholes = rng.integers(-9, 10, count) + rng.choice([0.0, 0.5, 0.25, 0.75], count)
    spread = np.ldexp(rng.uniform(-1, 1, count), rng.integers(0, max(2, form.width), count))
    edges = [low, high * (1 - 2.0**-50), low * (1 - 2.0**-50), 0.49999997, -0.49999997, -0.99]
    parts = [edges, wholes[: count // 2], spread]
    bits = np.concatenate([encoded(source, numbers) for numbers in parts])[:count]
    return in_range(source, bits, low, high)


def in_range(source: str, bits: Bits, low: float, high: float) -> Bits:
    """Return bits with 0 instead of what an integer from `low` to below `high` cannot hold."""
    numbers = np.trunc(decoded(source, bits))
    with np.errstate(invalid="ignore"):
        return np.where((numbers >= low) & (numbers < high), bits, bits.dtype.type(0))


def _halfway_integers(source: str, narrow: Format, rng: np.random.Generator, count: int) -> Bits:
    wide = FORMATS[source]
    result = []
    for _ in range(count):
        length = int(rng.integers(narrow.mantissa + 3, wide.width - wide.signed + 1))
        cut = max(length - narrow.mantissa - 1, 1)
        top = (1 << (length - cut - 1)) + int(rng.integers(0, 1 << (length - cut - 1)))
        number = (top << cut) + (1 << (cut - 1)) + int(rng.integers(-1, 2))
        result.append(-number if wide.signed and rng.integers(0, 2) else number)
    return held(source, result)
