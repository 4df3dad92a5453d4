"""Tests of a part run where a change reaches it; of others one test a file stays."""

from types import SimpleNamespace

import pytest

from tests.support.changed import PARTS, module_of, partition, unreached_parts

ALL = frozenset(PARTS)


def items(*nodeids, smoke=()):
    return [
        SimpleNamespace(nodeid=nodeid, get_closest_marker=lambda _, at=nodeid: at in smoke)
        for nodeid in nodeids
    ]


def test_without_a_change_no_part_is_reached():
    assert unreached_parts(frozenset()) == ALL
    assert {"addons/agents", "converters/diff", "converters/report"} < ALL


@pytest.mark.costly("reads every import; parts of all stay by day")
@pytest.mark.parametrize(
    ("path", "part"),
    [
        ("kvtrace/addons/agents/kernels.txt", "addons/agents"),
        ("tests/addons/agents/test_new.py", "addons/agents"),
        ("converters/importers/proton.py", "converters/importers"),
        ("converters/report/frontend/src/app/view.ts", "converters/report"),
        ("tests/converters/diff/conftest.py", "converters/diff"),
    ],
)
def test_file_that_no_other_part_imports_reaches_its_part_alone(path, part):
    assert unreached_parts(frozenset({path})) == ALL - {part}


@pytest.mark.costly("reads every import; parts of all stay by day")
def test_module_that_every_part_imports_reaches_all():
    assert unreached_parts(frozenset({"schema/trace.py"})) == frozenset()


@pytest.mark.costly("reads every import; parts of all stay by day")
def test_module_that_only_the_tests_of_a_part_import_reaches_it():
    assert "converters/diff" not in unreached_parts(frozenset({"kvtrace/verdicts/widths.py"}))
    assert "addons/agents" not in unreached_parts(frozenset({"tests/cli/conftest.py"}))


@pytest.mark.costly("reads every import; parts of all stay by day")
def test_file_beside_the_tests_of_converters_reaches_all_converters():
    reached = ALL - unreached_parts(frozenset({"tests/converters/conftest.py"}))
    assert {part for part in ALL if part.startswith("converters/")} <= reached


def test_support_of_all_tests_reaches_all():
    assert unreached_parts(frozenset({"tests/support/tiers.py"})) == frozenset()


@pytest.mark.parametrize(
    ("path", "module"),
    [
        ("schema/writer.py", "kvtrace.schema.writer"),
        ("kvtrace/ir/__init__.py", "kvtrace.ir"),
        ("tests/schema/test_writer.py", "tests.schema.test_writer"),
        ("docs/profile.md", None),
    ],
)
def test_files_of_the_product_have_the_names_they_are_imported_by(path, module):
    assert module_of(path) == module


def test_unreached_parts_keep_the_first_test_of_a_file_and_smoke_tests():
    core = "tests/schema/test_writer.py::test_x"
    first, second, smoke = (f"tests/addons/agents/test_a.py::test_{at}" for at in range(3))
    other = "tests/addons/agents/test_b.py::test_0"
    reached = "tests/addons/memory/test_a.py::test_1"

    kept, left_out = partition(
        items(core, first, second, smoke, other, reached, smoke=(smoke,)),
        frozenset({"addons/agents"}),
    )

    assert [item.nodeid for item in kept] == [core, first, smoke, other, reached]
    assert [item.nodeid for item in left_out] == [second]
