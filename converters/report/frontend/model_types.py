"""TypeScript types of the page's data (`src/data/model.ts`), generated from Python's dataclasses.

Types of an add-on's views go into `model.ts` in the add-on's folder `frontend/`. `make frontend`
runs this script, and a test compares its output with the committed files.
"""

import ast
import dataclasses
import inspect
import re
import textwrap
import types
import typing
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal

from kvtrace.converters.report import budget, locations, model
from kvtrace.converters.report.line_figures import LineFigures
from kvtrace.converters.report.sources import BlockSource, block_sources
from kvtrace.converters.report.views import call, called, kernel, since

OUTPUT: Final = Path(__file__).resolve().parent / "src" / "data" / "model.ts"
_HEAD: Final = """\
// Written by model_types.py from the dataclasses that fill the page; `make frontend` does so again.
//
// null means "not known" and is never shown as a zero. Times are whole nanoseconds, sizes bytes. An
// index is a place in one of the report's arrays.
"""
_ROOTS: Final = (
    model.Report, call.CallOps, kernel.KernelBlock, called.CalledBlock,
    LineFigures, locations.LineLinks, since.Since,
)  # fmt: skip
#: Fields of the block "report" that `Report` does not have, or has with another type.
_ON_THE_PAGE: Final[dict[str, Any]] = {
    "limits": model.Limits | None,
    "bin_ns": int | None,
    "dropped": tuple[budget.Dropped, ...],
}
_NAMES: Final[dict[object, str]] = {
    str: "string",
    int: "number",
    float: "number",
    bool: "boolean",
    type(None): "null",
    Any: "unknown",
}


def modules() -> dict[Path, str]:
    """Return the text of each generated module: the page's own, then those of add-ons."""
    shared = _interfaces(_ROOTS, {})
    texts = {OUTPUT: _module(shared, ())}
    for source in block_sources():
        if source.types:
            interfaces = _interfaces(source.types, shared)
            code = re.sub(r"/\*\*.*?\*/", "", "".join(interfaces.values()), flags=re.DOTALL)
            used = [kind for kind in shared if re.search(rf"\b{kind.__name__}\b", code)]
            texts[_addon_folder(source) / "model.ts"] = _module(interfaces, used)
    return texts


def _addon_folder(source: BlockSource) -> Path:
    """Return the folder `frontend/` of the add-on that defines a source."""
    name = source.types[0].__module__.split(".")[2]
    return OUTPUT.parents[5] / "kvtrace" / "addons" / name / "frontend"


def _interfaces(roots: Iterable[type], known: Mapping[type, str]) -> dict[type, str]:
    """Return one interface per dataclass, referenced ones after their users, without known ones."""
    queue: list[type] = list(roots)
    written: dict[type, str] = {}
    while queue:
        kind = queue.pop(0)
        if kind in written or kind in known:
            continue
        needed: list[type] = []
        written[kind] = _interface(kind, needed)
        queue.extend(needed)
    names = [kind.__name__ for kind in (*known, *written)]
    assert len(set(names)) == len(names), "two dataclasses of one name"
    return written


def _module(interfaces: Mapping[type, str], used: Iterable[type]) -> str:
    names = ", ".join(sorted(kind.__name__ for kind in used))
    line = f'\nimport type {{ {names} }} from "@report/data/types";\n' if names else ""
    return _HEAD + line + "".join(f"\n{text}" for text in interfaces.values())


def _interface(owner: type, needed: list[type]) -> str:
    lines = [*_comment(inspect.getdoc(owner), ""), f"export interface {owner.__name__} {{"]
    comments = _field_comments(owner)
    for name, annotation in _fields(owner):
        lines += _comment(comments.get(name), "  ")
        optional = "?" if name in getattr(owner, "__optional_keys__", ()) else ""
        lines += _field(f"  readonly {name}{optional}:", _type(annotation, needed))
    return "\n".join([*lines, "}", ""])


def _field(start: str, kind: str) -> list[str]:
    """Return a field's lines, broken as prettier breaks them."""
    line = f"{start} {kind};"
    if len(line) <= 100 or " | " not in kind:
        return [line]
    *parts, last = kind.split(" | ")
    return [start, *(f"    | {part}" for part in parts), f"    | {last};"]


def _fields(owner: type) -> Iterator[tuple[str, Any]]:
    hints = typing.get_type_hints(owner)
    if owner is not model.Report:
        yield from (
            hints.items()
            if typing.is_typeddict(owner)
            else ((field.name, hints[field.name]) for field in dataclasses.fields(owner))
        )
        return
    for name in budget.REPORT_FIELDS:
        if name not in _ON_THE_PAGE:
            yield name, hints[name]
    yield from _ON_THE_PAGE.items()


def _type(annotation: Any, needed: list[type]) -> str:
    """Return the TypeScript type of an annotation, and add dataclasses it names to `needed`.

    Raises:
        TypeError: JSON has no such type.
    """
    if annotation in _NAMES:
        return _NAMES[annotation]
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (types.UnionType, typing.Union):
        return " | ".join(_type(argument, needed) for argument in arguments)
    if origin is Literal:
        return " | ".join(f'"{argument}"' for argument in arguments)
    if origin is list or (origin is tuple and arguments[-1] is Ellipsis):
        inner = _type(arguments[0], needed)
        return f"readonly ({inner})[]" if " " in inner else f"readonly {inner}[]"
    if origin is tuple:
        return f"readonly [{', '.join(_type(argument, needed) for argument in arguments)}]"
    if origin in (dict, Mapping):
        return f"Readonly<Record<string, {_type(arguments[1], needed)}>>"
    if isinstance(annotation, type) and (
        dataclasses.is_dataclass(annotation) or typing.is_typeddict(annotation)
    ):
        needed.append(annotation)
        return annotation.__name__
    raise TypeError(f"no type of JSON: {annotation!r}")


def _field_comments(owner: type) -> dict[str, str]:
    """Return the docstrings below fields, by field."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(owner))).body
    assert isinstance(tree, ast.ClassDef)
    comments = {}
    for field, after in zip(tree.body, tree.body[1:], strict=False):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(after, ast.Expr)
            and isinstance(after.value, ast.Constant)
        ):
            comments[field.target.id] = str(after.value.value)
    return comments


def _comment(text: str | None, indent: str) -> Iterable[str]:
    if not text:
        return []
    text = text.replace("None", "null")
    whole = f"{indent}/** {text} */"
    if "\n" not in text and len(whole) <= 100:
        return [whole]
    lines = [
        line
        for paragraph in text.split("\n\n")
        for line in ["", *textwrap.wrap(" ".join(paragraph.split()), 97 - len(indent))]
    ][1:]
    starred = (f"{indent} * {line}".rstrip() for line in lines)
    return [f"{indent}/**", *starred, f"{indent} */"]


if __name__ == "__main__":
    for path, text in modules().items():
        path.write_text(text, encoding="utf-8")
