"""Types of values that a device is asked about, and the bits that hold them."""

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
