"""A module as plain data and back: what the cache on disk keeps, read much faster than text.

Plain data are tuples, strings, numbers and None. Types, attributes and locations stand in one
table, each after what it refers to; ops, blocks, regions and values refer to one another by number.
"""

from collections.abc import Iterable
from typing import Any

from kvtrace.ir import attributes, locations, types
from kvtrace.ir.model import Block, Module, Op, Region, Value

#: Classes of the table, each with its fields: p plain, r one entry of the table, s a tuple of
#: entries, d a dictionary of entries. The order is a part of the format.
_RECORDS: tuple[tuple[type[Any], str], ...] = (
    (types.IntegerType, "pp"),
    (types.FloatType, "p"),
    (types.IndexType, ""),
    (types.PointerType, "rp"),
    (types.TensorType, "prp"),
    (types.TensorDescriptorType, "r"),
    (types.FunctionType, "ss"),
    (types.OpaqueType, "p"),
    (attributes.IntegerAttribute, "pr"),
    (attributes.FloatAttribute, "pr"),
    (attributes.StringAttribute, "p"),
    (attributes.SymbolAttribute, "p"),
    (attributes.EnumAttribute, "pp"),
    (attributes.UnitAttribute, "p"),
    (attributes.TypeAttribute, "r"),
    (attributes.ArrayAttribute, "s"),
    (attributes.DenseArrayAttribute, "rp"),
    (attributes.DictionaryAttribute, "d"),
    (attributes.DenseAttribute, "rpp"),
    (attributes.LocationAttribute, "r"),
    (attributes.OpaqueAttribute, "p"),
    (locations.UnknownLocation, ""),
    (locations.FileLocation, "ppp"),
    (locations.NameLocation, "pr"),
    (locations.CallSiteLocation, "rr"),
    (locations.FusedLocation, "s"),
    (dict, "d"),
)
_NUMBERS = {kind: number for number, (kind, _) in enumerate(_RECORDS)}
_FIELDS = {
    kind: tuple(zip(getattr(kind, "__match_args__", ()), fields, strict=False))
    for kind, fields in _RECORDS
}


class _Table:
    """The table while it is written: an entry for each object, numbered as they come."""

    def __init__(self) -> None:
        self.entries: list[tuple[Any, ...]] = []
        self._numbers: dict[int, int] = {}
        self._kept: list[Any] = []  # numbers go by identity, so nothing may go away

    def number(self, record: Any) -> int:
        """Give the number of an object, which gets one if it has none."""
        known = self._numbers.get(id(record))
        if known is not None:
            return known
        kind = type(record)
        if kind is dict:
            fields: tuple[Any, ...] = (self._dictionary(record),)
        else:
            fields = tuple(self._field(getattr(record, name), how) for name, how in _FIELDS[kind])
        number = len(self.entries)
        self.entries.append((_NUMBERS[kind], *fields))
        self._numbers[id(record)] = number
        self._kept.append(record)
        return number

    def numbers(self, records: Iterable[Any]) -> tuple[int, ...]:
        """Give the numbers of several."""
        return tuple(map(self.number, records))

    def _dictionary(self, given: Any) -> tuple[tuple[str, int], ...]:
        return tuple((name, self.number(value)) for name, value in given.items())

    def _field(self, value: Any, how: str) -> Any:
        if how == "p":
            return value
        if how == "r":
            return self.number(value)
        return self.numbers(value) if how == "s" else self._dictionary(value)


def plain_module(module: Module) -> tuple[Any, ...]:
    """Give all of a module as plain data."""
    table = _Table()
    regions = [region for op in module.ops for region in op.regions]
    blocks = [block for region in regions for block in region.blocks]
    region_numbers = {id(region): number for number, region in enumerate(regions)}
    block_numbers = {id(block): number for number, block in enumerate(blocks)}
    values: list[tuple[str, int] | None] = [None] * module.value_count
    defined = [value for op in module.ops for value in op.results]
    defined += [value for block in blocks for value in block.arguments]
    for value in defined:
        values[value.id] = (value.name, table.number(value.type))
    ops = tuple(
        (
            op.name,
            -1 if op.block is None else block_numbers[id(op.block)],
            table.number(op.location),
            _ids(op.operands),
            _ids(op.results),
            table.number(op.attributes),
            tuple(region_numbers[id(region)] for region in op.regions),
            tuple(block_numbers[id(block)] for block in op.successors),
        )
        for op in module.ops
    )
    block_rows = tuple(
        (
            region_numbers[id(block.region)],
            block.label,
            _ids(block.arguments),
            tuple(op.index for op in block.ops),
        )
        for block in blocks
    )
    region_rows = tuple(
        (region.owner.index, tuple(block_numbers[id(block)] for block in region.blocks))
        for region in regions
    )
    return tuple(table.entries), tuple(values), ops, block_rows, region_rows


def module_of(plain: tuple[Any, ...]) -> Module:
    """Make the module that `plain_module` was given; KeyError, IndexError … if it gave no such."""
    entries, value_rows, op_rows, block_rows, region_rows = plain
    table = _objects(entries)
    values = [
        Value(number, name, table[kind], None, 0) for number, (name, kind) in enumerate(value_rows)
    ]
    ops: list[Op] = []
    for name, _, location, operands, results, attribute_row, _, _ in op_rows:
        op = Op(len(ops), name, None, table[location])
        op.operands = tuple([values[number] for number in operands])
        op.attributes = table[attribute_row]
        if results:
            op.results = _owned(op, results, values)
        ops.append(op)
    regions = [Region(ops[owner]) for owner, _ in region_rows]
    blocks = [Block(regions[region], label) for region, label, _, _ in block_rows]
    for region, (_, inside) in zip(regions, region_rows, strict=True):
        region.blocks = tuple([blocks[number] for number in inside])
    for block, (_, _, arguments, inside) in zip(blocks, block_rows, strict=True):
        block.arguments = _owned(block, arguments, values)
        block.ops = tuple([ops[number] for number in inside])
    for op, (_, block_row, _, _, _, _, inside, successors) in zip(ops, op_rows, strict=True):
        op.block = blocks[block_row] if block_row >= 0 else None
        if inside:
            op.regions = tuple([regions[number] for number in inside])
        if successors:
            op.successors = tuple([blocks[number] for number in successors])
    return Module(ops[0], tuple(ops), len(values))


def _objects(entries: Iterable[tuple[Any, ...]]) -> list[Any]:
    """Make the objects of a table."""
    made: list[Any] = []
    for kind_number, *fields in entries:
        kind, how = _RECORDS[kind_number]
        if "d" in how:
            entry: Any = {name: made[number] for name, number in fields[0]}
            made.append(entry if kind is dict else kind(entry))
            continue
        if "r" in how or "s" in how:
            fields = [
                made[field] if each == "r"
                else tuple([made[number] for number in field]) if each == "s"
                else field
                for field, each in zip(fields, how, strict=True)
            ]  # fmt: skip
        made.append(kind(*fields))
    return made


def _ids(values: Iterable[Value]) -> tuple[int, ...]:
    return tuple([value.id for value in values])


def _owned(owner: Op | Block, numbers: Iterable[int], values: list[Value]) -> tuple[Value, ...]:
    given = tuple([values[number] for number in numbers])
    for position, value in enumerate(given):
        value.owner, value.position = owner, position
    return given
