"""What a user has after `pip install kvtrace`, and a developer after `pip install -e .`."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.support.tree import ROOT, package_files

PROGRAM = """
import sys
import torch, triton, triton.language as tl

@triton.jit
def add_one(x, out, size, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + index, tl.load(x + index, mask=index < size) + 1, mask=index < size)

device = "cuda" if torch.cuda.is_available() else "cpu"
x = torch.arange(100.0, device=device)
out = torch.empty_like(x)
for _ in range(3):
    add_one[(2,)](x, out, 100, BLOCK=64)
assert torch.equal(out, x + 1)
"""

MODULE_FILES = """
import importlib, sys
for name in sys.argv[1:]:
    print(importlib.import_module(name).__file__)
"""


def names_in_tree() -> set[str]:
    """Wheel paths of all our modules and markers, from the folders themselves.

    The report's front end goes into the wheel built (`converters/report/app.html`).
    """
    return {
        path.relative_to(ROOT).as_posix()
        for path in package_files(".py", "py.typed", ".html", ".css", ".js", ".c", ".h")
        if "frontend" not in path.parts
    }


@pytest.mark.process
def test_wheel_holds_every_module_and_the_autostart_line_at_its_root(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert "kvtrace.pth" in names
    assert names_in_tree() - names == set()
    assert {name.split("/")[0].split("-")[0] for name in names} == {"kvtrace", "kvtrace.pth"}


@pytest.mark.process
def test_wheel_fits_every_python_from_3_11_on(wheel):
    assert "-cp311-abi3-" in wheel.name


@pytest.mark.process
def test_sdist_holds_what_a_build_needs_and_no_tests(built):
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "setup.py", "kvtrace.pth", "LICENSE", "README.md"} <= names
    assert not any(name.startswith("tests/") for name in names)


@pytest.fixture(params=["installed", "editable"])
def environment(request):
    return request.getfixturevalue(request.param)


@pytest.mark.process
def test_autostart_line_lies_at_the_root_of_site_packages(environment):
    line = (environment.site_packages / "kvtrace.pth").read_text()
    assert line == (ROOT / "kvtrace.pth").read_text()


@pytest.mark.process
def test_installed_modules_come_from_site_packages(installed, tmp_path):
    modules = ["kvtrace", "kvtrace.schema.tables", "kvtrace.converters", "kvtrace.cli"]
    done = installed.run(installed.python, "-c", MODULE_FILES, *modules, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    for file in done.stdout.split():
        assert Path(file).is_relative_to(installed.site_packages)


@pytest.mark.process
def test_editable_modules_come_from_the_source_tree(editable, source_tree, tmp_path):
    modules = ["kvtrace", "kvtrace.schema.tables", "kvtrace.converters", "kvtrace.cli"]
    done = editable.run(editable.python, "-c", MODULE_FILES, *modules, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    for file in done.stdout.split():
        assert Path(file).is_relative_to(source_tree)


@pytest.mark.process
def test_installed_command_works_in_any_folder(environment, tmp_path):
    done = environment.run(environment.folder / "bin" / "kvtrace", "--help", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "sanitize" in done.stdout


@pytest.mark.process
def test_every_entry_point_loads(environment, tmp_path):
    load_all = (
        "from importlib.metadata import distribution\n"
        "points = distribution('kvtrace').entry_points\n"
        "print(sorted(f'{p.group}:{p.name}' for p in points if p.load() is not None))\n"
        "from kvtrace import registry\n"
        "print([e.name for e in registry.entries('backends') if registry.loaded_or_none(e)])"
    )
    done = environment.run(environment.python, "-c", load_all, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "pytest11:kvtrace" in done.stdout
    assert "console_scripts:kvtrace" in done.stdout
    assert all(f"'{name}'" in done.stdout for name in ("triton", "inductor", "nki", "numpy"))


@pytest.mark.process
@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler here")
def test_native_extension_is_built_and_loads(environment, tmp_path):
    done = environment.run(environment.python, "-c", "import kvtrace.capture._hot", folder=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.process
def test_variable_alone_captures_a_program_that_never_imports_kvtrace(environment, tmp_path):
    from kvtrace.schema.trace import open_trace

    # given a program in one folder, started from another
    (tmp_path / "programs").mkdir()
    (tmp_path / "elsewhere").mkdir()
    program = tmp_path / "programs" / "program.py"
    program.write_text(PROGRAM)
    # when it runs with the variable set
    done = environment.run(
        environment.python,
        program,
        folder=tmp_path / "elsewhere",
        KVTRACE="out",
        TRITON_CACHE_DIR=str(tmp_path / "cache"),
    )
    assert done.returncode == 0, done.stderr
    # then the trace lies where it was started, with every launch
    trace = open_trace(tmp_path / "elsewhere" / "out")
    assert trace.table("launches").num_rows == 3
    assert trace.table("kernels").column("name").to_pylist() == ["add_one"]
    (run,) = trace.runs
    assert run.sealed


@pytest.mark.process
def test_program_without_the_variable_loads_nothing_of_kvtrace(environment, tmp_path):
    show = "import sys; print([name for name in sys.modules if name.startswith('kvtrace')])"
    done = environment.run(environment.python, "-c", show, folder=tmp_path)
    assert done.stdout.strip() == "[]"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.process
def test_recorded_program_without_kernels_loads_nothing_heavy(environment, tmp_path):
    show = "import sys; print({'numpy', 'pyarrow', 'torch', 'triton'} & set(sys.modules))"
    done = environment.run(environment.python, "-c", show, folder=tmp_path, KVTRACE="out")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "set()"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.process
def test_uninstall_removes_the_autostart_line(uninstalled):
    left = [path.name for path in uninstalled.site_packages.iterdir() if "kvtrace" in path.name]
    assert left == []


@pytest.mark.process
def test_page_of_the_package_has_absolute_links_where_ci_names_the_repository(tmp_path):
    environment = os.environ | {"GITHUB_REPOSITORY": "owner/fork"}
    environment.pop("GITHUB_SERVER_URL", None)
    command = [sys.executable, "setup.py", "-q", "egg_info", "-e", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, env=environment, check=True, timeout=120)
    metadata = (tmp_path / "kvtrace.egg-info" / "PKG-INFO").read_text(encoding="utf-8")
    head, _, page = metadata.partition("\n\n")
    assert "Project-URL: Issues, https://github.com/owner/fork/issues" in head
    targets = re.findall(r"(?:\]\(|src(?:set)?=\")([^)\"\s]+)", page)
    assert len(targets) > 30
    assert [target for target in targets if not target.startswith("https://")] == []
    version = re.search(r"^Version: (.+)$", head, re.MULTILINE)[1]
    assert f"https://github.com/owner/fork/raw/v{version}/docs/demo/finding-720-dark.png" in targets
