"""Generator of docs/format.md, docs/format-extensions.md, schema.json and row_types.py.

`python -m docs_site.format_pages` writes them.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from docs_site.repository import ROOT, with_parts
from kvtrace.schema.features import FEATURES
from kvtrace.schema.table_types import Column, Table
from kvtrace.schema.tables import CORE_TABLES, STRUCTS, TABLES
from kvtrace.schema.versions import FORMAT_VERSION, version_numbers
from kvtrace.schema.vocabularies import Vocabulary, vocabularies

SCHEMA_JSON: Final = ROOT / "schema" / "schema.json"
ROW_TYPES: Final = ROOT / "schema" / "row_types.py"
FORMAT_PAGE: Final = ROOT / "docs" / "format.md"
EXTENSIONS_PAGE: Final = FORMAT_PAGE.with_name("format-extensions.md")

#: The places of docs/format.md that state the version.
_STATED_VERSION: Final = r"(?<=, version )[\d.]+|(?<=_version` \(`)[\d.]+"

_NEXT_SECTION: Final = r"\n\n## "
#: Python types of values in rows, by `type_text`; points in time are text, to the nanosecond.
_PYTHON_TYPES: Final = {
    "int32": "int",
    "int64": "int",
    "double": "float",
    "bool": "bool",
    "string": "str",
    "name": "str",
    "binary": "bytes",
    "facts": "list[tuple[str, str]]",
    "timestamp[ns, UTC]": "str",
}
#: Tables that kvtrace keeps for itself; their columns are in schema.json alone.
STORED_SUMS: Final = (
    "launch_sums", "execution_sums", "older_launch_sums", "older_execution_sums", "run_parts",
    "run_steps", "idle_gaps", "short_executions", "launch_tiles", "execution_tiles",
)  # fmt: skip
#: Tables that `kvtrace.open` has attributes of.
_TYPED_TABLES: Final = (*CORE_TABLES, "findings")
#: Vocabularies of the field's own names; their meanings are in schema.json alone.
_PLAIN_WORDS: Final = ("dtype", "stage", "dialect")
_RUN: Final = {"run": "str"}  # the column that the reader adds
_ROW_TYPES_HEAD: Final = '''\
"""Types of rows, as `kvtrace.open("out/").kernels[0]`; docs/format.md has the columns' meanings.

Made from schema/tables.txt by `python -m docs_site.format_pages`; do not edit by hand. Rows are
dictionaries; points in time are text, to the nanosecond. None means "not known".
"""

from typing import TypedDict
'''


def format_page() -> str:
    """Return the text of docs/format.md: what everybody needs, and the tables of the core."""
    parts = {
        "features": _two_columns("feature", "what the rows mean, and what a reader does", FEATURES),
        "words": _vocabulary_sections(of_core=True),
        "tables": "".join(_table_sections(of_core=True)).strip(),
    }
    text = with_parts(FORMAT_PAGE, parts, _NEXT_SECTION)
    return re.sub(_STATED_VERSION, FORMAT_VERSION, text)


def extensions_page() -> str:
    """Return the text of docs/format-extensions.md: the tables outside of the core."""
    tables = "".join(_table_sections(of_core=False)) + _stored_sums()
    parts = {"words": _vocabulary_sections(of_core=False), "tables": tables.strip()}
    return with_parts(EXTENSIONS_PAGE, parts, _NEXT_SECTION)


def schema_json() -> str:
    """Return the text of schema.json: every table and column, for programs."""
    content = {
        "format_version": FORMAT_VERSION,
        "required_features": [
            {"name": name, "meaning": meaning} for name, meaning in FEATURES.items()
        ],
        "vocabularies": [
            {
                "name": vocabulary.name,
                "columns": list(vocabulary.columns),
                "words": [
                    {"word": word, "meaning": meaning} for word, meaning in vocabulary.words.items()
                ],
            }
            for vocabulary in vocabularies()
        ],
        "tables": [
            {
                "name": table.name,
                "row": table.row,
                "origin": table.origin,
                "profile": table.profile,
                "since": table.since,
                "sort": list(table.sort),
                "columns": [_column_entry(table, column) for column in table.columns],
            }
            for table in TABLES.values()
        ],
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def type_text(kind: pa.DataType) -> str:
    """Return the text of an Arrow type in docs/format.md and schema.json, such as `name`."""
    if pa.types.is_dictionary(kind):
        return "name"
    if pa.types.is_map(kind):
        return "facts"
    if pa.types.is_list(kind):
        return f"list<{type_text(kind.value_type)}>"
    if pa.types.is_struct(kind):
        fields_text = ", ".join(f"{field.name}: {type_text(field.type)}" for field in kind)
        return f"struct<{fields_text}>"
    if pa.types.is_timestamp(kind):
        return f"timestamp[{kind.unit}, {kind.tz}]"
    return str(kind)


def _two_columns(first: str, second: str, rows: Mapping[str, str]) -> str:
    lines = [f"| {first} | {second} |", "|---|---|"]
    return "\n".join([*lines, *(f"| `{name}` | {meaning} |" for name, meaning in rows.items())])


def _vocabulary_sections(*, of_core: bool) -> str:
    """Return the vocabularies of which a column is, or none is, in a table of the core."""
    return "\n\n".join(
        _vocabulary_section(vocabulary)
        for vocabulary in vocabularies()
        if of_core == any(name.partition(".")[0] in CORE_TABLES for name in vocabulary.columns)
    )


def _vocabulary_section(vocabulary: Vocabulary) -> str:
    columns = ", ".join(f"`{column}`" for column in vocabulary.columns)
    if vocabulary.name in _PLAIN_WORDS:
        text = ", ".join(f"`{word}`" for word in vocabulary.words)
    else:
        text = "\n".join(f"- `{word}`: {meaning}" for word, meaning in vocabulary.words.items())
    return f"### Words: {vocabulary.name}\n\nIn {columns}.\n\n{text}"


def _column_entry(table: Table, column: Column) -> dict[str, Any]:
    return {
        "name": column.name,
        "type": type_text(column.type),
        "arrow_type": str(column.type),
        "key": column.key,
        "required": column.name in table.required,
        "profile": table.profile_of(column),
        "unit": column.unit or None,
        "since": column.since,
        "meaning": column.meaning,
    }


def _table_sections(*, of_core: bool) -> Iterator[str]:
    """Yield the section of each table of the core, or each other without stored sums.

    Columns that are as in an earlier table are only named.
    """
    listed: dict[str, list[Column]] = {}
    for table in TABLES.values():
        if table.name in STORED_SUMS:
            continue
        shared = _shared_columns(table, listed)
        named = {column.name for columns in shared.values() for column in columns}
        listed[table.name] = [column for column in table.columns if column.name not in named]
        if of_core == (table.name in CORE_TABLES):
            yield _table_section(table, listed[table.name], shared)


def _stored_sums() -> str:
    lines = (
        f"- `{name}`: {TABLES[name].row} ({TABLES[name].origin}, since {TABLES[name].since})\n"
        for name in STORED_SUMS
    )
    text = "\n### Stored sums\n\nKept to answer sooner; `schema.json` has their columns.\n\n"
    return text + "".join(lines)


def _shared_columns(table: Table, listed: Mapping[str, list[Column]]) -> dict[str, list[Column]]:
    """Return the table's columns that are listed by an earlier table, if there are a few."""
    shared: dict[str, list[Column]] = {}
    for column in table.columns:
        earlier = next((name for name, columns in listed.items() if column in columns), None)
        if earlier is not None:
            shared.setdefault(earlier, []).append(column)
    return {name: columns for name, columns in shared.items() if len(columns) > 1}


def _table_section(
    table: Table, listed: Sequence[Column], shared: Mapping[str, list[Column]]
) -> str:
    order = f"; ordered by {', '.join(f'`{name}`' for name in table.sort)}" if table.sort else ""
    profile = "Core profile; " if table.profile == "core" else ""
    lines = [
        f"\n### {table.name}\n",
        f"One row is {table.row}. {profile}{table.origin} since {table.since}{order}.\n",
    ]
    for name, columns in shared.items():
        page = "" if TABLES[name].profile == table.profile else FORMAT_PAGE.name
        lines.append(f"As in [{name}]({page}#{name}): {', '.join(map(_shown_name, columns))}.\n")
    for column in listed:
        remarks = ", ".join(_remarks(table, column))
        meaning = column.meaning + (f" ({remarks})" if remarks else "")
        kind = f"`{type_text(column.type)}` {column.unit}".rstrip()
        lines.append(f"- {_shown_name(column)} {kind}: {meaning}")
    return "\n".join(lines) + "\n"


def _shown_name(column: Column) -> str:
    return f"**`{column.name}`**" if column.key else f"`{column.name}`"


def _remarks(table: Table, column: Column) -> Iterator[str]:
    if column.name in table.required and not column.key:
        yield "*always present*"
    if table.profile_of(column) != table.profile:
        yield "*extension*"
    if column.since != table.since and version_numbers(column.since) > version_numbers(table.since):
        yield f"since {column.since}"
    free = [(path, kind) for path, kind, _ in column.leaves() if path in column.free]
    if free:
        is_text = any(text in str(kind) for _, kind in free for text in ("string", "dictionary"))
        fields = " ".join(filter(None, (path.partition(".")[2] for path, _ in free)))
        yield ("*verbatim*" if is_text else "*signed*") + (fields and f": {fields}")


def row_types() -> str:
    """Return the text of row_types.py: a TypedDict for the rows of each of `_TYPED_TABLES`."""
    tables = [TABLES[name] for name in _TYPED_TABLES]
    types = {str(column.type) for table in tables for column in table.columns}
    names = {
        struct: _class_name(name)
        for name, struct in STRUCTS.items()
        if any(str(struct) in text for text in types)
    }
    classes = [
        _typed_dict(
            name,
            "A value of a column with fields.",
            {field.name: f"{_python_type(field.type, names)} | None" for field in struct},
        )
        for struct, name in names.items()
    ]
    for table in tables:
        fields = {
            column.name: _python_type(column.type, names) + ("" if column.key else " | None")
            for column in table.columns
        }
        description = f"A row of the table `{table.name}`."
        classes.append(_typed_dict(_class_name(table.name) + "Row", description, fields | _RUN))
    return _ROW_TYPES_HEAD + "".join(classes)


def _typed_dict(name: str, description: str, fields: dict[str, str]) -> str:
    lines = [f"    {field}: {kind}\n" for field, kind in fields.items()]
    return f'\n\nclass {name}(TypedDict):\n    """{description}"""\n\n{"".join(lines)}'


def _class_name(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def _python_type(kind: pa.DataType, names: dict[pa.DataType, str]) -> str:
    """Return the type of a value in a row in Python; `names` has the classes of structs."""
    if pa.types.is_list(kind):
        return f"list[{_python_type(kind.value_type, names)}]"
    return names[kind] if pa.types.is_struct(kind) else _PYTHON_TYPES[type_text(kind)]


def main() -> None:
    """Write both pages, schema.json and row_types.py."""
    ROW_TYPES.write_text(row_types(), encoding="utf-8")
    FORMAT_PAGE.write_text(format_page(), encoding="utf-8")
    EXTENSIONS_PAGE.write_text(extensions_page(), encoding="utf-8")
    SCHEMA_JSON.write_text(schema_json(), encoding="utf-8")


if __name__ == "__main__":
    main()
