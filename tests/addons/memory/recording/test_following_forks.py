"""Memory that is recorded in forked children, and after the modules were imported again."""

import os
from pathlib import Path

import pytest

from kvtrace.schema.trace import open_trace
from tests.support.tree import ROOT
from tests.support.warm_python import warm_python

pytest.importorskip("torch")
PROGRAM = Path(__file__).parent / "forking_program.py"


@pytest.mark.process
def test_a_forked_child_ends_and_its_operators_are_recorded(tmp_path):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("KVTRACE")}
    environment |= {"PYTHONPATH": str(ROOT), "KVTRACE_MEMORY": "on"}
    done = warm_python().run(PROGRAM, str(tmp_path), folder=tmp_path, environment=environment)
    assert (done.returncode, done.stdout) == (0, "forked\n"), done.stderr
    for name in "first", "second", "child":
        operators = open_trace(tmp_path / name).table("operators")
        assert "aten::add.Tensor" in operators.column("name").to_pylist(), name
