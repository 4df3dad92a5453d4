"""Attributes of ops, as small frozen classes; unknown ones are an `OpaqueAttribute`.

Grammar: https://mlir.llvm.org/docs/Dialects/Builtin/#attributes. Attributes that are one Python
value have the field ``value``.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kvtrace.ir.floats import float_from_bits
from kvtrace.ir.locations import Location
from kvtrace.ir.types import FloatType, IndexType, IntegerType, TensorType, Type
from kvtrace.schema.cached_property import cached_property


@dataclass(frozen=True, slots=True)
class IntegerAttribute:
    """`128 : i32`; `true` and `false` are 1 and 0 of type i1. The value is as printed, signed."""

    value: int
    type: IntegerType | IndexType


@dataclass(frozen=True, slots=True)
class FloatAttribute:
    """`2.5e+00 : f32` or `0x7F800000 : f32`; bits are exact, a NaN's payload included."""

    bits: int
    type: FloatType

    @property
    def value(self) -> float:
        """The value as a double, in which every format is exact."""
        return float_from_bits(self.bits, self.type.name)


@dataclass(frozen=True, slots=True)
class StringAttribute:
    """`"text"` with escapes resolved; bytes that are not UTF-8 are surrogate escapes."""

    value: str


@dataclass(frozen=True, slots=True)
class SymbolAttribute:
    """`@name` or `@outer::@inner`; `value` is the path without at signs, joined by `::`."""

    value: str


@dataclass(frozen=True, slots=True)
class EnumAttribute:
    """`#arith.fastmath<none>`: name is `arith.fastmath`, value is `none`."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class UnitAttribute:
    """An attribute without a value, which is either present or absent."""

    value: bool = True


@dataclass(frozen=True, slots=True)
class TypeAttribute:
    """A type used as an attribute, as in `function_type = (i32) -> ()`."""

    value: Type


@dataclass(frozen=True, slots=True)
class ArrayAttribute:
    """`[1 : i32, "a"]`."""

    items: tuple["Attribute", ...]

    def __iter__(self) -> Iterator["Attribute"]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


@dataclass(frozen=True, slots=True)
class DenseArrayAttribute:
    """`array<i32: 1, 2>`: numbers of one type."""

    element: IntegerType | FloatType
    values: tuple[int, ...] | tuple[float, ...]


@dataclass(frozen=True, slots=True)
class DictionaryAttribute:
    """`{a = 1 : i32}`."""

    entries: Mapping[str, "Attribute"]


@dataclass(frozen=True)
class DenseAttribute:
    """`dense<…> : tensor<…>`: the elements' bit patterns in row-major order, one for a splat."""

    type: TensorType
    is_splat: bool
    bits: tuple[int, ...]

    @cached_property
    def values(self) -> tuple[int, ...] | tuple[float, ...]:
        """The elements, one for a splat: integers are signed, i1 is 0 or 1."""
        element = self.type.element
        if isinstance(element, FloatType):
            return tuple(float_from_bits(b, element.name) for b in self.bits)
        if not isinstance(element, IntegerType) or element.width == 1 or element.signedness == "u":
            return self.bits
        sign = 1 << (element.width - 1)
        return tuple((b ^ sign) - sign for b in self.bits)


@dataclass(frozen=True, slots=True)
class LocationAttribute:
    """`loc(…)` used as an attribute."""

    value: Location


@dataclass(frozen=True, slots=True)
class OpaqueAttribute:
    """An attribute without a class here; `text` is the printed text."""

    text: str


Attribute = (
    IntegerAttribute
    | FloatAttribute
    | StringAttribute
    | SymbolAttribute
    | EnumAttribute
    | UnitAttribute
    | TypeAttribute
    | ArrayAttribute
    | DenseArrayAttribute
    | DictionaryAttribute
    | DenseAttribute
    | LocationAttribute
    | OpaqueAttribute
)
