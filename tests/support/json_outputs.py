"""Outputs of `--json`, validated against their schemas, which here allow no further field."""

from typing import Any

from jsonschema import Draft202012Validator

from docs_site.json_schemas import schema_of


def assert_as_schema(content: Any, name: str) -> None:
    """Assert that an output has the schema of a name, and no field that this does not list."""
    assert (content["schema"], content["version"]) == (name, 1)
    Draft202012Validator(_strict(schema_of(name))).validate(content)


def _strict(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_strict(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    is_closed = "properties" in schema and "additionalProperties" not in schema
    closed = {"additionalProperties": False} if is_closed else {}
    return {key: _strict(value) for key, value in schema.items()} | closed
