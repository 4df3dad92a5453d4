"""`kvtrace gate`: record a program, judge and replay it, and compare it with a baseline."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kvtrace.cli import complain
from kvtrace.cli.options import print_lines, say

if TYPE_CHECKING:
    from kvtrace.regressions.comparing import Outputs
    from kvtrace.schema.trace import Selection


def command(
    program: Annotated[
        list[str], typer.Argument(metavar="-- PROGRAM [ARGS…]", help="The command to record")
    ],
    against: Annotated[
        str, typer.Option("--against", metavar="NAME", help="The baseline to compare with")
    ] = "main",
    fail_on: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-on",
            metavar="RULES",
            help="Exit with 1 where the program breaks one; see kvtrace diff  [default: those of "
            "[tool.kvtrace.diff] in pyproject.toml, else findings.new]",
            show_default=False,
        ),
    ] = None,
    save: Annotated[
        bool,
        typer.Option(
            "--save", help="Keep the run as the baseline afterwards, whatever the rules say"
        ),
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="DIR",
            help="Add the run to this trace  [default: .kvtrace/gate, emptied first]",
            show_default=False,
        ),
    ] = None,
    markdown: Annotated[
        Path | None,
        typer.Option("--markdown", metavar="FILE", help="Write Markdown, as for a review comment"),
    ] = None,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write a page of the comparison")
    ] = None,
    json: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write JSON")] = None,
    junit: Annotated[
        Path | None, typer.Option("--junit", metavar="FILE", help="Write JUnit XML")
    ] = None,
    sarif: Annotated[
        Path | None, typer.Option("--sarif", metavar="FILE", help="Write the findings as SARIF")
    ] = None,
) -> int:
    """Record a program, judge and replay what it launches, and compare that with a baseline.

    Needs no GPU. Exit code: the program's own where that is not 0; else 1 where a rule is broken; 2
    where there is no baseline (unless --save makes it), no kernel, or a rule that cannot be judged;
    else 0.

    Example:
        kvtrace gate --save -- python bench.py
        kvtrace gate --fail-on 'findings.new, spills>0' -- pytest tests/
        kvtrace gate --markdown gate.md --sarif gate.sarif -- python bench.py

    """
    from kvtrace.converters.diff.gate import project_rules, read_rules
    from kvtrace.regressions.baselines import RECORDED, baseline_folder, prepare_project
    from kvtrace.regressions.comparing import DEFAULT_RULES, Outputs
    from kvtrace.regressions.recording import record_program

    rules = (project_rules() or list(DEFAULT_RULES)) if fail_on is None else fail_on
    read_rules(rules)
    baseline_folder(against)
    outputs = Outputs(markdown, html, json, junit, sarif)
    if output is None:
        prepare_project()
        shutil.rmtree(RECORDED, ignore_errors=True)
    recorded = record_program(program, output or RECORDED)
    if recorded.selection is None:
        code = complain(
            "the program launched no kernel that was recorded, so nothing is compared; is kvtrace "
            "installed in the Python that it runs in?"
        )
    else:
        keeps = save and not recorded.exit_code
        code = _judge(recorded.selection, against, rules, outputs, keeps=keeps)
        if keeps:
            _save(against, recorded.selection)
    if recorded.exit_code:
        complain(
            f"the program failed with exit code {recorded.exit_code}, which is this command's: "
            "only what it launched until then was looked at"
            + (", and it is not kept as the baseline." if save else ".")
        )
    return recorded.exit_code or code


def _judge(
    after: Selection, against: str, rules: list[str], outputs: Outputs, *, keeps: bool
) -> int:
    """Compare runs with the baseline; return the exit code that their kernels deserve.

    Args:
        after: The runs.
        against: The baseline's name.
        rules: What is judged by.
        outputs: What is written.
        keeps: Whether these runs become the baseline, so that none need be there yet.

    """
    from kvtrace.backends.triton.later_stages import complete_stages
    from kvtrace.cli.missing_passes import run_missing_passes
    from kvtrace.regressions.baselines import has_baseline, no_baseline, open_baseline
    from kvtrace.regressions.comparing import (
        compared,
        comparison_text,
        write_forms,
        write_sarif,
    )
    from kvtrace.text import terminal_width

    for line in (
        *run_missing_passes(after, asked=True),
        *complete_stages(after, asked=True),
    ):
        complain(line)
    write_sarif(after, outputs, say)
    if not has_baseline(against):
        for form in outputs.of_comparison:
            complain(f"--{form} is not written: there is nothing to compare with.")
        if keeps:
            say(f"there was no baseline {against}, so nothing is compared")
            return 0
        return complain(no_baseline(against))
    labels = (f"baseline {against}", str(after.trace.path))
    found = compared(open_baseline(against), after, labels, rules)
    write_forms(found, outputs, say)
    print_lines(comparison_text(found, terminal_width()))
    if missing := found.gate.missing():
        return complain(
            f"--fail-on {', '.join(missing)} cannot be judged: no kernel has the figure, or a side "
            "was not judged; end a rule in ? to leave it out then."
        )
    return int(found.broken)


def _save(name: str, selection: Selection) -> None:
    from kvtrace.regressions.baselines import save_baseline
    from kvtrace.text import plural

    saved = save_baseline(name, selection)
    what = f"{plural(saved.kernels, 'kernel')}, {plural(saved.launches, 'launch')}"
    say(f"kept as the baseline {name}: {what}")
