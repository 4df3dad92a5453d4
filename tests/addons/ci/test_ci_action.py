"""The composite action: each of its shell steps is run, as a runner would, in a local repository.

Steps of other actions (caches, uploads) are left out; `gh` is a script that logs its calls.
"""

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml

from tests.addons.ci.programs import (
    BENCH,
    UNMASKED,
    clean_environment,
    commit_all,
    new_repository,
)

ROOT = Path(__file__).resolve().parents[3]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"]}
GH = """#!/usr/bin/env bash
printf '%s\\n' "$*" >> "$GH_LOG"
if [[ "$*" == *--paginate* ]]; then printf '%s' "$GH_KNOWN"; exit 0; fi
for word in "$@"; do [[ "$word" == body=@* ]] && cp "${word#body=@}" "$GH_LOG.body"; done
exit "$GH_CODE"
"""


#: Files of the runner itself and of Python.
OF_THE_RUNNER = {".GITHUB_OUTPUT", ".GITHUB_STEP_SUMMARY", "__pycache__", ".gitignore"}


@dataclass
class Runner:
    """A runner of shell steps, with their expressions filled in and their outputs stored."""

    folder: Path
    inputs: dict[str, str] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    outputs: dict[str, str] = field(default_factory=dict)

    def value(self, text: str) -> str:
        """Fill in each `${{ … }}`; KeyError if the test has no value."""
        values = {f"inputs.{name}": value for name, value in self.inputs.items()}
        values |= {f"steps.gate.outputs.{name}": value for name, value in self.outputs.items()}
        values |= {"github.repository": "owner/kernels", "github.event.pull_request.number": "7"}
        values |= {"github.action_path": str(ROOT)}
        return re.sub(r"\$\{\{\s*(.*?)\s*\}\}", lambda match: values[match[1]], text)

    def run(self, name: str) -> subprocess.CompletedProcess[str]:
        step = STEPS[name]
        assert step["shell"] == "bash"
        assert "${{" not in step["run"]  # inputs of users reach a shell as variables alone
        files = {
            variable: self.folder / f".{variable}"
            for variable in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")
        }
        script = self.folder.parent / "step.sh"
        script.write_text(step["run"])
        environment = clean_environment() | self.variables
        environment |= {key: self.value(value) for key, value in step.get("env", {}).items()}
        environment |= {key: str(path) for key, path in files.items()}
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
            cwd=self.folder / self.value(step.get("working-directory", ".")),
            env=environment,
            capture_output=True,
            text=True,
            timeout=200,
        )
        if files["GITHUB_OUTPUT"].exists():
            lines = files["GITHUB_OUTPUT"].read_text().splitlines()
            self.outputs |= dict(line.split("=", 1) for line in lines)
        return done

    def read(self, name: str) -> str:
        return (self.folder / name).read_text(encoding="utf-8")


@pytest.fixture
def runner(project, tmp_path, run_bench):
    """A runner in a repository, with Python and the script `gh` on the path."""
    new_repository(project)
    commit_all(project, "first", {"bench.py": BENCH})
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "gh").write_text(GH)
    (programs / "gh").chmod(0o755)
    variables = {
        "PATH": f"{programs}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "TRITON_CACHE_DIR": os.environ["TRITON_CACHE_DIR"],
        "GH_LOG": str(tmp_path / "gh.log"), "GH_KNOWN": "", "GH_CODE": "0",
    }  # fmt: skip
    inputs = {name: str(entry.get("default", "")) for name, entry in ACTION["inputs"].items()} | {
        "run": run_bench[1],
        "save": "false",
        "token": "secret",
    }
    return Runner(project, inputs, variables)


def code_of(runner: Runner) -> str:
    """The exit code of the gate; one of a signal fails with what the gate complained of."""
    code = runner.outputs["exit-code"]
    assert int(code) < 128, f"{code}: {runner.read('.kvtrace/report/errors.txt')}"
    return code


def steps_of(runner: Runner, *names: str) -> None:
    for name in names:
        done = runner.run(name)
        assert done.returncode == 0, f"{name}: {done.stdout}{done.stderr}"


def test_every_shell_step_of_the_action_is_tested():
    shell = {name for name, step in STEPS.items() if "run" in step}
    assert shell == {"Install", "Gate", "Summary", "Comment", "Verdict"}
    assert {step["uses"].partition("@")[0] for step in STEPS.values() if "uses" in step} == {
        "actions/cache/restore", "actions/cache/save", "actions/upload-artifact",
        "github/codeql-action/upload-sarif",
    }  # fmt: skip


@pytest.mark.process
def test_pull_request_with_a_defect_fails_and_is_commented(runner, tmp_path):
    # on the main branch the run becomes the baseline
    runner.inputs["save"] = "true"
    steps_of(runner, "Gate", "Summary", "Verdict")
    assert runner.outputs == {"exit-code": "0", "sarif": "true"}
    # a pull request that drops a mask gets a comment, and fails at the end
    runner.inputs |= {"save": "false", "fail-on": "findings.new, spills>0"}
    commit_all(runner.folder, "drop the mask", {"bench.py": UNMASKED})
    steps_of(runner, "Gate", "Summary", "Comment")
    assert code_of(runner) == "1"
    assert runner.run("Verdict").returncode == 1
    comment = runner.read(".kvtrace/report/comment.md")
    assert comment.startswith("<!-- kvtrace gate -->\n### ❌ Merge? no: a finding is new\n")
    assert "- `findings.new`" in comment
    assert str(runner.folder) not in comment
    # all that the action and its command write is in one folder
    tracked = {".git", "bench.py", ".kvtrace"}
    assert {path.name for path in runner.folder.iterdir()} - tracked <= OF_THE_RUNNER
    assert runner.read(".GITHUB_STEP_SUMMARY").endswith(comment)
    results = json.loads(runner.read(".kvtrace/report/gate.sarif"))["runs"][0]["results"]
    places = [result["locations"][0]["physicalLocation"] for result in results]
    assert {place["artifactLocation"]["uri"] for place in places} == {"bench.py"}
    assert runner.read(".kvtrace/report/gate.html").lower().startswith("<!doctype html>")
    # the comment is made, and is the same one after the next push
    calls = (tmp_path / "gh.log").read_text().splitlines()
    assert "--method POST repos/owner/kernels/issues/7/comments" in calls[-1]
    assert (tmp_path / "gh.log.body").read_text() == comment
    runner.variables["GH_KNOWN"] = "4321\n"
    steps_of(runner, "Comment")
    calls = (tmp_path / "gh.log").read_text().splitlines()
    assert "--method PATCH repos/owner/kernels/issues/comments/4321" in calls[-1]


@pytest.mark.process
def test_missing_baseline_and_failing_program_are_reported(runner):
    runner.inputs["run"] = "echo 'said by the program'; python bench.py; exit 3"
    done = runner.run("Gate")
    assert done.returncode == 0
    assert "said by the program" not in done.stdout  # nothing could be compared afterwards
    assert "there is no baseline 'main'" in done.stderr
    assert code_of(runner) == "2"
    steps_of(runner, "Summary")
    assert "there is no baseline 'main'" in runner.read(".GITHUB_STEP_SUMMARY")
    assert runner.run("Verdict").returncode == 2

    runner.inputs["save"] = "true"
    assert "said by the program" in runner.run("Gate").stdout
    assert code_of(runner) == "3"
    steps_of(runner, "Summary")
    assert "the program failed with exit code 3" in runner.read(".GITHUB_STEP_SUMMARY")
    assert runner.run("Verdict").returncode == 3


@pytest.mark.process
def test_missing_permission_to_comment_does_not_fail_the_action(runner):
    (runner.folder / ".kvtrace" / "report").mkdir(parents=True)
    (runner.folder / ".kvtrace" / "report" / "comment.md").write_text("x")
    runner.variables["GH_CODE"] = "1"
    done = runner.run("Comment")
    assert done.returncode == 0
    assert "::warning::no comment can be written" in done.stdout


@pytest.mark.process
def test_long_comparison_is_cut_to_the_size_of_a_comment(runner):
    folder = runner.folder / ".kvtrace" / "report"
    folder.mkdir(parents=True)
    (folder / "gate.md").write_text("### kvtrace\n" + "é" * 70_000)
    (folder / "errors.txt").write_text("")
    runner.outputs["exit-code"] = "0"
    steps_of(runner, "Summary")
    comment = runner.read(".kvtrace/report/comment.md")
    assert len(comment) < 65_536
    assert comment.endswith("an artifact of this run.\n")


@pytest.mark.process
def test_install_input_is_passed_to_pip_word_by_word(runner):
    runner.inputs["install"] = "--help --quiet"
    done = runner.run("Install")
    assert done.returncode == 0, done.stderr
    assert "pip install [options]" in done.stdout


@pytest.mark.process
def test_action_installs_its_own_kvtrace_if_python_lacks_it(runner, tmp_path):
    python = tmp_path / "programs" / "python"
    python.write_text('#!/usr/bin/env bash\nprintf "%s\\n" "$*" >> "$GH_LOG"\n[[ $1 != -c ]]\n')
    python.chmod(0o755)
    steps_of(runner, "Install")
    check, installed = (tmp_path / "gh.log").read_text().splitlines()
    assert check == "-c import kvtrace"
    assert installed == f"-m pip install {ROOT}"
