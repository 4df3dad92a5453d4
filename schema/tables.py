"""Every table and column of the trace format, by its name.

Each is defined once, by a line of `tables.txt`: with its type, its meaning, and the private things
that it may hold (`private.py`).

`docs/format.md`, `schema.json`, the writer, the reader and the validator are all made from
`TABLES`. Changes are new nullable columns and tables, whose `since` is the minor version behind
that of the newest trace in `golden/`; a test fails otherwise.

Conventions: points in time are `timestamp[ns, UTC]`; durations are int64 nanoseconds and end in
`_ns`; sizes are int64 bytes and end in `_bytes` (or are called `bytes`). Ids are unique inside a
run, except `stack_id` and `sha256`, which are hashes of the content and so equal across runs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple, cast, get_args

import pyarrow as pa

from kvtrace.schema.private import OPEN, PRIVATE, Action, Leaf, Private
from kvtrace.schema.table_types import BOOL, F64, FACTS, I32, I64, NAME, TEXT, TIME, Column, Table

_DEFINITIONS: Final = Path(__file__).with_name("tables.txt")
_TYPES: Final[dict[str, pa.DataType]] = {
    "int32": I32, "int64": I64, "double": F64, "bool": BOOL, "text": TEXT, "name": NAME,
    "time": TIME, "facts": FACTS, "binary": pa.binary(),
}  # fmt: skip

#: What a line may say of a table or a column.
_WORDS: Final = frozenset({
    "captured", "derived", "core", "sort", "since",
    "key", "required", "extension", "unit", "open", "holds", "redact", "signed", "verbatim",
})  # fmt: skip


class _Struct(NamedTuple):
    """A type with fields: private contents by field, and which may be negative or empty."""

    type: pa.StructType
    private: Mapping[str, Leaf]
    free: frozenset[str]


_NO_FIELDS: Final = _Struct(pa.struct([]), {}, frozenset())


def _read_definitions(text: str) -> tuple[dict[str, Table], dict[str, pa.StructType]]:
    """Return the tables that a text defines, and the structs of their columns, by name."""
    tables: dict[str, Table] = {}
    structs: dict[str, _Struct] = {}
    for block in text.split("\n\n"):
        head, *lines = block.splitlines()
        definition, _, row = head.partition(" | ")
        what, name, *words = definition.split()
        if what == "struct":
            structs[name] = _struct(lines, structs)
        elif what == "table":
            values = _values(" ".join(words))
            tables[name] = Table(
                name,
                row,
                "captured" if "captured" in values else "derived",
                columns=tuple(_column(line, structs) for line in lines),
                sort=tuple(values["sort"].split(",")) if "sort" in values else (),
                since=values.get("since", "1.0"),
                profile="core" if "core" in values else "extension",
            )
    return tables, {name: struct.type for name, struct in structs.items()}


def _struct(lines: Sequence[str], structs: Mapping[str, _Struct]) -> _Struct:
    """Return the struct of lines such as `kind text open`."""
    fields = [_name_kind_text(line) for line in lines]
    leaves = {name: _leaf(text) for name, _, text in fields}
    return _Struct(
        pa.struct([(name, _type(kind, structs)) for name, kind, _ in fields]),
        {name: leaf for name, leaf in leaves.items() if leaf},
        frozenset(name for name, _, text in fields if _is_free(text)),
    )


def _column(line: str, structs: Mapping[str, _Struct]) -> Column:
    """Return the column of a line such as `seq int64 key | number of the launch in its run`."""
    definition, _, meaning = line.partition(" | ")
    name, kind, text = _name_kind_text(definition)
    values = _values(text)
    struct = structs.get(_item_kind(kind), _NO_FIELDS)
    return Column(
        name,
        _type(kind, structs),
        meaning,
        unit=values.get("unit", ""),
        since=values.get("since", "1.0"),
        key="key" in values,
        required="required" in values,
        extension="extension" in values,
        private=struct.private or _leaf(text),
        free=frozenset({name} if _is_free(text) else {f"{name}.{field}" for field in struct.free}),
    )


def _name_kind_text(definition: str) -> tuple[str, str, str]:
    name, kind, *texts = definition.split(maxsplit=2)
    return name, kind, "".join(texts)


def _type(kind: str, structs: Mapping[str, _Struct]) -> pa.DataType:
    if kind in structs:
        return structs[kind].type
    return _TYPES[kind] if kind in _TYPES else pa.list_(_type(_item_kind(kind), structs))


def _item_kind(kind: str) -> str:
    """Return the kind of a list's items, "int64" for "list<int64>"; another kind itself."""
    return kind.removeprefix("list<").removesuffix(">")


@cache
def _values(text: str) -> Mapping[str, str]:
    """Return the words of a text, each with what is behind its `=`."""
    values = {key: value for key, _, value in (word.partition("=") for word in text.split())}
    assert values.keys() <= _WORDS, text
    return values


def _is_free(text: str) -> bool:
    """Return whether words let a number be negative or a text empty."""
    return not _values(text).keys().isdisjoint(("signed", "verbatim"))


@cache
def _leaf(text: str) -> Leaf | None:
    """Return the private contents that words name; None if they do not say."""
    values = _values(text)
    if "holds" not in values:
        return OPEN if "open" in values else None
    kinds = PRIVATE if values["holds"] == "all" else tuple(values["holds"].split("+"))
    action = values.get("redact", "nothing")
    assert {*kinds, action} <= {*PRIVATE, *get_args(Action)}, text
    return Leaf(frozenset(cast(tuple[Private, ...], kinds)), cast(Action, action))


#: All tables, and the types of columns with fields, by name.
TABLES, STRUCTS = _read_definitions(_DEFINITIONS.read_text(encoding="utf-8"))

#: The tables of the core profile, without the columns that are extensions.
CORE_TABLES: Final[dict[str, Table]] = {
    table.name: replace(
        table, columns=tuple(c for c in table.columns if table.profile_of(c) == "core")
    )
    for table in TABLES.values()
    if table.profile == "core"
}
