"""Types of values, as small frozen classes; unknown types are an `OpaqueType`.

Grammar: https://mlir.llvm.org/docs/LangRef/#type-system. Dialect types are Triton's (`!tt.ptr`,
`!tt.tensordesc`, `!ttg.memdesc`); types of all other dialects are opaque.
"""

from dataclasses import dataclass
from math import prod
from typing import Final

from kvtrace.ir.floats import FORMATS

#: The size of a dimension printed as `?`.
DYNAMIC: Final = -1


@dataclass(frozen=True, slots=True)
class IntegerType:
    """`i32`, `si8`, `ui16` and so on; Triton's integers have no sign (`iN`)."""

    width: int
    signedness: str = ""

    def __str__(self) -> str:
        return f"{self.signedness}i{self.width}"


@dataclass(frozen=True, slots=True)
class FloatType:
    """`f32`, `bf16`, `f8E4M3FN` and so on, by MLIR's name."""

    name: str

    @property
    def width(self) -> int:
        """The number of bits of a value."""
        return FORMATS[self.name].width

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class IndexType:
    """`index`: as wide as a pointer."""

    def __str__(self) -> str:
        return "index"


@dataclass(frozen=True, slots=True)
class PointerType:
    """`!tt.ptr<f32>`; the pointee is a tensor for a block pointer."""

    pointee: "Type"
    address_space: int = 1

    def __str__(self) -> str:
        space = "" if self.address_space == 1 else f", {self.address_space}"
        return f"!tt.ptr<{self.pointee}{space}>"


@dataclass(frozen=True, slots=True)
class TensorType:
    """`tensor<128x64xf16>`; `encoding` is the raw text of the layout, as in TTGIR, or None."""

    shape: tuple[int, ...]
    element: "Type"
    encoding: str | None = None

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    def __str__(self) -> str:
        dimensions = "".join(f"{'?' if n == DYNAMIC else n}x" for n in self.shape)
        encoding = "" if self.encoding is None else f", {self.encoding}"
        return f"tensor<{dimensions}{self.element}{encoding}>"


@dataclass(frozen=True, slots=True)
class TensorDescriptorType:
    """`!tt.tensordesc<tensor<64x64xf16>>`, or `!tt.tensordesc<64x64xf16>` from Triton 3.8 on."""

    block: TensorType

    def __str__(self) -> str:
        return f"!tt.tensordesc<{self.block}>"


@dataclass(frozen=True, slots=True)
class SharedType:
    """`!ttg.memdesc<3x64x32xf16, #shared, #smem, mutable>`: a view of shared memory.

    `rest` is the raw text after the element type: layout, memory space and so on.
    """

    shape: tuple[int, ...]
    element: "Type"
    rest: str

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    def __str__(self) -> str:
        dimensions = "".join(f"{'?' if n == DYNAMIC else n}x" for n in self.shape)
        return f"!ttg.memdesc<{dimensions}{self.element}, {self.rest}>"


@dataclass(frozen=True, slots=True)
class FunctionType:
    """`(i32, f32) -> f32`: the signature of an op or of a function."""

    inputs: tuple["Type", ...]
    results: tuple["Type", ...]

    def __str__(self) -> str:
        inputs = ", ".join(map(str, self.inputs))
        results = ", ".join(map(str, self.results))
        bare = len(self.results) == 1 and not isinstance(self.results[0], FunctionType)
        return f"({inputs}) -> {results if bare else f'({results})'}"


@dataclass(frozen=True, slots=True)
class OpaqueType:
    """A type without a class here; `text` is the printed text."""

    text: str

    def __str__(self) -> str:
        return self.text


Type = (
    IntegerType
    | FloatType
    | IndexType
    | PointerType
    | TensorType
    | TensorDescriptorType
    | SharedType
    | FunctionType
    | OpaqueType
)
