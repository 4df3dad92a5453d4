"""Model of a module: ops in blocks in regions, with every operand resolved to its value.

The parser builds the model; all other code treats it as read-only. Identity is object identity.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, Final, Protocol, TypeVar

from kvtrace.ir.attributes import (
    ArrayAttribute,
    Attribute,
    DenseArrayAttribute,
    IntegerAttribute,
    OpaqueAttribute,
    StringAttribute,
    TypeAttribute,
    UnitAttribute,
)
from kvtrace.ir.locations import Frame, Location, location_frames
from kvtrace.ir.ops import FUNCTIONS, KINDS
from kvtrace.ir.types import Type
from kvtrace.schema.cached_property import cached_property
from kvtrace.schema.errors import KvtraceError


class NoKernel(KvtraceError):
    """The module has no public function with a body."""

    slug = "no-kernel"


class Value:
    """A result of an op, or an argument of a block.

    Names are reused in sibling regions; ``id`` is unique in the module and counts from 0.
    """

    __slots__ = ("id", "name", "owner", "position", "type")

    def __init__(
        self, number: int, name: str, kind: Type, owner: "Op | Block | None", position: int
    ) -> None:
        self.id = number
        self.name = name
        self.type = kind
        self.owner = owner
        self.position = position

    def __repr__(self) -> str:
        return f"Value({self.id}, {self.name}: {self.type})"


class Block:
    """A list of ops that are executed in order; `label` is None for an entry block without one."""

    __slots__ = ("arguments", "label", "ops", "region")

    def __init__(self, region: "Region", label: str | None) -> None:
        self.region = region
        self.label = label
        self.arguments: tuple[Value, ...] = ()
        self.ops: tuple[Op, ...] = ()

    def __repr__(self) -> str:
        return f"Block({self.label}, {len(self.ops)} ops)"


class Region:
    """The blocks of one region of an op; the first block is the entry."""

    __slots__ = ("blocks", "owner")

    def __init__(self, owner: "Op") -> None:
        self.owner = owner
        self.blocks: tuple[Block, ...] = ()

    def __repr__(self) -> str:
        return f"Region({len(self.blocks)} blocks of {self.owner.name})"


class Op:
    """One operation.

    ``index`` is the op's position in the module's text, from 0 (the module itself): the
    ``op_index`` of the trace. ``attributes`` has both properties and attributes.
    """

    __slots__ = (
        "__weakref__",  # results derived from a module are kept by its op
        "attributes",
        "block",
        "index",
        "location",
        "name",
        "operands",
        "regions",
        "results",
        "successors",
    )

    def __init__(self, index: int, name: str, block: Block | None, location: Location) -> None:
        self.index = index
        self.name = name
        self.block = block
        self.location = location
        self.operands: tuple[Value, ...] = ()
        self.results: tuple[Value, ...] = ()
        self.attributes: Mapping[str, Attribute] = {}
        self.regions: tuple[Region, ...] = ()
        self.successors: tuple[Block, ...] = ()

    @property
    def operand_types(self) -> tuple[Type, ...]:
        """Types of the operands, in order."""
        return tuple(v.type for v in self.operands)

    @property
    def result_types(self) -> tuple[Type, ...]:
        """Types of the results, in order."""
        return tuple(v.type for v in self.results)

    def operand(self, name: str) -> Value:
        """Return the operand with a name; `kvtrace.ir.ops` has the names.

        Raises:
            KeyError: the op has no operand of that name.
        """
        operand = self.optional(name)
        if operand is None:
            raise KeyError(f"this {self.name} has no operand {name!r}")
        return operand

    def optional(self, name: str) -> Value | None:
        """Return the operand with a name, or None if the op has no such operand."""
        operands = self.group(name)
        return operands[0] if operands else None

    def group(self, name: str) -> tuple[Value, ...]:
        """Return all operands with a name, as a tuple of any length.

        Raises:
            KeyError: ops of this kind have no operands of that name.
        """
        start, end = KINDS[self.name].span(self, name)
        return self.operands[start:end]

    @property
    def parent(self) -> "Op | None":
        """The op whose region contains this op; None for the module."""
        return None if self.block is None else self.block.region.owner

    def walk(self) -> Iterator["Op"]:
        """Yield this op and all ops inside, in text order."""
        yield self
        for region in self.regions:
            for block in region.blocks:
                for op in block.ops:
                    yield from op.walk()

    def __repr__(self) -> str:
        return f"Op({self.index}, {self.name})"


@dataclass(frozen=True, slots=True)
class Function:
    """A function op, with its name, body and arguments."""

    op: Op

    @property
    def name(self) -> str:
        """The function's symbol name; "" if it has none."""
        name = self.op.attributes.get("sym_name")
        return name.value if isinstance(name, StringAttribute) else ""

    @property
    def is_public(self) -> bool:
        """The function can be launched; functions without visibility are public in MLIR."""
        visibility = self.op.attributes.get("sym_visibility")
        return not isinstance(visibility, StringAttribute) or visibility.value == "public"

    @property
    def body(self) -> Region:
        """The function's blocks; none for a declaration."""
        return self.op.regions[0]

    @property
    def arguments(self) -> tuple[Value, ...]:
        """The function's arguments; empty for a declaration."""
        return self.body.blocks[0].arguments if self.body.blocks else ()


class _Memo(dict[object, Any]):
    """Cached results of a module; a copy of the module starts with an empty cache."""

    def __deepcopy__(self, _copied: dict[int, Any]) -> "_Memo":
        return _Memo()


@dataclass(frozen=True)
class Options:
    """Options of a compilation that change a kernel's values and are not in its IR.

    Attributes:
        warps: warps of a program; None if unknown.
        triton: the version of Triton; None if unknown.
        fuses: Triton's ``enable_fp_fusion``: products may be fused with sums.
        fused_places: returns, by line and column, whether the compiled code has a fused sum there.
        recorded: the texts of all recorded options, by name.
    """

    warps: int | None = None
    triton: str | None = None
    fuses: bool = True
    fused_places: Callable[[], Mapping[tuple[int, int], bool]] = field(default=dict, compare=False)
    recorded: Mapping[str, str] = field(default_factory=dict, compare=False)


DEFAULTS: Final = Options()
"""The options of a kernel of which nothing is known."""


@dataclass(frozen=True, eq=False)
class Module:
    """A parsed module. ``ops`` has all ops in text order, so ``ops[i].index == i``.

    ``target`` is the target of the compilation, such as ``cuda:90``, or "" if unknown.
    ``encodings`` has the text of each layout by its alias. ``memo`` belongs to `kvtrace.ir.model`.
    Modules are compared by identity.
    """

    op: Op
    ops: tuple[Op, ...]
    value_count: int
    target: str = ""
    options: Options = DEFAULTS
    encodings: Mapping[str, str] = field(default_factory=dict, repr=False)
    memo: dict[object, Any] = field(default_factory=_Memo, init=False, repr=False)

    @cached_property
    def functions(self) -> Mapping[str, Function]:
        """All functions (`tt.func`, `func.func`, `llvm.func`) by name."""
        views = [Function(op) for op in self.ops if op.name in FUNCTIONS]
        return {view.name: view for view in views}

    @cached_property
    def main(self) -> Function:
        """The function that a launch runs: the first public function with a body.

        Raises:
            NoKernel: no public function has a body.

        """
        for function in self.functions.values():
            if function.is_public and function.body.blocks:
                return function
        raise NoKernel("The IR has no public tt.func with a body, so there is nothing to run.")


def source_stack(op: Op) -> tuple[Frame, ...]:
    """Return the op's source positions, innermost first, with the calls that were inlined.

    Empty for an unknown location. The outermost frame has the name of the op's function; the names
    of inlined functions are not in the IR.
    """
    return frames_in(op.location, function_name(op))


def line_text(op: Op, preposition: str) -> str:
    """Return an op's line after a preposition, as " in line 12"; "" for an unknown location."""
    frames = source_stack(op)
    return f" {preposition} line {frames[0].line}" if frames else ""


def frames_in(location: Location, function: str | None) -> tuple[Frame, ...]:
    """Return the frames of a location in a function of the IR, as `source_stack` does."""
    frames = location_frames(location)
    if not frames or function is None:
        return frames
    outermost = frames[-1]
    named = Frame(outermost.file, outermost.line, outermost.column, function)
    return (*frames[:-1], named)


def function_name(op: Op) -> str | None:
    """Return the name of the function that contains an op, or is the op; None for a module."""
    inner: Op | None = op
    while inner is not None and inner.name not in FUNCTIONS:
        block = inner.block
        inner = None if block is None else block.region.owner
    return None if inner is None else Function(inner).name


def attribute(op: Op, name: str, default: Any = None) -> Any:
    """Return an attribute as a plain Python value (arrays as lists), else `default`."""
    value: Any = op.attributes.get(name)
    if value is None:
        return default
    if isinstance(value, ArrayAttribute):
        return [getattr(item, "value", item) for item in value.items]
    if isinstance(value, DenseArrayAttribute):
        return list(value.values)
    if isinstance(value, UnitAttribute):
        return True
    if isinstance(value, OpaqueAttribute):
        return value.text
    if isinstance(value, TypeAttribute):
        return value.value
    return value.value


def number_of(op: Op, name: str, default: int = 0) -> int:
    """Return the value of an op's integer attribute, or the default if there is none."""
    number = op.attributes.get(name)
    return number.value if isinstance(number, IntegerAttribute) else default


_T = TypeVar("_T")
_MISSING: Any = object()


class _Remembering(Protocol):
    @property
    def memo(self) -> dict[object, Any]: ...


_Subject = TypeVar("_Subject", bound=_Remembering)


def once_per_module(function: Callable[[_Subject], _T]) -> Callable[[_Subject], _T]:
    """Decorate a function of a module, or of what else has a memo, so that its result is cached.

    Two threads may compute it at the same time; one of the results is kept.
    """

    @wraps(function)
    def cached(subject: _Subject) -> _T:
        result: _T = subject.memo.get(cached, _MISSING)
        if result is _MISSING:
            result = subject.memo.setdefault(cached, function(subject))
        return result

    return cached
