"""The readers in examples/readers: the one in Python as a module, the one in C++ built."""

import importlib.util
import shutil
import subprocess
from pathlib import Path
from types import ModuleType

import pyarrow as pa
import pytest

from tests.support.tree import ROOT

READERS = ROOT / "examples" / "readers"


def python_reader() -> ModuleType:
    """Return examples/readers/reader.py as a new module."""
    spec = importlib.util.spec_from_file_location("conformance_reader", READERS / "reader.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def built_reader(folder: Path) -> Path:
    """Build examples/readers/reader.cpp with what the wheel of pyarrow has."""
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("g++ is not installed")
    arrow = Path(pa.get_library_dirs()[0])
    libraries = [next(arrow.glob(f"lib{name}.so.[0-9]*")) for name in ("arrow", "parquet")]
    program = folder / "reader"
    options = ["-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror", "-isystem", pa.get_include()]
    source = READERS / "reader.cpp"
    words = [compiler, *options, source, "-o", program, *libraries, f"-Wl,-rpath,{arrow}"]
    subprocess.run(words, check=True, timeout=280)
    return program
