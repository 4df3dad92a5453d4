"""Files of dialects are imported when needed, so rows of ops must name the right files."""

import json
import subprocess
import sys

import pytest

from kvtrace.ir.ops import KINDS

REGISTERED = """
import json, sys
from kvtrace.evaluate import registry
given = {}
for kind in ("elementwise", "factored", "semantics"):
    def noting(*names, _original=getattr(registry, kind), **settings):
        file = sys._getframe(1).f_globals["__name__"].rpartition(".")[2]
        given.update(dict.fromkeys(names, file))
        return _original(*names, **settings)
    setattr(registry, kind, noting)
from kvtrace.evaluate.dialects import load_dialects
from kvtrace.ir.ops import KINDS
load_dialects(KINDS)
print(json.dumps(given))
"""


@pytest.fixture(scope="module")
def registered():
    """Return the file that registers each op, after importing all files that op rows name."""
    return json.loads(subprocess.check_output([sys.executable, "-c", REGISTERED], text=True))


@pytest.mark.process
def test_every_op_has_its_meaning_in_the_file_that_its_row_names(registered):
    assert {name: KINDS[name].group for name in registered} == registered


@pytest.mark.process
def test_every_file_that_a_row_names_registers_something(registered):
    assert {row.group for row in KINDS.values()} - {""} == set(registered.values())


@pytest.mark.parametrize("name", ["builtin.module", "tt.func", "tt.return"])
def test_ops_that_every_module_has_are_in_no_dialect_file(name):
    assert KINDS[name].group == ""
