"""Parser of MLIR's generic form: `%0 = "dialect.op"(%a) <{…}> ({…}) {…} : (type) -> type loc(…)`.

Grammar: https://mlir.llvm.org/docs/LangRef/#operations. The generic form is the same for every
dialect, so the parser does not depend on Triton's version.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeVar

from kvtrace.ir.attribute_reader import AttributeReader
from kvtrace.ir.attributes import (
    Attribute,
    IntegerAttribute,
    LocationAttribute,
    OpaqueAttribute,
    StringAttribute,
)
from kvtrace.ir.buffer_ops import with_pointers
from kvtrace.ir.locations import UNKNOWN, CallSiteLocation, FileLocation, Location, NameLocation
from kvtrace.ir.model import Block, Module, Op, Region, Value
from kvtrace.ir.ops import KINDS, Kind
from kvtrace.ir.scanner import IRSyntaxError, unescape
from kvtrace.ir.types import FunctionType, OpaqueType, TensorType, Type

_NAME: Final = r"%[\w$.\-]+"
_LABEL: Final = r"\^[\w$.\-]+"


def _listed(item: str) -> str:
    return rf"{item}(?:\s*,\s*{item})*+"


_OP = re.compile(
    rf"(?:(?P<results>{_listed(_NAME + '(?::[0-9]{1,6})?')})\s*=\s*)?"
    r'"(?P<name>[\w$.\-]+)"\s*'
    rf"\(\s*(?P<operands>(?:{_listed(_NAME + '(?:#[0-9]{1,6})?')})?)\s*\)"
    rf"(?:\s*\[\s*(?P<successors>(?:{_listed(_LABEL)})?)\s*\])?",
    re.ASCII,
)
_BLOCK_LABEL = re.compile(_LABEL, re.ASCII)
_BLOCK_ARGUMENT = re.compile(_NAME, re.ASCII)
_ALIAS = re.compile(r"\n[#!][A-Za-z_][\w$]*+(?:\.[\w$]++)*+[ ]=", re.ASCII)
# Texts that repeat from op to op; each begins with other characters.
_PROPERTIES = re.compile(r"\s*<\{.*?\}>", re.ASCII)
_SIGNATURE = re.compile(r"\s*:\s*\([^\n]*?(?= loc\()")
_PLAIN_SIGNATURE = re.compile(r"\s*:\s*\(([^()]*+)\) -> (?:([^(),]++)|\(([^()]*+)\))$")
_LOCATION = re.compile(r"\s*loc\((?:(#[A-Za-z_]\w*+)|[^()\n]*)\)", re.ASCII)
# Nearly all aliases are locations of these forms, one per line, matched as a whole.
_LOCATION_ALIAS = re.compile(
    r'#loc\w*+ = loc\((?:"((?:[^"\\\n]|\\.)*+)"'
    r"(?::([0-9]{1,9}):([0-9]{1,9})|\((?P<child>#loc\w*+)\))"
    r"|callsite\((?P<callee>#loc\w*+) at (?P<caller>#loc\w*+)\)|unknown)\)$",
    re.ASCII | re.MULTILINE,
)
_LOCATION_LINE = re.compile(r"#[\w$.]+ = loc(\([^\n]*)")
_USED_ALIAS = re.compile(r"#[A-Za-z_][\w$]*+(?:\.[\w$]++)*+", re.ASCII)

#: The type of a value that is used before its definition, until the use's signature is read.
_UNTYPED: Final = OpaqueType("")
#: Ranks that an op adds to its operands' tensors, which have one rank, as its results have.
_ADDED_RANKS: Final = {
    **{
        name: 0
        for name, row in KINDS.items()
        if row.kind in (Kind.ELEMENTWISE, Kind.SCAN) or row.group in ("tt_memory", "tt_atomic")
    },
    **dict.fromkeys(("tt.broadcast", "tt.trans", "tt.gather", "ttg.convert_layout"), 0),
    "tt.expand_dims": 1,
    "tt.join": 1,
    "tt.split": -1,
    "tt.reduce": -1,
}
_NO_ATTRIBUTES: Final[Mapping[str, Attribute]] = {}

T = TypeVar("T")


def parse(text: str, target: str = "") -> Module:
    """Parse one module in generic form.

    Args:
        text: the module.
        target: the target of the compilation, such as cuda:90; TTGIR names its target itself.

    Raises:
        IRSyntaxError: the text is not a module in generic form.

    """
    parser = _Parser(text)
    try:
        return parser.module(target)
    except RecursionError:
        raise IRSyntaxError("nested too deeply", text, parser.position) from None


class _Scope:
    """The names of values and labels in one region.

    Attributes:
        defined: names of values that are defined in the region.
        forward: name → (value used before its definition, offset of the first use).
        blocks: label → (block, offset of its first mention).
        read_labels: the labels of the blocks that have been read.
    """

    __slots__ = ("blocks", "defined", "forward", "read_labels")

    def __init__(self) -> None:
        self.defined: list[str] = []
        self.forward: dict[str, tuple[Value, int]] = {}
        self.blocks: dict[str, tuple[Block, int]] = {}
        self.read_labels: set[str] = set()


class _Parser(AttributeReader):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._ops: list[Op] = []
        self._value_count = 0
        self._values: dict[str, Value] = {}
        self._scopes: list[_Scope] = [_Scope()]
        self._read_texts: dict[str, Any] = {}

    def module(self, target: str) -> Module:
        """Read the whole text, one operation and aliases; the op may name its own target."""
        alias_ends = self._read_aliases()
        self.position = 0
        top: Op | None = None
        while True:
            self.skip_space()
            if self.position >= len(self.text):
                break
            if self.position in alias_ends:
                self.position = alias_ends[self.position]
                continue
            if top is not None:
                self.fail("expected the end of the text")
            top = self._op(None)
        if top is None:
            self.fail("expected a module")
        self._close_scope()
        own_target = top.attributes.get("ttg.target")
        target = own_target.value if isinstance(own_target, StringAttribute) else target
        aliases = self.attribute_aliases.items()
        layouts = {name: each.text for name, each in aliases if isinstance(each, OpaqueAttribute)}
        ops = with_pointers(self._ops, self._value_count)
        return Module(top, *ops, target, encodings=layouts)

    def _read_aliases(self) -> dict[int, int]:
        """Read all aliases, also those after their use; return each definition's {start: end}."""
        starts = self._alias_starts()
        self.waiting_aliases = frozenset(starts)
        ends = {
            starts[name]: self._alias(name, starts[name], location_match)
            for name, location_match in self._used_aliases_first(starts)
        }
        self.waiting_aliases = frozenset()
        return ends

    def _used_aliases_first(
        self, starts: Mapping[str, int]
    ) -> Iterator[tuple[str, re.Match[str] | None]]:
        """Yield each alias after those that its location uses, and its match if that is simple.

        #loc2 precedes #loc1 in `#loc1 = loc("x"(#loc2))`. A chain may be too long for recursion.
        """
        opened: set[str] = set()  # once its used aliases are above it in `pending`
        yielded: set[str] = set()
        pending = list(starts)[::-1]
        while pending:
            name = pending.pop()
            if name in yielded:
                continue
            match = _LOCATION_ALIAS.match(self.text, starts[name])
            if name not in opened:
                opened.add(name)
                used = (
                    match.group("child", "callee", "caller")
                    if match
                    else self._locations_named(starts[name])
                )
                if above := [each for each in used if each in starts and each not in opened]:
                    pending += [name, *above]
                    continue
            yielded.add(name)
            yield name, match

    def _alias_starts(self) -> dict[str, int]:
        named: dict[str, int] = {}
        for match in _ALIAS.finditer(
            "\n" + self.text
        ):  # a match starts where its name does in text
            name, start = match.group()[1:-2], match.start()
            if name in named:
                self.fail(f"alias {name} is defined twice", start)
            named[name] = start
        return named

    def _locations_named(self, start: int) -> list[str]:
        """Return the aliases used in the line at an offset if it defines a location, else none."""
        line = _LOCATION_LINE.match(self.text, start)
        return _USED_ALIAS.findall(line.group(1)) if line else []

    def _alias(self, name: str, start: int, location_match: re.Match[str] | None) -> int:
        """Read an alias, by `location_match` if it is a simple location; return its end."""
        location = self._aliased_location(location_match) if location_match else None
        if location_match and location is not None:
            self.attribute_aliases[name] = LocationAttribute(location)
            return location_match.end()
        self.position = start + len(name) + len(" =")
        if name[0] == "!":
            self.type_aliases[name] = self.type()
        else:
            self.attribute_aliases[name] = self.attribute()
        return self.position

    def _aliased_location(self, match: re.Match[str]) -> Location | None:
        """Return the location of an alias; None if it uses an alias that is not read yet."""
        text, line, column, child, callee, caller = match.groups()
        if line is not None:
            return FileLocation(unescape(text), int(line), int(column))
        if child is not None:
            inner = self.attribute_aliases.get(child)
            if not isinstance(inner, LocationAttribute):
                return None
            return self.joined(NameLocation(unescape(text), inner.value), inner.value)
        if callee is None:
            return UNKNOWN
        inner, outer = self.attribute_aliases.get(callee), self.attribute_aliases.get(caller)
        if isinstance(inner, LocationAttribute) and isinstance(outer, LocationAttribute):
            site = CallSiteLocation(inner.value, outer.value)
            return self.joined(site, inner.value, outer.value)
        return None

    def _op(self, block: Block | None) -> Op:
        header = self.match(_OP)
        if not header:
            self.fail("expected an operation in generic form")
        results, name, operands, successors = header.groups()
        op = Op(len(self._ops), name, block, UNKNOWN)
        self._ops.append(op)
        uses = [self._use(use.strip(), header) for use in operands.split(",")] if operands else []
        op.operands = tuple(uses)
        if successors:
            op.successors = self._successors(successors, block, header.start("successors"))
        attributes = self._once(_PROPERTIES, self._read_properties)
        if self.sees("({"):
            self._regions(op)
        if self.text.startswith("{", self.position):
            attributes = {**attributes, **self.dictionary("{", "}")}
        op.attributes = attributes
        signature = self._once(_SIGNATURE, self._read_signature)
        self._check_operands(op, signature, header)
        self._check_ranks(op, signature, header.start())
        if results or signature.results:
            self._define_results(op, results or "", signature.results, header.start())
        op.location = self._trailing_location()
        return op

    def _use(self, name: str, header: re.Match[str]) -> Value:
        if name.endswith("#0"):
            name = name[:-2]
        value = self._values.get(name)
        if value is not None:
            return value
        scope = self._scopes[-1]
        if name not in scope.forward:
            scope.forward[name] = (self._value(name, _UNTYPED, None, 0), header.start())
        return scope.forward[name][0]

    def _value(self, name: str, kind: Type, owner: Op | Block | None, position: int) -> Value:
        value = Value(self._value_count, name, kind, owner, position)
        self._value_count += 1
        return value

    def _define(self, name: str, kind: Type, owner: Op | Block, position: int, at: int) -> Value:
        if name in self._values:
            self.fail(f"{name} is defined twice", at)
        scope = self._scopes[-1]
        forward = scope.forward.pop(name, None)
        if forward is None:
            value = self._value(name, kind, owner, position)
        else:
            value = forward[0]
            if value.type is not _UNTYPED and value.type != kind:
                self.fail(f"{name} is of type {kind} but was used as {value.type}", at)
            value.type, value.owner, value.position = kind, owner, position
        self._values[name] = value
        scope.defined.append(name)
        return value

    def _define_results(self, op: Op, names: str, kinds: tuple[Type, ...], at: int) -> None:
        expanded: list[str] = []
        for name in filter(None, map(str.strip, names.split(","))):
            base, colon, count = name.partition(":")
            expanded.append(base)
            if colon:
                expanded += [f"{base}#{i}" for i in range(1, int(count))]
        if len(expanded) != len(kinds):
            self.fail(f"{len(expanded)} names for {len(kinds)} results of {op.name}", at)
        op.results = tuple(
            self._define(name, kind, op, position, at)
            for position, (name, kind) in enumerate(zip(expanded, kinds, strict=True))
        )

    def _check_operands(self, op: Op, signature: FunctionType, header: re.Match[str]) -> None:
        at = header.start()
        if len(op.operands) != len(signature.inputs):
            self.fail(
                f"{op.name} has {len(op.operands)} operands but types for {len(signature.inputs)}",
                at,
            )
        for value, kind in zip(op.operands, signature.inputs, strict=True):
            if value.type is kind or value.type == kind:
                continue
            if value.type is not _UNTYPED:
                self.fail(f"{value.name} is of type {value.type} but is used as {kind}", at)
            value.type = kind

    def _check_ranks(self, op: Op, signature: FunctionType, at: int) -> None:
        added = _ADDED_RANKS.get(op.name)
        if added is None:
            return
        before, after = (
            {len(kind.shape) for kind in kinds if isinstance(kind, TensorType)}
            for kinds in (signature.inputs, signature.results)
        )
        if op.name == "tt.reduce":
            after = after or {0}  # of scalars
        axis = op.attributes.get("axis")
        is_beyond = isinstance(axis, IntegerAttribute) and axis.value >= max(
            before | after, default=0
        )
        is_changed = before and signature.results and after != {rank + added for rank in before}
        if len(before) > 1 or is_changed or is_beyond:
            self.fail(f"the ranks of the tensors of {op.name} do not fit together", at)

    def _successors(self, labels: str, block: Block | None, at: int) -> tuple[Block, ...]:
        if block is None:
            self.fail("an operation outside a region has no successors", at)
        return tuple(self._labeled(block.region, label.strip(), at) for label in labels.split(","))

    def _labeled(self, region: Region, label: str, at: int) -> Block:
        """Return the region's block with a label; created at its first mention, at offset `at`."""
        blocks = self._scopes[-1].blocks
        if label not in blocks:
            blocks[label] = (Block(region, label), at)
        return blocks[label][0]

    def _regions(self, op: Op) -> None:
        self.expect("(")
        regions: list[Region] = []
        while True:
            regions.append(self._region(op))
            if not self.accept(","):
                break
        self.expect(")")
        self.skip_space()
        op.regions = tuple(regions)

    def _region(self, owner: Op) -> Region:
        self.expect("{")
        self.enter()
        region = Region(owner)
        self._scopes.append(_Scope())
        blocks: list[Block] = []
        while not self.accept("}"):
            blocks.append(self._block(region, is_entry=not blocks))
        region.blocks = tuple(blocks)
        self._close_scope()
        self.leave()
        return region

    def _block(self, region: Region, *, is_entry: bool) -> Block:
        label = self.match(_BLOCK_LABEL)
        if label:
            block = self._labeled(region, label.group(), label.start())
            read_labels = self._scopes[-1].read_labels
            if label.group() in read_labels:
                self.fail(f"block {label.group()} is defined twice", label.start())
            read_labels.add(label.group())
            block.arguments = self._block_arguments(block)
        elif is_entry:
            block = Block(region, None)
        else:
            self.fail("expected a block or the end of the region")
        ops: list[Op] = []
        while True:
            self.skip_space()
            if self.position >= len(self.text):
                self.fail("region is never closed")
            if self.text[self.position] in "^}":
                block.ops = tuple(ops)
                return block
            ops.append(self._op(block))

    def _block_arguments(self, block: Block) -> tuple[Value, ...]:
        arguments: list[Value] = []
        if self.accept("(") and not self.accept(")"):
            while True:
                name = self.match(_BLOCK_ARGUMENT)
                if not name:
                    self.fail("expected the name of a block argument")
                self.expect(":")
                kind = self.type()
                arguments.append(
                    self._define(name.group(), kind, block, len(arguments), name.start())
                )
                self._trailing_location()
                if not self.accept(","):
                    break
            self.expect(")")
        self.expect(":")
        return tuple(arguments)

    def _close_scope(self) -> None:
        """Remove a region's names; uses without a definition are moved to the enclosing region."""
        scope = self._scopes.pop()
        for label, (_, at) in scope.blocks.items():
            if label not in scope.read_labels:
                self.fail(f"block {label} is never defined", at)
        for name in scope.defined:
            del self._values[name]
        if not scope.forward:
            return
        if not self._scopes:
            name, (_, at) = next(iter(scope.forward.items()))
            self.fail(f"{name} is used but never defined", at)
        outer = self._scopes[-1].forward
        for name, (value, at) in scope.forward.items():
            if name in outer:
                self.fail(f"{name} is used in two regions before its definition", at)
            outer[name] = (value, at)

    def _once(self, text: re.Pattern[str], read: Callable[[], T]) -> T:
        """Return what `read` makes of a text at the position; a text that repeats is read once.

        It is kept only if the strict reader ends exactly at the text's end: then it has the same
        meaning at any position.
        """
        candidate = text.match(self.text, self.position)
        if candidate is None:
            return read()
        result: T | None = self._read_texts.get(candidate.group())
        if result is None:
            result = read()
            if self.position == candidate.end():
                self._read_texts[candidate.group()] = result
        else:
            self.position = candidate.end()
        return result

    def _read_properties(self) -> Mapping[str, Attribute]:
        return self.dictionary("<{", "}>") if self.sees("<{") else _NO_ATTRIBUTES

    def _read_signature(self) -> FunctionType:
        candidate = _SIGNATURE.match(self.text, self.position)
        signature = self._plain_signature(candidate.group()) if candidate else None
        if signature and candidate:
            self.position = candidate.end()
            return signature
        self.expect(":")
        return self.function_type()

    def _plain_signature(self, text: str) -> FunctionType | None:
        """Return a signature with cached types only, or None for other signatures."""
        match = _PLAIN_SIGNATURE.match(text)
        if not match:
            return None
        inputs_text, single, several = match.groups()
        texts = inputs_text.split(", ") if inputs_text else []
        outputs = [single] if single else several.split(", ") if several else []
        cached = self._cached_types
        inputs = tuple([cached[text] for text in texts if text in cached])
        results = tuple([cached[text] for text in outputs if text in cached])
        if len(inputs) < len(texts) or len(results) < len(outputs):
            return None
        return FunctionType(inputs, results)

    def _trailing_location(self) -> Location:
        candidate = _LOCATION.match(self.text, self.position)
        alias = self.attribute_aliases.get(candidate.group(1)) if candidate else None
        if candidate and isinstance(alias, LocationAttribute):
            self.position = candidate.end()
            return alias.value
        return self._once(_LOCATION, self._read_location)

    def _read_location(self) -> Location:
        return self.location() if self.sees("loc(") else UNKNOWN
