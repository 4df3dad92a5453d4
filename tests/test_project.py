"""Settings of a project: `[tool.kvtrace]` in pyproject.toml."""

import json
import os

import pytest

from kvtrace.project import Project, read_project
from kvtrace.settings import DEFAULT, settings_from_project, settings_in_force

TABLE = """
[tool.kvtrace]
rules = ["default", "-out-of-view"]
strict = true
budget = 120
tensors = "int"
target = "hip:gfx942"
max-calls = 7

[tool.kvtrace.diff]
fail-on = ["spills>0"]
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project's file, as seen from a folder two levels below it."""
    (tmp_path / "a" / "b").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "a" / "b")
    return tmp_path / "pyproject.toml"


def test_settings_are_those_of_the_nearest_file_with_the_table(project):
    project.write_text(TABLE)
    (project.parent / "a" / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    settings, problems = settings_in_force({})
    assert problems == ()
    assert (settings.rules, settings.strict, settings.budget) == ("default,-out-of-view", True, 120)
    assert (settings.tensors, settings.target, settings.max_calls) == ("int", "hip:gfx942", 7)
    (project.parent / "a" / "pyproject.toml").write_text("[tool.kvtrace]\ntensors = 'all'\n")
    assert settings_in_force({})[0].tensors == "all"
    assert settings_in_force({})[0].rules == DEFAULT.rules


def test_variables_override_the_project(project):
    project.write_text(TABLE)
    settings, problems = settings_in_force({"KVTRACE_TENSORS": "all", "KVTRACE_STRICT": "0"})
    assert (settings.tensors, settings.strict, problems) == ("all", False, ())
    settings, (problem,) = settings_in_force({"KVTRACE_TENSORS": "some"})
    assert settings.tensors == "int"
    assert problem.endswith("using 'int'")


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (
            "tensor = 'int'",
            "tensor in FILE: there is no setting 'tensor' (did you mean 'tensors'?)",
        ),
        ("tensors = 3", "tensors in FILE: the setting tensors has to be one of"),
        ("strict = 'maybe'", "strict in FILE: the setting strict has to be 1 or 0"),
        ("budget = -1", "budget in FILE: the setting budget has to be a number of seconds, not -1"),
        ("budget = true", "budget in FILE: the setting budget has to be a number of seconds"),
        ("rules = [", "FILE cannot be read: "),
        ("rules = " + "[" * 4000, "FILE cannot be read: "),
    ],
)
def test_invalid_values_are_reported_and_ignored(project, line, sentence):
    project.write_text(f"[tool.kvtrace]\n{line}\n")
    settings, (problem,) = settings_in_force({})
    assert settings == DEFAULT
    assert problem.startswith(sentence.replace("FILE", str(project)))


def test_no_file_no_table_and_no_folder_are_the_defaults(project, tmp_path, monkeypatch):
    assert read_project() == Project()
    project.write_text("# tool.kvtrace is not used\n[tool]\nkvtrace = 3\n")
    assert settings_in_force({}) == (DEFAULT, ())
    project.write_text("tool = 'kvtrace'  # not [tool.kvtrace]\n")
    assert settings_in_force({})[0] == DEFAULT
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert read_project() == Project()
    os.chdir(tmp_path)


def test_a_folder_of_that_name_is_no_file(project):
    project.mkdir()
    assert settings_from_project(read_project()) == (DEFAULT, ())


def test_settings_say_where_each_value_is_from(project, capsys, monkeypatch):
    from kvtrace.cli import main

    project.write_text(TABLE)
    monkeypatch.setenv("KVTRACE_TARGET", "cuda:80")
    assert main(["doctor", "--settings"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert f"KVTRACE_BUDGET=120  ({project}; default 30)" in lines
    assert "KVTRACE_TARGET=cuda:80  (environment; default cuda:90)" in lines
    assert "KVTRACE_MODE=launch" in lines
    assert f"fail-on of kvtrace diff and gate: ['spills>0']  ({project})" in lines
    assert main(["doctor", "--settings", "--json"]) == 0
    output = json.loads(capsys.readouterr().out)
    assert output["sources"]["KVTRACE_TENSORS"] == str(project)
    assert output["sources"]["KVTRACE_TARGET"] == "environment"
    assert output["sources"]["KVTRACE_MODE"] == "default"
    assert output["diff"] == {"fail-on": ["spills>0"]}
