"""Files of op meanings are imported when they are needed: their table must be whole."""

import json
import subprocess
import sys

import pytest

REGISTERED = """
import json, sys
from importlib import import_module
from kvtrace.evaluate import registry
given = {}
for kind in ("elementwise", "factored", "semantics"):
    def noting(*names, _original=getattr(registry, kind), **settings):
        file = sys._getframe(1).f_globals["__name__"].rpartition(".")[2]
        given.setdefault(file, set()).update(names)
        return _original(*names, **settings)
    setattr(registry, kind, noting)
from kvtrace.evaluate.dialects import FILES
for file in FILES:
    import_module(f"kvtrace.evaluate.dialects.{file}")
print(json.dumps([FILES, {file: sorted(names) for file, names in given.items()}]))
"""


@pytest.fixture(scope="module")
def listed_and_registered():
    return json.loads(subprocess.check_output([sys.executable, "-c", REGISTERED], text=True))


def test_every_op_that_a_file_registers_leads_to_it(listed_and_registered):
    listed, registered = listed_and_registered
    assert set(registered) == set(listed)
    missing = [
        (file, name)
        for file, names in registered.items()
        for name in names
        if not {name, name.partition(".")[0] + "."} & set(listed[file])
    ]
    assert missing == []


def test_the_table_names_no_op_that_its_file_does_not_register(listed_and_registered):
    listed, registered = listed_and_registered
    exact = [(file, name) for file, names in listed.items() for name in names if name[-1] != "."]
    assert [(file, name) for file, name in exact if name not in registered[file]] == []
