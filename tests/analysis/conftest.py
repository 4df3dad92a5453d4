"""Traces that tests may write on: copies of recorded ones, and one of a program recorded here."""

import os
import shutil
from pathlib import Path

import pytest

from tests.support.kept import kept
from tests.support.warm_python import warm_python

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "out_of_bounds.py"
FIXTURES = ROOT / "tests" / "fixtures" / "h200"


@pytest.fixture
def copied(tmp_path):
    """Copy a recorded trace, without what passes found: copied("device", "out")."""
    derived = shutil.ignore_patterns("part-[a-z]*")

    def copy(name, folder=None):
        target = tmp_path / (folder or name)
        return Path(shutil.copytree(FIXTURES / name, target, ignore=derived))

    return copy


@pytest.fixture(scope="session")
def recorded_program(tmp_path_factory):
    """The trace of examples/out_of_bounds.py, recorded without a GPU."""
    return kept(_record, tmp_path_factory.mktemp("program") / "kept", EXAMPLE) / "out"


def _record(folder):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("KVTRACE")}
    environment = clean | {"KVTRACE": "out", "TRITON_CACHE_DIR": str(folder / "cache")}
    done = warm_python().run(EXAMPLE, folder=folder, environment=environment, timeout=250)
    assert done.returncode == 0, done.stdout + done.stderr
    shutil.rmtree(folder / "cache")


@pytest.fixture
def program(recorded_program, tmp_path):
    """A copy of that trace."""
    return Path(shutil.copytree(recorded_program, tmp_path / "out"))
