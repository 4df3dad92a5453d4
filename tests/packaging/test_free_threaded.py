"""Pythons without the interpreter's lock: kvtrace is installed without C, and records."""

import subprocess
import sysconfig
from shutil import which

import pytest

from tests.packaging.conftest import build
from tests.support.tree import ROOT

#: What such a Python says of itself when an extension is built.
WITHOUT_LOCK = "import sysconfig; sysconfig.get_config_vars()['Py_GIL_DISABLED'] = 1"
FOUND = [path for path in map(which, ("python3.13t", "python3.14t", "python3.15t")) if path]


@pytest.mark.process
@pytest.mark.costly("builds a wheel")
def test_a_wheel_for_such_a_python_has_no_extension(source_tree, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(WITHOUT_LOCK)
    build(source_tree, tmp_path / "dist", "--wheel", PYTHONPATH=str(tmp_path))
    (path,) = (tmp_path / "dist").iterdir()
    assert path.name.endswith("-py3-none-any.whl")


@pytest.mark.process
def test_the_c_is_refused_by_the_compiler():
    if which("gcc") is None:
        pytest.skip("gcc compiles it")
    include = sysconfig.get_paths()["include"]
    done = subprocess.run(
        ["gcc", "-fsyntax-only", "-DPy_GIL_DISABLED=1", f"-I{include}", "-xc", "-"], cwd=ROOT,
        input='#include "kvtrace/capture/_layouts.h"', capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "relies on the interpreter's lock" in done.stderr


@pytest.mark.process
@pytest.mark.parametrize("python", FOUND or [pytest.param("", marks=pytest.mark.skip("none here"))])
def test_such_a_python_records(python):
    has_pyarrow = subprocess.run([python, "-c", "import pyarrow"], capture_output=True, check=False)
    if has_pyarrow.returncode:
        pytest.skip(f"{python} has no pyarrow")
    done = subprocess.run(
        [python, "-m", "tests.capture.surroundings", "--only", "plain"], cwd=ROOT,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
