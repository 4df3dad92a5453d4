"""Reader of attributes and locations (a location is an attribute)."""

import re
from collections.abc import Mapping

from kvtrace.ir.attributes import (
    ArrayAttribute,
    Attribute,
    DenseArrayAttribute,
    DenseAttribute,
    DictionaryAttribute,
    EnumAttribute,
    FloatAttribute,
    IntegerAttribute,
    LocationAttribute,
    OpaqueAttribute,
    StringAttribute,
    SymbolAttribute,
    TypeAttribute,
    UnitAttribute,
)
from kvtrace.ir.floats import bits_from_float, float_from_bits
from kvtrace.ir.locations import (
    MOST_PARTS,
    UNKNOWN,
    CallSiteLocation,
    FileLocation,
    FusedLocation,
    Location,
    NameLocation,
    shortened,
)
from kvtrace.ir.scanner import NUMBER, STRING, unescape
from kvtrace.ir.types import FloatType, IndexType, IntegerType, TensorType, Type, TypeReader

_NUMBER = re.compile(NUMBER)
_KEY = re.compile(rf"[A-Za-z_][\w$.]*+|{STRING}", re.ASCII)
_HASH = re.compile(r"#[A-Za-z_][\w$]*+(?:\.[\w$]++)*+", re.ASCII)
_ENUM = re.compile(r"<\s*([\w|, ]*?)\s*>", re.ASCII)
_SYMBOL = re.compile(rf"@(?:[A-Za-z_$.][\w$.\-]*+|{STRING})", re.ASCII)
#: The most frequent form of locations, matched as a whole.
_FILE_LOCATION = re.compile(r'loc\("((?:[^"\\\n]|\\.)*+)":([0-9]{1,9}):([0-9]{1,9})\)')
_KEYWORD = re.compile(
    r"(?:true|false|unit|dense_resource|dense|array|loc|affine_map|affine_set|sparse|strided|"
    r"distinct)\b"
)
_DENSE_BODY = re.compile(r'<\s*(?:"(?P<blob>0x[0-9A-Fa-f]*+)"|(?P<list>[^<>"]*+))\s*>\s*:')
_ELEMENT = re.compile(rf"\s*(?:(?P<open>\[)|(?P<scalar>true|false|{NUMBER}))\s*")
_CLOSING = re.compile(r"\]\s*")


class AttributeReader(TypeReader):
    """A reader of attributes and locations at the current position."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.attribute_aliases: dict[str, Attribute] = {}
        #: id(location) → (the location, its number of parts).
        self.location_parts: dict[int, tuple[Location, int]] = {}

    def dictionary(self, opening: str, closing: str) -> Mapping[str, Attribute]:
        """Read `{key = attribute, flag}` in the given brackets; a flag has a UnitAttribute."""
        self.expect(opening)
        entries: dict[str, Attribute] = {}
        if self.accept(closing):
            return entries
        self.enter()
        while True:
            match = self.match(_KEY)
            if not match:
                self.fail("expected the name of an attribute")
            key = match.group()
            if key[0] == '"':
                key = unescape(key[1:-1])
            if key in entries:
                self.fail(f"attribute {key!r} is given twice", match.start())
            entries[key] = self.attribute() if self.accept("=") else UnitAttribute()
            if not self.accept(","):
                break
        self.leave()
        self.expect(closing)
        return entries

    def attribute(self) -> Attribute:
        """Read any attribute."""
        self.skip_space()
        character = self.text[self.position : self.position + 1]
        if character == "#":
            return self._dialect()
        if character and character in "-0123456789":
            return self._number()
        keyword = _KEYWORD.match(self.text, self.position)
        if keyword:
            self.position = keyword.end()
            return self._keyword(keyword.group(), keyword.start())
        if character == "{":
            return DictionaryAttribute(self.dictionary("{", "}"))
        if character == "[":
            self.position += 1
            return self._array()
        if character == '"':
            return self._string()
        if character == "@":
            return self._symbol()
        return TypeAttribute(self.type())

    def location(self) -> Location:
        """Read `loc(…)`."""
        plain = self.match(_FILE_LOCATION)
        if plain:
            file, line, column = plain.groups()
            return FileLocation(unescape(file), int(line), int(column))
        self.expect("loc")
        self.expect("(")
        location = self._inner_location()
        self.expect(")")
        return location

    def _keyword(self, keyword: str, start: int) -> Attribute:
        if keyword in ("true", "false"):
            return IntegerAttribute(int(keyword == "true"), IntegerType(1))
        if keyword == "unit":
            return UnitAttribute()
        if keyword == "dense":
            return self._dense(start)
        if keyword == "array":
            return self._dense_array()
        if keyword == "loc":
            self.position = start
            return LocationAttribute(self.location())
        while self.sees("[") or self.sees("<"):
            self.balanced()
        if self.accept(":"):
            self.type()
        return OpaqueAttribute(self.text[start : self.position])

    def _array(self) -> ArrayAttribute:
        if self.accept("]"):
            return ArrayAttribute(())
        self.enter()
        items = [self.attribute()]
        while self.accept(","):
            items.append(self.attribute())
        self.leave()
        self.expect("]")
        return ArrayAttribute(tuple(items))

    def _string(self) -> StringAttribute:
        value = self.string()
        if self.accept(":"):
            self.type()
        return StringAttribute(value)

    def _symbol(self) -> SymbolAttribute:
        path: list[str] = []
        while True:
            match = self.match(_SYMBOL)
            if not match:
                self.fail("expected a symbol's name")
            name = match.group()[1:]
            path.append(unescape(name[1:-1]) if name[0] == '"' else name)
            if not self.accept("::"):
                return SymbolAttribute("::".join(path))

    def _dialect(self) -> Attribute:
        match = self.match(_HASH)
        if not match:
            self.fail("expected an attribute's name")
        name = match.group()
        alias = self.attribute_aliases.get(name)
        if alias is not None:
            if self.waiting_aliases and not isinstance(alias, LocationAttribute):
                self.fail_nested_alias(match.start())
            return alias
        if not self.text.startswith("<", self.position):
            if "." not in name:
                self.fail(f"attribute alias {name} is never defined", match.start())
            return OpaqueAttribute(name)
        enum = _ENUM.match(self.text, self.position)
        if enum and "." in name:
            self.position = enum.end()
            return EnumAttribute(name[1:], enum.group(1))
        self.balanced()
        return OpaqueAttribute(self.text[match.start() : self.position])

    def _number(self) -> IntegerAttribute | FloatAttribute:
        match = self.match(_NUMBER)
        if not match:
            self.fail("expected a number")
        literal = match.group()
        kind: Type
        if self.accept(":"):
            kind = self.type()
        else:
            kind = FloatType("f64") if _is_float(literal) else IntegerType(64)
        if isinstance(kind, FloatType):
            return FloatAttribute(_float_bits(literal, kind), kind)
        if not isinstance(kind, IntegerType | IndexType) or _is_float(literal):
            self.fail(f"{literal} cannot be of type {kind}", match.start())
        return IntegerAttribute(_integer(literal), kind)

    def _dense_array(self) -> DenseArrayAttribute:
        start = self.position
        self.expect("<")
        element = self.type()
        if not isinstance(element, IntegerType | FloatType):
            self.fail("expected a number's type")
        literals: list[str] = []
        while self.accept("," if literals else ":"):
            match = self.match(_ELEMENT)
            if not match or match["open"]:
                self.fail("expected a number")
            literals.append(match["scalar"])
        self.expect(">")
        is_wrong = _is_boolean if isinstance(element, FloatType) else _is_float
        if any(map(is_wrong, literals)):
            self.fail(f"elements are not of type {element}", start)
        if not isinstance(element, FloatType):
            return DenseArrayAttribute(element, tuple(map(_integer, literals)))
        bits = (_float_bits(x, element) for x in literals)
        return DenseArrayAttribute(element, tuple(float_from_bits(b, element.name) for b in bits))

    def _dense(self, start: int) -> DenseAttribute | OpaqueAttribute:
        body = self.match(_DENSE_BODY)
        if not body:
            if not self.sees("<"):
                self.fail("expected '<'")
            self.balanced()  # strings, complex numbers and so on
            self.expect(":")
            self.type()
            return OpaqueAttribute(self.text[start : self.position])
        kind = self.type()
        element = kind.element if isinstance(kind, TensorType) else None
        if not isinstance(kind, TensorType) or not isinstance(element, IntegerType | FloatType):
            return OpaqueAttribute(self.text[start : self.position])
        if body["blob"] is not None:
            return self._dense_blob(kind, element, body)
        return self._dense_list(kind, element, body)

    def _dense_blob(
        self, kind: TensorType, element: IntegerType | FloatType, body: re.Match[str]
    ) -> DenseAttribute:
        """Decode raw little-endian elements; a single element is a splat."""
        digits = body["blob"][2:]
        data = bytes.fromhex(digits) if len(digits) % 2 == 0 else b""
        size = max(1, -(-element.width // 8))
        if element.width == 1 and len(data) == -(-kind.size // 8) and kind.size > 1:
            if len(data) == 1 and data in (b"\x00", b"\xff"):
                return DenseAttribute(kind, is_splat=True, bits=(data[0] & 1,))
            packed = int.from_bytes(data, "little")  # one bit per element, lowest first
            return DenseAttribute(kind, False, tuple(packed >> i & 1 for i in range(kind.size)))
        mask = (1 << element.width) - 1
        bits = tuple(
            int.from_bytes(data[i : i + size], "little") & mask for i in range(0, len(data), size)
        )
        if len(data) % size or len(bits) not in (1, kind.size) or not bits:
            self.fail(f"{len(data)} bytes do not fill {kind}", body.start())
        return DenseAttribute(kind, len(bits) == 1 and kind.size != 1, bits)

    def _dense_list(
        self, kind: TensorType, element: IntegerType | FloatType, body: re.Match[str]
    ) -> DenseAttribute:
        literals, shape = self._elements(body.start("list"), body.end("list"))
        if shape not in ((), kind.shape) or (not literals and kind.size):
            self.fail(f"elements of shape {shape} do not fill {kind}", body.start())
        is_wrong = _is_boolean if isinstance(element, FloatType) else _is_float
        if any(map(is_wrong, literals)):
            self.fail(f"elements are not of type {element}", body.start())
        if isinstance(element, FloatType):
            bits = tuple(_float_bits(x, element) for x in literals)
        else:
            mask = (1 << element.width) - 1
            bits = tuple(_integer(x) & mask for x in literals)
        return DenseAttribute(kind, is_splat=not shape and bool(literals), bits=bits)

    def _elements(self, start: int, end: int) -> tuple[list[str], tuple[int, ...]]:
        """Read a scalar or nested lists up to `end`; return (literals, shape), () for a scalar."""
        if not self.text[start:end].strip():
            return [], ()
        literals: list[str] = []
        depths: set[int] = set()
        extents: list[int] = []  # extent of the lists at each depth, -1 until a list has ended
        counts: list[int] = []  # number of items in each open list
        position = start
        while True:
            match = _ELEMENT.match(self.text, position, end)
            if not match:
                self.fail("expected an element", position)
            position = match.end()
            if match["open"]:
                counts.append(0)
                self.enter()
                if len(counts) > len(extents):
                    extents.append(-1)
                if not self.text.startswith("]", position):
                    continue
            else:
                literals.append(match["scalar"])
                depths.add(len(counts))
                if counts:
                    counts[-1] += 1
            while counts and (closing := _CLOSING.match(self.text, position, end)):
                position = closing.end()
                extent = counts.pop()
                self.leave()
                if extents[len(counts)] not in (-1, extent):
                    self.fail("elements do not form a box", position)
                extents[len(counts)] = extent
                if counts:
                    counts[-1] += 1
            if not counts:
                break
            if not self.text.startswith(",", position):
                self.fail("expected ']'", position)
            position += 1
        if depths and depths != {len(extents)}:
            self.fail("elements do not form a box", position)
        if self.text[position:end].strip():
            self.fail("expected the end of the elements", position)
        return literals, tuple(extents)

    def _inner_location(self) -> Location:
        if self.sees("#"):
            return self._location_alias()
        if self.sees('"'):
            return self._named_location()
        start = self.position
        kind = self.word("a location")
        if kind == "unknown":
            return UNKNOWN
        if kind not in ("callsite", "fused"):
            self.fail(f"location of unknown kind {kind!r}", start)
        self.enter()
        location = self._call_site() if kind == "callsite" else self._fused()
        self.leave()
        return location

    def joined(self, location: Location, *children: Location) -> Location:
        """Return a location that contains the children, shortened if it has too many parts."""
        parts = 1
        for child in children:
            parts += self.location_parts.get(id(child), (child, 1))[1]
        if parts > MOST_PARTS:
            return shortened(location)
        self.location_parts[id(location)] = (location, parts)
        return location

    def _call_site(self) -> Location:
        self.expect("(")
        callee = self._inner_location()
        self.expect("at")
        caller = self._inner_location()
        self.expect(")")
        return self.joined(CallSiteLocation(callee, caller), callee, caller)

    def _location_alias(self) -> Location:
        start = self.position
        attribute = self.attribute()
        if not isinstance(attribute, LocationAttribute):
            self.fail("alias is not a location's", start)
        return attribute.value

    def _named_location(self) -> Location:
        name = self.string()
        if self.accept("("):
            self.enter()
            child = self._inner_location()
            self.leave()
            self.expect(")")
            return self.joined(NameLocation(name, child), child)
        if not self.accept(":"):
            return NameLocation(name, UNKNOWN)
        line = self._position_number("a line number")
        self.expect(":")
        location = FileLocation(name, line, self._position_number("a column number"))
        if self.accept("to"):  # the end of a range, `to 12:5` or `to :5`, is ignored
            if not self.sees(":"):
                self.integer("a line number")
            self.expect(":")
            self.integer("a column number")
        return location

    def _position_number(self, what: str) -> int:
        """Read a line or column number, which must fit into 31 bits."""
        start = self.position
        number = self.integer(what)
        if not 0 <= number < 1 << 31:
            self.fail(f"{number} is not {what}", start)
        return number

    def _fused(self) -> Location:
        if self.sees("<"):
            self.balanced()
        self.expect("[")
        children = [self._inner_location()]
        while self.accept(","):
            children.append(self._inner_location())
        self.expect("]")
        return self.joined(FusedLocation(tuple(children)), *children)


def _is_float(literal: str) -> bool:
    return "." in literal


def _is_boolean(literal: str) -> bool:
    return literal in ("true", "false")


def _integer(literal: str) -> int:
    if _is_boolean(literal):
        return int(literal == "true")
    return int(literal, 16 if "x" in literal else 10)  # MLIR accepts 08


def _float_bits(literal: str, kind: FloatType) -> int:
    """Return the bits of a float literal; a hexadecimal literal has the bits themselves."""
    if "x" in literal:
        return int(literal, 16) & ((1 << kind.width) - 1)
    return bits_from_float(float(literal), kind.name)
