"""`kvtrace bisect`: the command that finds the commit that broke a rule."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from kvtrace.addons.ci.commands.analyses import analyses
from kvtrace.cli import complain, note
from kvtrace.cli.options import JsonOption, print_lines, say
from kvtrace.cli.parsing import Argument, Option
from kvtrace.schema.errors import BadSetting, KvtraceError
from kvtrace.text import json_text

if TYPE_CHECKING:
    from kvtrace.addons.ci.bisecting import Culprit
    from kvtrace.addons.ci.comparing import Comparison


def command(
    good: Annotated[
        str | None, Argument(metavar="GOOD", help="Commit that later commits are compared with")
    ] = None,
    bad: Annotated[
        str | None, Argument(metavar="BAD", help="Later commit that breaks a rule")
    ] = None,
    run: Annotated[
        str, Option("--run", metavar="COMMAND", help="Shell command to run and record")
    ] = "",
    fail_on: Annotated[
        list[str] | None,
        Option(
            "--fail-on",
            metavar="RULES",
            help="Rules that a bad version violates; see kvtrace diff  [default: those of kvtrace "
            "gate]",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        Option(
            "--output",
            "-o",
            metavar="FOLDER",
            help="Folder of traces and logs, replaced if bisect made it  "
            "[default: .kvtrace/bisect]",
        ),
    ] = None,
    as_json: JsonOption = False,
    step: Annotated[Path | None, Option("--step", hidden=True)] = None,
) -> int:
    """Find the first commit whose kernels break a rule. Needs no GPU.

    git bisect checks out commits in a separate folder; commits that cannot be run or judged are
    skipped. Exit code 1 if a rule is violated, 2 if that cannot be decided.

    Example:
        kvtrace bisect v1.2 main --run "python bench.py" --fail-on "spills>0"
    """
    if step is not None:
        return _judge_step(step)
    from kvtrace.addons.ci.baselines import BISECTED, prepare_project
    from kvtrace.addons.ci.comparing import DEFAULT_RULES
    from kvtrace.converters.diff.gate import project_rules, read_rules

    rules = fail_on if fail_on is not None else project_rules()
    read_rules(rules)
    if not run:
        raise BadSetting('give the command to run: --run "python bench.py".')
    if good is None or bad is None:
        raise BadSetting("give two commits, GOOD and BAD.")
    if output is None:
        prepare_project()
    out = output or BISECTED
    return _bisect_commits(good, bad, run, rules or list(DEFAULT_RULES), out, as_json=as_json)


def _bisect_commits(
    good: str, bad: str, run: str, rules: list[str], out: Path, *, as_json: bool
) -> int:
    from kvtrace.addons.ci.bisecting import bisect_commits

    culprit = bisect_commits(good, bad, run, rules, out, analyses(), note if as_json else say)
    if as_json:
        print(json_text("bisect", {"good": good, "bad": bad, **_culprit_object(culprit)}))
        return 0 if culprit is None else 2 if culprit.commit is None else 1
    if culprit is None:
        say(f"{bad} breaks no rule, compared with {good}")
        return 0
    return _report_culprit(culprit)


def _culprit_object(culprit: Culprit | None) -> dict[str, Any]:
    """Return the first bad commit as JSON has it: null if no commit breaks a rule."""
    if culprit is None:
        return {
            "first_bad": None, "subject": "", "before": None, "candidates": [],
            **_change_objects(None),
        }  # fmt: skip
    return {
        "first_bad": culprit.commit, "subject": culprit.subject, "before": culprit.before,
        "candidates": list(culprit.candidates), **_change_objects(culprit.change),
    }  # fmt: skip


def _report_culprit(culprit: Culprit) -> int:
    from kvtrace.addons.ci.comparing import comparison_text
    from kvtrace.text import terminal_width

    if culprit.commit is None:
        say("the first bad commit is one of the following; some of them cannot be run or judged:")
        for commit in culprit.candidates:
            say(f"  {commit}")
        return 2
    say("")
    say(f"first bad commit: {culprit.commit} {culprit.subject}")
    say("")
    if culprit.change is not None:
        lines = comparison_text(culprit.change, terminal_width())
        print_lines(line.replace(f"{culprit.checkout}/", "") for line in lines)
    return 1


def _judge_step(plan: Path) -> int:
    """Judge the commit that git has checked out, and return the exit code for `git bisect run`."""
    from kvtrace.addons.ci.bisecting import CODES, STOP, judge_head, step_line

    try:
        step, checkout = judge_head(plan, analyses())
        say(step_line(step, checkout))
    except KvtraceError as error:
        complain(str(error))
        return STOP
    except Exception as error:  # noqa: BLE001 - any other exit code would judge the commit
        complain(f"the commit could not be judged, by {type(error).__name__}: {error}")
        return STOP
    return CODES[step.verdict]


def _change_objects(change: Comparison | None) -> dict[str, Any]:
    """Return a comparison's difference and rules as JSON has them: null without a comparison."""
    from kvtrace.converters.diff.render import difference_object, gate_object

    return {
        "difference": None if change is None else difference_object(change.difference),
        "gate": None if change is None else gate_object(change.gate),
    }
