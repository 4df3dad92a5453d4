"""Selection of tests by what changed since the main branch: `--changed`, of `make test`.

The core's tests always run. Those of a part, which is an add-on or a folder of converters, run
where the change reaches it: a file of the part or of its tests, or a module that one of them
imports, however far away. Of other parts the first test of one file in three stays, in turn by the
day, and what is marked `smoke`; other files are not even imported. Without git's history all tests
run.
"""

import subprocess
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, Final
from zlib import crc32

import pytest

from tests.support.imports import MODULES, imports_of
from tests.support.thorough import DAY
from tests.support.tree import ROOT

#: Branches that a change is counted from, the first that exists.
BASES: Final = ("origin/main", "main")
#: Folders whose folders are parts.
GROUPS: Final = ("addons", "converters")
#: Of how many files of an unreached part one has a test.
FILES: Final = 3
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


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    if not config.option.changed or not collection_path.match("test_*.py"):
        return None
    path = collection_path.relative_to(ROOT).as_posix()
    unreached = _unreached(config) or frozenset()
    waits = part_of(path) in unreached and not is_represented(path)
    return True if waits and b"smoke" not in collection_path.read_bytes() else None


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
        f"changed: {len(paths)} files since the main branch; one test of a third of the files of "
        f"parts that the change does not reach: {', '.join(sorted(unreached)) or 'none'}"
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


@cache
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


def part_of(path: str) -> str:
    """Return the part that a file of tests belongs to; "" for one of the core's."""
    parts = PurePosixPath(path).parts
    return "/".join(parts[1:3]) if len(parts) > 3 else ""


def is_represented(path: str) -> bool:
    """Return whether a file of an unreached part has a test today."""
    return (crc32(path.encode()) + DAY) % FILES == 0


def partition(
    items: list[pytest.Item], unreached: frozenset[str]
) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """Split tests into those that run and those of unreached parts that wait for `.ci/run`."""
    kept: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    seen: set[str] = set()
    for item in items:
        path = item.nodeid.partition("::")[0]
        is_first = path not in seen
        seen.add(path)
        if (
            part_of(path) not in unreached
            or item.get_closest_marker("smoke")
            or (is_first and is_represented(path))
        ):
            kept.append(item)
        else:
            left_out.append(item)
    return kept, left_out
