"""Traces for the command line's tests; each test that harms one gets a copy of its own."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from kvtrace.cli import main
from tests.support.synthetic_trace import build_synthetic_trace


@pytest.fixture(scope="session")
def sound_trace(tmp_path_factory):
    """A trace of one run with hostile names in it."""
    out = tmp_path_factory.mktemp("sound") / "out"
    build_synthetic_trace(out, runs=1, launches=40)
    return out


@pytest.fixture
def own_trace(sound_trace, tmp_path) -> Path:
    """A copy that the test may harm."""
    copy = tmp_path / "out"
    shutil.copytree(sound_trace, copy)
    return copy


@pytest.fixture
def kvtrace(capsys, tmp_path, monkeypatch) -> Callable[..., tuple[int, str, str]]:
    """Run the command line in this process, from an empty directory: code, output, complaints."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: object) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return run
