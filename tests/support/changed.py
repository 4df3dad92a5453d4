"""Selection of tests by what changed since the main branch: `--changed`, of `make test`.

The core's tests always run. Of an add-on they run where the change reaches it: a file of the
add-on or of its tests, or a module that it imports, however far away. Of other add-ons the first
test of each file stays, and what is marked `smoke`. Without git's history all tests run.
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
ADD_ONS: Final = "kvtrace.addons."
#: Paths whose change reaches every test.
OF_ALL: Final = ("tests/conftest.py", "tests/support/", "requirements/", "pyproject.toml")


def add_options(parser: pytest.Parser) -> None:
    parser.getgroup("budgets").addoption(
        "--changed",
        action="store_true",
        help="leave out most tests of add-ons that no change since the main branch reaches",
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
    """Return the add-ons that the change does not reach; None without git."""
    if (workerinput := getattr(config, "workerinput", None)) is not None:
        unreached: frozenset[str] | None = workerinput["unreached"]
        return unreached
    paths = changed_paths()
    return None if paths is None else unreached_add_ons(paths)


def pytest_report_header(config: pytest.Config) -> str | None:
    if not config.option.changed:
        return None
    paths = changed_paths()
    if paths is None:
        return "changed: no git history here, so all add-ons are tested"
    unreached = unreached_add_ons(paths)
    return (
        f"changed: {len(paths)} files since the main branch; one test a file of the add-ons that "
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


def unreached_add_ons(paths: frozenset[str]) -> frozenset[str]:
    """Return the add-ons that no path of a change reaches."""
    if any(path.startswith(OF_ALL) for path in paths):
        return frozenset()
    imported = imports_of_add_ons()
    return frozenset(
        name
        for name, modules in imported.items()
        if not any(
            path.startswith((f"kvtrace/addons/{name}/", f"tests/addons/{name}/"))
            or module_of(path) in modules
            for path in paths
        )
    )


def module_of(path: str) -> str | None:
    """Return the name that a file of the product is imported by."""
    parts = PurePosixPath(path).with_suffix("").parts
    if not path.endswith(".py") or parts[0] not in ("kvtrace", "schema", "converters"):
        return None
    package = parts if parts[0] == "kvtrace" else ("kvtrace", *parts)
    return ".".join(part for part in package if part != "__init__")


@cache
def imports_of_add_ons() -> dict[str, frozenset[str]]:
    """Return every module that each add-on imports, directly or by way of others."""
    files = dict(MODULES)
    imported: dict[str, frozenset[str]] = {}
    for name in sorted({module.split(".")[2] for module in files if _is_in_add_on(module)}):
        reached = {module for module in files if module.startswith(f"{ADD_ONS}{name}.")}
        remaining = list(reached)
        while remaining:
            module = remaining.pop()
            for target in imports_of(module, files[module]):
                owner = target if target in files else target.rpartition(".")[0]
                if owner in files and owner not in reached:
                    reached.add(owner)
                    remaining.append(owner)
        imported[name] = frozenset(reached)
    return imported


def _is_in_add_on(module: str) -> bool:
    return module.startswith(ADD_ONS) and module.count(".") > 2


def partition(
    items: list[pytest.Item], unreached: frozenset[str]
) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """Split tests into those that run and those of unreached add-ons that wait for `.ci/run`."""
    kept: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    represented: set[str] = set()
    for item in items:
        path = item.nodeid.partition("::")[0]
        parts = PurePosixPath(path).parts
        if parts[:2] != ("tests", "addons") or len(parts) < 4 or parts[2] not in unreached:
            kept.append(item)
        elif item.get_closest_marker("smoke") or path not in represented:
            represented.add(path)
            kept.append(item)
        else:
            left_out.append(item)
    return kept, left_out
