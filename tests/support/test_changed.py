"""Tests of a part run where a change reaches it; of others one test a file stays."""

from types import SimpleNamespace

import pytest

from tests.support import changed
from tests.support.changed import PARTS, module_of, partition, unreached_parts
from tests.support.tree import ROOT

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


def test_unreached_parts_keep_the_first_test_of_some_files_and_smoke_tests(monkeypatch):
    core = "tests/schema/test_writer.py::test_x"
    first, second, smoke = (f"tests/addons/agents/test_a.py::test_{at}" for at in range(3))
    other = "tests/addons/agents/test_b.py::test_0"
    reached = "tests/addons/memory/test_a.py::test_1"
    monkeypatch.setattr(changed, "is_represented", lambda path: path.endswith("test_a.py"))

    kept, left_out = partition(
        items(core, first, second, smoke, other, reached, smoke=(smoke,)),
        frozenset({"addons/agents"}),
    )

    assert [item.nodeid for item in kept] == [core, first, smoke, reached]
    assert [item.nodeid for item in left_out] == [second, other]


def test_each_file_has_its_day(monkeypatch):
    path, days = "tests/addons/agents/test_a.py", []
    for day in range(100, 100 + changed.FILES):
        monkeypatch.setattr(changed, "DAY", day)
        days += [day] * changed.is_represented(path)
    assert len(days) == 1


def test_a_file_that_waits_is_not_imported_unless_it_has_a_smoke_test(monkeypatch):
    monkeypatch.setattr(changed, "is_represented", lambda path: False)
    monkeypatch.setattr(
        changed, "_unreached", lambda config: frozenset({"addons/ci", "addons/check"})
    )
    config = SimpleNamespace(option=SimpleNamespace(changed=True))

    def ignored(path: str) -> bool | None:
        return changed.pytest_ignore_collect(ROOT / "tests" / path, config)

    assert ignored("addons/ci/test_baselines.py") is True
    assert ignored("addons/check/test_kept_results.py") is None
    assert ignored("addons/memory/test_repeats.py") is None
    assert ignored("schema/test_writer.py") is None
