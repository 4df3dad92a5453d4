"""Each module of the core has a user in the core or in two add-ons, and each name one at all."""

import ast
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from kvtrace.registry import own_entries
from tests.support.imports import MODULES, imports_of, strings_of
from tests.support.tree import ROOT, tracked_names

FILES = dict(MODULES)
ADD_ONS = "kvtrace.addons."
#: What Python, pytest and a recorded program import by themselves.
STARTED = {"kvtrace", "kvtrace.__main__", "kvtrace._boot", "kvtrace.pytest_plugin"}
#: What the repository's own programs import, or run as `python -m`.
PROGRAMS = (
    "Makefile",
    "pyproject.toml",
    "setup.py",
    "docs_site/*.py",
    "converters/report/frontend/*.py",
)
NAME = re.compile(r"kvtrace(?:\.\w+)+")


def owner(name: str) -> str:
    """The add-on that a module belongs to, or `core`."""
    return name.split(".")[2] if name.startswith(ADD_ONS) else "core"


def known(name: str) -> str | None:
    """The module that a dotted name begins with, `kvtrace` itself left aside."""
    while name.count("."):
        if name in FILES:
            return name
        name = name.rpartition(".")[0]
    return None


def named_in(path: Path) -> Iterable[str]:
    """Modules that strings of a file name: whole, or in the text of a program or an order."""
    for text in strings_of(path):
        if NAME.fullmatch(text.partition(":")[0]) or re.search(r"\bimport |-m ", text):
            yield from NAME.findall(text)


@cache
def words() -> frozenset[str]:
    """Strings of the core that may be the last part of a module's name."""
    texts = (text for name, path in MODULES if owner(name) == "core" for text in strings_of(path))
    return frozenset(text for text in texts if re.fullmatch(r"\w+(\.\w+)*", text))


def made_names(name: str, path: Path) -> Iterable[str]:
    """Modules whose names a file makes, as f"kvtrace.verdicts.{file}" or f"{__name__}.{file}"."""
    text = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)) if "import_module(" in text else ():
        if isinstance(node, ast.JoinedStr):
            begin = ast.unparse(node)[2:].replace("{__name__}", name).partition("{")[0]
            if begin.startswith("kvtrace.") and begin.endswith("."):
                yield from (begin + word for word in words() if begin + word in FILES)


@cache
def imported() -> dict[str, set[str]]:
    """What each module imports, names in strings, or is inside of."""
    edges = {}
    for name, path in MODULES:
        named = {*imports_of(name, path), *named_in(path), *made_names(name, path)}
        around = {name.rpartition(".")[0]}
        edges[name] = {found for each in named | around if (found := known(each))} - {name}
    return edges


def reached(starts: Iterable[str], edges: Mapping[str, set[str]], owners: set[str]) -> set[str]:
    """Modules of some owners that are imported from `starts`, directly or through others."""
    found: set[str] = set()
    waiting = [start for start in starts if owner(start) in owners]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += [each for each in edges[name] if owner(each) in owners]
    return found


def places() -> set[str]:
    """Modules of entry points."""
    groups = {
        line.strip()[len("[kvtrace.") : -1]
        for file in (ROOT / "kvtrace").rglob("entry_points.txt")
        for line in file.read_text(encoding="utf-8").splitlines()
        if line.startswith("[kvtrace.")
    }
    entries = [entry.place.partition(":")[0] for group in groups for entry in own_entries(group)]
    return {found for place in entries if (found := known(place))}


def run_by_programs() -> set[str]:
    """Modules that a program of the repository imports or names."""
    names = set()
    for path in (path for each in PROGRAMS for path in ROOT.glob(each)):
        if path.name == "json_outputs.py":  # it lists types of what commands print
            continue
        names.update(NAME.findall(path.read_text(encoding="utf-8")))
        names.update(imports_of("", path) if path.suffix == ".py" else ())
    return {found for name in names if (found := known(name))}


def users_of_what_the_core_leaves(edges: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """Modules of the core that it does not use itself, with the add-ons that use them."""
    starts = STARTED | places() | run_by_programs()
    of_core = reached(starts, edges, {"core"})
    left = {name: set[str]() for name in FILES if owner(name) == "core" and name not in of_core}
    for add_on in {owner(name) for name in FILES} - {"core"}:
        own = [name for name in FILES if owner(name) == add_on]
        for name in reached(own, edges, {"core", add_on}) & left.keys():
            left[name].add(add_on)
    return left


def test_each_module_of_the_core_has_a_user_in_the_core_or_in_two_add_ons() -> None:
    left = users_of_what_the_core_leaves(imported())
    assert {name: users for name, users in left.items() if len(users) < 2} == {}


def test_a_module_that_nothing_imports_would_be_found() -> None:
    """So would be one that a single add-on imports, though not one that two do."""
    edges = imported()
    lonely = "kvtrace.schema.redaction"
    without = {name: found - {lonely} for name, found in edges.items()}
    assert lonely not in users_of_what_the_core_leaves(edges)
    assert users_of_what_the_core_leaves(without)[lonely] == set()
    without["kvtrace.addons.fleet"] = {*without["kvtrace.addons.fleet"], lonely}
    assert users_of_what_the_core_leaves(without)[lonely] == {"fleet"}
    without["kvtrace.addons.ci"] = {*without["kvtrace.addons.ci"], lonely}
    assert users_of_what_the_core_leaves(without)[lonely] == {"fleet", "ci"}


#: What is no use of a name of the product: its tests, measurements and history.
NO_USERS = {"tests", "benchmarks", "corpus", "findings", "news", "CHANGELOG.md"}
#: Names that others call: pytest its hooks; rows' types are for users, one a table.
CALLED_BY_OTHERS = re.compile(r"pytest_\w+|\w+Row")


def defined_by(path: Path) -> Iterable[str]:
    """Functions, classes, constants of a module; not what a decorator like `@meaning(…)` enters."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if not any(isinstance(each, ast.Call) for each in node.decorator_list):
                yield node.name
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id
        elif isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))


def test_each_name_of_the_core_is_used_by_more_than_tests() -> None:
    uses: Counter[str] = Counter()
    for name in tracked_names():
        path = ROOT / name
        if name.split("/")[0] not in NO_USERS and path.suffix in {".py", ".md", ".txt", ".c", ".h"}:
            uses.update(re.findall(r"\b[A-Za-z_]\w*", path.read_text(encoding="utf-8")))
    unused = [
        f"{name}.{defined}"
        for name, path in MODULES
        if owner(name) == "core"
        for defined in defined_by(path)
        if uses[defined] < 2 and not CALLED_BY_OTHERS.fullmatch(defined) and defined[:2] != "__"
    ]
    assert unused == []
