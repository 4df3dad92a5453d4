"""Workflows, hooks and recipes: what they name is there, and they may do no more than they must."""

import re
import tomllib

import pytest
import yaml

from tests.support.tree import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CLASSIFIERS = PROJECT["project"]["classifiers"]
TARGETS = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
#: Jobs that may do more than read, and what.
RIGHTS = {
    ("publish.yml", "publish"): {"contents": "write", "id-token": "write", "attestations": "write"},
}
RELEASED = re.compile(r"@(?:v\d+(?:\.\d+)*|[0-9a-f]{40})$")


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
        if not step.get("uses", "./").startswith("./"):
            assert RELEASED.search(step["uses"]), step["uses"]
        assert missing_in(step.get("run", "")) == set()


def test_missing_make_targets_and_files_in_a_command_are_found():
    command = "make demos && python requirements/bound.py\n  .ci/ran; tar dist/*.txt; make lint"
    assert missing_in(command) == {"demos", "requirements/bound.py", ".ci/ran"}


def test_classifiers_claim_the_pythons_and_systems_that_are_tested():
    claimed = set(re.findall(r"Python :: (3\.\d+)", "\n".join(CLASSIFIERS)))
    built = {f"3.{build[3:-2]}" for build in PROJECT["tool"]["cibuildwheel"]["build"]}
    assert set(workflow("ci.yml")["jobs"]["test"]["strategy"]["matrix"]["python"]) == claimed
    assert built == claimed
    assert (
        f">={min(claimed, key=lambda each: int(each[2:]))}" == PROJECT["project"]["requires-python"]
    )

    wheels = workflow("wheels.yml")["jobs"]["pure"]["strategy"]["matrix"]
    systems = {"Linux": "ubuntu", "MacOS": "macos", "Windows": "windows"}
    tested = {name for name, runner in systems.items() if f"{runner}-latest" in wheels["runner"]}
    assert {each.rpartition(" ")[2] for each in CLASSIFIERS if "Operating" in each} == tested
    assert set(wheels["python"]) <= claimed


def test_hooks_before_a_commit_cover_python_and_the_report_page():
    (repository,) = read(".pre-commit-config.yaml")["repos"]
    hooks = {hook["id"]: hook for hook in repository["hooks"]}
    assert hooks.keys() >= {"ruff", "ruff-format", "mypy", "frontend"}
    assert [name for name, hook in hooks.items() if missing_in(hook["entry"])] == []
    page = "converters/report/frontend/src/app/view.ts"
    assert re.search(hooks["frontend"]["files"], page)


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


def test_release_is_refused_for_a_tag_of_another_version():
    release = ROOT / "requirements" / "release.py"
    space = {"__name__": "release", "__file__": str(release)}
    exec(compile(release.read_text(encoding="utf-8"), str(release), "exec"), space)
    assert space["main"](f"v{space['version']()}") == 0
    assert space["main"]("v0.0.9") == 1


def test_release_tools_have_the_versions_of_the_lock_file():
    def pins(name):
        lines = (ROOT / "requirements" / name).read_text(encoding="utf-8").splitlines()
        return dict(line.split("==") for line in lines if "==" in line and ";" not in line)

    release, lock = pins("release.txt"), pins("dev.lock")
    both = release.keys() & lock.keys()
    assert "build" in both
    assert {name: release[name] for name in both} == {name: lock[name] for name in both}
