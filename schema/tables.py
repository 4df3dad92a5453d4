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

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Final, cast, get_args

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


def _read_definitions(text: str) -> tuple[dict[str, Table], dict[str, pa.StructType]]:
    """Return the tables that a text defines, and the structs of their columns, by name."""
    tables: dict[str, Table] = {}
    structs: dict[str, pa.StructType] = {}
    private_fields: dict[str, dict[str, Leaf]] = {}
    free_fields: dict[str, frozenset[str]] = {}
    for block in text.split("\n\n"):
        head, *lines = block.splitlines()
        what, name, *words = head.partition(" | ")[0].split()
        types = _TYPES | structs
        if what == "struct":
            fields = [line.split(maxsplit=2) for line in lines]
            structs[name] = pa.struct([(field, _type(kind, types)) for field, kind, *_ in fields])
            leaves = ((field, _leaf(words[0])) for field, _, *words in fields if words)
            private = {field: private for field, private in leaves if private}
            private_fields |= {name: private, f"list<{name}>": private}
            free = frozenset(field for field, _, *words in fields if words and _is_free(words[0]))
            free_fields |= {name: free, f"list<{name}>": free}
        elif what == "table":
            values = _values(" ".join(words))
            tables[name] = Table(
                name,
                head.partition(" | ")[2],
                "captured" if "captured" in values else "derived",
                tuple(_column(line, types, private_fields, free_fields) for line in lines),
                tuple(values["sort"].split(",")) if "sort" in values else (),
                values.get("since", "1.0"),
                "core" if "core" in values else "extension",
            )
    return tables, structs


def _column(
    line: str,
    types: Mapping[str, pa.DataType],
    private_fields: Mapping[str, dict[str, Leaf]],
    free_fields: Mapping[str, frozenset[str]],
) -> Column:
    definition, _, meaning = line.partition(" | ")
    name, kind, *words = definition.split(maxsplit=2)
    text = words[0] if words else ""
    values = _values(text)
    return Column(
        name,
        _type(kind, types),
        meaning,
        values.get("unit", ""),
        values.get("since", "1.0"),
        "key" in values,
        "required" in values,
        "extension" in values,
        private_fields.get(kind) or _leaf(text),
        frozenset((name,))
        if _is_free(text)
        else frozenset(f"{name}.{field}" for field in free_fields.get(kind, ())),
    )


def _type(text: str, types: Mapping[str, pa.DataType]) -> pa.DataType:
    return types[text] if text in types else pa.list_(types[text[len("list<") : -1]])


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
