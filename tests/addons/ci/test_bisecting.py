"""`kvtrace bisect GOOD BAD` in real repositories, with real kernels."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from kvtrace.cli import main
from tests.addons.ci.programs import (
    BENCH,
    PYTHON,
    UNMASKED,
    clean_environment,
    commit_all,
    git,
    new_repository,
)

RULES = ("--fail-on", "findings.new")
#: Placeholder in parameters for the option of `run_bench`.
RUN = ("--run", "the program")


def state_of(repository):
    """Return the state that a bisection must not change."""
    files = sorted(path for path in repository.rglob("*") if path.is_file())
    ours = (".git", ".kvtrace")
    return (
        git(repository, "status", "--porcelain", "--branch"),
        git(repository, "worktree", "list"),
        git(repository, "for-each-ref"),
        git(repository, "rev-parse", "HEAD"),
        [
            (path, path.read_bytes())
            for path in files
            if path.relative_to(repository).parts[0] not in ours
        ],
    )


@pytest.fixture(scope="module")
def history(tmp_path_factory):
    """8 commits: the fourth does not run, the sixth drops a mask."""
    project = new_repository(tmp_path_factory.mktemp("history") / "project")
    (project / ".git" / "hooks" / "post-checkout").write_text("#!/bin/sh\nexit 1\n")
    (project / ".git" / "hooks" / "post-checkout").chmod(0o755)
    commits = (
        ("first", {"bench.py": BENCH}),
        ("words", {"README": "words\n"}),
        ("another size", {"bench.py": BENCH.replace("n = 1000", "n = 999")}),
        ("does not run", {"bench.py": "import nothing_of_that_name\n" + BENCH}),
        ("runs again", {"bench.py": BENCH}),
        ("drop the mask", {"bench.py": UNMASKED}),
        ("more words", {"README": "more words\n"}),
        ("more launches", {"bench.py": UNMASKED.replace("range(3)", "range(4)")}),
    )
    (project / ".gitignore").write_text(".kvtrace/\n__pycache__/\n")
    for subject, files in commits:
        commit_all(project, subject, files)
    (project / "bench.py").write_text("# what the user has not committed yet\n")
    return project


@pytest.fixture
def repository(history, project):
    """A copy of `history` that the test may change, as the working directory."""
    shutil.copytree(history, project, dirs_exist_ok=True)
    git(project, "status")  # brings the index up to date with the copies
    return project


@pytest.mark.process
@pytest.mark.night("7 s; bisections that end at once or after a step stay")
def test_first_bad_commit_is_found_without_touching_the_checkout(repository, capsys, run_bench):
    before = state_of(repository)
    culprit = git(repository, "rev-parse", "HEAD~2")
    assert main(["bisect", "HEAD~7", "HEAD", *run_bench, *RULES]) == 1
    output = capsys.readouterr().out
    steps = {line[20:].split("  ")[0].strip(): line[14:18].strip() for line in output.splitlines()
             if line[12:14] == "  " and line[14:18].strip() in ("good", "bad", "skip")}  # fmt: skip
    assert steps["first"] == "good"
    assert steps["more launches"] == steps["drop the mask"] == "bad"
    assert steps["runs again"] == "good"
    assert steps.get("does not run", "skip") == "skip"
    assert f"first bad commit: {culprit} drop the mask (Nobody, " in output
    assert "kernels: 1 changed" in output
    assert "findings.new: add" in output
    assert "kvtrace-bisect-" not in output  # paths are those of the repository
    assert state_of(repository) == before


@pytest.mark.process
def test_commits_that_cannot_be_run_become_candidates(repository, capsys, run_bench):
    """The bad commit lies among commits that cannot run."""
    git(repository, "reset", "--quiet", "--hard", "HEAD~5")
    commits = [
        commit_all(repository, "broken", {"bench.py": "import nothing_of_that_name\n"}),
        commit_all(repository, "bad and runs", {"bench.py": UNMASKED}),
    ]
    assert main(["bisect", "HEAD~2", "HEAD", *run_bench, *RULES]) == 2
    output = capsys.readouterr().out
    assert "the first bad commit is one of the following" in output
    assert all(commit in output for commit in commits)
    assert "the program ended with exit code 1, see" in output
    assert len(git(repository, "worktree", "list").splitlines()) == 1


@pytest.mark.process
def test_bisection_ends_at_once_if_bad_breaks_no_rule(repository, capsys, run_bench):
    assert main(["bisect", "HEAD~7", "HEAD~6", *run_bench, *RULES]) == 0
    assert "HEAD~6 breaks no rule" in capsys.readouterr().out


@pytest.mark.process
def test_bad_commit_right_after_good_is_found_without_a_step(repository, capsys, run_bench):
    culprit = git(repository, "rev-parse", "HEAD~2")
    assert main(["bisect", "HEAD~3", "HEAD~2", *run_bench, *RULES]) == 1
    assert f"first bad commit: {culprit} drop the mask" in capsys.readouterr().out


@pytest.mark.process
def test_a_command_runs_in_the_folder_where_the_user_is(repository, monkeypatch, capsys, run_bench):
    folder = repository / "kernels"
    folder.mkdir()
    commit_all(repository, "in a folder", {"kernels/bench.py": BENCH})
    culprit = commit_all(repository, "drop its mask", {"kernels/bench.py": UNMASKED})
    monkeypatch.chdir(folder)
    assert main(["bisect", "HEAD~1", "HEAD", *run_bench, *RULES]) == 1
    assert f"first bad commit: {culprit} drop its mask" in capsys.readouterr().out
    assert main(["bisect", "HEAD~2", "HEAD", *run_bench, *RULES]) == 2
    assert "the folder kernels does not exist at this commit" in capsys.readouterr().err


@pytest.mark.process
def test_rule_on_compile_time_uses_an_empty_cache_for_every_commit(repository, run_bench):
    """The second commit has the kernel of the first, which Triton's cache has."""
    rules = ("--fail-on", "compile<-90%")
    assert main(["bisect", "HEAD~7", "HEAD~6", *run_bench, *rules]) == 0


@pytest.mark.process
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["HEAD~7", "nowhere", *RUN, *RULES], "there is no commit 'nowhere'"),
        (["HEAD~4", "HEAD", *RUN, *RULES], "cannot be judged: the program ended with exit code 1"),
        (["HEAD~7", "HEAD", *RUN, "--fail-on", "registers>3"], ", breaks a rule: "),
        (["HEAD~7", "HEAD", *RUN, "--fail-on", "time>+5%"], "cannot be judged: time>+5%"),
        (["HEAD~7", "HEAD", *RULES], "give the command to run"),
        (["HEAD~7", *RUN, *RULES], "give two commits"),
    ],
)
def test_impossible_bisection_is_a_one_sentence_error(
    repository, words, message, capsys, run_bench
):
    arguments = [run_bench[1] if word == RUN[1] else word for word in words]
    assert main(["bisect", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert len(git(repository, "worktree", "list").splitlines()) == 1


@pytest.mark.process
def test_missing_repository_is_an_error_with_the_reason_of_git(
    project, monkeypatch, capsys, run_bench
):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(project.parent))
    assert main(["bisect", "a", "b", *run_bench, *RULES]) == 2
    assert "not a git repository" in capsys.readouterr().err


@pytest.mark.process
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_bisection_cleans_up(repository, tmp_path, number):
    """While git walks: the program of a commit in between waits forever."""
    before = state_of(repository)
    waits = f"git log -1 --format=%s | grep -q again && echo $$ > {tmp_path}/pid && sleep 600"
    command = f"if {waits}; then false; else {PYTHON} bench.py; fi"
    process = subprocess.Popen(
        [PYTHON, "-m", "kvtrace", "bisect", "HEAD~3", "HEAD~1", "--run", command, *RULES],
        cwd=repository,
        env=clean_environment() | {"TRITON_CACHE_DIR": os.environ["TRITON_CACHE_DIR"]},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        pid = waited_for(tmp_path / "pid", process)
        process.send_signal(number)
        output, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 128 + number, output
    assert "Traceback" not in output
    assert not Path(f"/proc/{pid}").exists()
    assert state_of(repository) == before


def waited_for(file, process):
    """Return the number in a file once the file has one."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and process.poll() is None:
        if file.exists() and file.read_text().strip():
            return int(file.read_text())
        time.sleep(0.1)
    raise AssertionError(process.communicate()[0])


@pytest.mark.process
def test_bisection_removes_no_folder_that_it_did_not_make(repository, capsys):
    before = state_of(repository)
    (repository / "notes").mkdir()
    (repository / "notes" / "file.txt").write_text("mine")
    for folder in ("notes", ".", str(repository.parent)):
        words = ["bisect", "HEAD~1", "HEAD", "--run", "true", "-o", folder]
        assert main(words) == 2
        assert f"{folder} exists and is not a folder that kvtrace made" in capsys.readouterr().err
    assert (repository / "notes" / "file.txt").read_text() == "mine"
    shutil.rmtree(repository / "notes")
    assert state_of(repository) == before
