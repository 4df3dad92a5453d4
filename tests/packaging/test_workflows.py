"""Workflows, hooks and recipes: what they name is there, and they may do no more than they must."""

import re
import shutil
import subprocess
import tomllib

import pytest
import yaml

import kvtrace
from tests.support.tree import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CLASSIFIERS = PROJECT["project"]["classifiers"]
TARGETS = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
CHOOSER = ".github/ISSUE_TEMPLATE/config.yml"
#: Jobs that may do more than read, and what.
RIGHTS = {
    ("publish.yml", "publish"): {"contents": "write", "id-token": "write", "attestations": "write"},
}
#: An action of others, pinned to a commit, with its release beside it.
PINNED = re.compile(r"uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")


def read(name):
    """A file as YAML, in which the key `on` is the truth value of YAML 1.1."""
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def workflow(name):
    return read(f".github/workflows/{name}")


def jobs():
    return [
        pytest.param(path.name, name, job, id=f"{path.stem}-{name}")
        for path in WORKFLOWS
        for name, job in workflow(path.name)["jobs"].items()
    ]


def missing_in(command):
    """Targets of make and files of the checkout that a command names, and that are not there."""
    targets = set(re.findall(r"(?:^|[\s;&|])make ([a-z][\w-]*)", command)) - TARGETS
    named = re.findall(r"(?<![\w/.*-])((?:[\w.-]+/)+[\w-]+\.(?:py|sh|txt|lock)|\.ci/\w+)", command)
    return targets | {name for name in named if not (ROOT / name).is_file()}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflow_has_only_read_permission_by_default(path):
    content = workflow(path.name)
    assert content["name"] == path.stem
    assert True in content  # on:
    assert content["permissions"] == {"contents": "read"}


@pytest.mark.parametrize(("file", "name", "job"), jobs())
def test_workflow_job_has_existing_files_timeout_and_permissions(file, name, job):
    assert job.get("permissions", {}) == RIGHTS.get((file, name), {})
    if "uses" in job:
        assert (ROOT / job["uses"]).is_file()
        return
    assert job["timeout-minutes"] <= 60
    for step in job["steps"]:
        assert "uses" in step or "run" in step
        assert missing_in(step.get("run", "")) == set()


@pytest.mark.parametrize("path", [*WORKFLOWS, ROOT / "action.yml"], ids=lambda path: path.name)
def test_actions_are_pinned_to_a_commit_with_their_release(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    used = [line.strip().removeprefix("- ") for line in lines if re.search(r"\buses:", line)]
    assert used
    own = "uses: ./.github/workflows/"
    assert [line for line in used if not (line.startswith(own) or PINNED.fullmatch(line))] == []


def test_one_python_runs_everything_and_the_others_the_first_tier():
    first, others = (workflow("ci.yml")["jobs"][name] for name in ("everything", "test"))
    assert ".ci/run" in first["steps"][-1]["run"]
    assert others["steps"][-1]["run"] == "make test CHANGED="


def test_coverage_is_measured_once_a_night():
    runs = {
        path.name: [step.get("run") for job in jobs.values() for step in job.get("steps", ())]
        for path in WORKFLOWS
        for jobs in [workflow(path.name)["jobs"]]
    }
    assert [name for name, steps in runs.items() if "make coverage" in steps] == ["thorough.yml"]
    assert runs["thorough.yml"].count("make coverage") == 1


def test_missing_make_targets_and_files_in_a_command_are_found():
    command = "make demos && python requirements/bound.py\n  .ci/ran; tar dist/*.txt; make lint"
    assert missing_in(command) == {"demos", "requirements/bound.py", ".ci/ran"}


def minor(python):
    return int(python.removeprefix("3."))


def pythons_of_ci():
    """The Python that runs everything, and those that run `make test`, in order."""
    jobs = workflow("ci.yml")["jobs"]
    (first,) = (
        step["with"]["python-version"] for step in jobs["everything"]["steps"] if "with" in step
    )
    return sorted([first, *jobs["test"]["strategy"]["matrix"]["python"]], key=minor)


def test_classifiers_claim_the_pythons_and_systems_that_are_tested():
    claimed = set(re.findall(r"Python :: (3\.\d+)", "\n".join(CLASSIFIERS)))
    built = {f"3.{build[3:-2]}" for build in PROJECT["tool"]["cibuildwheel"]["build"]}
    assert pythons_of_ci() == sorted(claimed, key=minor)
    assert built == claimed
    assert f">={min(claimed, key=minor)}" == PROJECT["project"]["requires-python"]

    wheels = workflow("wheels.yml")["jobs"]["pure"]["strategy"]["matrix"]
    systems = {"Linux": "ubuntu", "MacOS": "macos", "Windows": "windows"}
    tested = {name for name, runner in systems.items() if f"{runner}-latest" in wheels["runner"]}
    assert {each.rpartition(" ")[2] for each in CLASSIFIERS if "Operating" in each} == tested
    assert set(wheels["python"]) <= claimed


def test_hooks_before_a_commit_check_staged_files_only():
    (repository,) = read(".pre-commit-config.yaml")["repos"]
    hooks = {hook["id"]: hook for hook in repository["hooks"]}
    assert hooks.keys() == {"ruff", "ruff-format", "codespell", "prettier"}
    assert [name for name, hook in hooks.items() if missing_in(hook["entry"])] == []
    assert not any("make" in hook["entry"] for hook in hooks.values())
    assert all(hook.get("pass_filenames", True) for hook in hooks.values())
    page = "converters/report/frontend/src/app/view.ts"
    assert re.search(hooks["prettier"]["files"], page)
    for page in ("README.md", "docs/release.md", "news/+name.added.md"):
        assert re.search(hooks["codespell"]["files"], page)


@pytest.mark.parametrize(
    "path",
    sorted(set((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml")) - {ROOT / CHOOSER}),
    ids=lambda path: path.stem,
)
def test_issue_form_asks_questions_with_names_of_their_own(path):
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert form["name"]
    assert form["description"]
    names = [question["id"] for question in form["body"]]
    assert all(isinstance(name, str) for name in names)
    assert len(set(names)) == len(names) > 1
    assert all(question["attributes"]["label"] for question in form["body"])


def test_code_owners_name_folders_that_exist():
    lines = (ROOT / ".github/CODEOWNERS").read_text(encoding="utf-8").splitlines()
    rules = [line.split() for line in lines if line and not line.startswith("#")]
    assert rules[0][0] == "*"
    assert all(owner.startswith("@") for _, *owners in rules for owner in owners)
    assert [path for path, *_ in rules[1:] if not (ROOT / path.strip("/")).is_dir()] == []


def test_commits_that_blame_skips_are_of_the_history():
    lines = (ROOT / ".git-blame-ignore-revs").read_text(encoding="utf-8").splitlines()
    commits = [line for line in lines if line and not line.startswith("#")]
    assert [line for line in commits if not re.fullmatch("[0-9a-f]{40}", line)] == []
    assert len(set(commits)) == len(commits)
    if git("rev-parse", "--is-shallow-repository") != "false":
        pytest.skip("needs the whole history")
    history = set(git("rev-list", "HEAD").splitlines())
    assert [commit for commit in commits if commit not in history] == []


def git(*arguments):
    """Return the output of git in the checkout, empty where there is no history."""
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.stdout.strip()


def test_dependabot_watches_every_lock_file():
    updates = read(".github/dependabot.yml")["updates"]
    watched = {(each["package-ecosystem"], each["directory"]) for each in updates}
    assert watched == {
        ("github-actions", "/"),
        ("npm", "/converters/report/frontend"),
        ("pip", "/requirements"),
    }
    assert (ROOT / "converters/report/frontend/package-lock.json").is_file()
    assert list((ROOT / "requirements").glob("*.txt"))


@pytest.fixture
def release(tmp_path):
    """The check of a release, in a copy of the files that it reads, without entries."""
    script = tmp_path / "requirements" / "release.py"
    for name in ("requirements/release.py", "kvtrace/version.py", "CHANGELOG.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copyfile(ROOT / name, tmp_path / name)
    (tmp_path / "news").mkdir()
    shutil.copyfile(ROOT / "news" / "README.md", tmp_path / "news" / "README.md")
    space = {"__name__": "release", "__file__": str(script)}
    exec(compile(script.read_text(encoding="utf-8"), str(script), "exec"), space)
    return space["main"]


def test_release_prints_the_section_of_its_version_and_no_other(release, capsys):
    assert release(f"v{kvtrace.__version__}") == 0
    notes = capsys.readouterr().out
    assert "### Added\n" in notes
    assert "\n## " not in notes


def test_release_is_refused_for_a_tag_of_another_version(release):
    assert release("v0.0.9") == 1


def test_release_is_refused_while_entries_are_not_collected(release, tmp_path, capsys):
    (tmp_path / "news" / "+top-start.changed.md").write_text("`kvtrace top` starts sooner.\n")
    assert release(f"v{kvtrace.__version__}") == 1
    assert "+top-start.changed.md" in capsys.readouterr().err


def test_section_of_the_release_has_at_most_60_lines_and_four_headings(release, capsys):
    release(f"v{kvtrace.__version__}")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) < 60
    headings = [line.removeprefix("### ") for line in lines if line.startswith("### ")]
    kinds = [kind["name"] for kind in PROJECT["tool"]["towncrier"]["type"]]
    assert headings == [kind for kind in kinds if kind in headings]


def problem_of_entry(path):
    """Return the fault of a file of news/, None if there is none."""
    kinds = {kind["directory"] for kind in PROJECT["tool"]["towncrier"]["type"]}
    text = path.read_text(encoding="utf-8")
    links = re.findall(r"\]\(([\w./-]+)(?:#[\w-]+)?\)", text)
    if not ((parts := path.name.split(".")) and len(parts) == 3 and parts[1] in kinds):
        return "it is not named +NAME.KIND.md"
    if not path.name.startswith("+"):
        return "its name has no + in front"
    if len(text.splitlines()) != 1:
        return "it is not one line"
    return None if links and all((ROOT / link).is_file() for link in links) else "it links no page"


def test_entries_of_the_changelog_are_one_line_with_a_link_to_a_page():
    entries = [path for path in (ROOT / "news").iterdir() if path.name != "README.md"]
    assert {path.name: problem_of_entry(path) for path in entries if problem_of_entry(path)} == {}


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("+top.changed.md", "Sooner ([docs/top.md](docs/top.md#marks)).\n", None),
        ("+top.changed.md", "Sooner ([docs/top.md](docs/tops.md)).\n", "it links no page"),
        ("+top.changed.md", "Sooner\n([docs/top.md](docs/top.md)).\n", "it is not one line"),
        ("+top.news.md", "Sooner ([docs/top.md](docs/top.md)).\n", "it is not named +NAME.KIND.md"),
        (
            "top.fixed.md",
            "Sooner ([docs/top.md](docs/top.md)).\n",
            "its name has no + in front",
        ),
    ],
)
def test_problem_of_an_entry_is_named(tmp_path, name, text, problem):
    (tmp_path / name).write_text(text)
    assert problem_of_entry(tmp_path / name) == problem


def test_release_tools_have_the_versions_of_the_lock_file():
    def pins(name):
        lines = (ROOT / "requirements" / name).read_text(encoding="utf-8").splitlines()
        return dict(line.split("==") for line in lines if "==" in line and ";" not in line)

    release, lock = pins("release.txt"), pins("dev.lock")
    both = release.keys() & lock.keys()
    assert "build" in both
    assert {name: release[name] for name in both} == {name: lock[name] for name in both}
