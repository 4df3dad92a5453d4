"""Projects that are recorded with real Triton, without a GPU."""

import os
import shlex
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.addons.ci.programs import BENCH
from tests.support.warm_python import warm_python


@pytest.fixture(scope="session")
def triton_cache(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a folder for Triton's cache, instead of the user's."""
    return str(tmp_path_factory.mktemp("triton-cache"))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, triton_cache: str) -> Path:
    """Make a project with a program that launches a kernel, and enter the folder."""
    if find_spec("triton") is None:
        pytest.skip("Triton is not installed")
    for name in [name for name in os.environ if name.startswith("KVTRACE")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("TRITON_CACHE_DIR", triton_cache)
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "bench.py").write_text(BENCH)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def run_bench() -> tuple[str, str]:
    """Return the command that runs the project's program, warm."""
    return "--run", shlex.join([*warm_python().command, "bench.py"])
