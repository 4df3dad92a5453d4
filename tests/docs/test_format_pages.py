"""The documents of the format are those that the tables make."""

import json
import re

import pytest
from jsonschema import Draft202012Validator

from docs_site.format_pages import (
    EXTENSIONS_PAGE,
    FORMAT_PAGE,
    ROW_TYPES,
    SCHEMA_JSON,
    STORED_SUMS,
    extensions_page,
    format_page,
    row_types,
    schema_json,
    type_text,
)
from kvtrace.schema.content import stack_id
from kvtrace.schema.tables import TABLES
from kvtrace.schema.versions import FORMAT_VERSION


@pytest.mark.parametrize(
    ("path", "made"),
    [
        (FORMAT_PAGE, format_page),
        (EXTENSIONS_PAGE, extensions_page),
        (SCHEMA_JSON, schema_json),
        (ROW_TYPES, row_types),
    ],
    ids=["page", "extensions", "json", "types"],
)
def test_format_page_and_schema_json_are_up_to_date(path, made):
    assert path.read_text(encoding="utf-8") == made(), "run python -m docs_site.format_pages"


def test_format_page_describes_every_column_in_its_table_or_in_one_that_its_section_names():
    text = format_page() + extensions_page()
    sections = {part.partition("\n")[0]: part for part in text.split("\n### ")}
    rows = {
        name: {
            re.sub(r"\W", "", row.split(" ")[1]): row
            for row in re.findall(r"^- \W*`.*$", section, re.MULTILINE)
        }
        for name, section in sections.items()
    }

    for table in TABLES.values():
        if table.name in STORED_SUMS:
            assert f"- `{table.name}`: {table.row}" in sections["Stored sums"]
            continue
        models = re.findall(r"^As in \[(\w+)\].*:(.*)$", sections[table.name], re.MULTILINE)
        homes = dict.fromkeys(rows[table.name], table.name)
        homes |= {name: model for model, names in models for name in re.findall(r"`(\w+)`", names)}
        assert homes.keys() == {column.name for column in table.columns}
        for column in table.columns:
            row = rows[homes[column.name]][column.name]
            assert column.meaning in row
            assert f"`{type_text(column.type)}` {column.unit}".rstrip() in row


def test_schema_json_is_valid_by_its_json_schema():
    schema = json.loads((SCHEMA_JSON.parent / "schema.schema.json").read_text(encoding="utf-8"))
    described = json.loads(schema_json())

    Draft202012Validator.check_schema(schema)
    Draft202012Validator(schema).validate(described)
    described["tables"][0]["columns"][0]["type"] = "text"
    assert not Draft202012Validator(schema).is_valid(described)


def test_schema_json_lists_every_table_and_column():
    described = json.loads(schema_json())

    assert described["format_version"] == FORMAT_VERSION
    assert {
        table["name"]: [column["name"] for column in table["columns"]]
        for table in described["tables"]
    } == {table.name: [column.name for column in table.columns] for table in TABLES.values()}
    assert all(
        column["meaning"] and column["type"]
        for table in described["tables"]
        for column in table["columns"]
    )


def test_the_page_has_the_hash_of_a_stack() -> None:
    frame = {"file": "a.py", "line": 3, "column": None, "function": "f"}
    assert f"null, `f` has {stack_id([frame])}." in format_page()
