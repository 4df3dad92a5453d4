"""All add-ons are deleted in a copy of the tree, with their tests: the rest goes on without them.

With `KVTRACE_TEST_THOROUGH=1` also each alone, which differs where one add-on imports another:
`tests/test_architecture.py` finds that in the source.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.thorough import THOROUGH
from tests.support.tree import ROOT, copy_tracked

ADDONS = sorted(path.parent.name for path in ROOT.glob("kvtrace/addons/*/__init__.py"))
GOLDEN = sorted((ROOT / "kvtrace" / "schema" / "golden").iterdir())

#: Modules that are no part of the wheel, or programs that begin when they are imported.
NOT_IMPORTED = ("kvtrace.converters.report.frontend", "kvtrace.__main__")

IMPORT_ALL = f"""
import importlib, os, pathlib, sys
import kvtrace
root = pathlib.Path(kvtrace.__file__).parent
assert root.parent == pathlib.Path(sys.argv[1]), root
found = [pathlib.Path(folder, name) for folder, _, names in os.walk(root, followlinks=True)
         for name in names if name.endswith(".py")]
for path in sorted(found):
    parts = path.relative_to(root.parent).with_suffix("").parts
    name = ".".join(part for part in parts if part != "__init__")
    if name.startswith({NOT_IMPORTED!r}):
        continue
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        assert not error.name.startswith("kvtrace"), (name, error)  # an extra that is not here
from kvtrace import registry
registry.own_entries("")
for entry in registry._own:
    entry.load()
"""

#: Commands, each with its exit code, in one process.
COMMANDS = """
import os, pathlib, sys
import kvtrace
from kvtrace.cli import main
assert kvtrace.__file__.startswith(sys.argv[1]), kvtrace.__file__
os.chdir(sys.argv[2])
for line, code in (
    ("--help", 0),
    ("trace validate golden", 0),
    ("info golden", 0),
    ("sanitize defect", 1),
    ("trace validate defect", 0),
    ("profile defect", 0),
    ("report defect -o report.html", 0),
    ("convert perfetto defect -o timeline", 0),
    ("diff defect again --no-replay", 0),
):
    found = main(line.split())
    assert found == code, (line, found)
"""

#: What an add-on alone does, and the sentence that says that it is not there.
GONE = {
    "agents": (("-m kvtrace mcp", 2, "there is no command 'mcp'"),),
    "check": (
        ("-m kvtrace check out", 2, "there is no command 'check'"),
        ("-m kvtrace run --check first program.py", 2, "run has no option --check"),
    ),
    "ci": (
        (
            "-m kvtrace diff --against main again",
            2,
            "needs an add-on that names runs, and none is installed",
        ),
        ("-m kvtrace gate -- true", 2, "there is no command 'gate'"),
        ("-m pytest --kvtrace out", 4, "needs an add-on of kvtrace that records suites"),
    ),
    "fleet": (
        ("-m kvtrace fleet out", 2, "there is no command 'fleet'"),
        ("-m kvtrace profile out --engine spark", 2, "there is no engine 'spark'"),
        ("-m kvtrace info s3://bucket/out", 2, "no installed add-on opens s3 addresses"),
    ),
    "graphs": (("-m kvtrace convert stablehlo out", 2, "there is no converter 'stablehlo'"),),
    "invariance": (
        ("-m kvtrace invariance out", 2, "there is no command 'invariance'"),
        (
            f"-m kvtrace sanitize {GOLDEN[-1].relative_to(ROOT)}/trace --rule not-invariant",
            2,
            "there is no rule 'not-invariant'",
        ),
    ),
    "memory": (("-m kvtrace confirm -- true", 2, "there is no command 'confirm'"),),
    "tolerance": (
        ("-m pytest --kvtrace-tolerances", 4, "needs an add-on of kvtrace that derives tolerances"),
    ),
}

#: Tests of the rest that are run with `KVTRACE_TEST_THOROUGH=1`.
REST = (
    "tests/test_architecture.py",
    "tests/test_architecture_of_ops.py",
    "tests/test_registry.py",
    "tests/test_settings.py",
    "tests/capture/test_backends.py",
    "tests/backends/test_backends_known_calls.py",
    "tests/backends/compiled_kernels/test_contents_to_copy.py",
    "tests/capture/test_session.py",
    "tests/cli/test_cli_bad_input.py",
    "tests/cli/test_cli_frame.py",
    "tests/cli/test_options.py",
    "tests/converters/diff/test_diff_code.py",
    "tests/converters/test_registry.py",
    "tests/converters/profile/test_device_limits_roofline.py",
    "tests/converters/timeline/test_timeline.py",
    "tests/analysis/test_missing_passes.py",
    "tests/docs/test_format_pages.py",
    "tests/schema/test_pruning.py",
    "tests/verdicts/rules/test_rules_pages.py",
)


@pytest.fixture(scope="module", params=["all", *(ADDONS if THOROUGH else ())])
def deleted(request: pytest.FixtureRequest) -> list[str]:
    return ADDONS if request.param == "all" else [request.param]


@pytest.fixture(scope="module")
def tree(deleted: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what git tracks, without the folders of add-ons and of their tests."""
    folder = tmp_path_factory.mktemp("without") / "tree"
    gone = tuple(f"{above}/addons/{name}/" for name in deleted for above in ("kvtrace", "tests"))
    copy_tracked(folder, gone if THOROUGH else (*gone, "tests/", "docs/"))
    for library in (ROOT / "kvtrace").rglob("*.so"):
        copied = folder / library.relative_to(ROOT)
        if copied.parent.is_dir():  # an add-on that is gone had it
            shutil.copy2(library, copied)
    return folder


def run(tree: Path, *command: str | Path, code: int = 0) -> str:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("KVTRACE")}
    done = subprocess.run(
        [sys.executable, *command],
        cwd=tree,
        env=clean | {"PYTHONPATH": str(tree)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout + done.stderr


def test_tests_of_the_rest_are_there() -> None:
    assert not [path for path in REST if not (ROOT / path).is_file()]


@pytest.mark.process
def test_every_module_of_the_rest_imports(tree: Path) -> None:
    run(tree, "-c", IMPORT_ALL, tree)


@pytest.mark.process
def test_commands_answer(tree: Path, tmp_path: Path) -> None:
    shutil.copytree(GOLDEN[-1] / "trace", tmp_path / "golden")
    for name in ("defect", "again"):
        shutil.copytree(ROOT / "tests" / "fixtures" / "missing_mask", tmp_path / name)

    told = run(tree, "-c", COMMANDS, tree, tmp_path)

    assert "error[out-of-bounds]" in told
    assert (tmp_path / "report.html").stat().st_size > 100_000


@pytest.mark.process
def test_what_is_gone_is_said_in_one_sentence(tree: Path, deleted: list[str]) -> None:
    for name in deleted:
        for words, code, sentence in GONE.get(name, ()):
            told = run(tree, *words.split(), code=code)
            assert sentence in told
            assert "Traceback" not in told


@pytest.mark.process
@pytest.mark.skipif(not THOROUGH, reason="takes minutes: KVTRACE_TEST_THOROUGH=1")
@pytest.mark.timeout(1800)
def test_the_tests_of_the_rest_pass(tree: Path) -> None:
    for command in (("init", "-q"), ("add", "-A")):  # some ask git what is tracked
        subprocess.run(["git", *command], cwd=tree, check=True)
    run(tree, "-m", "docs_site.variables")  # docs/settings.md is made from what there is
    # Pages and extras are of add-ons, too.
    tests = ("test_pages_name_files_that_are_there", "test_what_extras_bring_is_imported")
    apart = (f"--deselect=tests/test_architecture.py::{test}" for test in tests)
    run(tree, "-m", "pytest", "-n", "0", "-q", "-x", *apart, *REST)
