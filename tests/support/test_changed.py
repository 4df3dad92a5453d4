"""Tests of an add-on run where a change reaches it; of others one test a file stays."""

from types import SimpleNamespace

import pytest

from tests.support.changed import imports_of_add_ons, module_of, partition, unreached_add_ons


@pytest.fixture(scope="module")
def add_ons():
    return frozenset(imports_of_add_ons())


def items(*nodeids, smoke=()):
    return [
        SimpleNamespace(nodeid=nodeid, get_closest_marker=lambda _, at=nodeid: at in smoke)
        for nodeid in nodeids
    ]


def test_without_a_change_no_add_on_is_reached(add_ons):
    assert unreached_add_ons(frozenset()) == add_ons


@pytest.mark.parametrize(
    "path", ["kvtrace/addons/judge/kernels.txt", "tests/addons/judge/test_new.py"]
)
def test_file_of_an_add_on_reaches_that_add_on_alone(path, add_ons):
    assert unreached_add_ons(frozenset({path})) == add_ons - {"judge"}


def test_module_that_every_add_on_imports_reaches_all():
    assert unreached_add_ons(frozenset({"schema/trace.py"})) == frozenset()


def test_converter_that_no_add_on_imports_reaches_none(add_ons):
    assert "kvtrace.converters.importers.proton" not in frozenset().union(
        *imports_of_add_ons().values()
    )
    assert unreached_add_ons(frozenset({"converters/importers/proton.py"})) == add_ons


def test_support_of_all_tests_reaches_all():
    assert unreached_add_ons(frozenset({"tests/support/tiers.py"})) == frozenset()


@pytest.mark.parametrize(
    ("path", "module"),
    [
        ("schema/writer.py", "kvtrace.schema.writer"),
        ("kvtrace/ir/__init__.py", "kvtrace.ir"),
        ("tests/schema/test_writer.py", None),
        ("docs/profile.md", None),
    ],
)
def test_files_of_the_product_have_the_names_they_are_imported_by(path, module):
    assert module_of(path) == module


def test_unreached_add_ons_keep_the_first_test_of_a_file_and_smoke_tests():
    core = "tests/schema/test_writer.py::test_x"
    first, second, smoke = (f"tests/addons/judge/test_a.py::test_{at}" for at in range(3))
    other = "tests/addons/judge/test_b.py::test_0"
    reached = "tests/addons/suite/test_a.py::test_1"

    kept, left_out = partition(
        items(core, first, second, smoke, other, reached, smoke=(smoke,)), frozenset({"judge"})
    )

    assert [item.nodeid for item in kept] == [core, first, smoke, other, reached]
    assert [item.nodeid for item in left_out] == [second]
