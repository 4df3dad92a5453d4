"""Reader of MLIR's builtin types and of Triton's types."""

import re
from typing import Never

from kvtrace.ir.floats import FORMATS
from kvtrace.ir.scanner import Scanner
from kvtrace.ir.types import (
    DYNAMIC,
    FloatType,
    FunctionType,
    IndexType,
    IntegerType,
    OpaqueType,
    PointerType,
    SharedType,
    TensorDescriptorType,
    TensorType,
    Type,
)

_INTEGER = re.compile(r"([su]?)i([1-9][0-9]{0,7}+)\b")
_DIMENSIONS = re.compile(r"(?:(?:[0-9]{1,18}+|\?)x)*+")
_NAME = re.compile(r"!?[A-Za-z_][\w$]*+(?:\.[\w$]++)*+", re.ASCII)
# A possible text of a type. It is cached only if the strict reader, started at its beginning, ended
# exactly at its end, so that the text has the same meaning at any position.
_CANDIDATE = re.compile(r"[\w!.$]++(?:<[^\s,(){}\"]*+)?", re.ASCII)
# Builtin types that become an `OpaqueType` with their text and angle brackets.
_OPAQUE_BUILTINS = frozenset({"vector", "memref", "complex", "tuple", "none"})


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
