"""`kvtrace sanitize`: a verdict for every memory access of each unique call."""

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from kvtrace.cli import complain, note
from kvtrace.cli.needs import OF_EVALUATED_CALLS
from kvtrace.cli.options import (
    EngineOption,
    JsonOption,
    KernelOption,
    MasterOption,
    RunOption,
    TracePath,
    chosen_engine,
    chosen_kernels,
    complain_of,
    print_lines,
    select,
    settings_in_force,
)
from kvtrace.cli.parsing import Option
from kvtrace.text import json_text
from kvtrace.verdicts.rules.choice import rule_ids

if TYPE_CHECKING:
    from kvtrace.converters.findings import Findings
    from kvtrace.schema.trace import Selection

_DEFAULT: Final = rule_ids(["default"])
_NAMED: Final = [rule for rule in rule_ids(["all"]) if rule not in _DEFAULT]
RuleOption = Annotated[
    list[str] | None,
    Option(
        "--rule",
        metavar="ID",
        help="Judge by this rule only; may be repeated. docs/rules describes each. The group "
        f"default is {', '.join(_DEFAULT)}; the group all adds {', '.join(_NAMED)}",
    ),
]
NoRuleOption = Annotated[
    list[str] | None,
    Option("--no-rule", metavar="ID", help="Leave this rule out; may be repeated"),
]


NEEDS: Final = OF_EVALUATED_CALLS


def command(
    trace: TracePath,
    run: RunOption = None,
    kernel: KernelOption = None,
    as_json: JsonOption = False,
    everything: Annotated[
        bool, Option("--all", help="Also list proven accesses, instead of counting them")
    ] = False,
    as_sarif: Annotated[
        bool, Option("--sarif", help="Print SARIF 2.1.0, as code review tools read it")
    ] = False,
    junit_file: Annotated[
        Path | None,
        Option("--junit", metavar="FILE", help="Also write JUnit XML"),
    ] = None,
    rule: RuleOption = None,
    no_rule: NoRuleOption = None,
    strict: Annotated[
        bool, Option("--strict", help="Also fail on warnings and unknown verdicts")
    ] = False,
    as_lines: Annotated[
        bool | None,
        Option(
            "--lines/--blocks",
            help="Print one line per finding, path:line:column: severity[rule]: text  [default: "
            "into a pipe or file, with the counts on standard error]",
        ),
    ] = None,
    engine_name: EngineOption = "here",
    master: MasterOption = None,
) -> int:
    """Judge every memory access of each unique call, without a GPU.

    Each access is proven safe over the whole grid, or a violation with a witness, or unknown with
    the reason. Violations that the run itself observed are also listed. Fills the derived table
    findings. Exit code 1 on an error that no comment `# kvtrace: ignore[rule] reason` suppresses,
    with --strict also on a warning or an unknown, which all kernels without IR are; 2 if nothing
    was judged. KVTRACE_RULES sets --rule and --no-rule, KVTRACE_STRICT sets --strict.

    Example:
        kvtrace sanitize out/
        kvtrace sanitize out/ --no-rule out-of-view --junit findings.xml
        kvtrace sanitize out/ --sarif > findings.sarif

    """
    from kvtrace.analysis.judging import judge_runs
    from kvtrace.converters.chosen_kernels import called_kernels, findings_of_kernels
    from kvtrace.schema.errors import BadSetting
    from kvtrace.schema.layout import results_beside
    from kvtrace.text import by_reason

    if as_json and as_sarif:
        raise BadSetting("--json and --sarif cannot be combined; choose one.")
    engine = chosen_engine(engine_name, master)
    settings = settings_in_force()
    selection = select(trace, run)
    chosen = chosen_kernels(kernel, called_kernels(selection) if kernel else ())
    excluded = [part.strip() for names in no_rule or () for part in names.split(",")]
    names = [*(rule or [settings.rules]), *(f"-{name}" for name in excluded if name)]
    lists_proven = everything or junit_file is not None
    evaluation = None if engine is None else engine.evaluation(master)
    with results_beside(selection.trace.path):
        findings = judge_runs(selection, names, proven=lists_proven, engine=evaluation)
    findings = findings_of_kernels(findings, selection, chosen)
    for failure in (
        *findings.left_out, *by_reason(findings.not_evaluated), *findings.rules_without_data
    ):  # fmt: skip
        complain(failure)
    strict = strict or settings.strict
    if junit_file is not None:
        _write_junit(findings, junit_file, strict)
    if as_lines is None:
        as_lines = not sys.stdout.isatty()
    _print(findings, selection, as_json, as_sarif, everything, as_lines, bool(kernel))
    complain_of(selection.trace)
    if findings.nothing_judged:
        if findings.nothing_judged not in findings.left_out:
            complain(findings.nothing_judged)
        return 2
    return 1 if findings.failures(strict=strict) else 0


def _write_junit(findings: "Findings", file: Path, strict: bool) -> None:
    from kvtrace.converters.findings import junit
    from kvtrace.converters.output import whole_file

    with whole_file(file) as target:
        target.write(junit(findings, strict=strict).encode())


def _print(
    findings: "Findings", selection: "Selection", as_json: bool, as_sarif: bool, everything: bool,
    as_lines: bool, is_part: bool,
) -> None:  # fmt: skip
    from kvtrace.converters.findings import findings_object, findings_text, sarif, without_proven
    from kvtrace.converters.findings.findings_text import counts_text, findings_lines
    from kvtrace.converters.profile.autotune import untried_text
    from kvtrace.text import terminal_width
    from kvtrace.version import __version__

    shown = findings if everything else without_proven(findings)
    is_text = not (as_json or as_sarif or as_lines)
    width = min(terminal_width(), 120) if is_text else 1_000
    untried = [] if as_json or is_part else untried_text(selection.trace, selection.runs, width)
    if as_json:
        print(json_text("sanitize", findings_object(shown)))
    elif as_sarif:
        root = selection.runs[0].git_root if selection.runs else None
        print(json.dumps(sarif(shown, __version__, root=root), indent=2))
    elif as_lines:
        for line in findings_lines(shown, base=str(Path.cwd())):
            print(line)
    else:
        color = _shows_color()
        lines = findings_text(shown, color=color, width=width, base=str(Path.cwd()))
        print_lines([*lines, *untried], raw=color)
    if as_sarif or (as_lines and not as_json):
        sys.stdout.flush()
        note(counts_text(findings))
        for line in untried:
            note(line)


def _shows_color() -> bool:
    """Return whether standard output is a terminal with colors, and the user wants them."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return sys.stdout.isatty()
