"""Selection of tests by what changed since the main branch: `--changed`, of `make test`.

The core's tests always run. Those of a part, which is an add-on or a folder of converters, run
where the change reaches it: a file of the part or of its tests, or a module that one of them
imports, however far away. Of other parts the first test of each file stays, and what is marked
`smoke`. Without git's history all tests run.
"""

import subprocess
from functools import cache
from pathlib import PurePosixPath
from typing import Any, Final

import pytest

from tests.support.imports import MODULES, imports_of
from tests.support.tree import ROOT

#: Branches that a change is counted from, the first that exists.
BASES: Final = ("origin/main", "main")
#: Folders whose folders are parts.
GROUPS: Final = ("addons", "converters")
#: Paths whose change reaches every test.
OF_ALL: Final = (
    "corpus/kernels/", "tests/conftest.py", "tests/support/", "requirements/", "pyproject.toml"
)  # fmt: skip


def add_options(parser: pytest.Parser) -> None:
    parser.getgroup("budgets").addoption(
        "--changed",
        action="store_true",
        help="leave out most tests of add-ons and converters that no change since main reaches",
    )


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.option.changed or (unreached := _unreached(config)) is None:
        return
    kept, left_out = partition(items, unreached)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = kept


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a process of pytest-xdist, which need not read all files once more."""
    if node.config.option.changed:
        node.workerinput["unreached"] = _unreached(node.config)


def _unreached(config: pytest.Config) -> frozenset[str] | None:
    """Return the parts that the change does not reach; None without git."""
    if (workerinput := getattr(config, "workerinput", None)) is not None:
        unreached: frozenset[str] | None = workerinput["unreached"]
        return unreached
    paths = changed_paths()
    return None if paths is None else unreached_parts(paths)


def pytest_report_header(config: pytest.Config) -> str | None:
    if not config.option.changed:
        return None
    paths = changed_paths()
    if paths is None:
        return "changed: no git history here, so all parts are tested"
    unreached = unreached_parts(paths)
    return (
        f"changed: {len(paths)} files since the main branch; one test a file of the parts that "
        f"the change does not reach: {', '.join(sorted(unreached)) or 'none'}"
    )


@cache
def changed_paths() -> frozenset[str] | None:
    """Return the paths that differ from the main branch, untracked ones too; None without git."""
    for base in BASES:
        fork = _git("merge-base", "HEAD", base)
        if fork:
            differing = _git("diff", "--name-only", fork.strip())
            untracked = _git("ls-files", "--others", "--exclude-standard")
            if differing is not None and untracked is not None:
                return frozenset((differing + untracked).splitlines())
    return None


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout


def unreached_parts(paths: frozenset[str]) -> frozenset[str]:
    """Return the parts that no path of a change reaches, as `addons/agents`."""
    if any(path.startswith(OF_ALL) for path in paths):
        return frozenset()
    if not paths:
        return frozenset(PARTS)
    return frozenset(
        part
        for part, modules in imports_of_parts().items()
        if not any(_is_of_part(path, part) or module_of(path) in modules for path in paths)
    )


def _is_of_part(path: str, part: str) -> bool:
    """Return whether a file is the part's or its tests', or lies beside the tests of its group."""
    group = part.partition("/")[0]
    own = path.startswith((f"kvtrace/{part}/", f"{part}/", f"tests/{part}/"))
    return own or str(PurePosixPath(path).parent) == f"tests/{group}"


def module_of(path: str) -> str | None:
    """Return the name that a file of the product or of the tests is imported by."""
    parts = PurePosixPath(path).with_suffix("").parts
    if not path.endswith(".py") or parts[0] not in ("kvtrace", "schema", "converters", "tests"):
        return None
    package = parts if parts[0] in ("kvtrace", "tests") else ("kvtrace", *parts)
    return ".".join(part for part in package if part != "__init__")


@cache
def imports_of_parts() -> dict[str, frozenset[str]]:
    """Return every module that each part and its tests import, directly or by way of others."""
    tests = (ROOT / "tests").rglob("*.py")
    files = dict(MODULES) | {str(module_of(str(path.relative_to(ROOT)))): path for path in tests}
    imported: dict[str, frozenset[str]] = {}
    for part in PARTS:
        reached = {module for module in files if _part_of(module) == part}
        remaining = list(reached)
        while remaining:
            module = remaining.pop()
            for target in imports_of(module, files[module]):
                owner = target if target in files else target.rpartition(".")[0]
                if owner in files and owner not in reached:
                    reached.add(owner)
                    remaining.append(owner)
        imported[part] = frozenset(reached)
    return imported


def _part_of(module: str) -> str | None:
    """Return the part that holds a module in its folder; None for the core's."""
    names = module.split(".")
    return "/".join(names[1:3]) if len(names) > 3 and names[1] in GROUPS else None


PARTS: Final = sorted({part for module, _ in MODULES if (part := _part_of(module)) is not None})


def partition(
    items: list[pytest.Item], unreached: frozenset[str]
) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """Split tests into those that run and those of unreached parts that wait for `.ci/run`."""
    kept: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    represented: set[str] = set()
    for item in items:
        path = item.nodeid.partition("::")[0]
        parts = PurePosixPath(path).parts
        if len(parts) < 4 or "/".join(parts[1:3]) not in unreached:
            kept.append(item)
        elif item.get_closest_marker("smoke") or path not in represented:
            represented.add(path)
            kept.append(item)
        else:
            left_out.append(item)
    return kept, left_out
