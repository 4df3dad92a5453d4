"""Types of values, as small frozen classes, and their reader; unknown types are an `OpaqueType`.

Grammar: https://mlir.llvm.org/docs/LangRef/#type-system. Dialect types are Triton's (`!tt.ptr`,
`!tt.tensordesc`, `!ttg.memdesc`); types of all other dialects are opaque.
"""

import re
from dataclasses import dataclass
from math import prod
from typing import Final, Never

from kvtrace.ir.floats import FORMATS
from kvtrace.ir.scanner import Scanner

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


_INTEGER = re.compile(r"([su]?)i([1-9][0-9]{0,7}+)\b")
_DIMENSIONS = re.compile(r"(?:(?:[0-9]{1,18}+|\?)x)*+")
_NAME = re.compile(r"!?[A-Za-z_][\w$]*+(?:\.[\w$]++)*+", re.ASCII)
# A possible text of a type. It is cached only if the strict reader, started at its beginning, ended
# exactly at its end, so that the text has the same meaning at any position.
_CANDIDATE = re.compile(r"[\w!.$]++(?:<[^\s,(){}\"]*+)?", re.ASCII)
# Builtin types that become an `OpaqueType` with their text and angle brackets.
_OPAQUE_BUILTINS = frozenset({"vector", "memref", "complex", "tuple", "none"})


def shape_of(type_: Type) -> tuple[int, ...]:
    """Return the shape of a tensor, a view, a descriptor's block or a block pointer; else ()."""
    if isinstance(type_, TensorType | SharedType):
        return type_.shape
    if isinstance(type_, TensorDescriptorType):
        return type_.block.shape
    if isinstance(type_, PointerType):
        return shape_of(type_.pointee)
    return ()


def element_of(type_: Type) -> Type:
    """Return a tensor's element type, or a scalar's type itself."""
    return type_.element if isinstance(type_, TensorType) else type_


def integer_bits(type_: Type) -> int | None:
    """Return the width of an integer, or of a tensor of integers; None for other types."""
    element = element_of(type_)
    if isinstance(element, IntegerType):
        return element.width
    return 64 if isinstance(element, IndexType) else None


def is_pointer(type_: Type) -> bool:
    """Return whether a type is a pointer to an element, or a tensor of such pointers."""
    element = element_of(type_)
    return isinstance(element, PointerType) and not isinstance(element.pointee, TensorType)


def is_block_pointer(type_: Type) -> bool:
    """Return whether a type is a pointer to a block."""
    return isinstance(type_, PointerType) and isinstance(type_.pointee, TensorType)


def bytes_in_memory(type_: Type) -> int:
    """Return the bytes of a type's element in memory: 8 for pointers, 1 for Booleans."""
    element = type_.element if isinstance(type_, SharedType) else element_of(type_)
    if isinstance(element, IntegerType | FloatType):
        return max(1, element.width // 8)
    return 8


def pointee_bytes(type_: Type) -> int:
    """Return the bytes of an element that a pointer or descriptor points to; 8 for other types."""
    if isinstance(type_, TensorDescriptorType):
        return bytes_in_memory(type_.block)
    element = element_of(type_)
    return bytes_in_memory(element.pointee) if isinstance(element, PointerType) else 8


class TypeReader(Scanner):
    """A reader of types at the current position."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.type_aliases: dict[str, Type] = {}
        #: All aliases of the text while the aliases are read; empty afterwards.
        self.waiting_aliases: frozenset[str] = frozenset()
        self._cached_types: dict[str, Type] = {}

    def type(self) -> Type:
        """Read a type of any kind; types with equal text are one cached object."""
        self.skip_space()
        start = self.position
        candidate = _CANDIDATE.match(self.text, start)
        cached = self._cached_types.get(candidate.group()) if candidate else None
        if cached is not None and candidate:
            self.position = candidate.end()
            return cached
        self.enter()
        kind = self._new_type()
        self.leave()
        if candidate and self.position == candidate.end():
            self._cached_types[candidate.group()] = kind
        return kind

    def _new_type(self) -> Type:
        integer = self.match(_INTEGER)
        if integer:
            return IntegerType(int(integer.group(2)), integer.group(1))
        if self.sees("("):
            return self.function_type()
        start = self.position
        match = self.match(_NAME)
        if not match:
            self.fail("expected a type")
        name = match.group()
        if name == "tensor":
            return self._tensor()
        if name in FORMATS:
            return FloatType(name)
        if name == "index":
            return IndexType()
        if name == "!tt.ptr":
            return self._pointer()
        if name == "!tt.tensordesc":
            return self._descriptor()
        if name == "!ttg.memdesc":
            return self._shared()
        if name in self.waiting_aliases:
            self.fail_nested_alias(start)
        if name in self.type_aliases:
            return self.type_aliases[name]
        if name[0] != "!" and name not in _OPAQUE_BUILTINS:
            self.fail("expected a type", start)
        if self.text.startswith("<", self.position):
            self.balanced()
        return OpaqueType(self.text[start : self.position])

    def fail_nested_alias(self, start: int) -> Never:
        """Raise the error for an alias inside an alias, which only locations may have.

        Compilers print no such aliases, and nested ones could double in size from line to line.
        """
        self.fail("an alias inside an alias, which only locations may be", start)

    def function_type(self) -> FunctionType:
        """Read `(inputs) -> result` or `(inputs) -> (results)`."""
        inputs = self._type_list()
        self.expect("->")
        results = self._type_list() if self.sees("(") else (self.type(),)
        return FunctionType(inputs, results)

    def _type_list(self) -> tuple[Type, ...]:
        self.expect("(")
        if self.accept(")"):
            return ()
        types = [self.type()]
        while self.accept(","):
            types.append(self.type())
        self.expect(")")
        return tuple(types)

    def _tensor(self) -> TensorType | OpaqueType:
        start = self.position - len("tensor")
        self.expect("<")
        if self.sees("*"):  # unranked; no dialect here uses this type
            self.position = start + len("tensor")
            self.balanced()
            return OpaqueType(self.text[start : self.position])
        return self._tensor_body()

    def _tensor_body(self) -> TensorType:
        """Read `64x64xf16, #encoding>`, after the opening bracket."""
        match = self.match(_DIMENSIONS)
        assert match
        sizes = match.group().split("x")[:-1]
        shape = tuple(DYNAMIC if size == "?" else int(size) for size in sizes)
        element = self.type()
        encoding = self._rest_of_brackets() if self.accept(",") else None
        self.expect(">")
        return TensorType(shape, element, encoding)

    def _pointer(self) -> PointerType:
        self.expect("<")
        pointee = self.type()
        space = self.integer("an address space") if self.accept(",") else 1
        self.expect(">")
        return PointerType(pointee, space)

    def _descriptor(self) -> TensorDescriptorType:
        self.expect("<")
        if not self.sees("tensor<"):
            return TensorDescriptorType(self._tensor_body())
        self.position += len("tensor<")
        block = self._tensor_body()
        if self.accept(","):
            self._rest_of_brackets()
        self.expect(">")
        return TensorDescriptorType(block)

    def _shared(self) -> SharedType:
        self.expect("<")
        body = self._tensor_body()
        return SharedType(body.shape, body.element, body.encoding or "")

    def _rest_of_brackets(self) -> str:
        """Read and return the raw text up to the `>` that closes the current bracket."""
        self.skip_space()
        start = self.position
        while not self.sees(">"):
            if self.position >= len(self.text):
                self.fail("bracket is never closed", start)
            if self.text[self.position] in "<([{":
                self.balanced()
            elif self.text[self.position] == '"':
                self.string()
            else:
                self.position += 1
        return self.text[start : self.position].rstrip()
