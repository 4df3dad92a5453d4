"""Rows of operators, their calls and allocations, from what `_operators.c` has recorded."""

import struct
import sys
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa

from kvtrace.backends.cupti.read_stacks import ReadStacks
from kvtrace.capture.arguments import short_dtype
from kvtrace.schema.arrays import packed
from kvtrace.schema.hot_rows import address_lists, integers

if TYPE_CHECKING:
    from kvtrace.capture.journal import Journal

#: Of a tensor's first word: a result, and no item of a list.
_RESULT: Final = 1 << 30
_NO_ITEM: Final = 0x3FFFFFFF
_LOW: Final = 0xFFFFFFFF
#: Words of a tensor before its sizes and strides.
_HEAD: Final = 5
_NUMBERS: Final = struct.Struct("<IIII")


class UniqueCall(NamedTuple):
    """A unique call as `_operators.c` copies it.

    `stack` is a number of a copied stack, 0: none. `arguments` and `results` are counts of values;
    `words` are those of the tensors, one after the other.
    """

    name: str
    overload: str
    stack: int
    arguments: int
    results: int
    words: tuple[int, ...]


class Parameter(NamedTuple):
    """An argument or a result of a schema: its name, and whether the operator may mutate it."""

    name: str | None
    is_written: bool = False


#: An argument of which nothing is known.
_UNKNOWN: Final = Parameter(None, is_written=True)


class OperatorSchema(NamedTuple):
    """The parts of an operator's schema that rows are made of."""

    arguments: tuple[Parameter, ...] = ()
    results: tuple[Parameter, ...] = ()


class OperatorRows:
    """A listener of one run's journal, which adds the rows at the end of each round."""

    def __init__(
        self,
        native: ModuleType,
        dtypes: Mapping[int, str],
        message: Callable[[str, str, str], None],
    ) -> None:
        """Args: the C module, names of element types by torch's number, `Session.message`."""
        self._native = native
        self._dtypes = dtypes
        self._message = message
        self._stacks = ReadStacks()
        self._stack_ids: dict[int, int | None] = {0: None}
        self._operator_ids = count()
        self._operations = 0
        self._allocations = 0
        self._schemas: dict[tuple[str, str], OperatorSchema] = {}

    def row(self, table: str, row: Mapping[str, Any]) -> None:
        """Do nothing."""

    def launches(self, columns: Mapping[str, Any], copied: Sequence[tuple[int, int, int]]) -> None:
        """Do nothing."""

    def round(self, journal: "Journal") -> None:
        """Write what was recorded since the last round."""
        while self._write(journal, *self._native.take(False)):
            pass

    def _write(
        self, journal: "Journal", stacks: bytes, operators: bytes, operations: Any,
        allocations: Any, lost: int, is_left: bool,
    ) -> bool:  # fmt: skip
        """Write what was taken; return whether it was left over, so that there may be more."""
        self._stacks.add(stacks)
        for call in unique_calls(operators):
            journal.add("operators", self._operator_row(call, journal))
        if operations[0]:
            journal.append("operations", self._operation_columns(*operations))
        if allocations[0]:
            journal.append("allocations", self._allocation_columns(journal, *allocations))
        if lost:
            text = (
                f"{lost:,} calls of operators or allocations are not recorded: "
                "too many waited to be written, or memory was lacking"
            )
            self._message("warning", "operations-lost", text)
        return is_left

    def finish(self, journal: "Journal") -> None:
        """Stop recording, and write the rest, with memory that was not freed."""
        self._native.record_calls(False)
        while self._write(journal, *self._native.take(True)):
            pass

    def _operator_row(self, call: UniqueCall, journal: "Journal") -> dict[str, Any]:
        schema = self._schema(call.name, call.overload)
        full_name = f"{call.name}.{call.overload}" if call.overload else call.name
        return {
            "operator_id": next(self._operator_ids),
            "name": full_name,
            "tensors": list(_operands(call, schema, self._dtypes)),
            "stack_id": self._stack_id(call.stack, journal),
        }

    def _schema(self, name: str, overload: str) -> OperatorSchema:
        key = name, overload
        if key not in self._schemas:
            self._schemas[key] = _schema_of_torch(name, overload)
        return self._schemas[key]

    def _stack_id(self, number: int, journal: "Journal") -> int | None:
        if number not in self._stack_ids:
            frames = self._stacks.frames(number)
            self._stack_ids[number] = journal.add_stack(frames) if frames else None
        return self._stack_ids[number]

    def _operation_columns(
        self, operators: bytes, begin: bytes, end: bytes, thread: bytes, graph: bytes,
        offsets: bytes, addresses: bytes,
    ) -> dict[str, Any]:  # fmt: skip
        rows = len(operators) // 8
        first, self._operations = self._operations, self._operations + rows
        return {
            "record": pa.arange(first, first + rows),
            "operator_id": integers(operators),
            "begin": integers(begin),
            "end": integers(end),
            "thread": integers(thread),
            "addresses": address_lists(offsets, addresses, b"\1" * rows),
            "graph_id": _numbers_or_null(graph),
        }

    def _allocation_columns(
        self, journal: "Journal", address: bytes, size: bytes, begin: bytes, end: bytes,
        thread: bytes, stack: bytes, device: bytes,
    ) -> dict[str, Any]:  # fmt: skip
        rows = len(address) // 8
        first, self._allocations = self._allocations, self._allocations + rows
        numbers = memoryview(stack).cast("q")
        stack_ids = {number: self._stack_id(number, journal) for number in set(numbers)}
        return {
            "record": pa.arange(first, first + rows),
            "address": integers(address),
            "bytes": _numbers_or_null(size),
            "begin": integers(begin),
            "end": _numbers_or_null(end),
            "thread": integers(thread),
            "device": _numbers_or_null(device, pa.int32()),
            "stack_id": pa.array(map(stack_ids.get, numbers), pa.int64()),
        }


def _numbers_or_null(content: bytes, kind: Any = None) -> Any:
    """Return 64-bit integers as an array of `kind` (default int64), null where they are -1."""
    if content.count(b"\xff") == len(content):  # the common case, which costs next to nothing
        return pa.nulls(len(content) // 8, kind or pa.int64())
    numbers = memoryview(content).cast("q")
    known = bytes(number != -1 for number in numbers) if b"\xff" * 8 in content else b""
    if kind == pa.int32():
        content = array("i", numbers).tobytes()
    return integers(content, kind, packed(known) if 0 in known else None)


def unique_calls(content: bytes) -> Iterator[UniqueCall]:
    """Yield the unique calls in the format that `_operators.c` writes."""
    offset = 0

    def next_text() -> str:
        nonlocal offset
        size = int.from_bytes(content[offset : offset + 4], "little")
        offset += 4 + size
        return content[offset - size : offset].decode(errors="replace")

    while offset < len(content):
        name, overload = next_text(), next_text()
        stack, arguments, results, size = _NUMBERS.unpack_from(content, offset)
        offset += _NUMBERS.size
        words = struct.unpack_from(f"<{size // 8}q", content, offset)
        offset += size
        yield UniqueCall(name, overload, stack, arguments, results, words)


def _operands(
    call: UniqueCall, schema: OperatorSchema, dtypes: Mapping[int, str]
) -> Iterator[dict[str, Any]]:
    """Yield the entries of `operators.tensors` of a unique call, which has words for each.

    `place` is the position among arguments or results, and in a list; `kind` is the number of the
    element type, of dimensions and of the device; `alias` is the number, from 1 on, of the call's
    first tensor with the same storage, 0: none. Sizes and strides follow.
    """
    words = call.words
    are_results: list[bool] = []
    has_failed = bool(schema.results) and not call.results
    offset = 0
    while offset < len(words):
        place, kind, alias, offset_bytes, storage_bytes = words[offset : offset + _HEAD]
        index, item = place & _LOW, place >> 32
        dtype, dimensions, device = kind & 0xFF, (kind & _LOW) >> 8, (kind >> 32) - 1
        shape_at = offset + _HEAD
        strides_at = shape_at + dimensions
        offset = strides_at + dimensions
        is_result, position = bool(index & _RESULT), index & ~_RESULT
        are_results.append(is_result)
        parameters = schema.results if is_result else schema.arguments
        parameter = parameters[position] if position < len(parameters) else _UNKNOWN
        if is_result:
            role = "viewed" if alias and not are_results[alias - 1] else "created"
        else:
            role = "written" if parameter.is_written and not has_failed else "read"
        is_item = item != _NO_ITEM and parameter.name is not None
        yield {
            "name": f"{parameter.name}[{item}]" if is_item else parameter.name,
            "role": role,
            "dtype": short_dtype(dtypes.get(dtype, "?")),
            "device": None if device < 0 else device,
            "shape": list(words[shape_at:strides_at]),
            "strides": list(words[strides_at:offset]),
            "offset_bytes": offset_bytes,
            "storage_bytes": storage_bytes,
        }


def _schema_of_torch(name: str, overload: str) -> OperatorSchema:
    """Return an operator's schema; nothing is known of it if it is not registered any more."""
    torch = sys.modules["torch"]
    try:
        schema = torch._C._get_schema(name, overload)
    except RuntimeError:
        return OperatorSchema()
    return OperatorSchema(
        tuple(map(_parameter, schema.arguments)), tuple(map(_parameter, schema.returns))
    )


def _parameter(entry: Any) -> Parameter:
    alias = entry.alias_info
    return Parameter(entry.name or None, alias is not None and bool(alias.is_write))
