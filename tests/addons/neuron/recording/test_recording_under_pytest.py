"""Recording of kernels in a user's tests, although pytest changes imports."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kvtrace.schema.trace import open_trace

pytestmark = pytest.mark.process

SUITE = """
import numpy as np
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def double(a):
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    nl.store(out, value=nl.load(a) * 2)
    return out


def test_double():
    assert np.all(double(np.ones((128, 8), np.float32)) == 2)
"""

#: pytest rewrites what an installed plugin's package has, as kvtrace is where it is no checkout.
REWRITTEN = """
import pytest

pytest.register_assert_rewrite("kvtrace")
"""

#: The thread is inside of pyarrow when the program asks for a stand-in, and needs to import more.
TOGETHER = """
import importlib.machinery, sys, threading, time

begun = threading.Event()


class Slowly:
    def __init__(self, loader):
        self.loader = loader

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        begun.set()
        time.sleep(1)
        self.loader.exec_module(module)


class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "pyarrow":
            spec = importlib.machinery.PathFinder.find_spec(name, path, target)
            spec.loader = Slowly(spec.loader)
            return spec


sys.meta_path.insert(0, Finder())
thread = threading.Thread(target=__import__, args=("pyarrow",), daemon=True)
thread.start()
assert begun.wait(30)
import neuronxcc.nki

thread.join(30)
assert not thread.is_alive()
"""


def _run(folder: Path, *arguments: str) -> None:
    environment = os.environ | {"KVTRACE": str(folder / "out")}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_suite_is_recorded_although_pytest_rewrites_kvtrace(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(REWRITTEN)
    (tmp_path / "test_kernels.py").write_text(SUITE)

    _run(tmp_path, "-m", "pytest", "-q", "-c", os.devnull, "--rootdir", ".", "test_kernels.py")

    assert open_trace(tmp_path / "out").table("launches").num_rows == 1


def test_a_stand_in_is_found_while_another_thread_imports(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(TOGETHER)

    _run(tmp_path, "program.py")
