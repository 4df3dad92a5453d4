"""Generator of the JSON Schemas of what commands print with `--json`.

`python -m docs_site.json_schemas` writes a file for each kind of output, `schemas/NAME.json` beside
the command's module, from the types of the output; descriptions are the types' docstrings.
"""

import ast
import inspect
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

from docs_site.json_outputs import OUTPUTS, Output
from docs_site.repository import ROOT

Schema = dict[str, Any]

#: Version of every schema: one of an output changes when a field goes or gets another meaning.
VERSION: Final = 1
_DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
_SIMPLE: Final = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}
_ATTRIBUTE: Final = re.compile(r"^    (\w+): (.*(?:\n {8,}.*)*)", re.M)


def path_of(name: str) -> Path:
    """Return the path of an output's schema."""
    return ROOT / OUTPUTS[name].folder / "schemas" / f"{name}.json"


def schema_of(name: str) -> Schema:
    """Return the schema of an output by its name, such as "profile"."""
    output = OUTPUTS[name]
    definitions = _Definitions(output)
    content = definitions.of_class(output.type)
    properties = {
        "schema": {"const": name, "description": "Name of this schema"},
        "version": {"const": VERSION, "description": "Version of this schema"},
        **content["properties"],
    }
    optional = properties.keys() - {"schema", "version", *content["required"]}
    return {
        "$schema": _DRAFT,
        "$id": f"urn:kvtrace:{name}:{VERSION}",
        "title": f"kvtrace {output.command} --json",
        "description": content.get("description", ""),
        "type": "object",
        "properties": properties,
        "required": [key for key in properties if key not in optional],
        "$defs": dict(sorted(definitions.schemas.items())),
    }


@dataclass
class _Definitions:
    """Schemas of the classes that an output's type consists of, by their names."""

    output: Output

    def __post_init__(self) -> None:
        self.schemas: dict[str, Schema] = {}
        self._classes: dict[str, type] = {}

    def of_class(self, cls: type) -> Schema:
        """Return the schema of a dataclass or typed dictionary."""
        texts = _attribute_texts(cls)
        properties = {}
        optional = set(getattr(cls, "__optional_keys__", ()))
        for name, kind in _members(cls):
            change = self.output.changes.get((cls.__name__, name), kind)
            if change is None:
                continue
            properties[name] = self._of(change)
            if name in texts:
                properties[name] = {**properties[name], "description": texts[name]}
        for name, kind in self.output.added.get(cls.__name__, {}).items():
            properties[name] = self._of(kind)
            optional.add(name)
        schema: Schema = {"description": _summary(cls)} if _summary(cls) else {}
        required = [name for name in properties if name not in optional]
        return {**schema, "type": "object", "properties": properties, "required": required}

    def _reference(self, cls: type) -> Schema:
        name = cls.__name__
        if self._classes.setdefault(name, cls) is not cls:
            name = f"{cls.__module__.rpartition('.')[2]}.{name}"
        if name not in self.schemas:
            self.schemas[name] = {}  # it may refer to itself
            self.schemas[name] = self.of_class(cls)
        return {"$ref": f"#/$defs/{name}"}

    def _of(self, kind: Any) -> Schema:
        """Return the schema of a type, whose values `asdict` and `json` have made JSON."""
        if kind in _SIMPLE:
            return {"type": _SIMPLE[kind]}
        if is_dataclass(kind) or is_typeddict(kind):
            return self._reference(kind)
        origin, args = get_origin(kind), get_args(kind)
        if origin is Literal:
            return {"enum": list(args)}
        if origin in (Union, UnionType):
            return _either([self._of(arg) for arg in args])
        if _is_named_tuple(kind):
            return self._tuple([hint for _, hint in _members(kind)])
        if origin is tuple and args[-1:] != (...,):
            return self._tuple(args)
        if inspect.isclass(origin) and issubclass(origin, Mapping):
            return {"type": "object", "additionalProperties": self._of(args[1])}
        if inspect.isclass(origin) and issubclass(origin, Sequence | frozenset):
            return {"type": "array", "items": self._of(args[0])}
        if kind in (Any, object):
            return {}
        raise TypeError(f"no JSON Schema is known for {kind}")

    def _tuple(self, kinds: Sequence[Any]) -> Schema:
        items = [self._of(kind) for kind in kinds]
        return {"type": "array", "prefixItems": items, "minItems": len(items), "items": False}


def _either(schemas: Sequence[Schema]) -> Schema:
    if all(schema.keys() == {"type"} for schema in schemas):
        return {"type": [schema["type"] for schema in schemas]}
    return {"anyOf": list(schemas)}


def _is_named_tuple(kind: Any) -> bool:
    return inspect.isclass(kind) and issubclass(kind, tuple) and hasattr(kind, "_fields")


def _members(cls: type) -> Iterator[tuple[str, Any]]:
    """Yield the name and type of each field, those of bases first."""
    hints = _hints(cls)
    names = [field.name for field in fields(cls)] if is_dataclass(cls) else list(hints)
    yield from ((name, hints[name]) for name in names)


@cache
def _hints(cls: type) -> Mapping[str, Any]:
    """Return the types of a class's fields, with those that its module imports for types alone."""
    names: dict[str, Any] = {}
    for base in reversed(cls.__mro__[:-1]):
        module = sys.modules[base.__module__]
        if not base.__module__.startswith(("kvtrace.", "docs_site.")):
            continue
        for node in ast.parse(inspect.getsource(module)).body:
            if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
                imports = [each for each in node.body if isinstance(each, ast.ImportFrom)]
                for each in imports:
                    target = import_module(each.module or "")
                    names |= {a.asname or a.name: getattr(target, a.name) for a in each.names}
    return get_type_hints(cls, localns=names)


def _attribute_texts(cls: type) -> Mapping[str, str]:
    """Return the descriptions of fields in the section `Attributes` of a docstring."""
    _, _, section = (inspect.getdoc(cls) or "").partition("Attributes:\n")
    return {name: " ".join(text.split()) for name, text in _ATTRIBUTE.findall(section)}


def _summary(cls: type) -> str:
    """Return a class's own docstring without the section `Attributes`, on one line."""
    text = inspect.cleandoc(cls.__doc__ or "").partition("Attributes:\n")[0]
    return "" if text.startswith(f"{cls.__name__}(") else " ".join(text.split())


def main() -> None:
    """Write all schemas."""
    for name in OUTPUTS:
        path = path_of(name)
        path.parent.mkdir(exist_ok=True)
        text = json.dumps(schema_of(name), indent=1, ensure_ascii=False)
        path.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
