"""Search for the commit that broke a rule, by `git bisect run` in a separate checkout.

For each commit that git chooses, the program is recorded, analyzed, and compared with GOOD. A
commit whose program fails, or whose rules cannot be judged, is skipped with git's exit code 125.
`git bisect run` starts kvtrace for each commit (`judge_head`), with a `Plan` in a file.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Literal

from kvtrace.addons.ci.comparing import Analyses, Comparison, Tell, compare_runs
from kvtrace.addons.ci.recording import end_session, record_program
from kvtrace.converters.diff.gate import read_rules
from kvtrace.schema.errors import BadSetting
from kvtrace.schema.output_folders import renew_output_folder
from kvtrace.schema.trace import Selection, open_trace

Verdict = Literal["good", "bad", "skip"]

#: Exit codes that tell `git bisect run` that a commit is good, bad, or neither.
CODES: Final[dict[Verdict, int]] = {"good": 0, "bad": 1, "skip": 125}
#: Exit code that stops `git bisect run`.
STOP: Final = 255
_FIRST_BAD: Final = re.compile(r"^([0-9a-f]{40,64}) is the first '?bad'? commit", re.MULTILINE)
_HASH: Final = re.compile(r"^[0-9a-f]{40,64}$", re.MULTILINE)
#: Names of what a bisection puts into its folder.
_NAMES: Final = r"[0-9a-f]{40,64}|[0-9a-f]{12}\.log|plan\.json|git\.log"
_STEP: Final = re.compile(r"[0-9a-f]{12}  (?:good|bad |skip)  ")


@dataclass(frozen=True, slots=True)
class Plan:
    """Settings of every step of a bisection.

    `out` is the folder of the traces, one per commit; `good` the commit to compare with; `path` the
    checkout; `inside` the working directory in the checkout.
    """

    command: str
    rules: Sequence[str]
    out: str
    good: str
    path: str
    inside: str

    @property
    def worktree(self) -> Worktree:
        """The checkout in which the commits are recorded."""
        return Worktree(Path(self.path), Path(self.inside))


@dataclass(frozen=True, slots=True)
class Step:
    """The verdict on one commit, with its reason in one line."""

    commit: str
    verdict: Verdict
    text: str


@dataclass(frozen=True, slots=True)
class Culprit:
    """The first bad commit, and how its kernels differ from those of the commit `before`.

    `commit` is None if skipped commits hide the first bad one, which is then one of `candidates`.
    `checkout` is the folder of the checkout.
    """

    commit: str | None
    checkout: str
    subject: str = ""
    before: str | None = None
    change: Comparison | None = None
    candidates: Sequence[str] = ()


def bisect_commits(
    good: str,
    bad: str,
    command: str,
    rules: Sequence[str],
    out: Path,
    analyses: Analyses,
    tell: Tell,
) -> Culprit | None:
    """Return the first commit after `good` that breaks a rule; None if `bad` breaks none.

    Args:
        good: The commit that other commits are compared with.
        bad: A later commit that breaks a rule.
        command: The shell command that runs the program.
        rules: Rules as `--fail-on` takes them.
        out: The folder for traces and the programs' output, replaced if it is an earlier one.
        analyses: Analyses of runs.
        tell: Receives a line for each commit.

    Raises:
        BadSetting: a commit does not exist, GOOD cannot be run, the rules cannot be judged, git
            stops, or the folder `out` has other files.
        KeyboardInterrupt: by Ctrl-C; the checkout has been deleted by then.
    """
    repository = Path.cwd()
    good_commit, bad_commit = (commit_named(repository, name) for name in (good, bad))
    renew_output_folder(out, _NAMES)
    with worktree(repository, good_commit) as checkout:
        plan = Plan(
            command, tuple(rules), str(out.absolute()), good_commit, str(checkout.path),
            str(checkout.inside),
        )  # fmt: skip
        for commit in dict.fromkeys((good_commit, bad_commit)):
            # By force, since programs may have changed tracked files.
            checkout.git("checkout", "--quiet", "--force", "--detach", commit)
            step = judge_commit(plan, commit, analyses, apart=True)
            tell(step_line(step, checkout))
            if step.verdict == "skip":
                name = "GOOD" if commit == good_commit else "BAD"
                raise BadSetting(
                    f"the commit {name}, {commit[:12]}, cannot be judged: {step.text}."
                )
            if commit == good_commit and step.verdict == "bad":
                raise BadSetting(f"the commit GOOD, {commit[:12]}, breaks a rule: {step.text}.")
        if step.verdict == "good":
            return None
        return _culprit(plan, _run_git_bisect(plan, bad_commit, tell), analyses)


def judge_head(plan_file: Path, analyses: Analyses) -> tuple[Step, Worktree]:
    """Judge the commit that `git bisect run` checked out, and return the step and the checkout.

    `plan_file` has the plan as JSON. Changes of the program to tracked files are discarded.
    """
    plan_fields = json.loads(plan_file.read_text(encoding="utf-8"))
    plan = Plan(**plan_fields)
    checkout = plan.worktree
    for name in _OF_GIT:
        os.environ.pop(name, None)  # git's own variables must not reach the program
    step = judge_commit(plan, checkout.git("rev-parse", "HEAD"), analyses, apart=False)
    checkout.git("reset", "--hard", "--quiet")
    return step, checkout


def judge_commit(plan: Plan, commit: str, analyses: Analyses, *, apart: bool) -> Step:
    """Run and record the program at the checked-out commit, compare it with GOOD, and judge it.

    `apart`: the program gets a session of its own, so that Ctrl-C does not reach it.
    """
    out = Path(plan.out)
    log = out / f"{commit[:12]}.log"
    if not plan.worktree.folder.is_dir():
        return Step(commit, "skip", f"the folder {plan.inside} does not exist at this commit")
    with log.open("wb") as output, TemporaryDirectory(prefix="kvtrace-cache-") as cache:
        # Without an empty cache, compile times would lack kernels compiled for an earlier commit.
        has_compile_rule = any(rule.figure == "compile" for rule in read_rules(plan.rules))
        run = record_program(
            ["sh", "-c", plan.command],
            out / commit,
            folder=plan.worktree.folder,
            variables={"TRITON_CACHE_DIR": cache} if has_compile_rule else None,
            output=output,
            apart=apart,
        )
    if run.exit_code:
        return Step(commit, "skip", f"the program ended with exit code {run.exit_code}, see {log}")
    if run.selection is None:
        return Step(commit, "skip", f"no recorded kernel was launched, see {log}")
    for line in analyses.complete(run.selection):
        with log.open("a", encoding="utf-8") as output_text:
            output_text.write(f"kvtrace: {line}\n")
    comparison = _comparison_of_commits(plan, plan.good, commit, analyses)
    if missing := comparison.gate.missing():
        return Step(commit, "skip", f"{', '.join(missing)} cannot be judged: a figure is missing")
    return Step(commit, "bad" if comparison.broken else "good", comparison.headline)


def step_line(step: Step, checkout: Worktree) -> str:
    """Return a line with a step's commit, verdict, subject and reason."""
    subject = checkout.git("log", "-1", "--format=%s", step.commit)
    text = step.text.replace(f"{checkout.path}/", "")
    return f"{step.commit[:12]}  {step.verdict:<4}  {subject[:40]:<40}  {text}"


def _run_git_bisect(plan: Plan, bad: str, tell: Tell) -> str:
    """Run git's bisection, report each step by `tell`, and return git's output."""
    checkout, out = plan.worktree, Path(plan.out)
    plan_file, log = out / "plan.json", out / "git.log"
    plan_file.write_text(json.dumps(asdict(plan)), encoding="utf-8")
    first_output = checkout.git("bisect", "start", bad, plan.good)
    if _FIRST_BAD.search(first_output):
        return first_output  # there is no commit in between
    step = [sys.executable, "-P", "-m", "kvtrace", "bisect", "--step", str(plan_file)]
    process = subprocess.Popen(
        git_command("bisect", "run", *step),
        cwd=checkout.path,
        env=outside_git(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    lines = []
    try:
        for line in process.stdout or ():
            lines.append(line)
            if _STEP.match(line):
                tell(line.rstrip("\n"))
        code = process.wait()
    finally:
        end_session(process)
        log.write_text("".join(lines), encoding="utf-8")
    text = "".join(lines)
    if code and not _candidates(text):
        raise BadSetting(f"git bisect stopped with exit code {code}; see {log}.")
    return text


def _candidates(output: str) -> list[str]:
    """Return the commits that may be the first bad one, if git's output lists several."""
    _, marker, text_after_marker = output.partition("The first bad commit could be any of:")
    return _HASH.findall(text_after_marker) if marker else []


def _culprit(plan: Plan, output: str, analyses: Analyses) -> Culprit:
    checkout = plan.worktree
    if candidates := _candidates(output):
        return Culprit(None, plan.path, candidates=candidates)
    match = _FIRST_BAD.search(output)
    if match is None:
        raise BadSetting(f"git bisect found no first bad commit; see {plan.out}/git.log.")
    commit = match[1]
    parents = checkout.git("log", "-1", "--format=%P", commit).split()
    recorded_parents = [parent for parent in parents if _recorded_runs(plan, parent) is not None]
    before = recorded_parents[0] if recorded_parents else plan.good
    subject = checkout.git("log", "-1", "--format=%s (%an, %as)", commit)
    return Culprit(
        commit, plan.path, subject, before, _comparison_of_commits(plan, before, commit, analyses)
    )


def _comparison_of_commits(plan: Plan, before: str, after: str, analyses: Analyses) -> Comparison:
    recorded = [_recorded_runs(plan, commit) for commit in (before, after)]
    assert recorded[0] is not None
    assert recorded[1] is not None
    return compare_runs(recorded[0], recorded[1], (before[:12], after[:12]), plan.rules, analyses)


def _recorded_runs(plan: Plan, commit: str) -> Selection | None:
    folder = Path(plan.out) / commit
    if not folder.is_dir():
        return None
    trace = open_trace(folder)
    return Selection(trace, trace.runs)


# -- checkouts of commits --------------------------------------------------------------------------


#: Options of git: the user's hooks must not run in the separate checkout.
_QUIETLY: Final = ("-c", "core.hooksPath=/dev/null", "-c", "advice.detachedHead=false")
#: Variables that git sets for the programs that it starts, and other programs must not get.
_OF_GIT: Final = (
    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_CONFIG_PARAMETERS",
    "GIT_CONFIG_COUNT",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Worktree:
    """A checkout at `path`; `inside` is the user's working directory within the repository."""

    path: Path
    inside: Path

    @property
    def folder(self) -> Path:
        """The checkout's counterpart of the user's working directory, where programs run."""
        return self.path / self.inside

    def git(self, *arguments: str) -> str:
        """Run git in the checkout and return its output; raise BadSetting with git's error."""
        return git(self.path, *arguments)


@contextmanager
def worktree(repository: Path, commit: str) -> Iterator[Worktree]:
    """Make a separate checkout of a commit and yield it; delete it when the block ends.

    Raises:
        BadSetting: the repository or the commit does not exist, or git cannot make the checkout.
    """
    inside = Path(git(repository, "rev-parse", "--show-prefix"))
    parent = Path(tempfile.mkdtemp(prefix="kvtrace-bisect-"))
    path = parent / "checkout"
    try:
        git(repository, "worktree", "add", "--quiet", "--detach", str(path), commit)
        yield Worktree(path.resolve(), inside)
    finally:
        shutil.rmtree(parent, ignore_errors=True)
        git(repository, "worktree", "prune", "--expire", "now")


def commit_named(repository: Path, name: str) -> str:
    """Return the hash of the commit that `name` means; raise BadSetting if there is none."""
    try:
        return git(repository, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    except BadSetting:
        git(repository, "rev-parse", "--git-dir")
        raise BadSetting(f"there is no commit {name!r} in this repository.") from None


def git(folder: Path, *arguments: str) -> str:
    """Run git and return its output without the last newline.

    Raises:
        BadSetting: git is not installed, or fails; git's error is in the text.
    """
    try:
        result = subprocess.run(
            git_command(*arguments),
            cwd=folder,
            env=outside_git(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    except OSError as error:
        raise BadSetting(f"git cannot be run ({error.strerror or error}); install it.") from error
    if result.returncode:
        errors = " ".join(result.stderr.split()) or f"exit code {result.returncode}"
        raise BadSetting(f"git {arguments[0]} failed in {folder}: {errors}")
    return result.stdout.rstrip("\n")


def git_command(*arguments: str) -> list[str]:
    """Return git's command with arguments, and options that disable hooks."""
    return ["git", *_QUIETLY, *arguments]


def outside_git() -> dict[str, str]:
    """Return the environment without the variables that git sets for programs that it starts."""
    return {name: value for name, value in os.environ.items() if name not in _OF_GIT}
