"""The commit that broke a rule: `git bisect run` in a separate checkout.

Every commit that git asks for is recorded, analyzed, and compared with GOOD. One that cannot be
run, or whose rules cannot be judged, is skipped, as git's exit code 125 asks for. `git bisect run`
starts this program again for each commit (`judge_head`), with what it needs in a file (`Plan`).
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Literal

from kvtrace.addons.ci.comparing import Analyses, Comparison, Tell, compared
from kvtrace.addons.ci.recording import end_session, record_program
from kvtrace.addons.ci.worktrees import (
    Worktree,
    commit_named,
    git_command,
    outside_git,
    worktree,
)
from kvtrace.converters.diff.gate import read_rules
from kvtrace.schema.errors import BadSetting
from kvtrace.schema.trace import Selection, open_trace

Verdict = Literal["good", "bad", "skip"]

#: Exit codes by which `git bisect run` takes a commit for good, for bad, and for neither.
CODES: Final[dict[Verdict, int]] = {"good": 0, "bad": 1, "skip": 125}
#: An exit code by which it stops.
STOP: Final = 255
_FOUND: Final = re.compile(r"^([0-9a-f]{40,64}) is the first '?bad'? commit", re.MULTILINE)
_HASH: Final = re.compile(r"^[0-9a-f]{40,64}$", re.MULTILINE)
_STEP: Final = re.compile(r"[0-9a-f]{12}  (?:good|bad |skip)  ")


@dataclass(frozen=True, slots=True)
class Plan:
    """What every step needs: what to run, by which rules, and where traces go, one a commit."""

    command: str
    rules: Sequence[str]
    out: str
    good: str
    path: str
    inside: str

    @property
    def worktree(self) -> Worktree:
        """The checkout."""
        return Worktree(Path(self.path), Path(self.inside))


@dataclass(frozen=True, slots=True)
class Step:
    """What was found of a commit, in one line."""

    commit: str
    verdict: Verdict
    text: str


@dataclass(frozen=True, slots=True)
class Culprit:
    """The first bad commit, and how its kernels differ from those of the one before it.

    `candidates` are what is left where commits that cannot be judged lie in between; `commit` is
    then None. `before` is the commit that it is compared with, `checkout` where its files were.
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
    """Find the first commit after `good` that breaks a rule; None if `bad` breaks none.

    Args:
        good: A commit, which the others are compared with.
        bad: A later commit that breaks a rule.
        command: What to run, for a shell.
        rules: As `--fail-on` takes them.
        out: Where traces and what programs print are kept, emptied first.
        analyses: What the command line passes in.
        tell: Is given a line for each commit.

    Raises:
        BadSetting: there is no such commit, GOOD cannot be run, the rules cannot be judged, or git
            stops.
        KeyboardInterrupt: by Ctrl-C; the checkout is gone by then.

    """
    here = Path.cwd()
    first, last = (commit_named(here, name) for name in (good, bad))
    if out.exists():
        shutil.rmtree(out)
    out.mkdir(parents=True)
    with worktree(here, first) as checkout:
        plan = Plan(
            command, tuple(rules), str(out.absolute()), first, str(checkout.path),
            str(checkout.inside),
        )  # fmt: skip
        for commit in dict.fromkeys((first, last)):
            checkout.check_out(commit)
            step = judge_commit(plan, commit, analyses, apart=True)
            tell(step_line(step, checkout))
            if step.verdict == "skip":
                which = "GOOD" if commit == first else "BAD"
                raise BadSetting(f"{which}, {commit[:12]}, cannot be judged: {step.text}.")
            if commit == first and step.verdict == "bad":
                raise BadSetting(f"GOOD, {commit[:12]}, breaks a rule itself: {step.text}.")
        if step.verdict == "good":
            return None
        return _culprit(plan, _run_git_bisect(plan, last, tell), analyses)


def judge_head(plan_file: Path, analyses: Analyses) -> tuple[Step, Worktree]:
    """Judge the commit that is checked out: what `git bisect run` has done at each step."""
    given = json.loads(plan_file.read_text(encoding="utf-8"))
    plan = Plan(**given)
    checkout = plan.worktree
    for name in os.environ.keys() - outside_git(os.environ).keys():
        del os.environ[name]  # what git tells its bisection is not for the program
    step = judge_commit(plan, checkout.head(), analyses, apart=False)
    checkout.git("reset", "--hard", "--quiet")
    return step, checkout


def judge_commit(plan: Plan, commit: str, analyses: Analyses, *, apart: bool) -> Step:
    """Record what is checked out, and compare it with GOOD."""
    out = Path(plan.out)
    log = out / f"{commit[:12]}.log"
    if not plan.worktree.folder.is_dir():
        return Step(commit, "skip", f"it has no folder {plan.inside}")
    with log.open("wb") as output, TemporaryDirectory(prefix="kvtrace-cache-") as cache:
        # What an earlier commit compiled would be no measure of how long this one's kernels take.
        asks = any(rule.figure == "compile" for rule in read_rules(plan.rules))
        recorded = record_program(
            ["sh", "-c", plan.command],
            out / commit,
            folder=plan.worktree.folder,
            variables={"TRITON_CACHE_DIR": cache} if asks else None,
            output=output,
            apart=apart,
        )
    if recorded.exit_code:
        return Step(commit, "skip", f"the program ends with {recorded.exit_code}, see {log}")
    if recorded.selection is None:
        return Step(commit, "skip", f"it launches no kernel that is recorded, see {log}")
    for line in analyses.look(recorded.selection):
        with log.open("a", encoding="utf-8") as output_text:
            output_text.write(f"kvtrace: {line}\n")
    found = _change(plan, plan.good, commit, analyses)
    if missing := found.gate.missing():
        return Step(commit, "skip", f"{', '.join(missing)} cannot be judged: it has no such figure")
    return Step(commit, "bad" if found.broken else "good", found.headline)


def step_line(step: Step, checkout: Worktree) -> str:
    """Return a line on a step."""
    subject = checkout.git("log", "-1", "--format=%s", step.commit)
    text = step.text.replace(f"{checkout.path}/", "")
    return f"{step.commit[:12]}  {step.verdict:<4}  {subject[:40]:<40}  {text}"


def _run_git_bisect(plan: Plan, bad: str, tell: Tell) -> str:
    """Have git walk, tell what each step says, and return all that is printed."""
    checkout, out = plan.worktree, Path(plan.out)
    plan_file, log = out / "plan.json", out / "git.log"
    plan_file.write_text(json.dumps(asdict(plan)), encoding="utf-8")
    said_at_once = checkout.git("bisect", "start", bad, plan.good)
    if _FOUND.search(said_at_once):
        return said_at_once  # there is no commit in between
    step = [sys.executable, "-P", "-m", "kvtrace", "bisect", "--step", str(plan_file)]
    process = subprocess.Popen(
        git_command("bisect", "run", *step),
        cwd=checkout.path,
        env=outside_git(os.environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    said = []
    try:
        for line in process.stdout or ():
            said.append(line)
            if _STEP.match(line):
                tell(line.rstrip("\n"))
        code = process.wait()
    finally:
        end_session(process)
        log.write_text("".join(said), encoding="utf-8")
    text = "".join(said)
    if code and not _left(text):
        raise BadSetting(f"git bisect stopped with exit code {code}; see {log}.")
    return text


def _left(said: str) -> list[str]:
    """Return the commits of which git cannot tell which is the first bad one."""
    _, only, rest = said.partition("The first bad commit could be any of:")
    return _HASH.findall(rest) if only else []


def _culprit(plan: Plan, said: str, analyses: Analyses) -> Culprit:
    checkout = plan.worktree
    if left := _left(said):
        return Culprit(None, plan.path, candidates=left)
    found = _FOUND.search(said)
    if found is None:
        raise BadSetting(f"git names no first bad commit; see {plan.out}/git.log.")
    commit = found[1]
    parents = checkout.git("log", "-1", "--format=%P", commit).split()
    known = [parent for parent in parents if _recorded(plan, parent) is not None]
    before = known[0] if known else plan.good
    subject = checkout.git("log", "-1", "--format=%s (%an, %as)", commit)
    return Culprit(commit, plan.path, subject, before, _change(plan, before, commit, analyses))


def _change(plan: Plan, before: str, after: str, analyses: Analyses) -> Comparison:
    sides = [_recorded(plan, commit) for commit in (before, after)]
    assert sides[0] is not None
    assert sides[1] is not None
    return compared(sides[0], sides[1], (before[:12], after[:12]), plan.rules, analyses)


def _recorded(plan: Plan, commit: str) -> Selection | None:
    folder = Path(plan.out) / commit
    if not folder.is_dir():
        return None
    trace = open_trace(folder)
    return Selection(trace, trace.runs)
