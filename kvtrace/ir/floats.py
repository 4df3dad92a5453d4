"""Exact conversion between a float's bits and its value, for every float format of MLIR.

Formats: MLIR's builtin float types (https://mlir.llvm.org/docs/Dialects/Builtin/#types), which are
IEEE 754 interchange formats, the OCP 8-bit formats (arXiv:2209.05433), their FNUZ variants
(arXiv:2206.02915) and the OCP microscaling formats.
"""

import math
from dataclasses import dataclass
from typing import Final, Literal

#: Encoding of infinity and NaN. ieee: the largest exponent is infinity and NaN. fn: only the
#: all-ones pattern is NaN, no infinity. fnuz: the pattern of minus zero is NaN, no infinity.
#: finite: neither infinity nor NaN.
Specials = Literal["ieee", "fn", "fnuz", "finite"]


@dataclass(frozen=True, slots=True)
class FloatFormat:
    """Widths of fields, in bits; a value is (-1)^sign * 1.mantissa * 2^(exponent - bias)."""

    exponent_bits: int
    mantissa_bits: int
    bias: int
    specials: Specials
    signed: bool = True

    @property
    def width(self) -> int:
        """Number of bits of a value."""
        return self.exponent_bits + self.mantissa_bits + self.signed


FORMATS: Final[dict[str, FloatFormat]] = {
    "f64": FloatFormat(11, 52, 1023, "ieee"),
    "f32": FloatFormat(8, 23, 127, "ieee"),
    "tf32": FloatFormat(8, 10, 127, "ieee"),
    "f16": FloatFormat(5, 10, 15, "ieee"),
    "bf16": FloatFormat(8, 7, 127, "ieee"),
    "f8E5M2": FloatFormat(5, 2, 15, "ieee"),
    "f8E4M3": FloatFormat(4, 3, 7, "ieee"),
    "f8E3M4": FloatFormat(3, 4, 3, "ieee"),
    "f8E4M3FN": FloatFormat(4, 3, 7, "fn"),
    "f8E5M2FNUZ": FloatFormat(5, 2, 16, "fnuz"),
    "f8E4M3FNUZ": FloatFormat(4, 3, 8, "fnuz"),
    "f8E4M3B11FNUZ": FloatFormat(4, 3, 11, "fnuz"),
    "f6E2M3FN": FloatFormat(2, 3, 1, "finite"),
    "f6E3M2FN": FloatFormat(3, 2, 3, "finite"),
    "f4E2M1FN": FloatFormat(2, 1, 1, "finite"),
    "f8E8M0FNU": FloatFormat(8, 0, 127, "fn", signed=False),
}


def float_from_bits(bits: int, name: str) -> float:
    """Return the exact value of a bit pattern in the format `name`."""
    form = FORMATS[name]
    magnitude = bits & ((1 << (form.width - form.signed)) - 1)
    negative = bool(form.signed and bits >> (form.width - 1) & 1)
    exponent = magnitude >> form.mantissa_bits
    mantissa = magnitude & ((1 << form.mantissa_bits) - 1)
    largest = (1 << form.exponent_bits) - 1
    if form.specials == "ieee" and exponent == largest:
        return math.nan if mantissa else (-math.inf if negative else math.inf)
    if form.specials == "fn" and magnitude == (largest << form.mantissa_bits | _ones(form)):
        return math.nan
    if form.specials == "fnuz" and negative and magnitude == 0:
        return math.nan
    if exponent == 0 and form.mantissa_bits:
        value = math.ldexp(mantissa, 1 - form.bias - form.mantissa_bits)
    else:
        significand = mantissa | 1 << form.mantissa_bits
        value = math.ldexp(significand, exponent - form.bias - form.mantissa_bits)
    return -value if negative else value


def bits_from_float(value: float, name: str) -> int:
    """Return the nearest value's bits, ties to even; overflow is infinity, NaN or maximum."""
    form = FORMATS[name]
    sign = int(math.copysign(1.0, value) < 0) << (form.width - 1) if form.signed else 0
    if math.isnan(value):
        return _nan(form)
    if math.isinf(value):
        return sign | _overflow(form)
    magnitude = abs(value)
    if magnitude == 0:
        return 0 if form.specials == "fnuz" else sign
    _, exponent = math.frexp(magnitude)  # magnitude = f * 2**exponent, 0.5 <= f < 1
    lowest = 1 - form.bias if form.mantissa_bits else -form.bias
    exponent = max(exponent - 1, lowest)
    # Scaling by a power of two is exact here, and round() of a float goes to even on a tie.
    units = round(math.ldexp(magnitude, form.mantissa_bits - exponent))
    if form.mantissa_bits == 0:
        pattern = max(exponent + form.bias + (units > 1), 0)
    else:
        # Counting the pattern in units from the smallest exponent handles subnormals, which have no
        # hidden bit, and carries out of the mantissa, which increase the exponent.
        pattern = units + ((exponent - lowest) << form.mantissa_bits)
    if pattern > _largest_finite(form):
        return sign | _overflow(form)
    if pattern == 0 and form.specials == "fnuz":
        return 0
    return sign | pattern


def _ones(form: FloatFormat) -> int:
    return (1 << form.mantissa_bits) - 1


def _largest_finite(form: FloatFormat) -> int:
    top = ((1 << form.exponent_bits) - 1) << form.mantissa_bits | _ones(form)
    if form.specials == "ieee":
        return (((1 << form.exponent_bits) - 1) << form.mantissa_bits) - 1
    return top - 1 if form.specials == "fn" else top


def _overflow(form: FloatFormat) -> int:
    if form.specials == "ieee":
        return ((1 << form.exponent_bits) - 1) << form.mantissa_bits
    return _largest_finite(form) if form.specials == "finite" else _nan(form)


def _nan(form: FloatFormat) -> int:
    exponent = ((1 << form.exponent_bits) - 1) << form.mantissa_bits
    if form.specials == "ieee":
        return exponent | 1 << (form.mantissa_bits - 1)
    if form.specials == "fnuz":
        return 1 << (form.width - 1)
    return exponent | _ones(form)
