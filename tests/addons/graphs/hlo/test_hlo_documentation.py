"""docs/hlo.md says what the code does: its tables are made from it, its examples run."""

import re
import runpy

import numpy as np
import pytest

from kvtrace.addons.graphs.hlo import families, ops, trace
from kvtrace.addons.graphs.hlo.builders import OPERATIONS
from tests.addons.graphs.hlo import documentation

TEXT = documentation.PAGE.read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


def test_tables_and_lists_in_hlo_md_are_up_to_date():
    assert documentation.written(TEXT) == TEXT, f"run python -m {documentation.__name__}"


def run(block, folder):
    """Run an example from a file: names of results are read from the source."""
    path = folder / "example.py"
    path.write_text(block, encoding="utf-8")
    return runpy.run_path(str(path))


def test_the_first_example_in_hlo_md_runs(tmp_path):
    scope = run(BLOCKS[0], tmp_path)

    np.testing.assert_array_equal(scope["cache"], scope["q"])
    np.testing.assert_allclose(scope["mixed"], scope["q"], rtol=1e-6)
    assert "tf.aliasing_output = 1 : i32" in scope["text"]


def test_the_example_of_an_added_operation_runs(tmp_path):
    lines = families.__doc__.splitlines()
    run("\n".join(line[4:] for line in lines if line.startswith("    ")), tmp_path)

    x = np.array([1.0, -2.0], np.float32)
    np.testing.assert_array_equal(ops.cube(x), x**3)
    assert trace(lambda x: ops.cube(x)).specialize(x).ops[-1].opcode == "multiply"


@pytest.fixture(autouse=True)
def _forget_the_example():
    yield
    OPERATIONS.pop("cube", None)
    ops.__getattr__.cache_clear()
