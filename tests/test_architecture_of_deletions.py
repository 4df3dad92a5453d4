"""Every place of the product that deletes or overwrites files, each with the reason it may.

The places are found in the code; `deletions.tsv` has the reasons. Files that are written whole, by
`whole_file`, `write_whole` and `write_part`, are listed where these are defined.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("kvtrace", "schema", "converters")
#: Functions and methods that delete, move or overwrite, whatever they belong to.
CALLS = frozenset({
    "rmtree", "unlink", "rmdir", "removedirs", "rename", "renames", "write_text", "write_bytes",
    "truncate", "ftruncate", "move", "copyfile", "copytree", "copy2",
})  # fmt: skip
#: Flags and modes of `open` that create or change a file.
FLAGS = ("O_CREAT", "O_TRUNC")
MODES = frozenset("wax+")
LISTED = Path(__file__).with_name("deletions.tsv")


def deletes(call: ast.Call) -> bool:
    """Return whether a call deletes, moves or overwrites files by its name and arguments."""
    function = call.func
    name = getattr(function, "attr", getattr(function, "id", None))
    owner = ast.unparse(function.value) if isinstance(function, ast.Attribute) else ""
    if name == "remove":
        return owner == "os"
    if name == "replace":  # of a path has one argument, of a text two
        return owner == "os" or (len(call.args) == 1 and not call.keywords)
    if name != "open":
        return name in CALLS
    arguments = (*call.args, *(keyword.value for keyword in call.keywords))
    if any(flag in ast.unparse(argument) for argument in arguments for flag in FLAGS):
        return True
    values = [getattr(argument, "value", None) for argument in arguments]
    modes = [value for value in values if isinstance(value, str) and set(value) <= set("rwaxbt+")]
    return any(MODES.intersection(mode) for mode in modes)


def places_in(tree: ast.AST, scope: str = "") -> Iterator[str]:
    """Yield the function or class of each call that deletes; - for the module itself."""
    for node in ast.iter_child_nodes(tree):
        inner = scope
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inner = f"{scope}.{node.name}" if scope else node.name
        if isinstance(node, ast.Call) and deletes(node):
            yield scope or "-"
        yield from places_in(node, inner)


def places() -> set[tuple[str, str]]:
    """Return (file, function) of each place of the product that deletes or overwrites files."""
    files = [
        path
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*.py")  # which follows no links
    ]
    return {
        (path.relative_to(ROOT).as_posix(), scope)
        for path in files
        for scope in places_in(ast.parse(path.read_text(encoding="utf-8")))
    }


def reasons() -> dict[tuple[str, str], str]:
    lines = LISTED.read_text(encoding="utf-8").splitlines()
    return {(file, scope): reason for file, scope, reason in (line.split("\t") for line in lines)}


@pytest.mark.costly("reads every module of the product, 5 s; what is found in code stays by day")
def test_each_place_that_deletes_or_overwrites_has_a_reason():
    listed = reasons()
    assert places() - listed.keys() == set(), "say in tests/deletions.tsv why they may"
    assert listed.keys() - places() == set(), "these are gone from the code"
    assert all(len(reason.split()) > 3 for reason in listed.values())


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("def f(p):\n    shutil.rmtree(p)", ["f"]),
        ("class A:\n    def f(self, p):\n        p.unlink()", ["A.f"]),
        ("open(p, mode='w')", ["-"]),
        ("p.open('ab')", ["-"]),
        ("os.open(p, os.O_WRONLY | os.O_TRUNC)", ["-"]),
        ("os.replace(a, b)", ["-"]),
        ("a.replace(b)", ["-"]),
        ("text.replace('a', 'b')", []),
        ("open(p)\nopen(p, 'rb')\nlist.remove(x)", []),
    ],
)
def test_places_are_found_in_code(code, found):
    assert list(places_in(ast.parse(code))) == found
