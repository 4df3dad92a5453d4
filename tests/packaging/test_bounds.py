"""Which Tritons there are tests with: one list, and all that must agree with it."""

import re
import tomllib

import pytest
import yaml

from kvtrace.backends.compiled_kernels.versions import NEWEST_TESTED, OLDEST, OLDEST_TORCH
from tests.support.imported_file import imported_file
from tests.support.tree import ROOT

SCRIPT = ROOT / "requirements" / "bounds.py"


@pytest.fixture(scope="module")
def bounds():
    return imported_file(SCRIPT, "bounds")


def numbers(version):
    return tuple(map(int, version.split(".")[:2]))


def test_tested_version_pairs_are_those_of_the_recorder(bounds):
    tritons = [numbers(version) for version in bounds.PAIRS]
    torches = [numbers(version) for version in bounds.PAIRS.values()]
    assert tritons == sorted(tritons)
    assert torches == sorted(torches)
    assert (tritons[0], tritons[-1]) == (OLDEST, NEWEST_TESTED)
    assert torches[0] == OLDEST_TORCH


def test_oldest_tested_pair_is_the_lower_bound_of_the_installation(bounds):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    least = dict(
        re.match(r"(\w+)>=([\d.]+)", each).groups()
        for each in project["optional-dependencies"]["triton"]
    )
    oldest = next(iter(bounds.PAIRS.items()))
    assert (numbers(least["triton"]), numbers(least["torch"])) == tuple(map(numbers, oldest))


def test_lock_file_has_one_of_the_version_pairs(bounds):
    lock = dict(
        line.partition(";")[0].split("==") for line in bounds.locked(but=[]) if "==" in line
    )
    assert bounds.PAIRS[lock["triton"]] == lock["torch"]


def test_nightly_workflow_tests_each_pair_and_the_newest(bounds):
    nightly = ROOT / ".github" / "workflows" / "thorough.yml"
    jobs = yaml.safe_load(nightly.read_text(encoding="utf-8"))["jobs"]
    assert jobs["versions"]["strategy"]["matrix"]["triton"] == [*bounds.PAIRS, "latest"]
    assert jobs["bounds"]["strategy"]["matrix"]["end"] == list(bounds.ENDS)


def test_paths_of_the_version_tests_exist(bounds):
    assert [path for path in (*bounds.ROOMS, *bounds.QUICK) if not (ROOT / path).exists()] == []


def test_command_line_words_select_environments(bounds):
    assert bounds.environments([], beside=False) == [*bounds.PAIRS, "latest"]
    assert bounds.environments(["3.8.0", "all"], beside=False)[:2] == ["3.8.0", "3.5.1"]
    assert bounds.environments([], beside=True) == ["3.5.1", "3.9.0"]


def test_lock_file_can_be_reduced_by_packages(bounds):
    names = {bounds.name_of(line) for line in bounds.locked(but=["torch", "z3-solver>=4.13.4.0"])}
    assert {"torch", "z3-solver"}.isdisjoint(names)
    assert {"triton", "pytest"} <= names


@pytest.mark.parametrize("words", [["3.4.0"], ["--beside", "oldest"], ["--beside", "latest"]])
def test_unknown_environment_is_refused_in_one_sentence(bounds, words, capsys):
    with pytest.raises(SystemExit) as ended:
        bounds.main(words)
    assert ended.value.code == 2
    assert f"error: there is no environment {words[-1]}" in capsys.readouterr().err


def test_help_names_a_version_pair_and_the_disk_space(bounds, capsys):
    with pytest.raises(SystemExit):
        bounds.main(["--help"])
    said = capsys.readouterr().out
    assert "3.9.0 with 2.15.0" in said
    assert "5.8 GB" in said
    assert "there is one at a time" in said


@pytest.mark.process
@pytest.mark.costly("pip starts twice, as two environments are made")
def test_environment_that_cannot_be_made_is_named_and_the_next_is_tried(
    bounds, monkeypatch, tmp_path, capfd
):
    monkeypatch.setattr(bounds, "ROOT", tmp_path)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    assert bounds.main(["--beside", "3.5.1", "3.9.0"]) == 1
    refused = [line for line in capfd.readouterr().out.splitlines() if "NOT TESTED" in line]
    assert ["3.5.1" in refused[0], "3.9.0" in refused[1]] == [True, True]
    assert list(tmp_path.iterdir()) == []
