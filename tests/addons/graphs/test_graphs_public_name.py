"""`kvtrace.hlo` is the add-on's package under another name: nothing is there twice."""

import importlib
import importlib.util

import kvtrace
from kvtrace.addons.graphs import hlo
from kvtrace.addons.graphs.hlo import builders, ops


def test_kvtrace_hlo_has_the_names_of_the_add_ons_package():
    public = importlib.import_module("kvtrace.hlo")
    assert kvtrace.hlo is public
    assert {name: getattr(public, name) for name in hlo.__all__} == {
        name: getattr(hlo, name) for name in hlo.__all__
    }
    assert public.__doc__ == hlo.__doc__
    assert importlib.import_module("kvtrace.hlo.ops").softmax is ops.softmax
    assert importlib.import_module("kvtrace.hlo.builders").OPERATIONS is builders.OPERATIONS


def test_a_module_that_no_add_on_registers_is_not_found():
    assert importlib.util.find_spec("kvtrace.hlo_") is None
